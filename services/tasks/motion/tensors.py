"""Motion over the Open Inference Protocol: a scene or feature maps in, a row of each tensor for each request out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import Grid
from services.ledger.contract import Portion
from services.runtime.errors import InvalidInput
from services.tasks.motion import words
from services.tasks.motion.request import Form, MotionRequest, Pose, RenderedForm, SceneForm, TensorForm, Whose
from services.tasks.motion.words import Said
from services.transport.binding import Given, OipBinding, TensorSpec, Told
from services.transport.oip.datatypes import of_bytes
from services.transport.oip.decided import decided, decided_specs, parameters, remarks, remarks_spec

_FORMS = ("scene", "maps", "rendered")
_OF_MAPS = ("scene_ids", "poses")
_SUBMISSION = "submission"
_STEPS = "at steps of 0.2 s, the first 0.2 s from now"
_FLOATS = frozenset({"FP32", "FP16", "BF16"})


def binding(grid: Grid, *, ensemble: bool) -> OipBinding:
    """``ensemble``: whether there are several members, so that uncertainty has two parts."""
    inputs = (
        TensorSpec("scene", "BYTES", (1,), "", "Scene of the Shifts motion data set, protobuf or its JSON"),
        TensorSpec("maps", "FP32", (-1, *grid.shape), "", "feature maps, one a request", _FLOATS - {"FP32"} | {"FP64"}),
        TensorSpec("rendered", "BYTES", (-1,), "", "feature maps as files {scene_id}_{track_id}.npy of the data set"),
        TensorSpec(
            "track_ids",
            "UINT64",
            (-1,),
            "",
            "with a scene: vehicles to predict, absent: its prediction requests; with maps: whose future each is about",
            frozenset({"INT64", "INT32", "UINT32"}),
        ),
        TensorSpec("scene_ids", "BYTES", (-1,), "", "of maps: the scene that each shows, UTF-8"),
        TensorSpec(
            "poses", "FP64", (-1, 3), "m, m, rad", "of maps: x, y, yaw now in the scene; NaN: not known", _FLOATS
        ),
    )
    absent = () if ensemble else ("data", "knowledge")
    return OipBinding(
        inputs=inputs,
        outputs=tuple(spec for spec in _OUTPUTS if spec.name not in absent),
        read=read,
        answer=answer,
        about=lambda: {
            "inputs": "one of scene, maps, rendered",
            "scene_id": "a parameter of answers about a scene: its id",
        },
        files=True,
    )


_OUTPUTS = (
    TensorSpec("item", "INT32", (-1,), "", "index of each decided request in the call"),
    TensorSpec("scene_id", "BYTES", (-1,), "", "of its scene, UTF-8; empty where it is not known"),
    TensorSpec("track_id", "UINT64", (-1,), "", "of its vehicle; 0 where it is not known"),
    TensorSpec(
        "trajectories",
        "FP32",
        (-1, -1, -1, 2),
        "m",
        f"in the frame of the vehicle, best first, {_STEPS}; NaN where withheld",
    ),
    TensorSpec("confidences", "FP32", (-1, -1), "", "of each trajectory, softmax of the scores"),
    TensorSpec("scores", "FP32", (-1, -1), "nats", "of each trajectory"),
    TensorSpec("total", "FP32", (-1, -1), "m²", f"variance of all samples' positions, {_STEPS}"),
    TensorSpec("data", "FP32", (-1, -1), "m²", "mean variance of each member's own samples"),
    TensorSpec("knowledge", "FP32", (-1, -1), "m²", "variance of the members' mean positions"),
    TensorSpec(
        "scene_trajectories", "FP64", (-1, -1, -1, 2), "m", "in the frame of the scene; NaN where poses are not known"
    ),
    *decided_specs(item="request"),
    remarks_spec("speed_high, vehicles_high, left_out and others"),
    TensorSpec(_SUBMISSION, "BYTES", (1,), "", "the official submission file of these answers", default=False),
)
_ARRAYS = {
    "trajectories": "plans",
    "confidences": "weights",
    "scores": "scores",
    "total": "total",
    "data": "data",
    "knowledge": "knowledge",
    "scene_trajectories": "plans",
}
"""Of answers by name, and what of the statistics has the shape of it."""


def read(given: Given) -> MotionRequest:
    """
    Raises:
        InvalidInput: none or several inputs, or what belongs to another one.
    """
    there = [name for name in _FORMS if name in given.tensors]
    if not there:
        raise InvalidInput(
            f"the request holds no input; send one of {', '.join(_FORMS)}",
            code="missing",
            field="scene",
            allowed=", ".join(_FORMS),
        )
    if there[1:]:
        raise InvalidInput(
            f"the request holds {' and '.join(there)}; send one of them",
            code="two_inputs",
            field=there[1],
            allowed=", ".join(_FORMS),
        )
    return MotionRequest(_form(there[0], given), submission=_SUBMISSION in given.wanted)


def answer(answers: list[Any], wanted: frozenset[str]) -> Told:
    """All that became of a call.

    Raises:
        DemurError: see ``words.answered``.
    """
    found = words.answered(answers)
    said = list(found)
    tensors = {
        "item": np.array([one.item for one in said], np.int32),
        "scene_id": of_bytes(_scene_id(one).encode() for one in said),
        "track_id": np.array([found.asked.tracks[one.item] for one in said], np.uint64),
        **{name: array for name in _ARRAYS if (array := _stacked(name, said, found.portions)) is not None},
        **decided(found.portions, words.HEAD),
        "remarks": remarks(one.remarks for one in said),
    }
    if _SUBMISSION in wanted:
        tensors[_SUBMISSION] = of_bytes([words.submission(found)])
    told = parameters(found.portions, (words.HEAD,), found.failures)
    return Told(tensors, told | ({"scene_id": found.asked.scene_id} if found.asked.scene_id else {}))


def _form(kind: str, given: Given) -> Form:
    tracks = tuple(_track(index, int(one)) for index, one in enumerate(given.tensors.get("track_ids", ())))
    if kind == "scene":
        for name in _OF_MAPS:
            if name in given.tensors:
                raise InvalidInput(
                    f"{name} is of maps, and a scene was sent, which says it; name vehicles by track_ids",
                    code="unknown_field",
                    field=name,
                )
        return SceneForm(given.tensors["scene"][0], tracks)
    agents = _agents(given, kind, len(given.tensors[kind]), tracks)
    if kind == "maps":
        return TensorForm(np.ascontiguousarray(given.tensors["maps"], "<f4").tobytes(), agents)
    return RenderedForm(tuple(given.tensors["rendered"]), agents)


def _agents(given: Given, kind: str, count: int, tracks: tuple[int, ...]) -> tuple[Whose, ...]:
    """Whose future each map is about; none where nothing is known."""
    scenes, poses = given.tensors.get("scene_ids", ()), given.tensors.get("poses", ())
    for name, values in (("track_ids", tracks), ("scene_ids", scenes), ("poses", poses)):
        if name in given.tensors and len(values) != count:
            raise InvalidInput(
                f"{name} has {len(values)} entries and {kind} {count} maps; give one each, or none",
                code="unequal_lengths",
                field=name,
                value=str(len(values)),
                unit="maps",
                allowed=str(count),
            )
    if not (len(tracks) or len(scenes) or len(poses)):
        return ()
    return tuple(
        Whose(
            _text(index, scenes[index]) if len(scenes) else "",
            tracks[index] if tracks else 0,
            _pose(poses[index]) if len(poses) else None,
        )
        for index in range(count)
    )


def _track(index: int, number: int) -> int:
    if number < 0:
        raise InvalidInput(
            f"track_ids[{index}] is {number}; give whole numbers from 0 to 2^64 - 1",
            code="out_of_range",
            field="track_ids",
            value=str(number),
            index=index,
        )
    return number


def _pose(values: NDArray[Any]) -> Pose | None:
    x, y, yaw = values.tolist()
    return None if np.isnan(values).all() else Pose(x, y, yaw)


def _text(index: int, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"scene_ids[{index}] is no UTF-8; send UTF-8", code="not_unicode", field="scene_ids", index=index
        ) from error


def _scene_id(said: Said) -> str:
    return "" if said.subject is None else said.subject.scene_id


def _stacked(name: str, said: Sequence[Said], portions: Sequence[Portion]) -> NDArray[Any] | None:
    """An array of all answers [n, ...], NaN where one does not have it; None: it does not exist."""
    source = getattr(portions[0].predictives[words.HEAD], _ARRAYS[name])
    if source is None:
        return None
    kind = np.float64 if name == "scene_trajectories" else np.float32
    found = np.full((len(said), *source.shape[1:]), np.nan, kind)
    for row, one in enumerate(said):
        if (array := one.arrays.get(name)) is not None:
            found[row] = array
    return found

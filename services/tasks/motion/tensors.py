"""Motion over the Open Inference Protocol: a scene or feature maps in, tensors with a row per request out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import Grid
from services.runtime.errors import InvalidInput
from services.tasks.motion import presentation
from services.tasks.motion.answer import ANSWER, HEAD, SUBMISSION
from services.tasks.motion.request import (
    RENDERED,
    SCENE,
    AgentRef,
    Form,
    MotionRequest,
    Pose,
    RenderedForm,
    SceneForm,
    TensorForm,
    only_input,
)
from services.transport.binding import OipBinding, TensorInputs, TensorOutputs, TensorSpec
from services.transport.oip.answer_tensors import TensorWriter, specs
from services.transport.oip.decided import decided, parameters

_WRITE = TensorWriter(ANSWER)
_FORMS = ("scene", "maps", "rendered")
_OF_MAPS = ("scene_ids", "poses")
_FLOATS = frozenset({"FP32", "FP16", "BF16"})


def binding(grid: Grid, *, ensemble: bool) -> OipBinding:
    """Return the OIP binding of motion.

    Args:
        ensemble: whether there are several members, so that uncertainty has two parts.
    """
    inputs = (
        TensorSpec("scene", "BYTES", (1,), "", SCENE),
        TensorSpec("maps", "FP32", (-1, *grid.shape), "", "feature maps, one a request", _FLOATS - {"FP32"} | {"FP64"}),
        TensorSpec("rendered", "BYTES", (-1,), "", RENDERED),
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
    return OipBinding(
        inputs=inputs,
        outputs=tuple(specs(ANSWER, repeated=False, unit="request", has=("ensemble",) if ensemble else ())),
        read=read,
        answer=answer,
        about=lambda: {
            "inputs": "one of scene, maps, rendered",
            "scene_id": "a parameter of answers about a scene: its id",
        },
        files=True,
    )


def read(inputs: TensorInputs) -> MotionRequest:
    """Read a request from tensors.

    Raises:
        InvalidInput: none or several inputs, or tensors of another input.
    """
    kind = only_input([name for name in _FORMS if name in inputs.tensors], _FORMS)
    return MotionRequest(_form(kind, inputs), submission=SUBMISSION in inputs.output_names)


def answer(answers: list[Any], output_names: frozenset[str]) -> TensorOutputs:
    """Return the tensors of a call, a row for each decided request.

    Raises:
        DemurError: see ``presentation.answered``.
    """
    call = presentation.answered(answers)
    record: dict[str, Any] = {"answers": list(call.requests())}
    if SUBMISSION in output_names:
        record[SUBMISSION] = presentation.submission(call)
    tensors = _WRITE([record], output_names, presentation.shapes(call.portions[0]))
    outputs = parameters(call.portions, (HEAD,), call.failures)
    if call.call_data.scene_id:
        outputs |= {"scene_id": call.call_data.scene_id}
    return TensorOutputs(tensors | decided(call.portions, HEAD), outputs)


def _form(kind: str, inputs: TensorInputs) -> Form:
    tracks = tuple(_track(index, int(track_id)) for index, track_id in enumerate(inputs.tensors.get("track_ids", ())))
    if kind == "scene":
        for name in _OF_MAPS:
            if name in inputs.tensors:
                raise InvalidInput(
                    f"{name} is of maps, and a scene was sent, which says it; name vehicles by track_ids",
                    code="unknown_field",
                    field=name,
                )
        return SceneForm(inputs.tensors["scene"][0], tracks)
    agents = _agents(inputs, kind, len(inputs.tensors[kind]), tracks)
    if kind == "maps":
        return TensorForm(np.ascontiguousarray(inputs.tensors["maps"], "<f4").tobytes(), agents)
    return RenderedForm(tuple(inputs.tensors["rendered"]), agents)


def _agents(inputs: TensorInputs, kind: str, count: int, tracks: tuple[int, ...]) -> tuple[AgentRef, ...]:
    """Return the vehicle of each map; empty if none is known."""
    scenes, poses = inputs.tensors.get("scene_ids", ()), inputs.tensors.get("poses", ())
    for name, values in (("track_ids", tracks), ("scene_ids", scenes), ("poses", poses)):
        if name in inputs.tensors and len(values) != count:
            raise InvalidInput.about(
                name,
                len(values),
                f"must be {count}, one entry for each map in {kind}, or none",
                code="unequal_lengths",
                unit="maps",
                allowed=str(count),
            )
    if not (len(tracks) or len(scenes) or len(poses)):
        return ()
    return tuple(
        AgentRef(
            _text(index, scenes[index]) if len(scenes) else "",
            tracks[index] if tracks else 0,
            _pose(poses[index]) if len(poses) else None,
        )
        for index in range(count)
    )


def _track(index: int, number: int) -> int:
    if number < 0:
        raise InvalidInput.about(
            "track_ids", number, f"entry {index} must be 0 to 2^64 - 1", code="out_of_range", index=index
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

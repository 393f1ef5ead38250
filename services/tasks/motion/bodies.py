"""Motion over HTTP: JSON, or forms with files; answers as JSON, and the official submission as a file."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from services.runtime.errors import InvalidInput
from services.tasks.motion import schemas, words
from services.tasks.motion.request import (
    Form,
    MotionRequest,
    Pose,
    RenderedForm,
    SceneForm,
    TensorForm,
    Whose,
    track,
    without_tracks,
)
from services.tasks.motion.words import Said
from services.transport.binding import FormBinding, FormField, HttpBinding, Options, stricter
from services.transport.http import decoding
from services.transport.http.body import describe
from services.transport.http.integers import Integer, integer
from services.transport.http.rows import purpose
from services.transport.http.single import decided, remarked

SUBMISSION = "submission.pb"
_HEADS = (words.HEAD,)
_UNIT = "the unit of the request's measure"
_FLAGS = {"1": True, "true": True, "0": False, "false": False}
FIELDS = {
    "scene": FormField("Scene of the Shifts motion data set, protobuf or its JSON", file=True),
    "rendered": FormField("One feature map as a file {scene_id}_{track_id}.npy of the data set", file=True),
    "tensor": FormField("Feature maps [N, 17, rows, columns], float32 little-endian, row-major", file=True),
    "track_ids": FormField("Vehicles of the scene to predict, with commas between; absent: its prediction requests"),
    "scene_id": FormField("Of one map: the scene that it shows"),
    "track_id": FormField("Of one map: the vehicle that it is about"),
    "pose": FormField("Of one map: where that vehicle is now in the frame of the scene: x (m), y (m), yaw (rad)"),
    "submission": FormField("1: answer with the official submission as well; an archive always holds it"),
    "purpose": FormField("decide, explore or replay; absent: decide"),
    "defer_above": FormField("Defer above this uncertainty even where the policy would answer, unit of the measure"),
}


class PoseBody(msgspec.Struct, forbid_unknown_fields=True):
    """Where a vehicle is now."""

    x: float
    y: float
    yaw: float


class AgentBody(msgspec.Struct, forbid_unknown_fields=True):
    """Whose future a map is about."""

    scene_id: str = ""
    track_id: Integer | str = 0
    pose: PoseBody | None = None


class MotionBody(decoding.JsonBody):
    """A request as JSON; maps, and a scene that is no object, as base64."""

    EXAMPLE = '{"scene": "<the scene as base64>"}, or a form: curl -F scene=@scene.pb'

    scene: msgspec.Raw = msgspec.Raw(b"")
    tensor: bytes | None = None
    rendered: list[bytes] | None = None
    agents: list[AgentBody] = msgspec.field(default_factory=list)
    track_ids: list[Integer | str] = msgspec.field(default_factory=list)
    submission: bool = False
    purpose: str | None = None
    defer_above: float | None = None


def binding() -> HttpBinding:
    """Motion over HTTP."""
    return HttpBinding(
        read_json=read_json,
        answer_json=answer,
        request_schema=schemas.request(FIELDS),
        response_schema=schemas.response(),
        form=FormBinding(FIELDS, read_form),
        files=lambda answers: _files(answers, archived=False),
        archived=lambda answers: _files(answers, archived=True),
    )


def read_json(body: bytes) -> tuple[MotionRequest, Options]:
    """
    Raises:
        InvalidInput: not JSON of this form, none or several inputs, or an unknown purpose.
    """
    parsed = decoding.json_body(body, MotionBody)
    raw = bytes(parsed.scene)
    given = {
        "scene": None if raw in (b"", b"null") else _scene(raw),
        "tensor": parsed.tensor,
        "rendered": None if parsed.rendered is None else tuple(parsed.rendered),
    }
    agents = tuple(_whose(one) for one in parsed.agents)
    form = _form(given, tuple(_track(one, "track_ids") for one in parsed.track_ids), agents)
    return MotionRequest(form, parsed.submission), Options(
        purpose(parsed.purpose), stricter(parsed.defer_above, _HEADS)
    )


def read_form(fields: Mapping[str, bytes]) -> tuple[MotionRequest, Options]:
    """
    Raises:
        InvalidInput: none or several inputs, a text that is none, or an unknown purpose.
    """
    texts = decoding.texts(fields, FIELDS)
    rendered = fields.get("rendered")
    given = {
        "scene": fields.get("scene"),
        "tensor": fields.get("tensor"),
        "rendered": None if rendered is None else (rendered,),
    }
    tracks = tuple(track(one.strip(), "track_ids") for one in texts.get("track_ids", "").split(",") if one.strip())
    named = not texts.keys().isdisjoint(("scene_id", "track_id", "pose"))
    form = _form(given, tracks, (_named(texts),) if named else ())
    wish = decoding.number("defer_above", texts["defer_above"], _UNIT) if "defer_above" in texts else None
    request = MotionRequest(form, _flag("submission", texts.get("submission", "0")))
    return request, Options(purpose(texts.get("purpose")), stricter(wish, _HEADS))


def answer(answers: list[Any]) -> dict[str, Any]:
    """All that became of a call but its submission.

    Raises:
        DemurError: see ``words.answered``.
    """
    found = words.answered(answers)
    return {
        "model": found.model,
        "profile": found.profile,
        "purpose": found.purpose,
        "scene_id": found.asked.scene_id,
        "answers": [_answer(said) for said in found],
        "failures": [
            {"item": one.item, "track_id": found.asked.tracks[one.item], "error": describe(one.error)}
            for one in found.failures
        ],
    }


def _answer(said: Said) -> dict[str, Any]:
    told: dict[str, Any] = {"item": said.item}
    if (subject := said.subject) is not None:
        pose = subject.pose
        told |= {"scene_id": subject.scene_id, "track_id": subject.track_id}
        told |= {} if pose is None else {"pose": {"x_m": pose.x, "y_m": pose.y, "yaw_rad": pose.yaw}}
    told |= decided(said.portion, words.HEAD, said.index) | {"recorded": said.portion.recorded}
    told |= {schemas.NAMES[name]: array.tolist() for name, array in said.arrays.items()}
    if said.unseen_seconds is not None:
        told["unseen_seconds"] = said.unseen_seconds
    return told | {"remarks": [remarked(remark) for remark in said.remarks]}


def _files(answers: list[Any], *, archived: bool) -> Mapping[str, bytes]:
    """The submission where it was asked for; in an archive wherever scenes and tracks are known."""
    found = words.answered(answers)
    wanted = found.asked.submission or (archived and found.asked.named)
    return {SUBMISSION: words.submission(found)} if wanted else {}


def _form(given: Mapping[str, Any], tracks: tuple[int, ...], agents: tuple[Whose, ...]) -> Form:
    """The one input that came."""
    there = [name for name, value in given.items() if value is not None]
    if not there:
        raise InvalidInput(
            f"the request holds no input; send one of {', '.join(given)}",
            code="missing",
            field="scene",
            allowed=", ".join(given),
        )
    if len(there) > 1:
        raise InvalidInput(
            f"the request holds {' and '.join(there)}; send one of them",
            code="two_inputs",
            field=there[1],
            allowed=", ".join(given),
        )
    if there == ["scene"]:
        if agents:
            raise InvalidInput(
                "agents, scene_id, track_id and pose are of maps, and a scene was sent, which says them; name "
                "vehicles by track_ids",
                code="unknown_field",
                field="agents",
            )
        return SceneForm(given["scene"], tracks)
    if there == ["tensor"]:
        return without_tracks(TensorForm(given["tensor"], agents), tracks)
    return without_tracks(RenderedForm(given["rendered"], agents), tracks)


def _scene(raw: bytes) -> bytes:
    """The bytes of a scene: an object is protobuf JSON, a text base64."""
    if raw[:1] != b'"':
        return raw
    try:
        return base64.b64decode(msgspec.json.decode(raw, type=str), validate=True)
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        raise InvalidInput(
            f"scene is a text and no base64 ({error}); send an object of protobuf JSON, or base64 of protobuf",
            code="not_a_body",
            field="scene",
        ) from error


def _whose(body: AgentBody) -> Whose:
    pose = None if body.pose is None else Pose(body.pose.x, body.pose.y, body.pose.yaw)
    return Whose(body.scene_id, _track(body.track_id, "agents.track_id"), pose)


def _track(given: Integer | str, field: str) -> int:
    return track(given if isinstance(given, str) else integer(field, given), field)


def _named(texts: Mapping[str, str]) -> Whose:
    """Whose future the one map of a form is about."""
    pose = None
    if "pose" in texts:
        parts = texts["pose"].split(",")
        if len(parts) != 3:
            raise InvalidInput(
                f"pose = {texts['pose'][:40]!r}; three numbers are needed: x (m), y (m), yaw (rad)",
                code="not_a_number",
                field="pose",
                value=texts["pose"][:40],
            )
        x, y, yaw = (
            decoding.number("pose", part.strip(), unit) for part, unit in zip(parts, ("m", "m", "rad"), strict=True)
        )
        pose = Pose(x, y, yaw)
    return Whose(texts.get("scene_id", ""), track(texts.get("track_id", "0"), "track_id"), pose)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise InvalidInput(
            f"{name} = {text[:40]!r}; 1 or 0 is needed",
            code="not_a_number",
            field=name,
            value=text[:40],
            allowed="0, 1",
        )
    return _FLAGS[text.lower()]

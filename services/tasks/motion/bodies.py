"""Motion over HTTP: JSON, or forms with files; answers as JSON, and the official submission as a file."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from services.runtime.errors import InvalidInput
from services.tasks.motion import presentation
from services.tasks.motion.answer import ANSWER, HEAD
from services.tasks.motion.inputs import MOST_REQUESTS
from services.tasks.motion.request import (
    MOST_TRACK,
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
    track,
    without_tracks,
)
from services.transport.binding import FormBinding, FormField, HttpBinding, Options
from services.transport.http import decoding
from services.transport.http.answer_json import schema, writer
from services.transport.http.components import Json
from services.transport.http.decoding import Integer, integer
from services.transport.http.predict_body import OPTION_FIELDS, PredictBody, form_options
from services.transport.http.struct_schema import documented, struct_schema, variants

SUBMISSION = "submission.pb"
_WRITE = writer(ANSWER)
_FLAGS = {"1": True, "true": True, "0": False, "false": False}
FIELDS = {
    "scene": FormField(SCENE, file=True),
    "rendered": FormField("One feature map as a file {scene_id}_{track_id}.npy of the data set", file=True),
    "tensor": FormField("Feature maps [N, 17, rows, columns], float32 little-endian, row-major", file=True),
    "track_ids": FormField("Vehicles of the scene to predict, with commas between; absent: its prediction requests"),
    "scene_id": FormField("Of one map: the scene that it shows"),
    "track_id": FormField("Of one map: the vehicle that it is about"),
    "pose": FormField("Of one map: where that vehicle is now in the frame of the scene: x (m), y (m), yaw (rad)"),
    "submission": FormField("1: answer with the official submission as well; an archive always holds it"),
    **OPTION_FIELDS,
}


_FILE: Json = {"type": "string", "contentEncoding": "base64"}
_TRACK: Json = {
    "title": "TrackId",
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST_TRACK}, {"type": "string", "pattern": "^[0-9]{1,20}$"}],
    "description": "Id of a track, 0 to 2^64 - 1; the official JSON has texts.",
}
_SCENE: Json = {
    "description": f"{SCENE}: an object of protobuf JSON, or base64 of the protobuf.",
    "oneOf": [{"type": "object", "additionalProperties": True}, _FILE],
}
_RENDERED: Json = {
    "type": "array",
    "items": _FILE,
    "minItems": 1,
    "maxItems": MOST_REQUESTS,
    "description": f"{RENDERED}: zlib-compressed NPY, float32 [17, rows, columns].",
}
_TRACKS: Json = {
    "type": "array",
    "items": _TRACK,
    "maxItems": MOST_REQUESTS,
    "description": "Vehicles of the scene to predict; absent or empty: those of its prediction requests.",
}


class PoseBody(msgspec.Struct, forbid_unknown_fields=True):
    """Pose of a vehicle now, in the frame of the scene."""

    x: Annotated[float, msgspec.Meta(description="m.")]
    y: Annotated[float, msgspec.Meta(description="m.")]
    yaw: Annotated[float, msgspec.Meta(description="Direction of driving, rad.")]


_POSE: Json = {
    "title": "Pose",
    "type": "object",
    "required": ["x", "y", "yaw"],
    "properties": struct_schema(PoseBody)["properties"],
    "description": "Now, in the frame of the scene; needed for trajectories in it.",
}


class AgentBody(msgspec.Struct, forbid_unknown_fields=True):
    """Vehicle of a map."""

    scene_id: str = ""
    track_id: Annotated[Integer | str, documented(_TRACK)] = 0
    pose: Annotated[PoseBody | None, documented(_POSE)] = None


class MotionBody(PredictBody):
    """Motion request as JSON; maps, and a scene that is not an object, as base64."""

    EXAMPLE = '{"scene": "<the scene as base64>"}, or a form: curl -F scene=@scene.pb'

    scene: Annotated[msgspec.Raw, documented(_SCENE)] = msgspec.field(default_factory=msgspec.Raw)
    tensor: Annotated[bytes | None, documented(_FILE | {"description": FIELDS["tensor"].description})] = None
    rendered: Annotated[list[bytes] | None, documented(_RENDERED)] = None
    agents: Annotated[
        list[Annotated[AgentBody, msgspec.Meta(title="Agent")]],
        msgspec.Meta(description="Of each map; absent: nothing is known of them."),
    ] = msgspec.field(default_factory=list)
    track_ids: Annotated[list[Integer | str], documented(_TRACKS)] = msgspec.field(default_factory=list)
    submission: Annotated[
        bool, msgspec.Meta(description="Answer with the official submission, too. Absent: false.")
    ] = False


_VARIANTS = {
    "SceneRequest": ("scene", "track_ids"),
    "TensorRequest": ("tensor", "agents"),
    "RenderedRequest": ("rendered", "agents"),
}


def binding() -> HttpBinding:
    """Return the HTTP binding of motion."""
    return HttpBinding(
        read_json=read_json,
        answer_json=answer,
        request_schema=variants(MotionBody, _VARIANTS),
        response_schema=schema(ANSWER, unit="request"),
        form=FormBinding(FIELDS, read_form),
        files=lambda answers: _files(answers, archived=False),
        archived=lambda answers: _files(answers, archived=True),
    )


def read_json(body: bytes) -> tuple[MotionRequest, Options]:
    """Read a request from JSON.

    Raises:
        InvalidInput: not JSON of this form, none or several inputs, or an unknown purpose.
    """
    parsed = decoding.json_body(body, MotionBody)
    raw = bytes(parsed.scene)
    inputs = {
        "scene": None if raw in (b"", b"null") else _scene(raw),
        "tensor": parsed.tensor,
        "rendered": None if parsed.rendered is None else tuple(parsed.rendered),
    }
    agents = tuple(_agent_of_body(agent) for agent in parsed.agents)
    form = _form(inputs, tuple(_track(value, "track_ids") for value in parsed.track_ids), agents)
    return MotionRequest(form, parsed.submission), parsed.options(HEAD)


def read_form(fields: Mapping[str, bytes]) -> tuple[MotionRequest, Options]:
    """Read a request from a form.

    Raises:
        InvalidInput: none or several inputs, a text that is not UTF-8, or an unknown purpose.
    """
    texts = decoding.texts(fields, FIELDS)
    rendered = fields.get("rendered")
    inputs = {
        "scene": fields.get("scene"),
        "tensor": fields.get("tensor"),
        "rendered": None if rendered is None else (rendered,),
    }
    tracks = tuple(track(part.strip(), "track_ids") for part in texts.get("track_ids", "").split(",") if part.strip())
    named = not texts.keys().isdisjoint(("scene_id", "track_id", "pose"))
    form = _form(inputs, tracks, (_agent_of_form(texts),) if named else ())
    return MotionRequest(form, _flag("submission", texts.get("submission", "0"))), form_options(texts, HEAD)


def answer(answers: list[Any]) -> dict[str, Any]:
    """Return the JSON of a call, without its submission.

    Raises:
        DemurError: see ``presentation.answered``.
    """
    return _WRITE(presentation.answered(answers).record())


def _files(answers: list[Any], *, archived: bool) -> Mapping[str, bytes]:
    """Return the submission if the request asks for it; in an archive, always if scenes and tracks are known."""
    call = presentation.answered(answers)
    with_submission = call.call_data.submission or (archived and call.call_data.named)
    return {SUBMISSION: presentation.submission(call)} if with_submission else {}


def _form(inputs: Mapping[str, Any], tracks: tuple[int, ...], agents: tuple[AgentRef, ...]) -> Form:
    """Return the one input of a request."""
    kind = only_input([name for name, value in inputs.items() if value is not None], inputs)
    if kind == "scene":
        if agents:
            raise InvalidInput(
                "agents, scene_id, track_id and pose are of maps, and a scene was sent, which says them; name "
                "vehicles by track_ids",
                code="unknown_field",
                field="agents",
            )
        return SceneForm(inputs["scene"], tracks)
    if kind == "tensor":
        return without_tracks(TensorForm(inputs["tensor"], agents), tracks)
    return without_tracks(RenderedForm(inputs["rendered"], agents), tracks)


def _scene(raw: bytes) -> bytes:
    """Return the bytes of a scene: an object is protobuf JSON, a text is base64."""
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


def _agent_of_body(body: AgentBody) -> AgentRef:
    pose = None if body.pose is None else Pose(body.pose.x, body.pose.y, body.pose.yaw)
    return AgentRef(body.scene_id, _track(body.track_id, "agents.track_id"), pose)


def _track(number: Integer | str, field: str) -> int:
    return track(number if isinstance(number, str) else integer(field, number), field)


def _agent_of_form(texts: Mapping[str, str]) -> AgentRef:
    """Return the vehicle of the one map of a form."""
    pose = None
    if "pose" in texts:
        parts = texts["pose"].split(",")
        if len(parts) != 3:
            raise InvalidInput.about(
                "pose", texts["pose"][:40], "must be three numbers: x (m), y (m), yaw (rad)", code="not_a_number"
            )
        x, y, yaw = (
            decoding.number("pose", part.strip(), unit) for part, unit in zip(parts, ("m", "m", "rad"), strict=True)
        )
        pose = Pose(x, y, yaw)
    return AgentRef(texts.get("scene_id", ""), track(texts.get("track_id", "0"), "track_id"), pose)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise InvalidInput.about(name, text[:40], code="not_a_number", allowed="0, 1")
    return _FLAGS[text.lower()]

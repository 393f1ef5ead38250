"""JSON Schemas of motion's bodies, with units and frames."""

from __future__ import annotations

from collections.abc import Mapping

from services.tasks.motion.inputs import MOST_REQUESTS
from services.tasks.motion.request import MOST_TRACK
from services.transport.binding import FormField
from services.transport.http.components import (
    COUNT,
    NUMBER_OR_NULL,
    PURPOSE,
    PURPOSE_OR_NULL,
    Json,
    one_of,
    ref,
)
from services.transport.http.single import decided_schema, record, remark_schema, told

NAMES = {
    "trajectories": "trajectories_m",
    "scene_trajectories": "scene_trajectories_m",
    "confidences": "confidences",
    "scores": "scores_nats",
    "total": "total_m2",
    "data": "data_m2",
    "knowledge": "knowledge_m2",
}
"""Array of an answer to its name in JSON, with its unit."""

_TRACK: Json = {
    "title": "TrackId",
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST_TRACK}, {"type": "string", "pattern": "^[0-9]{1,20}$"}],
    "description": "Id of a track, 0 to 2^64 - 1; the official JSON has texts.",
}
_NUMBERS: Json = {"type": "array", "items": NUMBER_OR_NULL}
_POSITION: Json = {"type": "array", "minItems": 2, "maxItems": 2, "items": NUMBER_OR_NULL}
_PATHS: Json = {"type": "array", "items": {"type": "array", "items": _POSITION}}
_STEPS = "at 25 steps of 0.2 s, the first 0.2 s from now"


def request(fields: Mapping[str, FormField]) -> Json:
    """One scene, or maps."""
    file: Json = {"type": "string", "contentEncoding": "base64"}
    pose = record({"x": told("m."), "y": told("m."), "yaw": told("Direction of driving, rad.")}, title="Pose")
    agent: Json = {
        "title": "Agent",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "scene_id": {"type": "string"},
            "track_id": _TRACK,
            "pose": pose | {"description": "Now, in the frame of the scene; needed for trajectories in it."},
        },
    }
    texts = {name: field.description for name, field in fields.items()}
    scene: Json = {
        "description": f"{texts['scene']}: an object of protobuf JSON, or base64 of the protobuf.",
        "oneOf": [{"type": "object", "additionalProperties": True}, file],
    }
    tracks: Json = {
        "type": "array",
        "items": _TRACK,
        "maxItems": MOST_REQUESTS,
        "description": "Vehicles of the scene to predict; absent or empty: those of its prediction requests.",
    }
    rendered: Json = {
        "type": "array",
        "items": file,
        "minItems": 1,
        "maxItems": MOST_REQUESTS,
        "description": "Feature maps as files {scene_id}_{track_id}.npy of the data set: zlib-compressed NPY, "
        "float32 [17, rows, columns].",
    }
    agents: Json = {
        "type": "array",
        "items": agent,
        "description": "Of each map; absent: nothing is known of them.",
    }
    options: Json = {
        "submission": {"type": "boolean", "description": "Answer with the official submission, too. Absent: false."},
        "purpose": PURPOSE_OR_NULL,
        "defer_above": NUMBER_OR_NULL | {"description": f"{texts['defer_above']}."},
    }
    return one_of(
        {
            "SceneRequest": {"scene": scene, "track_ids": tracks} | options,
            "TensorRequest": {"tensor": file | {"description": f"{texts['tensor']}."}, "agents": agents} | options,
            "RenderedRequest": {"rendered": rendered, "agents": agents} | options,
        }
    )


def response() -> Json:
    """Answers and failures of one call."""
    failure = record(
        {
            "item": COUNT | {"description": "Index of the request."},
            "track_id": COUNT | {"description": "Of the request; 0 where it is not known."},
            "error": ref("ErrorDetail"),
        },
        title="Failure",
    )
    return record(
        {
            "model": told("Served artefact.", "string"),
            "profile": told("Numeric profile that computed the scores.", "string"),
            "purpose": PURPOSE,
            "scene_id": told("Of a scene; empty for maps.", "string"),
            "answers": {"type": "array", "items": _answer(), "description": "In the order of the requests."},
            "failures": {
                "type": "array",
                "items": failure,
                "description": "Requests that could not be predicted, while others could.",
            },
        }
    )


def _answer() -> Json:
    found = record(
        {
            "item": COUNT | {"description": "Index of the request."},
            **decided_schema("request"),
            "recorded": told("Whether the decision is durable in the ledger.", "boolean"),
            "remarks": {"type": "array", "items": remark_schema("speed_high, vehicles_high, left_out")},
        },
        title="AgentAnswer",
    )
    pose = record(
        {"x_m": told("m."), "y_m": told("m."), "yaw_rad": told("Direction of driving, rad.")}, title="AnsweredPose"
    )
    found["properties"] |= {
        "scene_id": told("Absent where it is not known.", "string"),
        "track_id": COUNT | {"description": "Absent where it is not known."},
        "pose": pose | {"description": "Of the vehicle now, in the frame of the scene; absent where it is not known."},
        "trajectories_m": _PATHS
        | {
            "description": f"Five trajectories [x, y], m, {_STEPS}, in the frame of the agent: origin where it is now, "
            "x forward, y left; the most confident first. float32. Absent where the policy withholds the "
            "prediction, as all below."
        },
        "confidences": _NUMBERS | {"description": "Of the trajectories; sum to one. float32."},
        "scores_nats": _NUMBERS | {"description": "What confidences are the softmax of, nats. float32."},
        "total_m2": _NUMBERS
        | {"description": f"Variance of the position over all samples, both axes together, m², {_STEPS}. float32."},
        "data_m2": _NUMBERS
        | {"description": "Mean variance of one member's samples, m²; absent for single models. float32."},
        "knowledge_m2": _NUMBERS
        | {"description": "Variance of the members' means, m²; absent for single models. float32."},
        "scene_trajectories_m": _PATHS
        | {"description": "The trajectories in the frame of the scene, m; absent without a pose. float64."},
        "unseen_seconds": told(
            "How long ago the vehicle was last seen, s; it was moved on at its velocity. Absent: it is seen now."
        ),
    }
    return found

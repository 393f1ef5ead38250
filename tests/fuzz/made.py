"""Valid inputs to begin with, small and made up: scenes, maps, scans, texts."""

import base64
import struct
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import json_format

from models.imaging import nifti
from models.tasks.motion.inference import maps
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.protocol.motion_pb2 import Scene
from tests.models.motion import towns

TEXTS = [
    b"The dog sees a house today. She likes the moon (77).\n\n- My brother finds a book at night!",
    "“Hello,” said Mr. Smith… 1.5 km; http://a.b/c?d=e — <b>code()</b>\t😀 it's 5:30 p.m.".encode(),
    b"He paid $1,000.50 (approx. 3%) to J. R. R. at 10:00; see Fig. 3, e.g. a@b.c\r\n2) Item two.",
]


def joined(parts: list[bytes]) -> bytes:
    """Parts with their lengths, as one case."""
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def parts(case: bytes) -> list[bytes]:
    """The inverse; of any bytes."""
    pieces, at = [], 0
    while at + 4 <= len(case):
        (size,) = struct.unpack_from("<I", case, at)
        pieces.append(case[at + 4 : at + 4 + size])
        at += 4 + size
    return pieces or [case]


@cache
def scene() -> Scene:
    """A small town."""
    message = towns.town(3, lanes=2, cars=2, walkers=1, points=3)
    for steps in (
        message.past_vehicle_tracks,
        message.past_pedestrian_tracks,
        message.past_ego_track,
        message.traffic_lights,
    ):
        del steps[: len(steps) - 3]
    return message


@cache
def grid() -> Grid:
    """Of the reference artefact's maps."""
    from tests.fuzz.tenants import tenant

    task: Any = tenant("motion").pipeline.task
    return task._recipe.grid


@cache
def feature_map() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Mostly empty, as maps are."""
    values = np.zeros(grid().shape, np.float32)
    values[:, 10:14, 20:30] = 1.5
    return values


@cache
def rendered() -> bytes:
    """A map as the files of the data set have it."""
    return maps.encode_rendered(feature_map())


@cache
def scan(mask: bool = False) -> bytes:
    """A head of a few voxels, gzipped."""
    shape = (10, 11, 12)
    inside = np.zeros(shape, bool)
    inside[2:8, 2:8, 2:9] = True
    values = inside if mask else np.where(inside, np.arange(inside.size).reshape(shape) % 97 + 30, 0).astype(np.int16)
    return nifti.write(values, np.diag([5.0, 5.0, 5.0, 1.0]))


def motion_fields() -> list[dict[str, Any]]:
    """Fields of the message of a request."""
    agents = [{"scene_id": "a", "track_id": 5, "pose": {"x": 1.0, "y": 2.0, "yaw": 0.5}}]
    return [
        {"scene": scene().SerializeToString(), "track_ids": [1, 2], "submission": True, "purpose": 1},
        {"rendered": {"files": [rendered()], "agents": agents}, "defer_above": 2.0},
    ]


def bodies(task: str) -> list[dict[str, Any]]:
    """JSON bodies of the tasks that are not of rows."""
    if task == "motion":
        agents = [{"scene_id": "a", "track_id": "5", "pose": {"x": 1.0, "y": 2.0, "yaw": 0.5}}]
        document = json_format.MessageToDict(scene(), preserving_proto_field_name=True)
        return [
            {"scene": document, "track_ids": [1, "2"], "submission": True, "purpose": "decide", "defer_above": 3.5},
            {"scene": _base64(scene().SerializeToString())},
            {"rendered": [_base64(rendered())], "agents": agents},
            {"tensor": _base64(bytes(16)), "agents": agents},
        ]
    if task == "lesion":
        return [
            {"flair": _base64(scan()), "maps": ["mask"], "purpose": "replay", "defer_above": 0.5, "name": "a"},
            {"flair": _base64(scan()), "t1": "", "brain_mask": _base64(scan(mask=True)), "maps": []},
        ]
    return [
        {"text": TEXTS[0].decode(), "tokens": "all", "purpose": "explore", "defer_above": 0.5},
        {"texts": [text.decode() for text in TEXTS]},
    ]


def forms(task: str) -> list[dict[str, bytes | str]]:
    """Forms; bytes are files."""
    if task == "motion":
        return [
            {"scene": scene().SerializeToString(), "track_ids": "1, 2", "submission": "1", "purpose": "explore"},
            {"rendered": rendered(), "scene_id": "a", "track_id": "5", "pose": "1,2,0.5", "defer_above": "1e3"},
        ]
    return [
        {"flair": scan(), "maps": "mask,probability", "purpose": "decide", "defer_above": "0.5", "name": "a"},
        {"flair": scan(), "brain_mask": scan(mask=True)},
    ]


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()

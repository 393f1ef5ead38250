"""Scenes and feature maps as they are given, and as the messages that carry them."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from demur import _files
from demur._errors import InvalidInput, TooLarge, wrong_argument
from demur._exchange import CHUNK_BYTES
from demur._motion_frame import Agent
from demur._numbers import FLOAT32, numbers
from demur.v1 import motion_pb2 as wire

CHUNK_MAPS = 64
"""Feature maps of one message at most; more go in several."""
_NAMED = re.compile(r"(?P<scene>.+)_(?P<track>\d+)\.npy", re.DOTALL)
_LARGEST_ID = 2**64


class Message(Protocol):
    """A protobuf message, such as a ``Scene`` of the released classes."""

    def SerializeToString(self) -> bytes:
        """The content of its file."""
        ...


SceneFile: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | Message
"""A scene in the official protobuf or its JSON: where its file lies, what is in it, or the message."""
MapFile: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview
"""An official prerendered map: where its file lies, or what is in it."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene, and of which vehicles the future is asked for."""

    scene: SceneFile
    track_ids: Sequence[int] | None = None
    """None: those of its prediction requests."""


@dataclass(frozen=True, slots=True)
class Maps:
    """Feature maps of vehicles, in the released layout."""

    maps: ArrayLike | Sequence[MapFile]
    """Numbers [N, 17, y, x] or [17, y, x], or official prerendered files."""
    agents: Sequence[Agent] = ()
    """Whose each map is. None given: what the files' names ``{scene_id}_{track_id}.npy`` say."""


Asked: TypeAlias = Scene | Maps | SceneFile | ArrayLike | Sequence[MapFile]
"""A scene, or feature maps: an array, files in a list, or one file by a path that ends in ``.npy``."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a question that goes in one message."""

    first: int
    """Index of its first request."""
    message: Callable[[], wire.MotionPredictRequest]


def whole(asked: Asked, track_ids: Sequence[int] | None, agents: Sequence[Agent]) -> Scene | Maps:
    """A question and what was said beside it as one.

    Raises:
        InvalidInput: tracks of maps, agents of scenes, or either beside what says them itself.
    """
    found = _told_apart(asked)
    if track_ids is not None:
        if not isinstance(found, Scene) or found.track_ids is not None:
            raise wrong_argument("track_ids", track_ids, "for a scene that does not name them itself; maps have agents")
        return Scene(found.scene, track_ids)
    if len(agents):
        if not isinstance(found, Maps) or len(found.agents):
            raise wrong_argument("agents", agents, "for maps that do not name them themselves; scenes have track_ids")
        return Maps(found.maps, agents)
    return found


def read(asked: Asked) -> list[Piece]:
    """The messages of a question, files read; at least one.

    Raises:
        InvalidInput: it is none, or a file cannot be read.
        TooLarge: a scene or map is beyond a message.
    """
    found = _told_apart(asked)
    if isinstance(found, Scene):
        content = _scene(found.scene)
        tracks = _tracks(found.track_ids)
        return [Piece(0, lambda: wire.MotionPredictRequest(scene=content, track_ids=tracks))]
    files = _listed(found.maps)
    pieces = _tensors(found.maps, found.agents) if files is None else _rendered(files, found.agents)
    return list(pieces)


def opened(asked: Asked) -> list[Piece] | InvalidInput | TooLarge:
    """The messages of a question, or why there are none."""
    try:
        return read(asked)
    except (InvalidInput, TooLarge) as error:
        return error


def _told_apart(asked: Asked) -> Scene | Maps:
    if isinstance(asked, (Scene, Maps)):
        return asked
    if isinstance(asked, (str, os.PathLike)):
        return Maps([asked]) if Path(asked).suffix == ".npy" else Scene(asked)
    if isinstance(asked, (bytes, bytearray, memoryview)):
        return Scene(asked)
    if callable(getattr(asked, "SerializeToString", None)):
        return Scene(asked)  # type: ignore[arg-type]
    if asked is None or isinstance(asked, (bool, int, float, Mapping)):
        raise wrong_argument("scene", asked, _ALLOWED)
    return Maps(asked)  # type: ignore[arg-type]


def _scene(scene: SceneFile) -> bytes:
    if isinstance(scene, (bytes, bytearray, memoryview)):
        content = bytes(scene)
    elif isinstance(scene, (str, os.PathLike)):
        content = _files.content(scene, "scene")
    elif callable(write := getattr(scene, "SerializeToString", None)):
        content = write()
    else:
        raise wrong_argument("scene", scene, _ALLOWED)
    if not content:
        raise InvalidInput(f"scene is empty; needed: {_ALLOWED}", code="empty", field="scene", allowed=_ALLOWED)
    _check_size("scene", content)
    return content


def _tracks(track_ids: Sequence[int] | None) -> tuple[int, ...]:
    allowed = "one or more whole numbers from 0; None for the scene's prediction requests"
    if track_ids is None:
        return ()
    try:
        found = tuple(operator.index(one) for one in track_ids)
    except TypeError:
        raise wrong_argument("track_ids", track_ids, allowed) from None
    if not found or not all(0 <= one < _LARGEST_ID for one in found):
        raise wrong_argument("track_ids", track_ids, allowed)
    return found


def _listed(maps: Any) -> list[MapFile] | None:
    """The files of a sequence of files; None of numbers."""
    file = (str, os.PathLike, bytes, bytearray, memoryview)
    if isinstance(maps, (str, os.PathLike)):
        return [maps]
    if isinstance(maps, (list, tuple)) and maps and all(isinstance(one, file) for one in maps):
        return list(maps)
    return None


def _tensors(maps: Any, agents: Sequence[Agent]) -> Iterator[Piece]:
    values = np.ascontiguousarray(numbers(maps, "maps"), FLOAT32)
    values = values[None] if values.ndim == 3 else values
    if values.ndim != 4 or not values.size:
        raise wrong_argument("maps", f"an array {list(values.shape)}", "numbers [N, 17, y, x], or official .npy files")
    _check_count(agents, len(values))
    _check_size("maps[0]", values[0])
    step = min(CHUNK_BYTES // values[0].nbytes, CHUNK_MAPS)
    for start in range(0, len(values), step):
        yield Piece(start, partial(_tensor, values[start : start + step], agents[start : start + step]))


def _tensor(values: Any, agents: Sequence[Agent]) -> wire.MotionPredictRequest:
    tensor = wire.MotionTensor(values=values.tobytes(), agents=map(_agent, agents))
    return wire.MotionPredictRequest(tensor=tensor)


def _rendered(files: list[MapFile], agents: Sequence[Agent]) -> Iterator[Piece]:
    _check_count(agents, len(files))
    whose = agents or [_named(file) for file in files]
    start, size = 0, 0
    contents: list[bytes] = []
    for number, file in enumerate(files):
        field = f"maps[{number}]"
        content = _files.content(file, field) if isinstance(file, (str, os.PathLike)) else bytes(file)
        _check_size(field, content)
        if len(contents) == CHUNK_MAPS or (contents and size + len(content) > CHUNK_BYTES):
            yield Piece(start, partial(_files_message, contents, whose[start:number]))
            start, size, contents = number, 0, []
        contents.append(content)
        size += len(content)
    yield Piece(start, partial(_files_message, contents, whose[start:]))


def _files_message(contents: list[bytes], agents: Sequence[Agent]) -> wire.MotionPredictRequest:
    rendered = wire.MotionRendered(files=contents, agents=map(_agent, agents))
    return wire.MotionPredictRequest(rendered=rendered)


def _named(file: MapFile) -> Agent:
    """Whose map it is by the official name of its file, if it has one."""
    found = _NAMED.fullmatch(Path(file).name) if isinstance(file, (str, os.PathLike)) else None
    if found is None or int(found["track"]) >= _LARGEST_ID:
        return Agent()
    return Agent(found["scene"], int(found["track"]))


def _agent(agent: Agent) -> wire.MotionAgent:
    pose = agent.pose
    placed = None if pose is None else wire.MotionPose(x=pose.x, y=pose.y, yaw=pose.yaw)
    return wire.MotionAgent(scene_id=agent.scene_id, track_id=agent.track_id, pose=placed)


def _check_count(agents: Sequence[Agent], maps: int) -> None:
    if len(agents) not in (0, maps):
        raise wrong_argument("agents", f"{len(agents)} of them", f"{maps}, one for each map, or none")


def _check_size(field: str, content: Any) -> None:
    size = memoryview(content).nbytes
    if size > CHUNK_BYTES:
        raise TooLarge(
            f"{field} has {size / 2**20:.1f} MB; one message holds {CHUNK_BYTES / 2**20:.1f} MB", code="body_too_large"
        )


_ALLOWED = "a scene (its path, bytes or protobuf message) or feature maps (an array [N, 17, y, x], or .npy files)"

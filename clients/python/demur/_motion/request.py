"""Requests about the motion of vehicles: scenes and feature maps, and the messages that carry them."""

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

from demur._errors import DemurError, InvalidInput, TooLarge, wrong_argument
from demur._exchange import CHUNK_BYTES, Part
from demur._files import content, required_content
from demur._messages import FLOAT32
from demur._motion.answer import MotionAnswers, decode, joined
from demur._motion.frame import Agent
from demur._numbers import numbers
from demur._options import Purpose, RequestOptions
from demur.v1 import motion_pb2 as wire

CHUNK_MAPS = 64
"""Largest number of feature maps in one message; more are sent in several."""
_FILE_NAME = re.compile(r"(?P<scene>.+)_(?P<track>\d+)\.npy", re.DOTALL)
"""Official name of a file with a map."""
_LARGEST_ID = 2**64
_ALLOWED = "a scene (its path, bytes or protobuf message) or feature maps (an array [N, 17, y, x], or .npy files)"


class Message(Protocol):
    """A protobuf message, such as a ``Scene`` of the released classes."""

    def SerializeToString(self) -> bytes:
        """Return the content of its file."""
        ...


SceneFile: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | Message
"""A scene in the official protobuf or its JSON: the path of its file, its content, or the message."""
MapFile: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview
"""An official prerendered map: the path of its file, or its content."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene, and the vehicles to predict."""

    scene: SceneFile
    track_ids: Sequence[int] | None = None
    """None: those of its prediction requests."""


@dataclass(frozen=True, slots=True)
class Maps:
    """Feature maps of vehicles, in the released layout."""

    maps: ArrayLike | Sequence[MapFile]
    """Numbers [N, 17, y, x] or [17, y, x], or official prerendered files."""
    agents: Sequence[Agent] = ()
    """The agent of each map; empty: taken from the files' names ``{scene_id}_{track_id}.npy``."""


MotionInput: TypeAlias = Scene | Maps | SceneFile | ArrayLike | Sequence[MapFile]
"""A scene, or feature maps: an array, files in a list, or a single file by a path that ends in ``.npy``."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a request that is sent in one message."""

    first: int
    """Index of its first prediction request."""
    message: Callable[[], wire.MotionPredictRequest]


def with_agents(source: MotionInput, track_ids: Sequence[int] | None, agents: Sequence[Agent]) -> Scene | Maps:
    """Return a scene with its tracks, or maps with their agents.

    Raises:
        InvalidInput: tracks for maps, agents for scenes, or either for a source that names them already.
    """
    scene_or_maps = _scene_or_maps(source)
    if track_ids is not None:
        if not isinstance(scene_or_maps, Scene) or scene_or_maps.track_ids is not None:
            raise wrong_argument("track_ids", track_ids, "for a scene that does not name them itself; maps have agents")
        return Scene(scene_or_maps.scene, track_ids)
    if len(agents):
        if not isinstance(scene_or_maps, Maps) or len(scene_or_maps.agents):
            raise wrong_argument("agents", agents, "for maps that do not name them themselves; scenes have track_ids")
        return Maps(scene_or_maps.maps, agents)
    return scene_or_maps


def read(source: MotionInput) -> list[Piece]:
    """Return the messages of a request, files read; at least one.

    Raises:
        InvalidInput: the source is neither a scene nor maps, or a file cannot be read.
        TooLarge: a scene or map is beyond a message.
    """
    scene_or_maps = _scene_or_maps(source)
    if isinstance(scene_or_maps, Scene):
        scene = required_content(scene_or_maps.scene, "scene", _ALLOWED, "SerializeToString")
        _check_size("scene", scene)
        tracks = _tracks(scene_or_maps.track_ids)
        return [Piece(0, lambda: wire.MotionPredictRequest(scene=scene, track_ids=tracks))]
    files = _map_files(scene_or_maps.maps)
    if files is None:
        return list(_array_pieces(scene_or_maps.maps, scene_or_maps.agents))
    return list(_file_pieces(files, scene_or_maps.agents))


def read_or_error(source: MotionInput) -> list[Piece] | InvalidInput | TooLarge:
    """Return the messages of a request; the error instead of raising it."""
    try:
        return read(source)
    except (InvalidInput, TooLarge) as error:
        return error


class MotionChunks:
    """Requests about motion as the chunks of a stream, or as one unary message.

    Raises:
        InvalidInput: an option has a value that is not allowed.
    """

    def __init__(self, purpose: Purpose, defer_above: float | None, submission: bool) -> None:
        self._options = RequestOptions.of_one_head(purpose, defer_above)
        self._submission = submission
        self.begin = wire.MotionStreamRequest(begin=self._options.begin())
        """The first frame to send."""

    def unary(self, piece: Piece) -> wire.MotionPredictRequest:
        """Return a whole request in one message."""
        request = self._message(piece)
        request.MergeFrom(wire.MotionPredictRequest(**self._options.fields()))
        return request

    def cut(self, request: list[Piece] | InvalidInput | TooLarge) -> list[Part[MotionAnswers]]:
        """Return the chunks of a request that was read.

        Raises:
            InvalidInput, TooLarge: it could not be read.
        """
        if isinstance(request, DemurError):
            raise request
        return [Part(piece.first, partial(self._frame, piece), partial(decode, first=piece.first)) for piece in request]

    def join(self, parts: Sequence[MotionAnswers]) -> MotionAnswers:
        """Join the answers to the chunks of a request."""
        return joined(parts)

    def failed(self, error: DemurError) -> None:
        """Ignore the error of a request."""

    def _frame(self, piece: Piece, sequence: int) -> wire.MotionStreamRequest:
        return wire.MotionStreamRequest(chunk=wire.MotionChunk(sequence=sequence, request=self._message(piece)))

    def _message(self, piece: Piece) -> wire.MotionPredictRequest:
        request = piece.message()
        request.submission = self._submission
        return request


def _scene_or_maps(source: MotionInput) -> Scene | Maps:
    if isinstance(source, (Scene, Maps)):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Maps([source]) if Path(source).suffix == ".npy" else Scene(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Scene(source)
    if callable(getattr(source, "SerializeToString", None)):
        return Scene(source)  # type: ignore[arg-type]
    if source is None or isinstance(source, (bool, int, float, Mapping)):
        raise wrong_argument("scene", source, _ALLOWED)
    return Maps(source)  # type: ignore[arg-type]


def _tracks(track_ids: Sequence[int] | None) -> tuple[int, ...]:
    allowed = "one or more whole numbers from 0; None for the scene's prediction requests"
    if track_ids is None:
        return ()
    try:
        tracks = tuple(operator.index(track) for track in track_ids)
    except TypeError:
        raise wrong_argument("track_ids", track_ids, allowed) from None
    if not tracks or not all(0 <= track < _LARGEST_ID for track in tracks):
        raise wrong_argument("track_ids", track_ids, allowed)
    return tracks


def _map_files(maps: Any) -> list[MapFile] | None:
    """Return the files of a sequence of files; None for numbers."""
    if isinstance(maps, (str, os.PathLike)):
        return [maps]
    file = (str, os.PathLike, bytes, bytearray, memoryview)
    if isinstance(maps, (list, tuple)) and maps and all(isinstance(item, file) for item in maps):
        return list(maps)
    return None


def _array_pieces(maps: Any, agents: Sequence[Agent]) -> Iterator[Piece]:
    values = np.ascontiguousarray(numbers(maps, "maps"), FLOAT32)
    values = values[None] if values.ndim == 3 else values
    if values.ndim != 4 or not values.size:
        raise wrong_argument("maps", f"an array {list(values.shape)}", "numbers [N, 17, y, x], or official .npy files")
    _check_count(agents, len(values))
    _check_size("maps[0]", values[0])
    step = min(CHUNK_BYTES // values[0].nbytes, CHUNK_MAPS)
    for start in range(0, len(values), step):
        yield Piece(start, partial(_array_message, values[start : start + step], agents[start : start + step]))


def _array_message(values: Any, agents: Sequence[Agent]) -> wire.MotionPredictRequest:
    tensor = wire.MotionTensor(values=values.tobytes(), agents=map(_agent_message, agents))
    return wire.MotionPredictRequest(tensor=tensor)


def _file_pieces(files: list[MapFile], agents: Sequence[Agent]) -> Iterator[Piece]:
    _check_count(agents, len(files))
    agents = agents or [_agent_of_file(file) for file in files]
    start, size = 0, 0
    contents: list[bytes] = []
    for number, file in enumerate(files):
        field = f"maps[{number}]"
        rendered = content(file, field) or b""
        _check_size(field, rendered)
        if len(contents) == CHUNK_MAPS or (contents and size + len(rendered) > CHUNK_BYTES):
            yield Piece(start, partial(_file_message, contents, agents[start:number]))
            start, size, contents = number, 0, []
        contents.append(rendered)
        size += len(rendered)
    yield Piece(start, partial(_file_message, contents, agents[start:]))


def _file_message(contents: list[bytes], agents: Sequence[Agent]) -> wire.MotionPredictRequest:
    rendered = wire.MotionRendered(files=contents, agents=map(_agent_message, agents))
    return wire.MotionPredictRequest(rendered=rendered)


def _agent_of_file(file: MapFile) -> Agent:
    """Return the agent in the official name of a map's file; an unknown one for other names."""
    match = _FILE_NAME.fullmatch(Path(file).name) if isinstance(file, (str, os.PathLike)) else None
    if match is None or int(match["track"]) >= _LARGEST_ID:
        return Agent()
    return Agent(match["scene"], int(match["track"]))


def _agent_message(agent: Agent) -> wire.MotionAgent:
    pose = None if agent.pose is None else wire.MotionPose(x=agent.pose.x, y=agent.pose.y, yaw=agent.pose.yaw)
    return wire.MotionAgent(scene_id=agent.scene_id, track_id=agent.track_id, pose=pose)


def _check_count(agents: Sequence[Agent], maps: int) -> None:
    if len(agents) not in (0, maps):
        raise wrong_argument("agents", f"{len(agents)} of them", f"{maps}, one for each map, or none")


def _check_size(field: str, content: Any) -> None:
    size = memoryview(content).nbytes
    if size > CHUNK_BYTES:
        raise TooLarge(
            f"{field} has {size / 2**20:.1f} MB; one message holds {CHUNK_BYTES / 2**20:.1f} MB", code="body_too_large"
        )

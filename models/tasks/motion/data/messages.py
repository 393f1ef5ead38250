"""Official motion files message by message, so that memory does not grow with the file.

A submission is a sequence of its field 1; a scene has other fields as well. Files are split at their top level here,
and the fields are parsed by the generated classes. This also distinguishes the two kinds of files, which protobuf
itself does not.
"""

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.protocol.motion_pb2 import ObjectPrediction, Scene, Trajectory

_PREDICTIONS = 1  # field of Submission
_LENGTH_DELIMITED = 2  # wire type of all top-level fields of both files
_VARINT_BYTES = 10  # largest length, for 64 bits
POINT = np.dtype([("head", "<u2"), ("x_tag", "u1"), ("x", "<f8"), ("y_tag", "u1"), ("y", "<f8")])
"""Layout of a point of a serialised trajectory with both x and y."""
FRAME = np.array((0x120A, 0x09, 0x11), POINT[["head", "x_tag", "y_tag"]])
"""Bytes around the coordinates of each point: field 1 of 18 bytes, which contains the doubles of fields 1 and 2."""
M = TypeVar("M", bound=Message)


class _Bytes(Protocol):
    """Common interface of ``bytes`` and ``mmap`` for the parser."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: slice, /) -> bytes: ...


def predictions(path: Path) -> Iterator[ObjectPrediction]:
    """Yield the predictions of a submission in order, parsed one at a time.

    Raises:
        BadFile: the file does not exist, is empty or truncated, or is not a submission.
    """
    if other := {field for field, _, _ in _top_level(path)} - {_PREDICTIONS}:
        raise BadFile(
            f"{path} is no submission: field {min(other)}, where only predictions (field 1) may be; a scene is given "
            "as ground truth"
        )
    for number, (_, start, content) in enumerate(_top_level(path)):
        yield _parsed(ObjectPrediction(), content, f"{path}: predictions[{number}], at byte {start},")


def is_submission(path: Path) -> bool:
    """Return whether the file is a submission, not a scene.

    Raises:
        BadFile: the file does not exist, is empty or truncated, or is neither.
    """
    return all(field == _PREDICTIONS for field, _, _ in _top_level(path))


def scene(path: Path) -> Scene:
    """Return the scene of a file.

    Raises:
        BadFile: the file does not exist, is empty or truncated, or is not a scene.
    """
    fields = {descriptor.number for descriptor in Scene.DESCRIPTOR.fields}
    present = {field for field, _, _ in _top_level(path)}
    if unknown := present - fields:
        raise BadFile(f"{path} is no scene: it has the field {min(unknown)}; those of a scene are 1 to {max(fields)}")
    if present == {_PREDICTIONS}:
        raise BadFile(f"{path} is no scene: it has an id at most, or is a submission")
    return _parsed(Scene(), path.read_bytes(), f"{path}: the scene")


def positions(trajectories: Sequence[Trajectory]) -> NDArray[np.float64]:
    """Return the points of trajectories, one after another and without z, float64 [all points, 2].

    Points with two non-zero coordinates have a fixed length in bytes, and are read without an object for each: a full
    submission has about ten million points.
    """
    packed = b"".join(trajectory.SerializeToString() for trajectory in trajectories)
    if len(packed) == sum(len(trajectory.points) for trajectory in trajectories) * POINT.itemsize:
        table = np.frombuffer(packed, POINT)
        frames = table[["head", "x_tag", "y_tag"]]
        if (frames == FRAME).all():
            return np.stack([table["x"], table["y"]], axis=1)
    points = (point for trajectory in trajectories for point in trajectory.points)
    flat = [coordinate for point in points for coordinate in (point.x, point.y)]
    return np.array(flat, np.float64).reshape(-1, 2)


def _parsed(message: M, content: bytes, what: str) -> M:
    try:
        message.ParseFromString(content)
    except DecodeError as error:
        raise BadFile(f"{what} cannot be decoded: {error}") from error
    return message


def _top_level(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, first byte and content of each top-level field."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from _fields(path, data)
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error}") from error
    except ValueError as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"{path} is empty; a protobuf file of predictions or of a scene is needed") from error


def _fields(path: Path, data: _Bytes) -> Iterator[tuple[int, int, bytes]]:
    position = 0
    while position < len(data):
        start = position
        tag, position = _varint(path, data, position)
        field, kind = tag >> 3, tag & 7
        if not field or kind != _LENGTH_DELIMITED:
            raise BadFile(f"{path} is neither a submission nor a scene: tag {tag} at byte {start}")
        length, position = _varint(path, data, position)
        if position + length > len(data):
            raise BadFile(
                f"{path} is cut off: field {field} at byte {start} has {length} bytes, and the file ends before"
            )
        yield field, start, data[position : position + length]
        position += length


def _varint(path: Path, data: _Bytes, position: int) -> tuple[int, int]:
    """Return a number in base 128, least digits first, and the position behind it."""
    value = 0
    for digit, byte in enumerate(data[position : position + _VARINT_BYTES]):
        value |= (byte & 127) << 7 * digit
        if byte < 128:
            return value, position + digit + 1
    raise BadFile(f"{path} is cut off or no protobuf file: a number at byte {position} does not end")

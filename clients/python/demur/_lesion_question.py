"""Brain scans as they are given, and as the frames that carry them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from demur import _files
from demur._errors import InvalidInput, wrong_argument
from demur._question import Manner
from demur.v1 import lesion_pb2 as wire
from demur.v1.common_pb2 import StreamBegin

PIECE_BYTES = 1 << 20
"""Of a file in one frame."""

MapName: TypeAlias = Literal["mask", "probability", "total", "data", "knowledge", "rmi", "advice"]
"""Volumes of an answer: the lesion mask, the probability of lesion, uncertainties in nats, voxels to be looked at."""


class Image(Protocol):
    """An image that can be written as a NIfTI file, such as nibabel's."""

    def to_bytes(self) -> bytes:
        """The content of the file."""
        ...


Volume: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | Image
"""A NIfTI file, plain or gzipped: where it lies, what is in it, or an image that can be written as one."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The images of one scan."""

    flair: Volume
    t1: Volume | None = None
    """On the grid of the FLAIR image; only where the model wants it (``describe().names``)."""
    brain_mask: Volume | None = None
    """0 and 1 on the grid of the FLAIR image; None: all voxels of it that are not 0."""
    name: str = ""
    """Your own, which comes back with the answer; the service does not keep it."""


@dataclass(frozen=True, slots=True)
class Files:
    """A scan that was read."""

    name: str
    contents: tuple[tuple[wire.LesionInput, bytes], ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """A scan that could not be read."""

    name: str
    error: InvalidInput


def opened(scan: Scan | Volume) -> Files | Unread:
    """The contents of a scan's files, or why there are none."""
    try:
        return read(scan)
    except InvalidInput as error:
        return Unread(scan.name if isinstance(scan, Scan) else "", error)


def read(scan: Scan | Volume) -> Files:
    """The contents of a scan's files.

    Raises:
        InvalidInput: one cannot be read, is empty, or is no file; the error names the input.
    """
    whole = scan if isinstance(scan, Scan) else Scan(scan)
    given = (
        ("flair", wire.LESION_INPUT_FLAIR, whole.flair),
        ("t1", wire.LESION_INPUT_T1, whole.t1),
        ("brain_mask", wire.LESION_INPUT_BRAIN_MASK, whole.brain_mask),
    )
    contents = tuple((kind, content(field, volume)) for field, kind, volume in given if volume is not None)
    if not contents or contents[0][0] != wire.LESION_INPUT_FLAIR:
        raise wrong_argument("flair", None, _ALLOWED)
    return Files(whole.name, contents)


def content(field: str, volume: Volume) -> bytes:
    """The bytes of a file.

    Raises:
        InvalidInput: as :func:`read`.
    """
    if isinstance(volume, (bytes, bytearray, memoryview)):
        found = bytes(volume)
    elif isinstance(volume, (str, os.PathLike)):
        found = _files.content(volume, field)
    else:
        write = getattr(volume, "to_bytes", None)
        if isinstance(volume, int) or not callable(write):
            raise wrong_argument(field, volume, _ALLOWED)
        found = write()
    if not found:
        raise InvalidInput(f"{field} is empty; needed: {_ALLOWED}", code="empty", field=field, allowed=_ALLOWED)
    return found


def map_numbers(maps: Iterable[MapName] | None) -> tuple[wire.LesionMap, ...]:
    """Wanted volumes; none where all are.

    Raises:
        InvalidInput: there is no such volume, or an empty list of them.
    """
    if maps is None:
        return ()
    wanted = (maps,) if isinstance(maps, str) else tuple(maps)
    if not wanted or any(name not in _MAPS for name in wanted):
        raise wrong_argument("maps", wanted, f"one or more of {', '.join(_MAPS)}; None for all that the model has")
    return tuple(_MAPS[name] for name in wanted)


def map_word(number: int) -> str:
    """The name of a volume; one that this client does not know is ``map_<number>``."""
    return next((name for name, value in _MAPS.items() if value == number), f"map_{number}")


def begin(manner: Manner) -> wire.LesionStreamRequest:
    """The first frame of a stream."""
    return wire.LesionStreamRequest(begin=StreamBegin(**manner.fields()))


def frames(files: Files, sequence: int, maps: tuple[wire.LesionMap, ...]) -> Iterator[wire.LesionStreamRequest]:
    """The frames of one scan before its end: its head, its files in pieces."""
    yield wire.LesionStreamRequest(scan=wire.LesionScan(sequence=sequence, name=files.name, maps=maps))
    for kind, whole in files.contents:
        for start in range(0, len(whole), PIECE_BYTES):
            piece = wire.LesionPiece(input=kind, content=whole[start : start + PIECE_BYTES])
            yield wire.LesionStreamRequest(piece=piece)


def end() -> wire.LesionStreamRequest:
    """The last frame of a scan."""
    return wire.LesionStreamRequest(end=wire.LesionScanEnd())


_ALLOWED = "a NIfTI file: its path, its bytes, or an image with to_bytes(), such as nibabel's"
_MAPS: dict[str, Any] = {
    name.removeprefix("LESION_MAP_").lower(): value for name, value in wire.LesionMap.items() if value
}

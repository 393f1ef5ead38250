"""Feature maps as bytes: the prerendered files of the data set (zlib-compressed NPY), and packed float32 numbers.

Files are decompressed only up to the size of the expected map, and nothing in them is evaluated or unpickled.
"""

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npy_header
from models.evaluation.unit_errors import BadFile
from models.schema import Feature, Schema
from models.tasks.motion.inference.grid import CHANNEL_MEANINGS, CHANNELS, Float32, Grid
from models.tasks.motion.inference.scene_message import BadScene

__all__ = ["BadScene", "check", "encode_rendered", "read_rendered", "read_rendered_file", "read_tensor"]

MOST = 1e6
"""Largest absolute value in a feature map, for all channels: real speeds, angles and marks are far below."""
_LEVEL = 6
_FLOAT32 = np.dtype("<f4")


def read_rendered(content: bytes, grid: Grid) -> Float32:
    """Return the map of a prerendered file, [17, y, x].

    Raises:
        BadScene: ``not_zlib``, ``not_npy``, ``would_unpickle``, ``dtype``, ``channels``, ``grid``, ``truncated``,
            ``trailing_bytes``, ``not_finite``, ``out_of_range`` or ``empty``.
    """
    values, fortran = _unpacked(content, grid)
    feature_map = values.reshape(grid.shape, order="F" if fortran else "C")
    check(feature_map)
    return np.ascontiguousarray(feature_map, np.float32)


def read_rendered_file(path: Path, grid: Grid) -> Float32:
    """Return the map of a prerendered file on disk.

    Raises:
        BadFile: it cannot be read, or has another grid.
    """
    try:
        return read_rendered(path.read_bytes(), grid)
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error}") from error
    except BadScene as error:
        raise BadFile(f"{path}: {error}") from error


def encode_rendered(feature_map: Float32) -> bytes:
    """Encode a map [17, y, x] in the file format of the data set; equal maps give equal bytes."""
    values = np.ascontiguousarray(feature_map, _FLOAT32)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {values.shape}, }}".encode()
    head += b" " * (-(len(npy_header.MAGIC) + 4 + len(head) + 1) % 64) + b"\n"
    packer = zlib.compressobj(_LEVEL)
    start = npy_header.MAGIC + b"\x01\x00" + len(head).to_bytes(2, "little") + head
    return b"".join((packer.compress(start), packer.compress(values.data), packer.flush()))


def read_tensor(content: bytes, grid: Grid) -> Float32:
    """Return packed maps, float32 little-endian and row-major, [N, 17, y, x], as a view of the bytes.

    The numbers are not checked.

    Raises:
        BadScene: ``size``.
    """
    size = math.prod(grid.shape) * _FLOAT32.itemsize
    if not content or len(content) % size:
        raise BadScene(
            f"there are {len(content)} bytes; a map of {list(grid.shape)} float32 numbers has {size}, and whole maps "
            "are needed, at least one",
            code="size",
            value=len(content),
            unit="bytes",
            allowed=f"a multiple of {size}",
        )
    return np.frombuffer(content, _FLOAT32).reshape(-1, *grid.shape).astype(np.float32, copy=False)


def _unpacked(content: bytes, grid: Grid) -> tuple[NDArray[Any], bool]:
    """Return the numbers of a map, and whether they are in Fortran order."""
    unpacker = zlib.decompressobj()
    try:
        start = unpacker.decompress(content, npy_header.LONGEST)
        if len(start) < npy_header.SHORTEST and not unpacker.eof:
            raise BadScene("the file ends in its header; send it whole", code="truncated")
        offset, fortran = _header(start, grid)
        size = offset + math.prod(grid.shape) * _FLOAT32.itemsize
        more = unpacker.decompress(unpacker.unconsumed_tail, size - len(start) + 1) if len(start) <= size else b""
    except zlib.error as error:
        raise _not_zlib(content, str(error)) from error
    length = len(start) + len(more)
    if length > size or unpacker.unused_data:
        raise BadScene(f"bytes follow the {size} of the map; one map a file is read", code="trailing_bytes")
    if length < size or not unpacker.eof:
        raise BadScene(
            f"the file ends after {length} of {size} bytes, or before its checksum; send it whole",
            code="truncated",
            value=length,
            unit="bytes",
            allowed=f"{size}",
        )
    return np.frombuffer(start + more, _FLOAT32, offset=offset), fortran


def _header(start: bytes, grid: Grid) -> tuple[int, bool]:
    """Return the offset of the numbers, and whether they are in Fortran order."""
    if start[: len(npy_header.MAGIC)] != npy_header.MAGIC:
        raise _not_npy("what is compressed is no NPY file")
    try:
        place = npy_header.place(start)
        if len(start) < place.end:
            raise BadScene("the file ends in its header; send it whole", code="truncated")
        head = npy_header.parse(start[place.start : place.end])
    except npy_header.BadHeader as error:
        raise _not_npy(str(error)) from error
    _check_dtype(head.descr)
    _check_shape(head.shape, grid)
    return place.end, head.fortran


def _check_dtype(descr: str) -> None:
    if "O" in descr:
        raise BadScene(
            "the file holds Python objects, which would have to be unpickled; send float32 numbers",
            code="would_unpickle",
            value=descr[:40],
            allowed="<f4",
        )
    if descr.strip("'") != _FLOAT32.str:
        raise BadScene(
            f"the numbers are of type {descr[:40]}; float32, little-endian, is needed",
            code="dtype",
            value=descr[:40],
            allowed=_FLOAT32.str,
        )


def _check_shape(shape: tuple[int, ...], grid: Grid) -> None:
    if shape == grid.shape:
        return
    wrong_channels = len(shape) == 3 and shape[0] != CHANNELS
    raise BadScene(
        f"the map has the shape {str(list(shape))[:60]}; {list(grid.shape)} is needed"
        + (": channels, rows (y) and columns (x)" if not wrong_channels else f", {CHANNELS} channels first"),
        code="channels" if wrong_channels else "grid",
        value=str(list(shape))[:60],
        allowed=str(list(grid.shape)),
    )


def check(feature_map: NDArray[Any]) -> None:
    """Check the numbers of a map.

    Raises:
        BadScene: ``not_finite``, ``out_of_range`` or ``empty``.
    """
    least, most = float(feature_map.min()), float(feature_map.max())
    if -MOST <= least <= most <= MOST and (least or most):
        return
    if least == most == 0:
        raise BadScene("the map is empty: all its numbers are 0", code="empty", value=0)
    wrong = int(np.count_nonzero(~(np.abs(feature_map) <= MOST)))
    finite = math.isfinite(least) and math.isfinite(most)
    raise BadScene(
        f"{wrong} of the map's numbers are not finite or beyond {MOST:g}; its channels are marks, m/s, m/s² and rad",
        code="out_of_range" if finite else "not_finite",
        value=wrong,
        unit="numbers",
        allowed=f"-{MOST:g} to {MOST:g}",
    )


def _not_zlib(content: bytes, why: str) -> BadScene:
    plain = ", and is a plain NPY file" if content[: len(npy_header.MAGIC)] == npy_header.MAGIC else ""
    return BadScene(
        f"the file is not compressed by zlib, or broken{plain} ({why}); send prerendered maps as the data set has them",
        code="not_zlib",
        allowed="zlib-compressed NPY",
    )


def _not_npy(what: str) -> BadScene:
    return BadScene(
        f"{what}; send a map as numpy.save writes it, compressed by zlib", code="not_npy", allowed="zlib-compressed NPY"
    )


def channel_schema(grid: Grid) -> Schema:
    """Return the channels of a feature map in the released order, for callers who draw their own maps."""
    cells = (
        f"{grid.size} x {grid.size} cells of {grid.resolution:g} m, rows are y and columns x, the agent in the middle"
    )
    return Schema(
        tuple(
            Feature(name, unit, -MOST, MOST, f"{about[0].upper()}{about[1:]}; {cells}.")
            for name, (unit, about) in CHANNEL_MEANINGS.items()
        )
    )

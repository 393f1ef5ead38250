"""Compressed array files whose bytes depend only on the arrays (numpy's own contain the time of writing)."""

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npy_header

_EPOCH = (1980, 1, 1, 0, 0, 0)
_SUFFIX = ".npy"
_KINDS = ("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
MOST_ARRAYS = 64
"""Most arrays of a file that is decoded."""


class BadArrays(ValueError):
    """The bytes are not an array file, or hold more than is allowed; the message says why."""


def encode(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an .npz file of the arrays, in alphabetical order; ``numpy.load`` reads it without unpickling."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(arrays):
            entry = zipfile.ZipInfo(f"{name}{_SUFFIX}", date_time=_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(arrays[name], order="C"), allow_pickle=False)
            archive.writestr(entry, content.getvalue())
    return buffer.getvalue()


def decode(content: bytes, most_bytes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file: numbers and booleans in C order, little-endian, as read-only views.

    Args:
        most_bytes: most bytes of all arrays together, unpacked.

    Raises:
        BadArrays: not an .npz file, a damaged one, or one that unpacks to more.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ARRAYS:
                raise BadArrays(f"it holds {len(entries)} arrays, {MOST_ARRAYS} are allowed")
            if (total := sum(entry.file_size for entry in entries)) > most_bytes:
                raise BadArrays(f"it unpacks to {total} bytes, {most_bytes} are allowed")
            arrays: dict[str, NDArray[Any]] = {}
            for entry in entries:
                name = entry.filename.removesuffix(_SUFFIX)
                if name in arrays or name == entry.filename:
                    raise BadArrays(f"{entry.filename!r} is in it twice, or no array's name")
                arrays[name] = _array(name, _unpacked(archive, entry))
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
        ValueError,
    ) as error:
        if isinstance(error, BadArrays):
            raise
        raise BadArrays(f"it is no archive of arrays that can be read: {error}") from error
    return arrays


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
        raise BadArrays(f"{entry.filename!r} is packed in a way that is not read here")
    with archive.open(entry) as file:
        content = file.read(entry.file_size)
        if len(content) != entry.file_size or file.read(1):
            raise BadArrays(f"{entry.filename!r} does not have the {entry.file_size} bytes that it claims")
    return content


def _array(name: str, content: bytes) -> NDArray[Any]:
    try:
        place = npy_header.place(content[: npy_header.LONGEST])
        header = npy_header.parse(content[place.start : place.end])
    except npy_header.BadHeader as error:
        raise BadArrays(f"{name!r} is no array: {error}") from error
    descr = header.descr.strip("'")
    if descr not in _KINDS or header.fortran:
        raise BadArrays(f"{name!r} holds {descr[:40]}; little-endian numbers in C order are needed")
    kind = np.dtype(descr)
    if math.prod(header.shape) * kind.itemsize != len(content) - place.end:
        raise BadArrays(f"{name!r} claims the shape {list(header.shape)}, and has {len(content) - place.end} bytes")
    return np.frombuffer(content, kind, offset=place.end).reshape(header.shape)

"""Datatypes of the protocol, and the layout of BYTES in raw contents: each element after its length in four bytes."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.runtime.errors import InvalidInput


@dataclass(frozen=True)
class Datatype:
    """Datatype of the protocol."""

    name: str
    dtype: np.dtype[Any]
    """NumPy type, little-endian; ``object`` for BYTES. BF16 does not exist in NumPy: its two bytes as an integer."""
    contents: str = ""
    """Field of ``InferTensorContents``; empty: raw contents only."""
    config: str = ""
    """Name of the datatype in a model configuration."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element; for BYTES those of the length, the minimum."""
        return _LENGTH.size if self.name == "BYTES" else self.dtype.itemsize

    @property
    def whole(self) -> bool:
        """True if its values are integers."""
        return self.dtype.kind in "iu" and self.name != "BF16"


def _known() -> dict[str, Datatype]:
    typed = {
        "BOOL": ("?", "bool_contents"),
        "INT8": ("<i1", "int_contents"),
        "INT16": ("<i2", "int_contents"),
        "INT32": ("<i4", "int_contents"),
        "INT64": ("<i8", "int64_contents"),
        "UINT8": ("<u1", "uint_contents"),
        "UINT16": ("<u2", "uint_contents"),
        "UINT32": ("<u4", "uint_contents"),
        "UINT64": ("<u8", "uint64_contents"),
        "FP16": ("<f2", ""),
        "BF16": ("<u2", ""),
        "FP32": ("<f4", "fp32_contents"),
        "FP64": ("<f8", "fp64_contents"),
        "BYTES": ("O", "bytes_contents"),
    }
    return {
        name: Datatype(name, np.dtype(kind), field, "TYPE_STRING" if name == "BYTES" else f"TYPE_{name}")
        for name, (kind, field) in typed.items()
    }


_LENGTH = struct.Struct("<I")
DATATYPES = _known()
NUMBERS = frozenset(DATATYPES) - {"BYTES", "BOOL"}
"""Datatypes that a numeric column may have."""


def from_raw(name: str, datatype: Datatype, content: bytes | memoryview, count: int) -> NDArray[Any]:
    """Return ``count`` elements of raw contents; numbers are a view, except BF16, which becomes float32.

    Raises:
        InvalidInput: another length, or BYTES that do not end with the contents.
    """
    if datatype.name == "BYTES":
        return _split(name, content, count)
    if len(content) != (expected := count * datatype.itemsize):
        raise _length(name, len(content), f"must be {expected} for {count} elements of {datatype.name}", str(expected))
    values = np.frombuffer(content, datatype.dtype)
    if datatype.name == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    if datatype.name == "BOOL" and (wrong := np.frombuffer(content, np.uint8) > 1).any():
        index = int(wrong.argmax())
        raise InvalidInput.about(
            name,
            content[index],
            f"must be 0 or 1, the bytes of BOOL, at element {index}",
            code="out_of_range",
            allowed="0, 1",
            index=index,
        )
    return values


def to_raw(values: NDArray[Any]) -> bytes:
    """Return the raw contents of an array, the last axis fastest."""
    if values.dtype.kind == "S":
        return _joined_alike(values.reshape(-1))
    if values.dtype.kind == "O":
        return b"".join(
            part for content in values.reshape(-1).tolist() for part in (_LENGTH.pack(len(content)), content)
        )
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def datatype_of(values: NDArray[Any]) -> str:
    """Return the protocol's name for an array's elements."""
    dtype = values.dtype
    if dtype.kind in "SO":
        return "BYTES"
    return _NAMES.get(dtype) or _NAMES[dtype.newbyteorder("<")]


def of_bytes(values: Iterable[bytes]) -> NDArray[Any]:
    """Return an array of BYTES [n]."""
    listed = list(values)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


_NAMES = {one.dtype: one.name for one in DATATYPES.values() if one.name != "BF16"}


def _split(name: str, content: bytes | memoryview, count: int) -> NDArray[Any]:
    if len(content) < count * _LENGTH.size:
        least = count * _LENGTH.size
        raise _length(name, len(content), f"must be at least {least} for the lengths of {count} elements of BYTES", "")
    values = np.empty(count, object)
    place = 0
    for index in range(count):
        start = place + _LENGTH.size
        stop = start + _LENGTH.unpack_from(content, place)[0] if start <= len(content) else -1
        if not start <= stop <= len(content):
            raise InvalidInput.about(
                name,
                len(content),
                f"element {index} begins at byte {place} and reaches beyond them",
                code="broken_bytes",
                unit="bytes",
                advice="write each element after its length, four bytes, little-endian",
                index=index,
            )
        values[index] = bytes(content[start:stop])
        place = stop
    if place != len(content):
        raise _length(name, len(content), f"must be {place}, where the {count} elements end", str(place))
    return values


def _joined_alike(values: NDArray[np.bytes_]) -> bytes:
    """Return the raw contents of BYTES; texts of equal length are joined in one operation."""
    width = values.dtype.itemsize
    lengths = np.char.str_len(values)
    if not len(values) or int(lengths.min()) != width:
        return to_raw(values.astype(object))
    records = np.empty(len(values), [("length", "<u4"), ("text", f"S{width}")])
    records["length"], records["text"] = width, values
    return records.tobytes()


def _length(name: str, size: int, problem: str, allowed: str) -> InvalidInput:
    return InvalidInput.about(name, size, problem, code="wrong_length", unit="bytes", allowed=allowed)

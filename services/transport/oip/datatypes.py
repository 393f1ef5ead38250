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
        raise _length(name, len(content), f"{count} elements of {datatype.name} are {expected}", str(expected))
    found = np.frombuffer(content, datatype.dtype)
    if datatype.name == "BF16":
        return (found.astype(np.uint32) << 16).view(np.float32)
    if datatype.name == "BOOL" and (wrong := np.frombuffer(content, np.uint8) > 1).any():
        index = int(wrong.argmax())
        raise InvalidInput(
            f"element {index} of {name} is the byte {content[index]}; a BOOL is 0 or 1",
            code="out_of_range",
            field=name,
            value=str(content[index]),
            allowed="0, 1",
            index=index,
        )
    return found


def to_raw(values: NDArray[Any]) -> bytes:
    """Return the raw contents of an array, the last axis fastest."""
    if values.dtype.kind == "S":
        return _joined_alike(values.reshape(-1))
    if values.dtype.kind == "O":
        return b"".join(part for one in values.reshape(-1).tolist() for part in (_LENGTH.pack(len(one)), one))
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()


def datatype_of(values: NDArray[Any]) -> str:
    """Return the protocol's name for an array's elements."""
    return "BYTES" if values.dtype.kind in "SO" else _NAMES[values.dtype.newbyteorder("<")]


def of_bytes(values: Iterable[bytes]) -> NDArray[Any]:
    """Return an array of BYTES [n]."""
    listed = list(values)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found


_NAMES = {one.dtype: one.name for one in DATATYPES.values() if one.name != "BF16"}


def _split(name: str, content: bytes | memoryview, count: int) -> NDArray[Any]:
    if len(content) < count * _LENGTH.size:
        raise _length(
            name, len(content), f"{count} elements of BYTES have {count * _LENGTH.size} at least, their lengths", ""
        )
    found = np.empty(count, object)
    place = 0
    for index in range(count):
        start = place + _LENGTH.size
        stop = start + _LENGTH.unpack_from(content, place)[0] if start <= len(content) else -1
        if not start <= stop <= len(content):
            raise InvalidInput(
                f"element {index} of {name} begins at byte {place} and reaches beyond the {len(content)} bytes that "
                "came; write each element behind its length, four bytes, little-endian",
                code="broken_bytes",
                field=name,
                value=str(len(content)),
                unit="bytes",
                index=index,
            )
        found[index] = bytes(content[start:stop])
        place = stop
    if place != len(content):
        raise _length(name, len(content), f"its {count} elements end at byte {place}", str(place))
    return found


def _joined_alike(values: NDArray[np.bytes_]) -> bytes:
    """Return the raw contents of BYTES; texts of equal length are joined in one operation."""
    width = values.dtype.itemsize
    lengths = np.char.str_len(values)
    if not len(values) or int(lengths.min()) != width:
        return to_raw(values.astype(object))
    records = np.empty(len(values), [("length", "<u4"), ("text", f"S{width}")])
    records["length"], records["text"] = width, values
    return records.tobytes()


def _length(name: str, size: int, told: str, allowed: str) -> InvalidInput:
    return InvalidInput(
        f"the contents of {name} have {size} bytes, {told}",
        code="wrong_length",
        field=name,
        value=str(size),
        unit="bytes",
        allowed=allowed,
    )

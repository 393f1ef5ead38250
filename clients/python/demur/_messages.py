"""Decoding of protobuf messages: packed arrays by dtype and shape, plain fields by name."""

import math
from collections.abc import Iterable, Mapping, MutableSequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from demur._errors import ServiceFailure

Floats = NDArray[np.float32]

FLOAT32 = np.dtype("<f4")
FLOAT64 = np.dtype("<f8")
UINT32 = np.dtype("<u4")
UINT8 = np.dtype("u1")

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class PackedArray:
    """Field of a message that holds the numbers of an array as bytes, row-major and little-endian."""

    name: str
    """Name of the message field and of the attribute of answers."""
    shape: tuple[str | int, ...]
    """Axes, by the name of their size or as a number. The first may have a name without a size: then its length follows
    from the number of bytes."""
    dtype: np.dtype[Any] = FLOAT32
    optional: bool = False
    """No bytes mean that there is no array, None."""

    def decode(self, packed: bytes, sizes: Mapping[str, int]) -> NDArray[Any] | None:
        """Return the array as a read-only view of the bytes; None for an optional one without bytes.

        Raises:
            ServiceFailure: the number of bytes does not fit the shape.
        """
        if self.optional and not packed:
            return None
        shape = [sizes.get(axis, -1) if isinstance(axis, str) else axis for axis in self.shape]
        size = self.dtype.itemsize * math.prod(length for length in shape if length >= 0)
        fits = size > 0 and len(packed) % size == 0 if -1 in shape else len(packed) == size
        if not fits:
            axes = ", ".join(map(str, self.shape))
            raise malformed(f"{self.name} = {len(packed)} bytes: must be {self.dtype.name} [{axes}] of {dict(sizes)}")
        return np.frombuffer(packed, self.dtype).reshape(shape)


def packed_arrays(message: Any, arrays: Iterable[PackedArray], **sizes: int) -> dict[str, Any]:
    """Return the arrays of a message by name, given the sizes of their axes.

    Raises:
        ServiceFailure: a number of bytes does not fit a shape.
    """
    return {array.name: array.decode(getattr(message, array.name), sizes) for array in arrays}


def from_message(kind: type[M], message: Any, **values: Any) -> M:
    """Build a dataclass: fields that are not among ``values`` are those of the message with the same name.

    Optional fields that are not set are None; repeated fields are tuples.
    """
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in values:
            values[field.name] = plain_field(message, field.name)
    return kind(**values)


def plain_field(message: Any, name: str) -> Any:
    """Return a field of a message; None where it is not set, a tuple where it is repeated."""
    if message.DESCRIPTOR.fields_by_name[name].has_presence and not message.HasField(name):
        return None
    value = getattr(message, name)
    return tuple(value) if isinstance(value, MutableSequence) else value


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it."""
    values.flags.writeable = False
    return values


def plain(value: Any) -> Any:
    """Convert values of answers to what JSON takes: mappings by field, lists, numbers, text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def malformed(message: str) -> ServiceFailure:
    """Return the error of a response that breaks the contract."""
    return ServiceFailure(message, code="malformed")

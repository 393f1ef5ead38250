"""Contents of a tensor in the three forms of the protocol, each decoded to an array of its datatype."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.runtime.errors import InvalidInput
from services.transport.http.decoding import integer
from services.transport.oip.datatypes import Datatype, from_raw, of_bytes

_SHOWN = 40
"""Maximum length, in characters, of a value that an error quotes."""


class Contents(Protocol):
    """Elements of a tensor that are not decoded yet."""

    def values(self, name: str, datatype: Datatype, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the elements [n] of a shape that has been checked.

        Raises:
            InvalidInput: another number of elements, or another type.
        """
        ...


@dataclass(frozen=True, slots=True)
class RawContents:
    """Contents as little-endian bytes."""

    content: bytes | memoryview

    def values(self, name: str, datatype: Datatype, shape: tuple[int, ...]) -> NDArray[Any]:
        return from_raw(name, datatype, self.content, prod(shape))


@dataclass(frozen=True, slots=True)
class TypedContents:
    """Contents as the non-empty lists of a protobuf message, by field."""

    fields: dict[str, Sequence[Any]]

    def values(self, name: str, datatype: Datatype, shape: tuple[int, ...]) -> NDArray[Any]:
        wrong = [field for field in self.fields if field != datatype.contents]
        if wrong or not datatype.contents:
            problem = f"fills {wrong[0]}" if wrong else "has no raw contents"
            where = datatype.contents or "raw_input_contents"
            raise InvalidInput(
                f"{name} is {datatype.name} and {problem}; its elements must be in {where}",
                code="dtype",
                field=name,
                value=wrong[0] if wrong else "",
                allowed=where,
            )
        elements = self.fields.get(datatype.contents, ())
        _check_count(name, len(elements), shape)
        if datatype.name == "BYTES":
            return of_bytes(elements)
        return _converted(name, datatype, list(elements))


@dataclass(frozen=True, slots=True)
class JsonContents:
    """Contents as a JSON list, flat or nested like the shape; BYTES are texts."""

    text: bytes

    def values(self, name: str, datatype: Datatype, shape: tuple[int, ...]) -> NDArray[Any]:
        flat = self._flat(name, datatype, shape)
        if datatype.name == "BYTES":
            return of_bytes(text.encode(errors="surrogatepass") for text in flat)
        return _converted(name, datatype, flat)

    def _flat(self, name: str, datatype: Datatype, shape: tuple[int, ...]) -> list[Any]:
        kind: Any = {"BYTES": str, "BOOL": bool}.get(datatype.name, int | float if datatype.whole else float | None)
        try:
            elements: list[Any] = msgspec.json.decode(self.text, type=list[kind])
        except UnicodeDecodeError as error:  # texts are decoded only after their type is known
            raise InvalidInput(f"data of {name} are not UTF-8", code="not_unicode", field=name) from error
        except msgspec.ValidationError as error:
            nested = self._nested(shape, kind)
            if nested is None:
                raise InvalidInput.about(
                    name,
                    self.text[:_SHOWN].decode(errors="replace"),
                    f"must be a list of {_WORDS.get(datatype.name, 'numbers')}, flat or of the shape {list(shape)}",
                    code="not_a_number" if datatype.name not in _WORDS else "dtype",
                    advice=str(error),
                ) from error
            return nested
        _check_count(name, len(elements), shape)
        return elements

    def _nested(self, shape: tuple[int, ...], kind: Any) -> list[Any] | None:
        """Return the elements of nested lists of exactly this shape; None for another shape, or other elements."""
        for _ in shape:
            kind = list[kind]
        try:
            nested: Any = msgspec.json.decode(self.text, type=kind)
        except (msgspec.ValidationError, UnicodeDecodeError):
            return None
        parts = [nested]
        for length in shape:
            if any(len(part) != length for part in parts):
                return None
            parts = [element for part in parts for element in part]
        return parts


_WORDS = {"BYTES": "texts", "BOOL": "true and false"}


def _converted(name: str, datatype: Datatype, values: list[Any]) -> NDArray[Any]:
    """Convert values; null is NaN, and numbers beyond the range of a floating type become infinite."""
    dtype = np.dtype(np.float32) if datatype.name == "BF16" else datatype.dtype
    if datatype.whole and float in set(map(type, values)):
        values = [integer(name, value) for value in values]
    try:
        with np.errstate(over="ignore"):
            return np.array(values, dtype)
    except OverflowError as error:
        limits: Any = np.iinfo(dtype)  # floating types do not overflow, they become infinite
        index = next(i for i, number in enumerate(values) if not limits.min <= number <= limits.max)
        raise InvalidInput.about(
            name,
            str(values[index])[:_SHOWN],
            f"must be {limits.min} to {limits.max}, the range of {datatype.name}, at element {index}",
            code="out_of_range",
            allowed=f"[{limits.min}, {limits.max}]",
            index=index,
        ) from error


def _check_count(name: str, count: int, shape: tuple[int, ...]) -> None:
    if count != prod(shape):
        raise InvalidInput.about(
            name,
            count,
            f"must be {prod(shape)} for the shape {list(shape)}",
            code="wrong_length",
            unit="elements",
            allowed=str(prod(shape)),
        )

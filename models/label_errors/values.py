"""Label rules for heads with one value per unit: the squared error of a number, and the error rate of a class."""

import math
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.agreement.relation import Relation
from models.assessment.classification import SUM_TOLERANCE, error_indicator
from models.head import Head
from models.predictive import Categorical, Gaussian

FARTHEST = 1e100
"""Largest distance of a quantity from zero; its square is still a number."""
_NONE = 0xFFFF
"""Class of a unit whose probabilities are not a distribution."""
_MOST = 0xFFFE


class BadLabel(ValueError):
    """The value is not a label of this head; the message states the expected form and unit."""


def shown(value: object, characters: int = 80) -> str:
    """Return a value shortened for an error message."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__} of many digits"
    return text if len(text) <= characters else text[: characters - 3] + "..."


class SquaredError:
    """Squared error of a mean.

    Evidence: the mean, float32 little-endian; label: float64 little-endian; both in the head's unit.
    """

    relation: Relation | None = "squared"
    largest = math.inf

    def __init__(self, head: Head) -> None:
        self._head = head

    def evidence(self, predictive: Gaussian, units: NDArray[np.intp]) -> list[bytes]:
        packed = np.ascontiguousarray(predictive.mean[units], "<f4").tobytes()
        return [packed[start : start + 4] for start in range(0, len(packed), 4)]

    def label(self, value: object) -> bytes:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= FARTHEST:
            raise BadLabel(
                f"{shown(value)} is no label of {self._head.name}; needed: a number, {-FARTHEST:g} to {FARTHEST:g} "
                f"({self._head.label})"
            )
        return struct.pack("<d", value + 0.0)

    def value(self, label: bytes) -> float:
        return float(np.frombuffer(label, "<f8")[0])

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        mean = np.frombuffer(b"".join(evidence), "<f4").astype(np.float64)
        target = np.frombuffer(b"".join(labels), "<f8")
        squared: NDArray[np.float64] = (target - mean) ** 2
        return squared

    def prediction(self, evidence: bytes) -> float | None:
        mean = float(np.frombuffer(evidence, "<f4")[0])
        return mean if math.isfinite(mean) else None

    def difference(self, one: bytes, other: bytes) -> float:
        return (self.value(one) - self.value(other)) ** 2


class ErrorRate:
    """Error rate of the most probable class.

    Evidence and label: a class, 0 to C - 1, uint16 little-endian. Evidence of probabilities that are not a distribution
    (from a broken model; such units defer) is marked as such and has no error.
    """

    relation: Relation | None = "uneven_class"
    largest = 1.0

    def __init__(self, head: Head) -> None:
        self._head = head
        self._most = _MOST if head.classes is None else head.classes - 1
        self._places = {name: place for place, name in enumerate(head.class_names)}
        numbered = bool(head.class_names) and all(name.isascii() and name.isdigit() for name in head.class_names)
        self._by_number = {int(name): place for name, place in self._places.items()} if numbered else None
        """Place of each class whose name is a number, if all are: such classes are labelled by their numbers."""

    def evidence(self, predictive: Categorical, units: NDArray[np.intp]) -> list[bytes]:
        probabilities = np.asarray(predictive.probabilities[units], np.float64)
        whole = np.isfinite(probabilities).all(axis=1) & (np.abs(probabilities.sum(axis=1) - 1) <= SUM_TOLERANCE)
        classes = np.where(whole, np.argmax(probabilities, axis=1), _NONE)
        packed = classes.astype("<u2").tobytes()
        return [packed[start : start + 2] for start in range(0, len(packed), 2)]

    def label(self, value: object) -> bytes:
        code = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(code, str):
            code = self._places.get(code, code)
        elif self._by_number is not None and not isinstance(code, bool) and isinstance(code, int):
            code = self._by_number.get(code, -1)
        if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code <= self._most:
            raise BadLabel(
                f"{shown(value)} is no label of {self._head.name}; needed: {self._needed} ({self._head.label})"
            )
        return struct.pack("<H", code)

    @property
    def _needed(self) -> str:
        if self._by_number is not None:
            return f"one of {', '.join(map(str, self._by_number))}"
        named = ", or the name of a class" if self._places else ""
        return f"a whole number, 0 to {self._most}{named}"

    def value(self, label: bytes) -> int:
        return int(np.frombuffer(label, "<u2")[0])

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        predicted = np.frombuffer(b"".join(evidence), "<u2").astype(np.int64)
        truth = np.frombuffer(b"".join(labels), "<u2").astype(np.int64)
        errors = np.full(len(truth), np.nan)
        known = predicted != _NONE
        if known.any():
            errors[known] = error_indicator(truth[known], predicted[known])
        return errors

    def prediction(self, evidence: bytes) -> int | None:
        code = int(np.frombuffer(evidence, "<u2")[0])
        return None if code == _NONE else code

    def difference(self, one: bytes, other: bytes) -> float:
        return float(one != other)

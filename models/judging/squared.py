"""Numbers judged by their squared error: the mean is kept, the label is a number."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.judging.refusals import BadLabel, shown
from models.predictive import Gaussian

FARTHEST = 1e100
"""No quantity is farther from zero; its square is still a number."""


class SquaredError:
    """Evidence: the mean, float32 little-endian; label: float64 little-endian; both in the head's unit."""

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

"""Judging a prediction when its label comes: what is kept of it until then, what a label may be, and the error.

The errors are those of ``demur evaluate``. What is kept (evidence) and what labels become are bytes, so that a ledger
can hold them for any head; nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.judging.refusals import BadLabel
from models.judging.squared import SquaredError

__all__ = ["BadLabel", "Judging", "judging"]


class Judging(Protocol):
    """One head's evidence, labels and errors."""

    def evidence(self, predictive: Any, units: NDArray[np.intp]) -> list[bytes]:
        """What has to be kept of these units of a predictive to compute their errors later."""
        ...

    def label(self, value: object) -> bytes:
        """A label as the caller gave it (JSON value, or bytes of a file), checked, in its one canonical form.

        Raises:
            BadLabel: it is none; says what is needed, in which unit.
        """
        ...

    def value(self, label: bytes) -> object:
        """A canonical label as a JSON value (or the bytes of a file) for people and callers."""
        ...

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        """Error of each unit [n], in the head's error unit."""
        ...


_BY_ERROR: dict[str, Callable[[Head], Judging]] = {
    "squared_error": SquaredError,
}


def judging(head: Head) -> Judging:
    """How units of a head are judged.

    Raises:
        LookupError: nothing is known of the head's error.
    """
    if head.error not in _BY_ERROR:
        raise LookupError(f"no live judging of {head.error!r} (head {head.name}); known: {', '.join(_BY_ERROR)}")
    return _BY_ERROR[head.error](head)

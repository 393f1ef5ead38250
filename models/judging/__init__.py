"""Judging a prediction when its label comes: what is kept of it until then, what a label may be, and the error.

The errors are those of ``demur evaluate``. What is kept (evidence) and what labels become are bytes, so that a ledger
can hold them for any head; nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.judging.categorical import ErrorRate
from models.judging.hypotheses import ExpectedGleuError
from models.judging.refusals import BadLabel
from models.judging.squared import SquaredError
from models.judging.trajectories import CorrectedNll
from models.judging.volumes import NormalisedDiceError

__all__ = ["BadLabel", "FittingJudging", "Judging", "judging"]


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
        """Error of each unit [n], in the head's error unit; NaN: the pair cannot be judged."""
        ...


@runtime_checkable
class FittingJudging(Judging, Protocol):
    """Of labels that fit some predictions only, as a mask fits scans of its voxels."""

    def check_fit(self, evidence: bytes, label: bytes) -> None:
        """
        Raises:
            BadLabel: ``errors`` could not judge this prediction by this label; says what is needed.
        """
        ...


_BY_ERROR: dict[str, Callable[[Head], Judging]] = {
    "squared_error": SquaredError,
    "error_rate": ErrorRate,
    "egleu_error": ExpectedGleuError,
    "cnll": CorrectedNll,
    "ndsc_error": NormalisedDiceError,
}


def judging(head: Head) -> Judging:
    """How units of a head are judged.

    Raises:
        LookupError: nothing is known of the head's error.
    """
    if head.error not in _BY_ERROR:
        raise LookupError(f"no live judging of {head.error!r} (head {head.name}); known: {', '.join(_BY_ERROR)}")
    return _BY_ERROR[head.error](head)

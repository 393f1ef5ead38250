"""Label rules: the evidence kept of a prediction until its label arrives, valid labels, and the error.

The errors are those of ``demur evaluate``. Evidence and labels are bytes, so that a ledger can hold them for any head;
nothing is pickled.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from models.agreement.relation import Relation
from models.head import Head
from models.label_errors.hypotheses import ExpectedGleuError
from models.label_errors.trajectories import CorrectedNll
from models.label_errors.values import BadLabel, ErrorRate, SquaredError
from models.label_errors.volumes import NormalisedDiceError

__all__ = ["BadLabel", "FittedLabelRule", "LabelRule", "label_rule"]


class LabelRule(Protocol):
    """Evidence, labels and errors of one head."""

    relation: Relation | None
    """Relation of the difference of two labels to the error of one; None: the difference shows nothing of the error."""
    largest: float
    """Largest possible error, in the head's error unit."""

    def evidence(self, predictive: Any, units: NDArray[np.intp]) -> list[bytes]:
        """Return the evidence of units of a predictive, from which their errors can be computed later."""
        ...

    def label(self, value: object) -> bytes:
        """Check a caller's label (JSON value, or bytes of a file) and return its canonical form.

        Raises:
            BadLabel: it is not a label of this head; the message states the expected form and unit.
        """
        ...

    def value(self, label: bytes) -> object:
        """Return a canonical label as a JSON value, or as the bytes of a file."""
        ...

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        """Return the error of each unit [n], in the head's error unit; NaN if the pair has no error."""
        ...

    def prediction(self, evidence: bytes) -> object:
        """Return a prediction as a JSON value, or as the bytes of a file; None where it was impossible."""
        ...

    def difference(self, one: bytes, other: bytes) -> float:
        """Return the difference of two canonical labels of one unit, zero for equal ones; NaN if there is none.

        Numbers: the squared difference, in the square of the head's unit; classes: 0 or 1; texts: 100 % less the mean
        of both GLEUs; positions: the mean distance over the steps that both have, m; masks: one minus Dice.
        """
        ...


@runtime_checkable
class FittedLabelRule(LabelRule, Protocol):
    """Label rule whose labels fit some predictions only, as a mask fits scans of its voxels."""

    def check_fit(self, evidence: bytes, label: bytes) -> None:
        """Check that ``errors`` can compare a prediction with a label.

        Raises:
            BadLabel: it cannot; the message states the expected form.
        """
        ...


_BY_ERROR: dict[str, Callable[[Head], LabelRule]] = {
    "squared_error": SquaredError,
    "error_rate": ErrorRate,
    "egleu_error": ExpectedGleuError,
    "cnll": CorrectedNll,
    "ndsc_error": NormalisedDiceError,
}


def label_rule(head: Head) -> LabelRule:
    """Return the label rule of a head.

    Raises:
        LookupError: the head's error is unknown.
    """
    if head.error not in _BY_ERROR:
        raise LookupError(f"no live judging of {head.error!r} (head {head.name}); known: {', '.join(_BY_ERROR)}")
    return _BY_ERROR[head.error](head)

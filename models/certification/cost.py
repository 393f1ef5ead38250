"""Chow's rule: answer if the expected cost of an error is at most that of a review."""

import math
from dataclasses import dataclass

import numpy as np

from models.calibration import ExpectedError, expected_error
from models.certification.certificate import Finding, nothing
from models.certification.units import Units, as_threshold, losses

PROCEDURE = "expected cost, isotonic fit of the loss on the score (Chow 1970)"


@dataclass(frozen=True)
class Costs:
    """Costs in one currency."""

    of_loss: float
    """Cost of a loss of 1, > 0."""
    of_review: float
    """Cost of one review, >= 0."""
    reviewer_loss: float = 0.0
    """Mean loss of a reviewer, >= 0."""

    def __post_init__(self) -> None:
        if not (0 < self.of_loss < math.inf and 0 <= self.of_review < math.inf and 0 <= self.reviewer_loss < math.inf):
            raise ValueError(f"costs are {self}; finite ones are needed, of_loss above 0, the others at least 0")

    @property
    def largest_loss(self) -> float:
        """Largest expected loss at which an answer costs no more than a review."""
        return self.of_review / self.of_loss + self.reviewer_loss


def cheapest(units: Units, costs: Costs, *, acceptable: float | None = None, bound: float = math.inf) -> Finding:
    """Find the largest score whose expected loss, by an isotonic fit on n units, is at most ``costs.largest_loss``.

    The threshold is optimal if the fit is right; it has no guarantee for finite samples.

    Raises:
        ValueError: no errors, a label is missing, or an error is negative, above ``bound`` or not finite.
    """
    loss = losses(units, acceptable, bound)
    if not np.isfinite(loss).all():
        raise ValueError("expected cost needs a finite loss for every unit")
    known = np.isfinite(units.scores)
    if not known.any():
        return nothing(PROCEDURE, len(units), "no unit has a finite uncertainty")
    scores = np.sort(units.scores[known])
    fit: ExpectedError = expected_error("u", units.scores[known].astype(np.float64), loss[known])
    kept = int(np.searchsorted(fit(scores), costs.largest_loss, "right"))
    if not kept:
        return nothing(
            PROCEDURE, len(units), f"the most certain units lose {fit.values[0]:.3g}, which costs more than asking"
        )
    return Finding(
        PROCEDURE,
        as_threshold(float(scores[kept - 1])),
        f"answering costs at most as much as asking wherever the expected loss is at most {costs.largest_loss:.4g}; "
        "as good as the fit of the expected loss, without a confidence",
        "",
        len(units),
        int((units.scores <= scores[kept - 1]).sum()),
    )

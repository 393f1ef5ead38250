"""Conformal risk control: the loosest threshold whose joint risk E[l 1{answered}] is at most alpha in expectation.

The joint risk counts a deferred unit as no loss; unlike the selective risk it only grows with the threshold, so one
pass over the data is enough (Angelopoulos et al. 2022, "Conformal risk control").
"""

import numpy as np

from models.certification.certificate import Finding, nothing
from models.certification.units import Units, as_threshold, losses

PROCEDURE = "conformal risk control of the joint risk (Angelopoulos et al. 2022)"


def control(units: Units, alpha: float, *, acceptable: float | None = None, bound: float = 1.0) -> Finding:
    """Find the largest score u with (n R(u) + bound) / (n + 1) <= alpha, R(u) = mean of l 1{score <= u} over n units.

    E[joint risk] <= alpha over calibration units and the next one. Tied scores are answered together or not at all;
    above the largest score nothing is answered.

    Raises:
        ValueError: no errors or propensities instead of labels, an error outside [0, bound], alpha not above 0.
    """
    if not alpha > 0:
        raise ValueError(f"joint risk is {alpha:g}; more than 0 is needed")
    if units.propensity is not None:
        raise ValueError("joint risk needs all labels; a log with propensities has certified selective risk")
    loss, n = losses(units, acceptable, bound), len(units)
    if bound > alpha * (n + 1):
        needed = int(np.ceil(bound / alpha - 1e-9)) - 1
        return nothing(PROCEDURE, n, f"joint risk {alpha:g} needs at least {needed} units, there are {n}")
    known = np.flatnonzero(units.scores < np.inf)
    order = known[np.argsort(units.scores[known], kind="stable")]
    scores, total = units.scores[order], np.cumsum(loss[order])
    allowed = int(np.searchsorted(total, alpha * (n + 1) - bound + 1e-9 * bound, "right"))
    if allowed < len(scores):  # a tie with a unit beyond the limit is beyond it as well
        allowed = int(np.searchsorted(scores, scores[allowed], "left"))
    if not allowed:
        why = "the most certain units fail too often" if len(known) else "no unit has a finite uncertainty"
        return nothing(PROCEDURE, n, why)
    return Finding(
        PROCEDURE,
        as_threshold(float(scores[allowed - 1])),
        f"in expectation over the calibration units, the mean loss of units of the same law, deferred ones counted as "
        f"0, is at most {alpha:g}",
        "",
        n,
        allowed,
        float(total[allowed - 1]),
    )

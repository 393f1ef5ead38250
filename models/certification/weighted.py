"""Certified selective risk from a log of decisions, where labels exist mostly for what was deferred.

Each logged unit weighs by the probability that its label was asked for: X = (l - alpha) A R / pi has a mean below 0
exactly if the selective risk is below alpha (Horvitz & Thompson 1952), and units without a label are zeros. A betting
test on [-alpha / pi_min, (bound - alpha) / pi_min] is valid for it however the labels were selected.

All logged units lend scores; asked-for labels that never came make pi wrong, and have to be corrected before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.certification.finding import Finding, nothing
from models.certification.grid import own_grid
from models.certification.pvalues import betting, binomial, check_risk, zero_failure_size
from models.certification.selective_risk import binary, check_delta, sums, too_few
from models.certification.sequence import last_rejected, starts
from models.certification.units import Units, as_threshold, losses

PROCEDURE = "fixed-sequence testing of weighted losses (Horvitz & Thompson 1952; Waudby-Smith & Ramdas 2024)"


def certify_from_log(
    units: Units, alpha: float, delta: float, *, acceptable: float | None = None, bound: float = 1.0
) -> Finding:
    """As ``selective_risk.certify``, for units [n] with propensities, of which some have labels.

    Where all units below a threshold have one propensity, the labelled ones are a simple random sample of them, and
    losses 0 and 1 are tested exactly: without weights that is the same hypothesis, and the strongest test of it.

    Raises:
        ValueError: no propensities; otherwise as ``selective_risk.certify``.
    """
    check_risk(alpha, bound)
    check_delta(delta)
    if units.propensity is None:
        raise ValueError("a log needs the propensity of each unit")
    loss = losses(units, acceptable, bound)
    needed = zero_failure_size(alpha / bound, delta)
    grid = own_grid(units, needed)
    kept = np.flatnonzero(grid.tested & ~np.isnan(loss))
    order = kept[np.argsort(units.draws[kept])]
    lost, weight, n = loss[order], 1 / units.propensity[order], len(order)
    if n < needed:
        return nothing(PROCEDURE, n, too_few(needed, alpha, delta, n) + " with labels")
    if not len(grid.thresholds):
        return nothing(PROCEDURE, n, "no unit has a finite uncertainty")
    answered, failed, place = sums(grid, units.scores[order], lost)
    even = _even(units.propensity, np.searchsorted(grid.thresholds, units.scores, "left"), len(grid.thresholds))
    exact = bound == 1 and binary(lost)
    heaviest = float(1 / units.propensity.min())
    excess = (lost - alpha) * weight

    def pvalue(j: int) -> float:
        if exact and even[j]:
            return float(binomial(failed[j], answered[j], alpha))
        variance = alpha * (bound - alpha) * heaviest
        return betting(excess[place <= j], (bound - alpha) * heaviest, variance, delta)

    best = last_rejected(pvalue, starts(grid.expected, grid.expected[-1], needed).tolist(), delta)
    if best is None:
        return nothing(PROCEDURE, n, f"{n} labels cannot show that the risk is below {alpha:g}: more audits help")
    return Finding(
        PROCEDURE,
        as_threshold(float(grid.thresholds[best])),
        f"with confidence {1 - delta:g} over the log, the mean loss among answered units of the same law is at most "
        f"{alpha:g}, whatever selected the labels",
        "",
        n,
        int(answered[best]),
        float(np.sum((lost * weight)[place <= best])),
        pvalue(best),
    )


def _even(propensity: NDArray[np.float64], place: NDArray[np.intp], m: int) -> NDArray[np.bool_]:
    """Whether all units that a threshold [m] answers have one propensity."""
    low, high = np.full(m + 1, np.inf), np.zeros(m + 1)
    np.minimum.at(low, place, propensity)
    np.maximum.at(high, place, propensity)
    found: NDArray[np.bool_] = np.minimum.accumulate(low)[:m] >= np.maximum.accumulate(high)[:m]
    return found

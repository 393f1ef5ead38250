"""Certified selective risk: the loosest threshold at which the mean loss of the answered units is at most alpha.

P(selective risk <= alpha) >= 1 - delta over the draw of the calibration units, for any model, any score and any law of
the data, if future units come from the same law. With a loss of 1 for an unacceptable error the risk is
P(unacceptable | answered).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.certification.certificate import Finding, nothing
from models.certification.grid import Grid, other_grid, own_grid
from models.certification.pvalues import betting, binomial, check_risk, hoeffding_bentkus, zero_failure_size
from models.certification.sequence import last_rejected, starts
from models.certification.units import Floats, Units, as_threshold, losses

BINOMIAL = "fixed-sequence testing, exact binomial (Angelopoulos et al. 2021; Clopper & Pearson 1934; Wiens 2003)"
BOUNDED = "fixed-sequence testing, bounded losses (Angelopoulos et al. 2021; Waudby-Smith & Ramdas 2024; Wiens 2003)"
WEIGHTED = "fixed-sequence testing of weighted losses (Horvitz & Thompson 1952; Waudby-Smith & Ramdas 2024)"
_MOST_BETS = 100_000  # with more units Hoeffding-Bentkus is hardly wider, and a hundred times faster


def certify(
    units: Units,
    alpha: float,
    delta: float,
    *,
    acceptable: float | None = None,
    bound: float = 1.0,
    unlabelled: Floats | None = None,
) -> Finding:
    """Test H0: selective risk > alpha from strict to loose thresholds; see ``grid`` and ``sequence``.

    Exact binomial tests for losses 0 and 1; betting for losses in [0, bound], Hoeffding-Bentkus if there are many.

    Args:
        acceptable: largest acceptable error; None takes the errors as losses in [0, bound].
        unlabelled: scores of other units of the same law, for the candidate thresholds; without them, a few of the
            units provide theirs and are not tested.

    Raises:
        ValueError: no errors, one outside [0, bound], alpha outside (0, bound) or delta outside (0, 1).
    """
    check_risk(alpha, bound)
    check_delta(delta)
    loss = losses(units, acceptable, bound)
    needed = zero_failure_size(alpha / bound, delta)
    grid = own_grid(units, needed) if unlabelled is None else other_grid(units, unlabelled)
    loss, draws = loss[grid.tested], units.draws[grid.tested]
    exact = bound == 1 and binary(loss)
    procedure, n = BINOMIAL if exact else BOUNDED, len(loss)
    if n < needed:
        return nothing(procedure, n, too_few(needed, alpha, delta, n))
    if not len(grid.thresholds):
        return nothing(procedure, n, "no unit has a finite uncertainty")
    answered, lost, place = sums(grid, units.scores[grid.tested], loss)
    pvalue: Callable[[int], float]
    if exact:
        pvalue = binomial(lost, answered, alpha).__getitem__
    elif n > _MOST_BETS:
        pvalue = hoeffding_bentkus(lost / np.maximum(answered, 1), answered, alpha, bound).__getitem__
    else:
        pvalue = _bets(loss - alpha, place, draws, bound - alpha, alpha * (bound - alpha), delta)
    best = last_rejected(pvalue, starts(grid.expected, n, needed).tolist(), delta)
    if best is None:
        return nothing(procedure, n, _too_risky(answered, lost, n, alpha, delta, needed))
    risk = "rate of unacceptable errors" if acceptable is not None or exact else "mean error"
    return Finding(
        procedure,
        as_threshold(float(grid.thresholds[best])),
        f"with confidence {1 - delta:g} over the calibration units, the {risk} among answered units of the same law "
        f"is at most {alpha:g}",
        "",
        n,
        int(answered[best]),
        float(lost[best]),
        float(pvalue(best)),
    )


def certify_from_log(
    units: Units, alpha: float, delta: float, *, acceptable: float | None = None, bound: float = 1.0
) -> Finding:
    """Certify from a log of decisions: units [n] with propensities, labelled mostly if they were deferred.

    Each logged unit is weighted by the probability that its label was requested: X = (l - alpha) A R / pi has a mean
    below 0 exactly if the selective risk is below alpha (Horvitz & Thompson 1952), and units without a label are zeros.
    A betting test on [-alpha / pi_min, (bound - alpha) / pi_min] is valid for any selection of labels.

    All logged units provide scores. Requested labels that never arrive make pi wrong; correct pi first.

    If all units below a threshold have one propensity, the labelled ones are a simple random sample of them, and
    losses 0 and 1 are tested exactly: without weights this is the strongest test of the same hypothesis.

    Raises:
        ValueError: no propensities; otherwise as ``certify``.
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
        return nothing(WEIGHTED, n, too_few(needed, alpha, delta, n) + " with labels")
    if not len(grid.thresholds):
        return nothing(WEIGHTED, n, "no unit has a finite uncertainty")
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
        return nothing(WEIGHTED, n, f"{n} labels cannot show that the risk is below {alpha:g}: more audits help")
    return Finding(
        WEIGHTED,
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
    """Return whether all units answered at each threshold [m] have one propensity."""
    low, high = np.full(m + 1, np.inf), np.zeros(m + 1)
    np.minimum.at(low, place, propensity)
    np.maximum.at(high, place, propensity)
    even: NDArray[np.bool_] = np.minimum.accumulate(low)[:m] >= np.maximum.accumulate(high)[:m]
    return even


def _bets(
    excess: NDArray[np.float64],
    place: NDArray[np.intp],
    draws: NDArray[np.float64],
    largest: float,
    variance: float,
    delta: float,
) -> Callable[[int], float]:
    """Return betting p-values by threshold; units bet in the order of their draws, which is independent of them."""
    order = np.argsort(draws)
    excess, place = excess[order], place[order]
    return lambda j: betting(excess[place <= j], largest, variance, delta)


def binary(loss: NDArray[np.float64]) -> bool:
    """Return whether all losses are 0 or 1."""
    return bool(((loss == 0) | (loss == 1)).all())


def sums(
    grid: Grid, scores: NDArray[np.float32], loss: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.intp]]:
    """Return units and summed losses up to each threshold [m], and the first threshold that answers each unit [n]."""
    place = np.searchsorted(grid.thresholds, scores, "left")  # NaN and scores above all thresholds go to m
    m = len(grid.thresholds)
    answered = np.cumsum(np.bincount(place, minlength=m + 1)[:m])
    return answered, np.cumsum(np.bincount(place, loss, m + 1)[:m]), place


def too_few(needed: int, alpha: float, delta: float, have: int) -> str:
    """Explain why fewer units than the zero-failure size are not enough for a certificate."""
    return (
        f"risk {alpha:g} with delta {delta:g} needs at least {needed} units to test even if none fails, and there are "
        f"{have}"
    )


def _too_risky(
    answered: NDArray[np.int64], lost: NDArray[np.float64], n: int, alpha: float, delta: float, needed: int
) -> str:
    """Describe the best rate, and how many units would suffice at the same rates (normal approximation)."""
    enough = answered >= min(needed, answered[-1])
    k, rate = answered[enough], lost[enough] / np.maximum(answered[enough], 1)
    best = int(np.argmin(rate))
    text = f"of the {k[best]} most certain of {n} units {lost[enough][best]:g} fail, a rate of {rate[best]:.3g}"
    below = rate < alpha
    if not below.any():
        return f"{text}: that is not below {alpha:g}, so a better ranking or a larger risk is needed, not more units"
    sizes = 2 * np.log(1 / delta) * alpha / (alpha - rate[below]) ** 2 / k[below] * n
    about = float(f"{max(sizes.min(), 1.1 * n):.1g}")
    return f"at best, {text}: too few units to be sure of {alpha:g}; if the rates stay, about {about:.0f} are needed"


def check_delta(delta: float) -> None:
    """Raise ValueError unless delta is in (0, 1)."""
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta:g}; a probability in (0, 1) is needed, such as 0.05")

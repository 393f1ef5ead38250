"""The loosest threshold whose selective risk is certified: the mean loss of the answered units is at most alpha.

P(selective risk <= alpha) >= 1 - delta over the draw of the calibration units, for any model, any score and any law of
the data, if future units come from the same law. With a loss of 1 for an unacceptable error the risk is
P(unacceptable | answered).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.certification.finding import Finding, nothing
from models.certification.grid import Grid, other_grid, own_grid
from models.certification.pvalues import betting, binomial, check_risk, hoeffding_bentkus, zero_failure_size
from models.certification.sequence import last_rejected, starts
from models.certification.units import Floats, Units, as_threshold, losses

BINOMIAL = "fixed-sequence testing, exact binomial (Angelopoulos et al. 2021; Clopper & Pearson 1934; Wiens 2003)"
BOUNDED = "fixed-sequence testing, bounded losses (Angelopoulos et al. 2021; Waudby-Smith & Ramdas 2024; Wiens 2003)"
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
    """Tests H0: selective risk > alpha from strict to loose thresholds; see ``grid`` and ``sequence``.

    Exact binomial tests for losses 0 and 1; betting for losses in [0, bound], Hoeffding-Bentkus for many of them.

    Args:
        acceptable: largest acceptable error; None takes the errors as losses in [0, bound].
        unlabelled: scores of other units of the same law, for the candidate thresholds; without them a few of the
            units lend theirs and are not tested.

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


def _bets(
    excess: NDArray[np.float64],
    place: NDArray[np.intp],
    draws: NDArray[np.float64],
    largest: float,
    variance: float,
    delta: float,
) -> Callable[[int], float]:
    """Betting p-values by threshold; the units bet in the order of their draws, which knows nothing of them."""
    order = np.argsort(draws)
    excess, place = excess[order], place[order]
    return lambda j: betting(excess[place <= j], largest, variance, delta)


def binary(loss: NDArray[np.float64]) -> bool:
    """Whether all losses are 0 or 1."""
    return bool(((loss == 0) | (loss == 1)).all())


def sums(
    grid: Grid, scores: NDArray[np.float32], loss: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.intp]]:
    """Units and summed losses at or below each threshold [m], and the first threshold that answers each unit [n]."""
    place = np.searchsorted(grid.thresholds, scores, "left")  # NaN and what is above all go to m
    m = len(grid.thresholds)
    answered = np.cumsum(np.bincount(place, minlength=m + 1)[:m])
    return answered, np.cumsum(np.bincount(place, loss, m + 1)[:m]), place


def too_few(needed: int, alpha: float, delta: float, have: int) -> str:
    """Why fewer units than the zero-failure size certify nothing."""
    return (
        f"risk {alpha:g} with delta {delta:g} needs at least {needed} units to test even if none fails, and there are "
        f"{have}"
    )


def _too_risky(
    answered: NDArray[np.int64], lost: NDArray[np.float64], n: int, alpha: float, delta: float, needed: int
) -> str:
    """What was found instead, and how many units would do if the rates stayed as they are (normal approximation)."""
    enough = answered >= min(needed, answered[-1])
    k, rate = answered[enough], lost[enough] / np.maximum(answered[enough], 1)
    best = int(np.argmin(rate))
    found = f"of the {k[best]} most certain of {n} units {lost[enough][best]:g} fail, a rate of {rate[best]:.3g}"
    below = rate < alpha
    if not below.any():
        return f"{found}: that is not below {alpha:g}, so a better ranking or a larger risk is needed, not more units"
    wanted = 2 * np.log(1 / delta) * alpha / (alpha - rate[below]) ** 2 / k[below] * n
    about = float(f"{max(wanted.min(), 1.1 * n):.1g}")
    return f"at best, {found}: too few units to be sure of {alpha:g}; if the rates stay, about {about:.0f} are needed"


def check_delta(delta: float) -> None:
    """Raises ValueError unless delta is in (0, 1)."""
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta:g}; a probability in (0, 1) is needed, such as 0.05")

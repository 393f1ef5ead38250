"""Carry a threshold to another numeric profile: count or estimate flips, then apply a guard band or map it.

Notation: u0 is a unit's score under the reference profile, u under the new one, Δu = u - u0, τ the threshold. A unit
*flips* if u0 <= τ and u <= τ disagree. All limits are one-sided and hold with 95 %.

With ``COUNTED`` units or more, flips are counted at the worst batch size. They are also predicted, from the law of Δu
near τ and the distribution F of u0: mean of |F(τ - Δu) - F(τ)|, for small shifts density(τ) × E|Δu|. F is interpolated
between every n/20th unit beside τ. The prediction varies far less than the count; it is kept inside the 95 % interval
of the count (Clopper & Pearson 1934), which bounds its error if u0 and Δu are dependent in a way it does not model.

With fewer units the count is too imprecise. Whether a threshold is carried is then decided by the product of upper
limits (97.5 % each) of the density (Poisson, k nearest units of the steeper side) and of E|Δu| (Student's t), which
assumes that shifts have no rare large values.

Limits of the shares newly answered and lost, on which certificates and bands rest, are always binomial: they assume
nothing about shifts. If only part of the units is in-domain they are limits of that part: P / w from above, and (P - (1
- w)) / w from below, with w its least share.

Guard band: quantile 0.999 of |Δu|, the largest over batch sizes, among the units nearest to τ by score: a tenth, at
least 50. If these are fewer than 999, it is the larger of their maximum and |mean| + 3.29 standard deviations, the
quantile of a normal law. τ' = τ - guard, rounded down to float32. If that would defer more than ``MOST_LOST``
additional units, τ is mapped.

Scores of few values: if at least ten units lie within two guards below τ and the next larger score is more than four
guards away, τ lies in a gap, and every value in the gap gives the same decisions. Then τ' stays at least two guards
above the units below.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.qualification.replayed import (
    Float64,
    Replayed,
    least_of_part,
    lower_limit,
    most_of_part,
    upper_limit,
)

Verdict = Literal["carried", "mapped", "refused"]

COUNTED = 3000
"""Least number of units for which flips are counted."""
FEWEST = 20
"""Least number of units for a verdict."""
MOST_FLIPS = 0.001
MOST_LOST = 0.02
"""Largest share that a guard band may additionally defer; about the band of a calibration from 5000 units."""
LEAST_CORRELATION = 0.9999
QUANTILE = 0.999
NORMAL_QUANTILE = 3.2905
"""Quantile of |z| at the level ``QUANTILE``."""
JOINT = 1 - 0.05 / 3
"""Level of each of three limits that hold together with 95 %."""
_EACH_OF_TWO = 0.975
"""Level of each of two limits whose product holds with 95 %."""


@dataclass(frozen=True)
class CarriedThreshold:
    """Verdict on a threshold, with its numbers. Shares are of all units unless stated otherwise."""

    verdict: Verdict
    threshold: float
    """Calibrated threshold, compared with reference scores."""
    carried: float
    """Threshold to compare with the new scores; minus infinity defers all."""
    guard: float
    """``threshold - carried`` if carried, negative in a gap; 0 if mapped."""
    units: int
    counted: bool
    """True if flips were counted; otherwise they were estimated."""
    flips: float
    """Share of units that flip at the threshold itself, counted at the worst batch size."""
    predicted: float
    """Predicted ``flips`` for other units of the same law."""
    flips_limit: float
    """Upper 95 % limit of ``flips``."""
    newly: int
    """Number of units answered at ``carried``, at any batch size, that were deferred."""
    newly_limit: float
    """Upper 95 % limit of their share of in-domain units."""
    lost: int
    """Number of units deferred at ``carried``, at any batch size, that were answered."""
    lost_limit: float
    """Upper 95 % limit of their share of in-domain units."""
    answered: int
    """Number of units answered at ``carried`` at every batch size."""
    joint: tuple[float, float, float]
    """Limits for in-domain units: upper limits of the shares newly answered and lost, lower limit of the share
    answered. They hold together with 95 %.
    """
    reason: str
    """Reason why the threshold is not carried; empty if it is."""


def carry(replay: Replayed, threshold: float, correlation: float | None) -> CarriedThreshold:
    """Carry a threshold with a guard band, else by quantile mapping, else refuse it.

    Thresholds outside the range of the replayed scores are carried too: the guard comes from the nearest units, and the
    limits of shares are binomial, so they need no score near the threshold.

    Args:
        replay: scores of the measure that is compared with the threshold.
        correlation: worst of the batch sizes, see ``order.rank_correlation``; None for a constant reference.

    Raises:
        ValueError: the threshold is NaN.
    """
    if math.isnan(threshold):
        raise ValueError("threshold is NaN: must be a number, in the unit of the measure")
    n = len(replay)
    if replay.unusable:
        return _refused(replay, threshold, f"{replay.unusable} of {n} units have a score that is not finite")
    if n < FEWEST:
        return _refused(replay, threshold, f"{n} units were replayed: at least {FEWEST} are needed")
    compared = as_compared(threshold)
    below = replay.reference <= compared
    near = _near(replay, compared)
    guard = _guard(replay.shift[:, near])
    gap = _gap_floor(replay, compared, guard)
    at = compared if gap is None else np.float32(max(float(_down(compared, guard)), gap))
    flips, predicted, limit = _flips(replay, below, at, compared, near, gap is not None)
    carried = float(at) if gap is not None else _guarded(threshold, compared, guard)
    if correlation is not None and correlation < LEAST_CORRELATION:
        why = f"rank correlation {correlation:.6f} is below {LEAST_CORRELATION}: units change their order"
        return _outcome(replay, threshold, -math.inf, "refused", why, below, flips, predicted, limit, guard)
    few = max(flips, predicted) if n >= COUNTED else max(limit, lower_limit(round(flips * n), n))
    what = "flip" if n >= COUNTED else "may flip (upper 95 % limit)"
    why = f"{few:.3%} of units {what} at the threshold, more than {MOST_FLIPS:.1%}"
    if few <= MOST_FLIPS:
        outcome = _outcome(replay, threshold, carried, "carried", "", below, flips, predicted, limit, guard)
        if outcome.lost <= MOST_LOST * n:
            return outcome
        why = f"a guard band of {guard:.3g} would defer {outcome.lost / n:.1%} of units, more than {MOST_LOST:.0%}"
    if correlation is None:
        why += ", and the reference scores are all tied, so no order can be mapped"
        return _outcome(replay, threshold, -math.inf, "refused", why, below, flips, predicted, limit, guard)
    mapped = _mapped(replay, int(below.sum()))
    return _outcome(replay, threshold, mapped, "mapped", why, below, flips, predicted, limit, guard)


def as_compared(threshold: float) -> np.float32:
    """Return the threshold in float32, in which scores are compared; beyond the range of float32 it is infinite."""
    with np.errstate(over="ignore"):
        return np.float32(threshold)


def _outcome(
    replay: Replayed,
    threshold: float,
    carried: float,
    verdict: Verdict,
    reason: str,
    below: NDArray[np.bool_],
    flips: float,
    predicted: float,
    limit: float,
    guard: float,
) -> CarriedThreshold:
    """Count the units answered at the carried threshold, and return the outcome."""
    n, part = len(replay), replay.in_domain
    now = replay.scores <= np.float32(carried)
    newly, lost = int((now.any(axis=0) & ~below).sum()), int((below & ~now.all(axis=0)).sum())
    answered = int(now.all(axis=0).sum())
    newly_limit, lost_limit = (most_of_part(upper_limit(count, n), part) for count in (newly, lost))
    joint = (
        most_of_part(upper_limit(newly, n, JOINT), part),
        most_of_part(upper_limit(lost, n, JOINT), part),
        least_of_part(lower_limit(answered, n, JOINT), part),
    )
    width = threshold - carried if verdict == "carried" and math.isfinite(threshold) else 0.0
    return CarriedThreshold(
        verdict,
        threshold,
        carried,
        width,
        n,
        n >= COUNTED,
        flips,
        predicted,
        limit,
        newly,
        newly_limit,
        lost,
        lost_limit,
        answered,
        joint,
        reason,
    )


def _refused(replay: Replayed, threshold: float, reason: str) -> CarriedThreshold:
    """Return a refusal for scores from which nothing can be computed."""
    n = len(replay)
    return CarriedThreshold(
        "refused", threshold, -math.inf, 0.0, n, n >= COUNTED, 1, 1, 1, 0, 1, 0, 1, 0, (1, 1, 0), reason
    )


def _near(replay: Replayed, threshold: np.float32) -> NDArray[np.intp]:
    """Return the indices of the units whose reference scores are nearest to the threshold."""
    n = len(replay)
    count = min(n, max(n // 10, 50))
    if not np.isfinite(threshold) or count == n:
        return np.arange(n)
    return np.argpartition(np.abs(replay.reference.astype(np.float64) - threshold), count - 1)[:count]


def _guard(shifts: Float64) -> float:
    """Return the quantile of the absolute shifts [B, m]; that of a normal law if m is too small for it."""
    largest = np.abs(shifts).max(axis=0)
    m = len(largest)
    rank = math.ceil((m + 1) * QUANTILE)
    if rank <= m:
        return float(np.partition(largest, rank - 1)[rank - 1])
    normal = np.abs(shifts.mean(axis=1)) + NORMAL_QUANTILE * shifts.std(axis=1)
    return max(float(largest.max()), float(normal.max()))


def _gap_floor(replay: Replayed, threshold: np.float32, guard: float) -> float | None:
    """Return the least threshold that keeps the units below, if it lies in a gap of the scores; else None."""
    ordered = replay.ordered
    count = int(np.searchsorted(ordered, float(threshold), "right"))
    if guard == 0 or count == 0:
        return None
    last = float(ordered[count - 1])
    widest = max(float(ordered[-1] - ordered[0]), 1e-3 * abs(last))  # above the largest score there is no data
    following = float(ordered[count]) if count < len(ordered) else last + widest
    crowd = count - int(np.searchsorted(ordered, last - 2 * guard, "left"))
    return last + 2 * guard if crowd >= 10 and following - last > 4 * guard else None


def _guarded(threshold: float, compared: np.float32, guard: float) -> float:
    """Return the threshold less the guard; unchanged if no score moves."""
    return threshold if guard == 0 or not np.isfinite(compared) else float(_down(compared, guard))


def _down(threshold: np.float32, guard: float) -> np.float32:
    """Return the largest float32 that is at most the threshold less the guard."""
    exact = float(threshold) - guard
    rounded = np.float32(exact)
    return rounded if float(rounded) <= exact else np.nextafter(rounded, np.float32(-np.inf))


def _flips(
    replay: Replayed,
    below: NDArray[np.bool_],
    at: np.float32,
    threshold: np.float32,
    near: NDArray[np.intp],
    gap: bool,
) -> tuple[float, float, float]:
    """Return the share that flips: counted, predicted, and its upper 95 % limit; the worst of the batch sizes."""
    n = len(replay)
    count = int(((replay.scores <= at) != below).sum(axis=1).max())
    if not replay.largest.any() or not np.isfinite(threshold):
        return count / n, count / n, 0.0
    if gap:
        return count / n, count / n, upper_limit(count, n)
    shifts = replay.shift[:, near]
    crossed = float(_crossed(replay, float(threshold), shifts).max())
    if n >= COUNTED:
        predicted = min(max(crossed, lower_limit(count, n, 0.975)), upper_limit(count, n, 0.975))
        return count / n, predicted, upper_limit(count, n)
    mean = max(_mean_limit(np.abs(row), _EACH_OF_TWO) for row in shifts)
    return count / n, crossed, min(1.0, _slope(replay, threshold, _EACH_OF_TWO) * mean)


def _crossed(replay: Replayed, threshold: float, shifts: Float64) -> Float64:
    """Return the mean over shifts [B, m] of the share of units between the threshold and the shifted one, [B]."""
    ordered, n = replay.ordered, len(replay)
    count = int(np.searchsorted(ordered, threshold, "right"))
    step = max(n // 20, 4)
    sides = [0, count // 2, min((count + n) // 2, n - 1), n - 1]  # points for sides with fewer units than a step
    ranks = np.unique(np.concatenate([np.arange(count % step, n, step), sides]))
    values, places = ordered[ranks], (ranks + 0.5) / n
    keep = np.abs(ranks - (count - 0.5)) > 0.75  # the threshold itself is the knot at this rank
    knots = np.concatenate([values[keep], [threshold]])
    shares = np.concatenate([places[keep], [count / n]])
    order = np.argsort(knots, kind="stable")
    share = np.interp(threshold - shifts, knots[order], shares[order])
    return np.asarray(np.abs(share - count / n).mean(axis=1))


def _slope(replay: Replayed, threshold: np.float32, level: float) -> float:
    """Return the upper limit of the density of reference scores beside the threshold, on the denser side."""
    from scipy.special import chdtri  # late: a service whose calibrations hold carries nothing, and needs no SciPy

    ordered, n = replay.ordered, len(replay)
    count = int(np.searchsorted(ordered, float(threshold), "right"))
    k = max(5, math.ceil(math.sqrt(n)))
    slopes = []
    for units in (ordered[max(count - k, 0) : count], ordered[count : count + k]):
        if len(units) >= 4:
            width = max(abs(float(units[0]) - float(threshold)), abs(float(units[-1]) - float(threshold)))
            most = float(chdtri(2 * (len(units) + 1), 1 - level)) / 2  # Poisson (Garwood 1936)
            slopes.append(most / n / width if width else math.inf)
    return max(slopes)


def _mean_limit(values: Float64, level: float) -> float:
    """Return the upper limit of a mean [m] by Student's t."""
    from scipy.special import stdtrit

    m = len(values)
    return float(values.mean() + stdtrit(m - 1, level) * values.std(ddof=1) / math.sqrt(m))


def _mapped(replay: Replayed, count: int) -> float:
    """Return the threshold that answers at most ``count`` of the units at every batch size; minus infinity for none."""
    return min(_at_most(np.sort(row), count) for row in replay.scores)


def _at_most(ordered: NDArray[np.float32], count: int) -> float:
    """Return the largest of ascending scores [n] at or below which at most ``count`` scores lie."""
    if count < len(ordered):
        count = int(np.searchsorted(ordered, ordered[count], "left"))
    return float(ordered[count - 1]) if count else -math.inf

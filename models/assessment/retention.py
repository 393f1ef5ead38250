"""Error- and F-retention curves and their areas (Shifts 1.0, section 2 and appendix A).

Curves are float64 [n + 1], indexed by the number of retained units k = 0..n, most certain first. (The released error
curve is the same array reversed.) Values divide by all n units: units that are not retained count as answered without
error. Every function takes at most O(n log n), or O(n) with a given ranking.

Defined for all inputs with n >= 1: ties by ``Convention``, n = 1, constant errors (no rejection ratio: NaN), no
acceptable unit (F is NaN), NaN uncertainty (ranks last). A NaN error raises a ValueError.
"""

import math

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL, Area, Convention
from models.assessment.ranking import Floats, Ranking, ranking, reverse_ties, share_ties

Curve = NDArray[np.float64]

_EPSILON = 1e-10  # in the denominator of F, as released
_BLOCK = 1 << 20  # ranks of a curve per step, so that temporaries stay small


def error_curve(errors: Floats, uncertainty: Floats | Ranking, *, group_ties: bool = True) -> Curve:
    """Return the sum of the errors of the k most certain units, divided by n.

    Args:
        errors: error of each unit [n].
        uncertainty: its measure [n], larger is less certain, or its ranking.
        group_ties: errors inside a group of equal uncertainty are replaced by the group's mean (released code except
            for vessel); False keeps input order among ties.

    Raises:
        ValueError: no units, different lengths, or an error that is NaN.
    """
    ranks = _checked(errors, uncertainty)
    curve = np.empty(len(ranks) + 1)
    curve[0] = 0.0
    ranked = curve[1:]
    ranked[:] = errors[ranks.order]
    if group_ties:
        share_ties(ranked, ranks)
    np.cumsum(ranked, out=ranked)
    ranked /= len(ranks)
    return curve


def optimal_curve(errors: Floats) -> Curve:
    """Return the curve of a measure that ranks as the errors do; errors as ``error_curve``."""
    _check_errors(errors)
    curve = np.empty(len(errors) + 1)
    curve[0] = 0.0
    curve[1:] = errors
    curve[1:].sort()
    np.cumsum(curve, out=curve)
    curve /= len(errors)
    return curve


def random_curve(errors: Floats) -> Curve:
    """Return the expected, straight curve of an uninformative measure; errors as ``error_curve``."""
    _check_errors(errors)
    return np.linspace(0.0, float(np.mean(errors, dtype=np.float64)), len(errors) + 1)


def r_auc(curve: Curve, area: Area = "mean") -> float:
    """Return the area under an error curve, in the error's unit."""
    if area == "mean":
        return float(np.mean(curve))
    return float((np.sum(curve[1:-1]) + 0.5 * (curve[0] + curve[-1])) / (len(curve) - 1))


def rejection_ratio(area: float, random: float, optimal: float) -> float:
    """Return the prediction rejection ratio: 1 for the optimal ranking, 0 at random, negative if worse than random.

    NaN if the errors allow no ranking (areas equal to 1e-12 of the area at random): n = 1 or constant errors.
    """
    span = random - optimal
    if not abs(span) > 1e-12 * abs(random):
        return math.nan
    return (random - area) / span


def prr(errors: Floats, uncertainty: Floats | Ranking) -> float:
    """Return the prediction rejection ratio in % as in the released code; NaN for constant errors."""
    if len(errors) < 2 or np.ptp(errors) == 0:
        return math.nan
    random = float(np.mean(errors, dtype=np.float64)) / 2
    return 100 * rejection_ratio(r_auc(error_curve(errors, uncertainty)), random, r_auc(optimal_curve(errors)))


def f_curve(
    errors: Floats,
    uncertainty: Floats | Ranking,
    acceptable: float,
    *,
    beta: float = 1.0,
    convention: Convention = OFFICIAL,
) -> Curve:
    """Return F-beta of "retained" as a prediction of "the error is acceptable", by the number retained (equation 3).

    NaN (except for k = 0) if no error is acceptable.

    Args:
        acceptable: largest acceptable error (``convention`` decides if the limit itself is acceptable), in their unit.

    Raises:
        ValueError: as ``error_curve``.
    """
    ranks = _checked(errors, uncertainty)
    good = acceptable_units(errors, acceptable, convention)[ranks.order]
    if not convention.f_ties_share:
        good = reverse_ties(good, ranks)
    curve = np.empty(len(ranks) + 1)
    curve[1:] = good
    if convention.f_ties_share:
        share_ties(curve[1:], ranks)
    return f_of_hits(curve, int(good.sum()), beta)


def optimal_f_curve(
    errors: Floats, acceptable: float, *, beta: float = 1.0, convention: Convention = OFFICIAL
) -> Curve:
    """Return the F curve of a measure that ranks as the errors do: all acceptable units come first."""
    total = int(acceptable_units(errors, acceptable, convention).sum())
    curve = np.zeros(len(errors) + 1)
    curve[1 : total + 1] = 1.0
    return f_of_hits(curve, total, beta)


def random_f_curve(errors: Floats, acceptable: float, *, beta: float = 1.0, convention: Convention = OFFICIAL) -> Curve:
    """Return the expected F curve of an uninformative measure; exact, since F is linear in the hits for a given k."""
    total = int(acceptable_units(errors, acceptable, convention).sum())
    curve = np.full(len(errors) + 1, total / len(errors))
    return f_of_hits(curve, total, beta)


def acceptable_units(errors: Floats, acceptable: float, convention: Convention = OFFICIAL) -> NDArray[np.bool_]:
    """Return the mask of the acceptable errors [n].

    Raises:
        ValueError: no units, or an error that is NaN.
    """
    _check_errors(errors)
    return errors < acceptable if convention.strict_limit else errors <= acceptable


def f_auc(curve: Curve, convention: Convention = OFFICIAL) -> float:
    """Return the area under an F curve, trapezoid over its axis: k / (n + 1) as released, k / n in the papers' text.

    If all errors are acceptable, it is 2 - 2 ln 2 = 0.614 for large n, not 1.
    """
    steps = len(curve) - 1 if convention.f_axis_to_one else len(curve)
    return float((np.sum(curve) - 0.5 * (curve[0] + curve[-1])) / steps)


def f_at(curve: Curve, retention: float = 0.95, convention: Convention = OFFICIAL) -> float:
    """Return F at a retention in [0, 1]: with int(retention * (n + 1)) units as released, floor(retention * n) in the
    text.

    Raises:
        ValueError: a retention outside [0, 1].
    """
    n = len(curve) - 1
    retained = math.floor(_share(retention) * n + 1e-9) if convention.f_axis_to_one else int(retention * (n + 1))
    return float(curve[min(retained, n)])


def error_at(curve: Curve, retention: float) -> float:
    """Return the value of an error curve at any retention in [0, 1], linear between its points at k / n.

    Raises:
        ValueError: a retention outside [0, 1].
    """
    position = _share(retention) * (len(curve) - 1)
    below = int(position)
    if below == len(curve) - 1:
        return float(curve[-1])
    low, high = float(curve[below]), float(curve[below + 1])
    return low + (position - below) * (high - low)


def f_of_hits(hits: Curve, total: int, beta: float = 1.0) -> Curve:
    """Turn acceptability by rank (0 to 1, at index 1..n), ``total`` in all, into the F curve, in place."""
    n = len(hits) - 1
    hits[0] = 0.0
    if total == 0:
        hits[1:] = np.nan
        return hits
    np.cumsum(hits, out=hits)
    square = beta**2
    for start in range(0, n + 1, _BLOCK):
        part = hits[start : start + _BLOCK]
        kept = np.arange(start, start + len(part), dtype=np.float64)
        # (1 + b²) P R / (b² P + R + eps) with P = hits / k and R = hits / total, without its 0 / 0
        bottom = part * (square * total + kept) + _EPSILON * total * kept
        np.multiply(part, part * (1 + square), out=part)
        np.divide(part, bottom, out=part, where=bottom > 0)
    hits[0] = 0.0
    return hits


def _share(retention: float) -> float:
    if not 0 <= retention <= 1:
        raise ValueError(f"retention is a share between 0 and 1, not {retention:g}")
    return retention


def _checked(errors: Floats, uncertainty: Floats | Ranking) -> Ranking:
    if errors.ndim == 1 and len(errors) != len(uncertainty):
        length = f"[{len(uncertainty)}]"
        raise ValueError(f"errors and uncertainty need one length, got {list(errors.shape)} and {length}")
    _check_errors(errors)
    return ranking(uncertainty)


def _check_errors(errors: Floats) -> None:
    if errors.ndim != 1 or not len(errors):
        raise ValueError(f"errors need the shape [n] with n > 0, got {list(errors.shape)}: one length for all")
    if np.isnan(np.min(errors)):
        raise ValueError(f"error {int(np.flatnonzero(np.isnan(errors))[0])} is NaN: it cannot be judged; leave it out")

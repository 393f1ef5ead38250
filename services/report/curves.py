"""Curves of a report, computed one at a time and thinned to a few hundred points to keep memory near one curve."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.assessment import retention
from models.assessment.convention import Convention
from models.assessment.ranking import Floats, Ranking, ranking
from models.assessment.retention import Curve
from models.evaluation.evaluate import domains
from models.evaluation.unit_errors import Mask, UnitErrors

POINTS = 400
"""Largest number of points of a thinned curve."""
OPERATING_POINT = 0.95
"""Retention of the marked point, as in Shifts 1.0."""
ANSWERED_FROM = 0.05
"""Retention from which the mean error of the answers is drawn: a mean of fewer units is too noisy."""
ANSWERED_AT = (0.95, 0.8, 0.5)


@dataclass(frozen=True, slots=True)
class Line:
    """Thinned curve; both float64 [p], p <= POINTS."""

    retention: Curve
    """Share of the units answered, 0 to 1."""
    value: Curve

    @property
    def points(self) -> tuple[Curve, Curve]:
        """Pair of retention and value."""
        return self.retention, self.value


@dataclass(frozen=True, slots=True)
class Curves:
    """Retention curves of one file for one part of its units."""

    n: int
    error: Line
    """Sum of the retained errors divided by all units, in the error's unit."""
    error_at_95: float
    f1: Line | None
    """F1-retention curve; None without an acceptable limit or without an acceptable unit."""
    f1_at_95: float
    f1_marked: float
    """Retention at which F1 at 95 % is computed: a whole number of units, over n or n + 1."""
    references: dict[str, Line]
    """Curves ``random`` and ``optimal`` of the error, which depend on the errors only, not on the measure."""
    f1_references: dict[str, Line]
    answered: Line
    """Mean error of the answered units alone, from ANSWERED_FROM on."""
    answered_at: dict[float, float]
    """Mean error of the answered units at the shares of ANSWERED_AT."""
    answered_references: dict[str, Line]


@dataclass(frozen=True, slots=True)
class System:
    """Mean error of model and human together against retention, in the error's unit."""

    line: Line
    best_retention: float
    """Largest retention with the least error."""
    best_error: float


def retention_curves(judged: UnitErrors) -> dict[str, Curves]:
    """Return the curves of ``full`` and, if the file marks shifted units, of ``in`` and ``shifted``."""
    parts: list[tuple[str, Mask | None]] = [("full", None), *domains(judged)]
    return {name: _curves(judged, mask) for name, mask in parts}


def system_curve(judged: UnitErrors, human_error: float) -> System:
    """Return E(r) + (1 - r) h: the model answers the share r, a human with the mean error h the rest.

    Args:
        human_error: h, in the error's unit.

    Raises:
        ValueError: h is negative or not finite.
    """
    if not (math.isfinite(human_error) and human_error >= 0):
        unit = judged.error.unit
        raise ValueError(f"human_error is {human_error:g} {unit}: give a finite mean error from 0, in that unit")
    curve = retention.error_curve(judged.error.values, judged.uncertainty, group_ties=judged.rules.groups_ties)
    n = len(curve) - 1
    if human_error:
        curve += np.linspace(human_error, 0.0, n + 1)
    best = n - int(np.argmin(curve[::-1]))
    return System(thinned(curve), best / n, float(curve[best]))


def answered_line(curve: Curve) -> Line:
    """Return E(r) / r, the mean error of the answered units alone, thinned, from an error curve [n + 1]."""
    n = len(curve) - 1
    first = max(1, math.ceil(ANSWERED_FROM * n))
    kept = np.unique(np.round(np.linspace(first, n, min(POINTS, n + 1 - first))).astype(np.int64))
    return Line(kept / n, curve[kept] * (n / kept))


def r3_line(curve: Floats) -> Line:
    """Return RMSE / RMV of the retained rows [N + 1], without its undefined start."""
    line = thinned(np.asarray(curve, np.float64))
    known = np.isfinite(line.value)
    return Line(line.retention[known], line.value[known])


def thinned(curve: Curve, steps: int | None = None) -> Line:
    """Return at most POINTS points of a curve [n + 1], both ends among them.

    Args:
        steps: divisor of the number retained; default n.
    """
    n = len(curve) - 1
    kept: NDArray[np.int64] = np.unique(np.round(np.linspace(0, n, min(POINTS, n + 1))).astype(np.int64))
    return Line(kept / (steps or n), curve[kept])


def _curves(judged: UnitErrors, mask: Mask | None) -> Curves:
    errors, uncertainty = judged.error.values, judged.uncertainty
    if mask is not None:
        errors, uncertainty = errors[mask], uncertainty[mask]
    ranks = ranking(uncertainty)
    curve = retention.error_curve(errors, ranks, group_ties=judged.rules.groups_ties)
    error, error_at_95 = thinned(curve), retention.error_at(curve, OPERATING_POINT)
    answered, answered_at = answered_line(curve), {at: retention.error_at(curve, at) / at for at in ANSWERED_AT}
    del curve
    mean, best = float(np.mean(errors, dtype=np.float64)), retention.optimal_curve(errors)
    references = {"random": Line(np.array([0.0, 1.0]), np.array([0.0, mean])), "optimal": thinned(best)}
    of_answers = {"random": Line(answered.retention[[0, -1]], np.full(2, mean)), "optimal": answered_line(best)}
    del best
    f1, f1_at_95, f1_references = _f1(judged, errors, ranks)
    marked = f1_place(len(errors), judged.rules.convention)
    return Curves(
        n=len(errors),
        error=error,
        error_at_95=error_at_95,
        f1=f1,
        f1_at_95=f1_at_95,
        f1_marked=marked,
        references=references,
        f1_references=f1_references,
        answered=answered,
        answered_at=answered_at,
        answered_references=of_answers,
    )


def f1_place(n: int, convention: Convention) -> float:
    """Return the retention of F1 at 95 % on its axis, as ``retention.f_at`` defines it."""
    if convention.f_axis_to_one:
        return math.floor(OPERATING_POINT * n + 1e-9) / n
    return min(int(OPERATING_POINT * (n + 1)), n) / (n + 1)


def _f1(judged: UnitErrors, errors: Floats, ranks: Ranking) -> tuple[Line | None, float, dict[str, Line]]:
    limit, convention = judged.error.acceptable, judged.rules.convention
    if limit is None:
        return None, math.nan, {}
    # the released code draws F over k / (n + 1)
    steps = len(errors) if convention.f_axis_to_one else len(errors) + 1
    curve = retention.f_curve(errors, ranks, limit, convention=convention)
    if math.isnan(curve[-1]):
        return None, math.nan, {}
    line, at_95 = thinned(curve, steps), retention.f_at(curve, OPERATING_POINT, convention)
    del curve
    references = {"random": thinned(retention.random_f_curve(errors, limit, convention=convention), steps)}
    references["optimal"] = thinned(retention.optimal_f_curve(errors, limit, convention=convention), steps)
    return line, at_95, references

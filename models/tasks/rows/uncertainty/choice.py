"""Choice of the uncertainty of a head: every kind that applies, ranked by cross-validated R-AUC."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.assessment.figures import Errors, Figures, Rules, figures
from models.building import errors_of
from models.executors.graph import Graph, Value
from models.predictive import Categorical, Gaussian
from models.tasks.rows.refusal import Refused
from models.tasks.rows.uncertainty import temperature as scaling
from models.tasks.rows.uncertainty.nearest import nearest
from models.tasks.rows.uncertainty.predicted import Means, Predicted, Probabilities
from models.tasks.rows.uncertainty.residual import residual
from models.tasks.rows.uncertainty.spread import Fit, Fitted, Inputs, Spread, constant, positive
from models.uncertainty import categorical, gaussian

Kind = Literal["ensemble", "native", "residual", "conformal", "confidence"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ABOUT: Mapping[Kind, str] = MappingProxyType(
    {
        "ensemble": "disagreement of the members",
        "native": "the model's own variance, quantiles or virtual members",
        "residual": "a variance model on the errors of the calibration rows, cross-fitted (CatBoost)",
        "conformal": "errors of the nearest calibration rows, as in normalised split conformal prediction",
        "confidence": "probabilities of the classes, after temperature scaling",
    }
)
_SPREADS: Mapping[Kind, Fit] = MappingProxyType({"residual": residual, "conformal": nearest, "ensemble": constant})


@dataclass(frozen=True)
class Candidate:
    """Kind of uncertainty of a head, and how it ranks the calibration rows."""

    kind: Kind
    measure: str
    """Measure by which units are deferred."""
    predictive: Gaussian | Categorical
    """Statistics of the calibration rows, each row's variance fitted without the row's fold."""
    figures: Figures
    spread: Spread | None = None
    """Variance of each member; None if members have variances of their own."""
    temperature: float = 1.0
    """Temperature of class probabilities."""


@dataclass(frozen=True)
class Choice:
    """Chosen uncertainty, and all that were compared."""

    chosen: Candidate
    compared: tuple[Candidate, ...]
    """All that apply, best first."""


def choose(
    predicted: Predicted, labels: NDArray[Any], inputs: Callable[[NDArray[np.float64]], Inputs], kind: str = ""
) -> Choice:
    """Return the kind of least R-AUC among those that apply.

    Args:
        labels: targets, or classes as numbers, [n].
        inputs: returns the rows on which variances are fitted, from the mean predictions [n].
        kind: kind that the user chose; empty for the best.

    Raises:
        Refused: the kind does not exist or does not apply to the model.
    """
    if kind and kind not in KINDS:
        raise Refused(f"--uncertainty = {kind}: must be one of {', '.join(KINDS)}")
    if isinstance(predicted, Probabilities):
        every = _of_classes(predicted, labels)
    else:
        every = _of_numbers(predicted, labels, inputs)
    compared = sorted(every, key=lambda candidate: candidate.figures.r_auc)
    eligible = [candidate for candidate in compared if not kind or candidate.kind == kind]
    if not eligible:
        applicable = ", ".join(dict.fromkeys(candidate.kind for candidate in compared))
        raise Refused(f"--uncertainty = {kind}: does not apply to this model, which allows {applicable}")
    return Choice(eligible[0], tuple(compared))


def _of_numbers(
    predicted: Means, labels: NDArray[np.float64], inputs: Callable[[NDArray[np.float64]], Inputs]
) -> list[Candidate]:
    members, mean = len(predicted.mean), predicted.mean.mean(axis=0)
    table = inputs(mean)
    candidates = []
    if predicted.variance is not None:
        candidates.append(_gaussian("native", predicted, labels, None))
    for kind, fit in _SPREADS.items():
        if kind == "ensemble" and members == 1:
            continue
        fitted = _beside_members(fit(table), predicted.mean, table.error)
        variance = np.broadcast_to(fitted.variance, predicted.mean.shape)
        candidates.append(_gaussian(kind, Means(predicted.mean, variance), labels, fitted.spread))
    return candidates


def _beside_members(fitted: Fitted, means: NDArray[np.float64], error: NDArray[np.float64]) -> Fitted:
    """Return the spread less what the members' disagreement explains, so that totals are squared errors on average."""
    between = float(means.var(axis=0).mean())
    if between == 0:
        return fitted
    total = float(np.mean(error**2))
    share = max(1 - between / positive(total), 0.05)
    return Fitted(_Scaled(fitted.spread, share), fitted.variance * share)


@dataclass(frozen=True)
class _Scaled:
    """Spread times a factor."""

    spread: Spread
    factor: float

    @property
    def trees(self) -> bool:
        """True if the spread has operators that run on a CPU only."""
        return self.spread.trees

    def add(self, graph: Graph, rows: Value, mean: Value) -> Value:
        """Add the spread and its factor; see ``Spread``."""
        return self.spread.add(graph, rows, mean) * self.factor


def _gaussian(kind: Kind, members: Means, labels: NDArray[np.float64], spread: Spread | None) -> Candidate:
    assert members.variance is not None
    several = len(members.mean) > 1
    predictive = gaussian.predictive(members.mean, members.variance)
    predictive = replace(predictive, epkl=None, varm=predictive.varm if several else None)
    measure = "tvar" if several else "variance"
    return Candidate(kind, measure, predictive, _figures(predictive, labels, measure), spread)


def _of_classes(predicted: Probabilities, labels: NDArray[np.intp]) -> list[Candidate]:
    temperature = scaling.fitted(predicted.values, labels)
    members = scaling.scaled(predicted.values, temperature)
    several = len(members) > 1
    predictive = categorical.predictive(members)
    if not several:
        predictive = Categorical(predictive.probabilities)
    measures: list[tuple[Kind, str]] = [("confidence", "entropy"), ("confidence", "confidence")]
    measures += [("ensemble", "mi")] if several else []
    return [
        Candidate(kind, measure, predictive, _figures(predictive, labels, measure), temperature=temperature)
        for kind, measure in measures
    ]


def _figures(predictive: Gaussian | Categorical, labels: NDArray, measure: str) -> Figures:  # type: ignore[type-arg]
    return figures(Errors(errors_of(predictive, labels), None, Rules()), uncertainty.score(predictive, measure))


def table(compared: Sequence[Candidate]) -> list[str]:
    """Return the comparison as the lines of a Markdown table."""
    lines = ["| uncertainty | measure | R-AUC | of random | of optimal |", "|---|---|---|---|---|"]
    for candidate in compared:
        judged = candidate.figures
        lines.append(
            f"| {candidate.kind}: {ABOUT[candidate.kind]} | {candidate.measure} | {shown(judged.r_auc)} | "
            f"{shown(judged.r_auc_random)} | {shown(judged.r_auc_optimal)} |"
        )
    return lines


def shown(value: float) -> str:
    """Return a figure with four digits, large ones without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"

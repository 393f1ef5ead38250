"""Tables 9, 10, 11 and 13 of Shifts 1.0 (appendix C) for any members; pages are written elsewhere.

A row of the paper is an ensemble, or its single members ("mean is quoted for the single models"); here the latter also
have a standard deviation (ddof 0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.assessment import detection
from models.building import errors_of
from models.executors.members import Members
from models.predictive import Categorical, Gaussian
from models.tasks.weather.inference import scoring
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.uncertainty import categorical, gaussian

SETS = ("in", "shifted", "full")
MEASURES = {
    TEMPERATURE.name: ("tvar", "varm", "epkl"),
    PRECIPITATION.name: ("confidence", "entropy", "mi", "epkl", "rmi"),
}
"""Measures of Table 11, in its order."""
_BY_NAME = {TEMPERATURE.name: TEMPERATURE, PRECIPITATION.name: PRECIPITATION}

Figures = Mapping[str, float]
"""Value by name, such as ``temperature.rmse_celsius``."""


@dataclass(frozen=True)
class Truth:
    """Labels of a set [N], and mask of its shifted units."""

    labels: Mapping[str, NDArray[Any]]
    shifted: NDArray[np.bool_]

    def part(self, name: str) -> NDArray[np.bool_]:
        """Return the mask [N] of the units of a set named in ``SETS``."""
        return {"in": ~self.shifted, "shifted": self.shifted, "full": np.ones_like(self.shifted)}[name]


@dataclass(frozen=True)
class Row:
    """Figures of one row of a table, by set."""

    label: str
    mean: Mapping[str, Figures]
    deviation: Mapping[str, Figures]
    """Standard deviation over single members; empty for an ensemble."""


def ensemble_row(label: str, predictions: Members, truth: Truth, sets: Sequence[str] = SETS) -> Row:
    """Return the row of all members as one ensemble."""
    return Row(label, {name: _figures(predictions, truth, name) for name in sets}, {})


def single_row(label: str, predictions: Members, truth: Truth, sets: Sequence[str] = SETS) -> Row:
    """Return the row of single members: mean and standard deviation (ddof 0) of their figures."""
    members = len(next(iter(predictions.values())))
    mean: dict[str, Figures] = {}
    deviation: dict[str, Figures] = {}
    for name in sets:
        each = [_figures(_one(predictions, member), truth, name) for member in range(members)]
        mean[name] = {figure: float(np.mean([figures[figure] for figures in each])) for figure in each[0]}
        deviation[name] = {figure: float(np.std([figures[figure] for figures in each])) for figure in each[0]}
    return Row(label, mean, deviation)


def measures(predictions: Members, truth: Truth) -> dict[tuple[str, str], tuple[float, float]]:
    """Return F1-AUC on the full set and ROC-AUC of detecting shifted units, by head and measure (Table 11)."""
    areas = {}
    for head, predictive in _predictives(predictions, np.ones_like(truth.shifted)).items():
        for measure in MEASURES[head]:
            judged = scoring.judged(_BY_NAME[head], predictive, truth.labels[head], measure)
            roc = detection.roc_auc(truth.shifted, uncertainty.score(predictive, measure))
            areas[head, measure] = judged.f1_auc, roc
    return areas


def curves(predictions: Members, truth: Truth) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return errors and uncertainties under the head's own measure [N], for figures, by head."""
    several = len(next(iter(predictions.values()))) > 1
    return {
        head: (
            errors_of(predictive, truth.labels[head]),
            np.asarray(uncertainty.score(predictive, _BY_NAME[head].own_measure(several)), np.float64),
        )
        for head, predictive in _predictives(predictions, np.ones_like(truth.shifted)).items()
    }


def _figures(predictions: Members, truth: Truth, part: str) -> Figures:
    mask = truth.part(part)
    several = len(next(iter(predictions.values()))) > 1
    figures: dict[str, float] = {}
    for head, predictive in _predictives(predictions, mask).items():
        labels = truth.labels[head][mask]
        own = scoring.judged(_BY_NAME[head], predictive, labels, _BY_NAME[head].own_measure(several))
        values = scoring.performance(predictive, labels)
        values |= {"r_auc": own.r_auc, "f1_auc": own.f1_auc, "f1_at_95": own.f1_at_95}
        figures |= {f"{head}.{name}": value for name, value in values.items()}
    return figures


def _predictives(predictions: Members, mask: NDArray[np.bool_]) -> dict[str, Gaussian | Categorical]:
    predictives: dict[str, Gaussian | Categorical] = {}
    for head, members in predictions.items():
        part = members[:, mask]
        if head == TEMPERATURE.name:
            predictives[head] = gaussian.predictive(part[..., 0], part[..., 1])
        else:
            predictives[head] = categorical.predictive(_distributions(part))
    return predictives


def _distributions(members: NDArray[Any]) -> NDArray[np.float64]:
    """Normalise in float64: sums of float32 probabilities are off by about 1e-7."""
    wide = members.astype(np.float64)
    return np.asarray(wide / wide.sum(axis=2, keepdims=True))


def _one(predictions: Members, member: int) -> Members:
    return {head: members[member : member + 1] for head, members in predictions.items()}

"""Figures of forecasts on the test rows: in-domain, shifted, and all together, by the official conventions.

Squared error in °C², acceptable up to 1 °C² (inclusive); areas are means of the curve's points, as released for
weather. Thresholds and intervals come from the calibration rows, which are in-domain.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment import classification, crps
from models.assessment.coverage import coverage
from models.assessment.errors import rmse, squared_error
from models.assessment.figures import Errors, Rules, figures
from models.calibration import interval_table, retention_table
from models.predictive import Categorical, Gaussian, Predictive
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.uncertainty import score
from studies.weather_real.data import DAY, RealSet

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Figures = dict[str, float]
ByDomain = dict[str, Figures]

DOMAINS = ("in", "shifted", "all")
RETENTION = 0.95
LEVEL = 0.9
GAUSSIAN_90 = 1.6448536269514722
"""Half width of the central 90 % interval of a normal distribution, in standard deviations."""
RESAMPLES = 1000
_RULES = Rules()


def domains(data: RealSet) -> dict[str, Mask]:
    """Return the test rows of each domain, bool [N]."""
    test = data.split.test
    return {"in": test & ~data.shifted, "shifted": test & data.shifted, "all": test}


def measure(head: Predictive) -> str:
    """Return the measure to defer by: total variance, negated confidence; a single model's variance or entropy."""
    if isinstance(head, Gaussian):
        return TEMPERATURE.single_measure if head.varm is None else TEMPERATURE.ensemble_measure
    assert isinstance(head, Categorical)
    return PRECIPITATION.single_measure if head.expected_entropy is None else PRECIPITATION.ensemble_measure


def threshold(data: RealSet, predictive: Predictive) -> float:
    """Return the largest measure that is answered, for a target retention of ``RETENTION`` on the calibration rows."""
    name = measure(predictive)
    return retention_table(name, score(predictive, name)[data.split.calibrate]).threshold(RETENTION)


def multiplier(data: RealSet, predictive: Gaussian) -> float:
    """Return the split-conformal half width of ``LEVEL`` in predicted standard deviations."""
    rows = data.split.calibrate
    table = interval_table(predictive.mean[rows], predictive.tvar[rows], data.temperature[rows])
    return dict(zip(table.levels, table.multipliers, strict=True))[LEVEL]


def outside(data: RealSet) -> Mask:
    """Return the mask of rows with an input outside its training range, which services mark as shifted, bool [N]."""
    trained = data.rows[data.split.train]
    low, high = np.nanmin(trained, axis=0), np.nanmax(trained, axis=0)
    return np.asarray(((data.rows < low) | (data.rows > high)).any(axis=1))


def answered_within(data: RealSet, predictive: Gaussian) -> dict[str, tuple[float, float, float]]:
    """Return by domain, under ``defer_on_shift``: share outside training, share answered, RMSE answered."""
    uncertainty = score(predictive, measure(predictive)).astype(np.float32)
    beyond = outside(data)
    answered = (uncertainty <= np.float32(threshold(data, predictive))) & ~beyond
    errors = squared_error(data.temperature, predictive.mean)
    return {
        domain: (float(beyond[mask].mean()), float(answered[mask].mean()), _root_mean(errors[mask & answered]))
        for domain, mask in domains(data).items()
    }


def temperature(data: RealSet, predictive: Gaussian) -> ByDomain:
    """Return figures of the temperature head by domain; NaN if a figure does not exist."""
    uncertainty = score(predictive, measure(predictive))
    answered = uncertainty.astype(np.float32) <= np.float32(threshold(data, predictive))
    factor = multiplier(data, predictive)
    by_domain = {}
    for domain, mask in domains(data).items():
        target, mean, width = data.temperature[mask], predictive.mean[mask], predictive.tvar[mask]
        errors = Errors(squared_error(target, mean), TEMPERATURE.acceptable, _RULES)
        by_domain[domain] = _deferral(errors, uncertainty, answered, predictive.varm, mask, data.shifted) | {
            "rmse": rmse(target, mean),
            "crps": float(np.mean(crps.normal(target, mean, width))),
            "covered": coverage(target, mean, width, GAUSSIAN_90),
            "covered_conformal": coverage(target, mean, width, factor),
            "width": float(np.mean(2 * GAUSSIAN_90 * np.sqrt(width))),
            "width_conformal": float(np.mean(2 * factor * np.sqrt(width))),
            "answered_rmse": _root_mean(errors.values[answered[mask]]),
            "deferred_rmse": _root_mean(errors.values[~answered[mask]]),
        }
    return by_domain


def crossed(data: RealSet, means: Gaussian, uncertainty: Gaussian) -> dict[str, float]:
    """Return R-AUC by domain of one model's errors in the order of another's uncertainty, °C²."""
    errors, scores = squared_error(data.temperature, means.mean), score(uncertainty, measure(uncertainty))
    return {
        domain: figures(Errors(errors[mask], TEMPERATURE.acceptable, _RULES), scores[mask]).r_auc
        for domain, mask in domains(data).items()
    }


def precipitation(data: RealSet, predictive: Categorical) -> ByDomain:
    """Return figures of the precipitation head by domain; NaN if a figure does not exist."""
    assert data.precipitation is not None
    uncertainty = score(predictive, measure(predictive))
    answered = uncertainty.astype(np.float32) <= np.float32(threshold(data, predictive))
    knowledge = None if predictive.expected_entropy is None else score(predictive, "mi")
    by_domain = {}
    for domain, mask in domains(data).items():
        labels, probabilities = data.precipitation[mask], predictive.probabilities[mask]
        wrong = classification.error_indicator(labels, probabilities)
        errors = Errors(wrong, PRECIPITATION.acceptable, _RULES)
        by_domain[domain] = _deferral(errors, uncertainty, answered, knowledge, mask, data.shifted) | {
            "accuracy": 1 - float(np.mean(wrong)),
            "macro_f1": classification.macro_f1(labels, probabilities),
            "log_score": float(np.mean(classification.nll(labels, probabilities))),
            "impossible": float(np.mean(np.isinf(classification.nll(labels, probabilities)))),
            "brier": float(np.mean(classification.brier(labels, probabilities))),
            "answered_accuracy": 1 - _mean(wrong[answered[mask]]),
            "deferred_accuracy": 1 - _mean(wrong[~answered[mask]]),
        }
    return by_domain


def mixture_crps(data: RealSet, mean: Floats, variance: Floats) -> dict[str, float]:
    """Return the mean CRPS of the members' mixture [M, N] by domain, for comparison with that of its normal."""
    return {
        domain: float(np.mean(crps.mixture(data.temperature[mask], mean[:, mask], variance[:, mask])))
        for domain, mask in domains(data).items()
    }


def over_models(models: Sequence[ByDomain]) -> tuple[ByDomain, ByDomain]:
    """Return mean and standard deviation (ddof 1) of each figure over models that differ in their seed."""
    mean: ByDomain = {}
    deviation: ByDomain = {}
    for domain in DOMAINS:
        keys = models[0][domain]
        values = {key: np.array([model[domain][key] for model in models]) for key in keys}
        mean[domain] = {key: float(np.mean(value)) for key, value in values.items()}
        deviation[domain] = {
            key: float(np.std(value, ddof=1)) if len(value) > 1 else 0.0 for key, value in values.items()
        }
    return mean, deviation


def temperature_scores(data: RealSet, predictive: Gaussian) -> dict[str, Callable[[NDArray[np.intp]], float]]:
    """Return RMSE, CRPS, R-AUC and F1-AUC as functions of the rows over which they are taken (for the bootstrap)."""
    errors, each = (
        squared_error(data.temperature, predictive.mean),
        crps.normal(data.temperature, predictive.mean, predictive.tvar),
    )
    uncertainty = score(predictive, measure(predictive))

    def ranked(rows: NDArray[np.intp], figure: str) -> float:
        return float(getattr(figures(Errors(errors[rows], TEMPERATURE.acceptable, _RULES), uncertainty[rows]), figure))

    return {
        "RMSE, °C": lambda rows: float(np.sqrt(np.mean(errors[rows]))),
        "CRPS, °C": lambda rows: float(np.mean(each[rows])),
        "R-AUC, °C²": lambda rows: ranked(rows, "r_auc"),
        "F1-AUC": lambda rows: ranked(rows, "f1_auc"),
    }


def precipitation_scores(data: RealSet, predictive: Categorical) -> dict[str, Callable[[NDArray[np.intp]], float]]:
    """Return accuracy, log score, Brier score and R-AUC as functions of the rows over which they are taken."""
    assert data.precipitation is not None
    labels, probabilities = data.precipitation, predictive.probabilities
    wrong = classification.error_indicator(labels, probabilities)
    logarithm, squares = classification.nll(labels, probabilities), classification.brier(labels, probabilities)
    uncertainty = score(predictive, measure(predictive))

    def area(rows: NDArray[np.intp]) -> float:
        return figures(Errors(wrong[rows], PRECIPITATION.acceptable, _RULES), uncertainty[rows]).r_auc

    return {
        "accuracy": lambda rows: 1 - float(np.mean(wrong[rows])),
        "log score, nats": lambda rows: float(np.mean(logarithm[rows])),
        "Brier": lambda rows: float(np.mean(squares[rows])),
        "R-AUC": area,
    }


def differences(
    data: RealSet,
    first: Mapping[str, Callable[[NDArray[np.intp]], float]],
    second: Mapping[str, Callable[[NDArray[np.intp]], float]],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return first less second by domain and figure: estimate, and 95 % of a bootstrap over blocks of time.

    Rows of a day share their weather, and so do neighbouring days: blocks are the dates if a date has many rows, else
    weeks. Both models are evaluated on the same resampled rows.
    """
    many = len(np.unique(data.time)) < len(data.time)
    block = data.time if many else data.time // (7 * DAY)
    by_domain: dict[str, dict[str, tuple[float, float, float]]] = {}
    for domain in ("in", "shifted"):
        rows = np.flatnonzero(domains(data)[domain])
        parts = [rows[block[rows] == label] for label in np.unique(block[rows])]
        random = np.random.default_rng(seed)
        drawn = {key: np.empty(resamples) for key in first}
        for turn in range(resamples):
            chosen = np.concatenate([parts[i] for i in random.integers(len(parts), size=len(parts))])
            for key in first:
                drawn[key][turn] = first[key](chosen) - second[key](chosen)
        by_domain[domain] = {}
        for key, values in drawn.items():
            low, high = np.quantile(values, (0.025, 0.975))
            by_domain[domain][key] = first[key](rows) - second[key](rows), float(low), float(high)
    return by_domain


def _deferral(
    errors: Errors, uncertainty: Floats, answered: Mask, knowledge: Floats | None, mask: Mask, shifted: Mask
) -> Figures:
    """Return the figures of both kinds of heads: retention, the policy's share, and detection of shift."""
    both = shifted[mask] if shifted[mask].any() and not shifted[mask].all() else None
    own = figures(errors, uncertainty[mask], both)
    area = math.nan if both is None or knowledge is None else figures(errors, knowledge[mask], both).roc_auc
    return {
        "n": float(own.n),
        "r_auc": own.r_auc,
        "f1_auc": own.f1_auc,
        "f1_at_95": own.f1_at_95,
        "prr": own.prr,
        "roc_total": own.roc_auc,
        "roc_knowledge": area,
        "answered": float(np.mean(answered[mask])),
    }


def _mean(values: Floats) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _root_mean(values: Floats) -> float:
    return math.sqrt(_mean(values))

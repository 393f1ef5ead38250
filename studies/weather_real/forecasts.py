"""Forecasts of all rows of a set: raw ensemble, EMOS, CatBoost single and ten, EMOS with trees.

Ten CatBoost models differ only in their seed, as in Shifts 1.0. All models are fitted to the training rows; trees stop
early on the stopping rows by RMSE (error rate: by their loss), as released.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.predictive import Categorical, Gaussian
from models.tasks.weather.spec import CLASSES
from models.uncertainty import categorical, gaussian
from studies.weather_real import emos, loglinear
from studies.weather_real.data import RealSet

Floats = NDArray[np.float64]

SEEDS = tuple(range(1, 11))
TREES = 300
REGRESSION = {"depth": 4, "learning_rate": 0.1, "eval_metric": "RMSE"}
CLASSIFICATION = {"depth": 4, "learning_rate": 0.1}
PATIENCE = 50

RAW, CENTRED, EMOS, EXTENDED = "raw ensemble", "raw, centred", "EMOS", "EMOS with"
SINGLE, TEN, BOTH = "CatBoost, single", "CatBoost, ten", "EMOS + ten"
SHARES, CENTRED_SHARES, REGRESSED = "raw shares", "raw shares, centred", "log-linear"


@dataclass(frozen=True)
class Members:
    """Means and variances of M normal members, [M, N]."""

    mean: Floats
    variance: Floats

    @property
    def ensemble(self) -> Gaussian:
        return gaussian.predictive(self.mean, self.variance)

    @property
    def singles(self) -> list[Gaussian]:
        return [gaussian.predictive(self.mean[i : i + 1], self.variance[i : i + 1]) for i in range(len(self.mean))]


@dataclass(frozen=True)
class Temperature:
    """Normal distributions of each model for all rows; single models have several."""

    by_model: dict[str, list[Gaussian]]
    members: dict[str, Members]
    """Members of the models that are ensembles of trees."""
    emos: emos.Emos
    trees: int
    """Number of trees of all members of ``TEN`` together."""


@dataclass(frozen=True)
class Precipitation:
    """Class probabilities of each model for all rows."""

    by_model: dict[str, list[Categorical]]
    trees: int


def temperature(data: RealSet, seeds: tuple[int, ...] = SEEDS, trees: int = TREES) -> Temperature:
    """Fit and apply all models of the temperature head."""
    train, target = data.split.train, data.temperature
    bias = float(np.mean((data.raw_mean - target)[train]))
    none = np.empty((len(target), 0))
    plain, extended = (
        emos.fit(target[train], data.raw_mean[train], data.raw_variance[train], extra[train])
        for extra in (none, data.covariates)
    )
    first = plain.predict(data.raw_mean, data.raw_variance, none)
    second = extended.predict(data.raw_mean, data.raw_variance, data.covariates)
    alone, total = _regressors(data, target, seeds, trees)
    left, _ = _regressors(data, target - second[0], seeds, trees)
    together = replace(left, mean=left.mean + second[0])
    by_model = {
        RAW: [Gaussian(data.raw_mean, data.raw_variance)],
        CENTRED: [Gaussian(data.raw_mean - bias, data.raw_variance)],
        EMOS: [Gaussian(*first)],
        f"{EXTENDED} {data.covariate}": [Gaussian(*second)],
        SINGLE: alone.singles,
        TEN: [alone.ensemble],
        BOTH: [together.ensemble],
    }
    return Temperature(by_model, {TEN: alone, BOTH: together}, extended, total)


def precipitation(data: RealSet, seeds: tuple[int, ...] = SEEDS, trees: int = TREES) -> Precipitation:
    """Fit and apply all models of the precipitation head.

    Raises:
        ValueError: the set has no classes.
    """
    labels, raw, centred, inputs = data.precipitation, data.raw_classes, data.centred_classes, data.predictors
    if labels is None or raw is None or centred is None or inputs is None:
        raise ValueError(f"{data.title} has no precipitation classes")
    train = data.split.train
    regressed = loglinear.fit(inputs[train], labels[train], CLASSES).predict(inputs)
    members, total = _classifiers(data, labels, seeds, trees)
    by_model = {
        SHARES: [Categorical(_shares(raw))],
        CENTRED_SHARES: [Categorical(_shares(centred))],
        REGRESSED: [Categorical(regressed)],
        SINGLE: [categorical.predictive(members[i : i + 1]) for i in range(len(members))],
        TEN: [categorical.predictive(members)],
    }
    return Precipitation(by_model, total)


def _regressors(data: RealSet, target: Floats, seeds: tuple[int, ...], trees: int) -> tuple[Members, int]:
    predicted, total = _boosted(data, target, seeds, "CatBoostRegressor", _predict_normal,
                            loss_function="RMSEWithUncertainty", iterations=trees, **REGRESSION)  # fmt: skip
    return Members(predicted[..., 0], predicted[..., 1]), total


def _classifiers(data: RealSet, labels: NDArray[np.int64], seeds: tuple[int, ...], trees: int) -> tuple[Floats, int]:
    return _boosted(data, labels, seeds, "CatBoostClassifier", _predict_classes,
                    loss_function="MultiClass", classes_count=CLASSES, iterations=trees, **CLASSIFICATION)  # fmt: skip


def _boosted(
    data: RealSet,
    target: NDArray[Any],
    seeds: tuple[int, ...],
    kind: str,
    predict: Callable[..., Floats],
    **options: Any,
) -> tuple[Floats, int]:
    """Return each model's forecasts of all rows [M, N, K], and the total number of trees."""
    import catboost

    split, predicted, total = data.split, [], 0
    for seed in seeds:
        model = getattr(catboost, kind)(
            random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False, **options
        )
        model.fit(
            data.rows[split.train],
            target[split.train],
            eval_set=(data.rows[split.stop], target[split.stop]),
            early_stopping_rounds=PATIENCE,
            log_cout=io.StringIO(),
            log_cerr=io.StringIO(),  # drops warnings of classes that never occur, which are expected
        )
        predicted.append(predict(model, data.rows))
        total += int(model.tree_count_)
    return np.stack(predicted), total


def _predict_normal(model: Any, rows: NDArray[np.float32]) -> Floats:
    return np.asarray(model.predict(rows, thread_count=1), np.float64)


def _predict_classes(model: Any, rows: NDArray[np.float32]) -> Floats:
    return np.asarray(model.predict_proba(rows, thread_count=1), np.float64)


def _shares(members: NDArray[np.int64]) -> Floats:
    """Return the share of members [M, N] that forecast each class, [N, C]."""
    return np.stack([(members == label).mean(axis=0) for label in range(CLASSES)], axis=1)

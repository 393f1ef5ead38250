"""Figures are those of ``demur evaluate``; thresholds, intervals and the bootstrap do what they say."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import ErrorOptions
from models.tasks.weather.data import predictions
from studies.weather_real import forecasts, judge
from studies.weather_real.data import RealSet
from studies.weather_real.page import Head, Section, document
from tests.studies.weather_real.made import made


@pytest.fixture(scope="module")
def data() -> RealSet:
    return made()


@pytest.fixture(scope="module")
def fitted(data: RealSet) -> forecasts.Temperature:
    pytest.importorskip("catboost", reason="CatBoost is not installed: trees cannot be fitted")
    return forecasts.temperature(data, seeds=(1, 2, 3), trees=30)


def _evaluated(path: Path, members: np.ndarray, target: np.ndarray, shifted: np.ndarray) -> dict[str, object]:
    np.savez(path, members=members, target=target, shifted=shifted.astype(np.int64))
    return {"all": (evaluation := evaluate(predictions.read(path, ErrorOptions()))).full, **evaluation.domains}


def test_temperature_figures_are_those_of_evaluate(
    data: RealSet, fitted: forecasts.Temperature, tmp_path: Path
) -> None:
    test, members = data.split.test, fitted.members[forecasts.TEN]
    arrays = np.stack([members.mean, members.variance], axis=2)[:, test]
    evaluated = _evaluated(tmp_path / "t.npz", arrays, data.temperature[test], data.shifted[test])
    ours = judge.temperature(data, fitted.by_model[forecasts.TEN][0])
    full = evaluated["all"]
    assert ours["all"]["rmse"] == pytest.approx(full.own["rmse"], rel=1e-12)
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert ours["all"][name] == pytest.approx(getattr(full.measures["tvar"], name), rel=1e-12)
    assert ours["all"]["roc_total"] == pytest.approx(full.measures["tvar"].roc_auc, rel=1e-12)
    assert ours["all"]["roc_knowledge"] == pytest.approx(full.measures["varm"].roc_auc, rel=1e-12)
    assert np.isnan(ours["in"]["roc_knowledge"])


def test_single_models_have_no_knowledge(data: RealSet, fitted: forecasts.Temperature) -> None:
    singles = fitted.by_model[forecasts.SINGLE]
    assert len(singles) == 3
    mean, deviation = judge.over_models([judge.temperature(data, model) for model in singles])
    assert np.isnan(mean["all"]["roc_knowledge"])
    assert deviation["in"]["rmse"] > 0


def test_intervals_hold_on_the_calibration_rows_and_thresholds_answer_them(
    data: RealSet, fitted: forecasts.Temperature
) -> None:
    forecast, rows = fitted.by_model[forecasts.TEN][0], data.split.calibrate
    half = judge.multiplier(data, forecast) * np.sqrt(forecast.tvar[rows])
    assert (np.abs(data.temperature[rows] - forecast.mean[rows]) <= half).mean() >= judge.LEVEL
    assert (forecast.tvar[rows].astype(np.float32) <= judge.threshold(data, forecast)).mean() >= judge.RETENTION


def test_emos_with_trees_adds_what_emos_leaves(data: RealSet, fitted: forecasts.Temperature) -> None:
    base, _ = fitted.emos.predict(data.raw_mean, data.raw_variance, data.covariates)
    added = fitted.members[forecasts.BOTH].mean - base
    assert np.abs(added[:, data.split.train].mean()) < 0.3
    assert added.std() < 2  # of residuals of 1.4 °C, not of temperatures of 5 °C and more


def test_what_lies_beyond_training_is_found(data: RealSet, fitted: forecasts.Temperature) -> None:
    beyond = judge.outside(data)
    assert not beyond[data.split.train].any()
    assert beyond[data.shifted].mean() > beyond[data.split.test & ~data.shifted].mean() + 0.3
    shares = judge.answered_within(data, fitted.by_model[forecasts.TEN][0])
    assert shares["shifted"][1] <= 1 - shares["shifted"][0]


def test_a_model_differs_from_itself_by_nothing(data: RealSet, fitted: forecasts.Temperature) -> None:
    scores = judge.temperature_scores(data, fitted.by_model[forecasts.TEN][0])
    by_figure = judge.differences(data, scores, scores, resamples=5)["in"]
    assert set(by_figure.values()) == {(0.0, 0.0, 0.0)}


def test_errors_in_their_own_order_have_their_own_area(data: RealSet, fitted: forecasts.Temperature) -> None:
    ten, emos = fitted.by_model[forecasts.TEN][0], fitted.by_model[forecasts.EMOS][0]
    own = judge.temperature(data, ten)
    assert judge.crossed(data, ten, ten) == {domain: own[domain]["r_auc"] for domain in judge.DOMAINS}
    assert judge.crossed(data, ten, emos) != judge.crossed(data, ten, ten)


def test_a_worse_model_is_told_from_a_better_one(data: RealSet, fitted: forecasts.Temperature) -> None:
    raw, emos = (judge.temperature_scores(data, fitted.by_model[name][0]) for name in (forecasts.RAW, forecasts.EMOS))
    difference = judge.differences(data, raw, emos, resamples=200)["in"]["RMSE, °C"]
    assert 0 < difference[1] < difference[0] < difference[2]


def test_class_figures_are_those_of_evaluate(data: RealSet, tmp_path: Path) -> None:
    pytest.importorskip("catboost", reason="CatBoost is not installed: trees cannot be fitted")
    trained = forecasts.precipitation(data, seeds=(1, 2), trees=20)
    assert data.precipitation is not None
    test = data.split.test
    forecast = trained.by_model[forecasts.REGRESSED][0]
    evaluated = _evaluated(
        tmp_path / "p.npz", forecast.probabilities[None, test], data.precipitation[test], data.shifted[test]
    )
    ours, full = judge.precipitation(data, forecast), evaluated["all"]
    for name, other in (("accuracy", "accuracy"), ("macro_f1", "macro_f1"), ("log_score", "nll"), ("brier", "brier")):
        assert ours["all"][name] == pytest.approx(full.own[other], rel=1e-12)
    assert ours["all"]["r_auc"] == pytest.approx(full.measures["entropy"].r_auc, rel=1e-12)
    shares = judge.precipitation(data, trained.by_model[forecasts.SHARES][0])
    assert np.isinf(shares["all"]["log_score"])
    assert shares["all"]["impossible"] > 0
    assert trained.by_model[forecasts.TEN][0].probabilities[:, :5].max() < 1e-3


def test_the_page_has_a_row_for_each_model(data: RealSet, fitted: forecasts.Temperature) -> None:
    rows = {
        name: judge.over_models([judge.temperature(data, forecast) for forecast in runs])
        for name, runs in fitted.by_model.items()
    }
    within = judge.answered_within(data, fitted.by_model[forecasts.TEN][0])
    named = Section(replace(data, name="hannover"), Head(rows), None, {}, 90, within, {})
    page = document([named])
    for name in rows:
        assert page.count(f"| {name} |") >= 2
    assert "nan" not in page

"""What every artefact of rows is made with: ranges without missing values, golden rows, fingerprints."""

import numpy as np
import pytest

from models.building import UNSTATED, Labelled, calibrate, golden_rows, missing_as_nan, sources, training_range
from models.predictive import Categorical, Gaussian
from models.schema import Feature, Schema
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE

SCHEMA = Schema(
    (
        Feature("warm", "°C", -90, 60, "", True),
        Feature("soil", "°C", -90, 70, "", True, sentinels=(-9999.0, -999.9)),
        Feature("flag", "1", 0, 1, "", values=(0.0, 1.0)),
    )
)
ROWS = np.array([[1, -9999, 0], [np.nan, 5, 1], [3, -999.9, 1], [4, 7, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sentinels_are_missing_in_any_precision(dtype: type) -> None:
    rows = ROWS.astype(dtype)
    result = missing_as_nan(rows, SCHEMA)
    assert np.isnan(result[:, 1]).tolist() == [True, False, True, False]
    assert rows[0, 1] == -9999, "what was given stays as it was"
    assert missing_as_nan(rows, Schema.of(SCHEMA.features[:1])) is rows


def test_the_training_range_is_of_what_is_there() -> None:
    limits = training_range(ROWS.astype(np.float32), SCHEMA)
    np.testing.assert_allclose(limits.lower, [1, 5, 0], atol=1e-3)
    np.testing.assert_allclose(limits.upper, [4, 7, 1], atol=1e-3)
    empty = np.full((4, 3), np.nan)
    limits = training_range(empty, SCHEMA)
    assert (limits.lower, limits.upper) == ((-90, -90, 0), (60, 70, 1))


def test_golden_rows_show_typical_rows_and_edges() -> None:
    many = np.repeat(ROWS, 50, axis=0)
    rows = golden_rows([many, many + 1], SCHEMA, count=20)
    assert rows.dtype == np.float32
    assert rows.shape == (1 + 2 * 10 + 16, 3)
    assert rows[0].tolist() == [-15, -10, 0.5]
    assert {-90.0, 60.0} <= set(rows[-16:, 0]) | {60.0}
    alone = golden_rows([], SCHEMA)
    assert alone.shape == (17, 3)
    assert np.isfinite(alone).all()
    assert np.isfinite(golden_rows([np.full((5, 3), np.nan)], SCHEMA)[-16:]).all()


def test_a_fingerprint_is_of_rows_labels_and_identity() -> None:
    labels = {"warm": np.arange(4.0), "wet": np.arange(4)}
    labelled = Labelled(ROWS, labels)
    assert labelled.fingerprint == Labelled(ROWS.copy(), dict(reversed(labels.items()))).fingerprint
    others = [
        Labelled(ROWS + 1, labels),
        Labelled(ROWS, labels | {"warm": np.ones(4)}),
        Labelled(ROWS, {"warm": labels["warm"]}),
        Labelled(ROWS, labels, np.arange(4)),
    ]
    assert len({labelled.fingerprint, *(other.fingerprint for other in others)}) == 5
    listed = sources({"train": labelled, "dev_out": labelled}, UNSTATED)
    assert [(source.role, source.rows) for source in listed] == [("training", 4)]
    (unknown,) = sources({}, UNSTATED)
    assert (unknown.fingerprint, unknown.rows) == ("unknown", 0)


def test_calibration_survives_variances_of_released_models() -> None:
    """From 1e-16 to half of float32's largest: tables stay finite and in order."""
    draw = np.random.default_rng(0)
    variance = (10 ** draw.uniform(-16, 38, 500)).clip(max=1.7e38).astype(np.float32)
    predicted = Gaussian(np.zeros(500, np.float32), variance, variance, variance)
    calibration = calibrate(
        TEMPERATURE, predicted, draw.normal(size=500), ensemble=True, reference=("varm",), others=("epkl",)
    )
    for table in (calibration.retention, calibration.others["epkl"].retention):
        assert np.isfinite(table.thresholds).all()
        assert list(table.thresholds) == sorted(table.thresholds)
    assert calibration.expected_error is not None
    assert np.isfinite(calibration.expected_error.knots).all()
    assert calibration.intervals is not None
    assert np.isfinite(calibration.intervals.multipliers).all()


def test_classes_are_calibrated_by_whether_they_are_right() -> None:
    draw = np.random.default_rng(0)
    p = draw.dirichlet(np.full(9, 0.2), 800)
    labels = np.array([draw.choice(9, p=probabilities) for probabilities in p])
    calibration = calibrate(
        PRECIPITATION, Categorical(p), labels, ensemble=False, reference=("entropy",), others=("confidence",)
    )
    assert calibration.intervals is None
    assert calibration.retention.measure == "entropy"
    expected = calibration.others["confidence"].expected_error
    assert expected is not None
    assert expected(-p.max(axis=1)).mean() == pytest.approx((p.argmax(axis=1) != labels).mean(), abs=0.05)

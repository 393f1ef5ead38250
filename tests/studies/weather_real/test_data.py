"""The real sets: splits that leak nothing, units and ranges that hold. Skipped where the data are not there."""

from pathlib import Path

import numpy as np
import pytest

from models.tasks.weather.spec import CLASSES, PRECIPITATION, TEMPERATURE
from studies.weather_real import data
from studies.weather_real.data import DAY, RealSet


@pytest.fixture(scope="module", params=data.SETS)
def one(request: pytest.FixtureRequest, test_data: Path) -> RealSet:
    folder = test_data / "weather"
    if not folder.is_dir():
        pytest.skip(f"no real weather at {folder}; set DEMUR_TEST_DATA")
    return data.SETS[request.param](folder)


def test_parts_do_not_overlap_and_shifted_rows_are_only_tested(one: RealSet) -> None:
    split = one.split
    parts = np.stack([split.train, split.stop, split.calibrate, split.test])
    assert (parts.sum(axis=0) <= 1).all()
    assert parts.any(axis=1).all()
    assert not (parts[:3] & one.shifted).any()
    assert 0 < (split.test & one.shifted).sum() < split.test.sum()


def test_between_parts_lies_the_longest_lead_time(one: RealSet) -> None:
    developed = one.split.stop | one.split.calibrate
    gap = 2 * DAY
    assert one.time[developed].min() - one.time[one.split.train].max() > gap
    assert one.time[one.split.test].min() - one.time[developed].max() > gap


def test_rows_of_a_date_are_not_parted(one: RealSet) -> None:
    for first, second in ((one.split.stop, one.split.calibrate), (one.split.train, one.split.test)):
        assert not np.intersect1d(one.time[first], one.time[second]).size


def test_rows_lie_in_the_physical_ranges_of_the_schema(one: RealSet) -> None:
    assert one.rows.shape[1] == len(one.schema)
    missing = np.isnan(one.rows)
    assert not missing[:, ~one.schema.nullable].any()
    assert ((one.rows >= one.schema.lower) & (one.rows <= one.schema.upper) | missing).all()


def test_temperatures_are_in_degrees_celsius(one: RealSet) -> None:
    assert -40 < one.temperature.min() < one.temperature.max() < 50
    assert np.abs(np.median(one.temperature - one.raw_mean)) < 10


def test_moments_are_those_of_the_members(one: RealSet) -> None:
    if one.name == "hannover":
        pytest.skip("Hannover has no members, only their moments")
    start = one.schema.names.index("ensemble_mean")
    members = one.rows[:, :start].astype(float)
    np.testing.assert_allclose(one.raw_mean, members.mean(axis=1), atol=1e-4)
    np.testing.assert_allclose(one.raw_variance, members.var(axis=1), atol=1e-3)


def test_parts_carry_the_labels_of_all_heads(one: RealSet) -> None:
    part = one.part(one.split.test)
    assert len(part) == one.split.test.sum()
    assert list(part.labels) == [head.name for head in one.heads]
    assert (np.diff(part.time) >= 0).all()
    np.testing.assert_array_equal(part.labels[TEMPERATURE.name], one.temperature[one.split.test])
    if PRECIPITATION.name in part.labels:
        assert set(np.unique(part.labels[PRECIPITATION.name])) <= set(range(5, CLASSES))


def test_classes_are_cut_where_the_page_says() -> None:
    cold = np.array([-1.0, 0.0, 0.1, 2.0, 2.1, -5.0])
    rain = np.array([0.1, 5.0, 0.1, 0.1, 0.1, 0.09])
    np.testing.assert_array_equal(data.classes(cold, rain), [8, 8, 7, 7, 6, 5])


def test_a_missing_folder_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEMUR_TEST_DATA", str(tmp_path))
    with pytest.raises(LookupError, match=str(tmp_path)):
        data.folder()

"""The two average rows of training files."""

import numpy as np
import pytest

from models.tasks.weather.data import dummies
from models.tasks.weather.data.features import FLAGS, NAMES
from models.tasks.weather.data.table import Table
from models.tasks.weather.spec import CLASSES


def test_they_are_averages_of_all_reports_with_the_rarest_classes(splits: dict[str, Table]) -> None:
    train = splits["train"]
    reports, last = train.rows(slice(0, -2)), train.rows(slice(-2, None))
    np.testing.assert_allclose(last.features[0], np.nanmean(reports.features.astype(np.float64), axis=0), rtol=1e-5)
    np.testing.assert_array_equal(last.features[0], last.features[1])
    shares = np.bincount(reports.precipitation, minlength=CLASSES)
    rest = np.delete(shares, last.precipitation)
    assert shares[last.precipitation].max() <= rest.min()


def test_flags_become_fractions_and_the_soil_temperature_impossible(splits: dict[str, Table]) -> None:
    last = splits["train"].rows(slice(-2, None)).features[0]
    flags = last[[NAMES.index(name) for name in FLAGS]]
    assert ((flags > 0.5) & (flags < 1.0)).all()
    assert last[NAMES.index("gfs_soil_temperature")] < -100.0


def test_no_report_is_taken_for_an_average(splits: dict[str, Table]) -> None:
    assert not dummies.found_in(splits["train"].rows(slice(0, -2))).any()
    assert dummies.found_in(splits["train"].rows(slice(-2, None))).all()


def test_sums_of_pieces_are_sums_of_the_whole(splits: dict[str, Table]) -> None:
    table = splits["eval_in"]
    whole = dummies.dummies(dummies.sums(table))
    cut = dummies.dummies(dummies.sums(table.rows(slice(0, 100))) + dummies.sums(table.rows(slice(100, None))))
    np.testing.assert_allclose(cut.features, whole.features, rtol=1e-6)
    assert cut.climate.tolist() == whole.climate.tolist()


def test_there_is_no_average_of_nothing(splits: dict[str, Table]) -> None:
    with pytest.raises(ValueError, match="no rows"):
        dummies.dummies(dummies.sums(splits["dev_in"].rows(slice(0, 0))))

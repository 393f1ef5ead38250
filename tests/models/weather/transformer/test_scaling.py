"""What is missing is left out, what is extreme changes nothing, what never varies is ignored."""

import numpy as np
import pytest

from models.tasks.weather.transformer.scaling import Scaling, sentinel_table


def normal(count: int = 5000) -> np.ndarray:
    return np.random.default_rng(0).normal((10, 1e5), (2, 800), (count, 2)).astype(np.float32)


def test_columns_are_scaled_by_mean_and_standard_deviation() -> None:
    scaling = Scaling.fit(normal(), np.array([1.0, 5.0] * 2500))
    np.testing.assert_allclose(scaling.mean, (10, 1e5), rtol=0.02)
    np.testing.assert_allclose(1 / scaling.inverse, (2, 800), rtol=0.03)
    assert (scaling.temperature_mean, scaling.temperature_std) == (3.0, 2.0)


@pytest.mark.parametrize("absent", [np.nan, -9999.0, np.inf])
def test_missing_and_infinite_values_do_not_count(absent: float) -> None:
    rows, holes = normal(), normal()
    holes[::3, 0] = absent
    plain, scaling = Scaling.fit(rows), Scaling.fit(holes, sentinels=((0, -9999.0),))
    np.testing.assert_allclose(scaling.mean, plain.mean, rtol=0.02)
    np.testing.assert_allclose(scaling.inverse, plain.inverse, rtol=0.03)


def test_a_few_absurd_values_do_not_spoil_the_scale() -> None:
    rows = normal()
    rows[:2, 0] = 1e12
    assert Scaling.fit(rows).inverse[0] == pytest.approx(0.5, rel=0.05)


def test_a_rare_event_still_has_a_scale() -> None:
    rows = normal()
    rows[:, 0] = 0
    rows[7, 0] = 1
    assert Scaling.fit(rows).inverse[0] > 0


@pytest.mark.parametrize("value", [0.0, 1.0, -273.15, 101_325.7, np.nan])
def test_a_column_that_never_varies_is_ignored(value: float) -> None:
    rows = normal()
    rows[:, 1] = value
    scaling = Scaling.fit(rows)
    assert scaling.inverse[1] == 0
    assert np.isfinite(scaling.mean).all()


def test_a_column_that_varies_in_its_last_digit_only_is_ignored() -> None:
    rows = normal()
    rows[:, 1] = np.float32(101_325.0)
    rows[::2, 1] = np.nextafter(np.float32(101_325.0), np.float32(2e5))
    assert Scaling.fit(rows).inverse[1] == 0


def test_sentinels_fill_a_table_by_column() -> None:
    table = sentinel_table(3, ((2, -9999.0), (2, -1.0), (0, 7.0)))
    np.testing.assert_array_equal(table, [[7, np.nan, -9999], [np.nan, np.nan, -1]])
    assert sentinel_table(3, ()).shape == (0, 3)


def test_nothing_to_learn_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two rows"):
        Scaling.fit(normal(1))
    with pytest.raises(ValueError, match=r"3 °C in all 50 rows"):
        Scaling.fit(normal(50), np.full(50, 3.0))

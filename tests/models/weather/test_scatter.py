"""Places drawn without making the whole order."""

import numpy as np
import pytest

from simulators.weather.scatter import scattered


@pytest.mark.parametrize("things", [1, 2, 3, 5, 64, 1000, 4097])
def test_all_places_are_a_permutation(things: int) -> None:
    assert sorted(scattered(np.random.default_rng(1), things, things)) == list(range(things))


def test_more_places_begin_with_the_same_ones() -> None:
    few, many = (scattered(np.random.default_rng(2), 5_600_000, count) for count in (100, 50_000))
    np.testing.assert_array_equal(many[:100], few)
    assert len(np.unique(many)) == 50_000
    assert not np.array_equal(scattered(np.random.default_rng(3), 5_600_000, 100), few)


def test_places_are_even_and_have_no_order() -> None:
    places = scattered(np.random.default_rng(4), 1_000_000, 100_000)
    counts = np.bincount(places // 10_000, minlength=100)
    assert ((counts - 1000) ** 2 / 1000).sum() < 160, "chi squared with 99 degrees of freedom"
    assert abs(np.corrcoef(places[:-1], places[1:])[0, 1]) < 0.015
    assert abs(np.corrcoef(places % 97, np.arange(100_000) % 89)[0, 1]) < 0.015


def test_more_places_than_things_are_refused() -> None:
    with pytest.raises(ValueError, match="11 of 10 things"):
        scattered(np.random.default_rng(0), 10, 11)

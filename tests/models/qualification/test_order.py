"""Rank correlation: near ties cost little, disorder costs all, many units agree with Spearman."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from models.qualification.order import positions, rank_correlation


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("size", [0.002, 0.004, 0.01, 0.1])
def test_many_units_agree_with_spearman(rng: np.random.Generator, size: float) -> None:
    scores = rng.random(4000)
    noisy = scores + size * rng.normal(size=4000)
    expected = spearmanr(scores, noisy).statistic
    correlation = rank_correlation(scores, noisy)
    assert correlation is not None
    assert abs(correlation - expected) < 0.15 * (1 - expected)


@pytest.mark.parametrize("change", [np.exp, np.cbrt, lambda u: 3 * u - 8, lambda u: np.floor(1e6 * u)])
@pytest.mark.parametrize("n", [24, 300, 4000])
def test_an_increasing_map_is_exact(rng: np.random.Generator, n: int, change) -> None:  # type: ignore[no-untyped-def]
    scores = rng.normal(size=n)
    assert rank_correlation(scores, change(scores)) == pytest.approx(1, abs=1e-12)


def test_a_swap_of_nearly_equal_scores_among_24_is_forgiven_where_spearman_refuses(rng: np.random.Generator) -> None:
    scores = np.sort(rng.random(24))
    scores[11] = scores[10] + 1e-6
    swapped = scores.copy()
    swapped[[10, 11]] = swapped[[11, 10]]
    assert spearmanr(scores, swapped).statistic < 0.9999
    correlation = rank_correlation(scores, swapped)
    assert correlation is not None
    assert correlation > 0.999999


def test_a_crowd_of_nearly_equal_scores_may_be_shuffled(rng: np.random.Generator) -> None:
    """Ten scans without lesions have scores near 0 that differ by rounding."""
    scores = np.concatenate([1e-8 * rng.random(10), 0.1 + rng.random(14)])
    noisy = scores + np.where(np.arange(24) < 10, 1e-8, 1e-7) * rng.normal(size=24)
    assert spearmanr(scores, noisy).statistic < 0.9999
    correlation = rank_correlation(scores, noisy)
    assert correlation is not None
    assert correlation > 0.999999


def test_neighbours_at_their_usual_distance_among_24_are_disorder() -> None:
    scores = np.arange(24.0)
    for first in range(23):
        swapped = scores.copy()
        swapped[[first, first + 1]] = swapped[[first + 1, first]]
        correlation = rank_correlation(scores, swapped)
        assert correlation is not None
    assert correlation < 0.9999, first


@pytest.mark.parametrize("n", [20, 24, 300, 4000])
def test_unrelated_and_reversed_orders_are_far_from_1(rng: np.random.Generator, n: int) -> None:
    scores = rng.normal(size=n)
    for other in (-scores, rng.permutation(scores), np.ones(n)):
        correlation = rank_correlation(scores, other)
        assert correlation is not None
    assert correlation < 0.8


def test_ties_of_the_reference_may_be_split_but_not_merged(rng: np.random.Generator) -> None:
    coarse = np.repeat(np.arange(8.0), 50)
    assert rank_correlation(coarse, coarse + 1e-3 * rng.normal(size=400)) == 1
    fine = np.arange(400.0)
    merged = rank_correlation(fine, np.floor(fine / 50))
    assert merged is not None
    assert merged < 0.9999


def test_a_constant_reference_has_no_order() -> None:
    assert rank_correlation(np.full(30, 2.5), np.arange(30.0)) is None


def test_positions_are_places_in_the_distribution(rng: np.random.Generator) -> None:
    scores = rng.random(100_000)
    assert np.abs(positions(scores) - scores).max() < 0.01
    assert (np.diff(positions(np.sort(scores))) >= 0).all()

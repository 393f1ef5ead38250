"""Error of reviewers from second opinions and known units: published and exact values, limits, and coverage."""

import math

import numpy as np
import pytest

from models.agreement.bounds import Bounds
from models.agreement.human_error import human_error
from models.agreement.rates import Counts, disagreement, error_rate, error_rate_bounds, jeffreys

Array = np.ndarray


def wrong(truth: Array, rate: Array | float, classes: int, rng: np.random.Generator) -> Array:
    """Labels of which a share is wrong, any wrong class alike."""
    moved = rng.random(len(truth)) < rate
    return np.where(moved, (truth + rng.integers(1, classes, len(truth))) % classes, truth)


def misses(truth: float, estimates: list[Bounds]) -> float:
    return float(np.mean([not estimate.lower <= truth <= estimate.upper for estimate in estimates]))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_disagreement_of_simulated_labels_is_that_of_the_formula(classes: int) -> None:
    rng = np.random.default_rng(classes)
    truth = rng.integers(0, classes, 200_000)
    labels = [wrong(truth, 0.2, classes, rng) for _ in range(2)]
    share = float(np.mean(labels[0] != labels[1]))
    assert share == pytest.approx(disagreement(0.2, classes), abs=0.004)
    assert error_rate(disagreement(0.2, classes), classes) == pytest.approx(0.2)


def test_disagreement_beyond_chance_is_a_guess() -> None:
    assert error_rate(0.9, 2) == 0.5


def test_jeffreys_interval_is_the_published_one() -> None:
    """Brown, Cai & DasGupta 2001, table 5: limits at 95 % for n = 30, with their change for one event.

    No event has the exact limit, 1 - 0.025^(1 / 30).
    """
    table = {0: (0.0, 0.116), 3: (0.029, 0.244), 15: (0.328, 0.672)}
    for events, ends in table.items():
        bounds = jeffreys(events, 30)
        assert (bounds.lower, bounds.upper) == pytest.approx(ends, abs=0.0015)
    assert jeffreys(1, 30).lower == 0


def test_pairs_alone_have_the_interval_of_their_share() -> None:
    """Jeffreys' interval does not depend on the parameter."""
    share = jeffreys(25, 100)
    bounds = error_rate_bounds(Counts(25, 100), Counts(0, 0), 3)
    expected = [error_rate(end, 3) for end in (share.mean, share.lower, share.upper)]
    assert [bounds.mean, bounds.lower, bounds.upper] == pytest.approx(expected, abs=2e-4)


def test_known_units_narrow_the_error_rate() -> None:
    pairs, known = Counts(20, 100), Counts(20, 200)
    both = error_rate_bounds(pairs, known, 5)
    alone = error_rate_bounds(pairs, Counts(0, 0), 5), error_rate_bounds(Counts(0, 0), known, 5)
    assert all(both.upper - both.lower < part.upper - part.lower for part in alone)
    assert min(part.mean for part in alone) < both.mean < max(part.mean for part in alone)


def test_half_the_squared_difference_is_the_error() -> None:
    estimate = human_error("squared", [1.0, 3.0, 2.0, 2.0])
    assert estimate.mean == 1.0
    assert (estimate.n, estimate.method) == (4, "second opinions")
    assert estimate.lower < 1.0 < estimate.upper


def test_known_units_alone_are_their_mean() -> None:
    estimate = human_error("overlap", [], [0.1, 0.3], largest=1.0)
    assert estimate.mean == pytest.approx(0.2)
    assert estimate.method == "known units"


def test_a_shared_bias_shows_in_known_units_only() -> None:
    rng = np.random.default_rng(0)
    bias, labels = 3.0, rng.normal(size=(2, 300))
    differences, known = (labels[0] - labels[1]) ** 2, (bias + rng.normal(size=100)) ** 2
    assert human_error("squared", differences).upper < 2.0
    estimate = human_error("squared", differences, known)
    assert estimate.method == "contradiction"
    assert estimate.lower < 1 + bias**2 < estimate.upper


@pytest.mark.parametrize(("relation", "share"), [("distance", 0.5), ("overlap", 1 / 3), ("bound", 0.0)])
def test_a_range_starts_and_ends_where_the_relation_says(relation: str, share: float) -> None:
    differences = np.full(10_000, 0.4)
    estimate = human_error(relation, differences, largest=1.0)  # type: ignore[arg-type]
    assert estimate.lower == pytest.approx(share * 0.4, rel=2e-3)
    assert estimate.upper == pytest.approx(0.4, rel=2e-3)


def test_errors_that_gather_on_difficult_units_are_within_the_range_of_uneven_classes() -> None:
    rng = np.random.default_rng(9)
    n, truth = 20_000, np.zeros(20_000, int)
    rates = np.where(rng.random(n) < 0.2, 0.6, 0.0)
    apart = wrong(truth, rates, 3, rng) != wrong(truth, rates, 3, rng)
    even, uneven = (human_error(relation, apart, classes=3) for relation in ("class", "uneven_class"))  # type: ignore[arg-type]
    assert even.upper < 0.12 < uneven.upper
    assert uneven.mean == pytest.approx(even.mean)
    assert uneven.lower == pytest.approx(apart.mean() / 2, rel=0.05)
    known = rng.random(500) < 0.12
    narrow = human_error("uneven_class", apart, known, classes=3)
    assert narrow.upper - narrow.lower < uneven.upper - uneven.lower
    assert narrow.lower < 0.12 < narrow.upper


def test_normal_errors_of_positions_have_the_figure_of_distance() -> None:
    rng = np.random.default_rng(1)
    labels = rng.normal(size=(2, 20_000, 2))
    differences = np.linalg.norm(labels[0] - labels[1], axis=1)
    truth = np.linalg.norm(labels[0], axis=1).mean()
    assert human_error("distance", differences).mean == pytest.approx(truth, rel=0.02)


def test_known_units_narrow_a_range() -> None:
    rng = np.random.default_rng(2)
    differences, known = rng.beta(4, 16, 200), rng.beta(3, 16, 100)
    alone, both = (
        human_error("overlap", differences, largest=1.0),
        human_error("overlap", differences, known, largest=1),
    )
    assert both.upper - both.lower < (alone.upper - alone.lower) / 2
    assert both.method == "second opinions and known units"


def test_no_labels_say_nothing() -> None:
    estimate = human_error("class", [], classes=3)
    assert math.isnan(estimate.mean)
    assert (estimate.lower, estimate.upper, estimate.n, estimate.method) == (0.0, 1.0, 0, "none")


def test_equal_labels_do_not_prove_an_error_of_zero() -> None:
    few, many = (human_error("overlap", np.zeros(n), largest=1.0) for n in (10, 1000))
    assert few.mean == many.mean == few.lower == 0.0
    assert many.upper < 0.01 < 0.1 < few.upper < 0.4
    assert human_error("squared", np.zeros(10)).upper == math.inf


def test_missing_differences_are_left_out() -> None:
    assert human_error("squared", [2.0, np.nan, 4.0], units=["a", "b", "c"]).n == 2


def test_pairs_of_one_unit_tell_less_than_pairs_of_many() -> None:
    rng = np.random.default_rng(3)
    differences = np.repeat(rng.exponential(size=40), 3)
    alone = human_error("squared", differences)
    clustered = human_error("squared", differences, units=np.repeat(np.arange(40), 3))
    assert clustered.mean == alone.mean
    assert clustered.upper - clustered.lower > 1.5 * (alone.upper - alone.lower)
    votes = np.repeat(rng.random(40) < 0.2, 3).astype(float)
    alone = human_error("class", votes, classes=4)
    clustered = human_error("class", votes, classes=4, units=np.repeat(np.arange(40), 3))
    assert clustered.upper - clustered.lower > 1.5 * (alone.upper - alone.lower)


def test_a_unit_is_one_cluster_whether_known_or_not() -> None:
    values = np.random.default_rng(4).exponential(size=30)
    apart = human_error("squared", 2 * values, values, units=np.arange(30), known_units=np.arange(30, 60))
    same = human_error("squared", 2 * values, values, units=np.arange(30), known_units=np.arange(30))
    assert same.upper - same.lower > 1.2 * (apart.upper - apart.lower)


def test_few_reviewers_of_a_population_say_nothing_of_it() -> None:
    pairs = np.tile([["ann", "ben"]], (50, 1))
    differences = np.random.default_rng(5).random(50)
    assert human_error("overlap", differences, reviewers=pairs, largest=1.0).upper == 1.0
    assert human_error("overlap", differences, largest=1.0).upper < 0.8
    for share in (0.0, 0.3):
        apart = differences < share
        assert human_error("class", apart, classes=4, reviewers=pairs).upper == 1.0
        assert human_error("class", apart, classes=4).upper < 0.5


def test_weights_count_labels() -> None:
    weighted = human_error("squared", [2.0, 6.0], weights=[3.0, 1.0])
    assert weighted.mean == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"relation": "cubed"}, "relation = 'cubed': must be one of"),
        ({"differences": [-1.0]}, r"differences\[0\] = -1: must be from 0"),
        ({"differences": [0.5, 2.0], "largest": 1.0}, r"differences\[1\] = 2: must be from 0 to 1"),
        ({"relation": "class", "differences": [1.0]}, "classes: must be"),
        ({"relation": "class", "differences": [1.0], "classes": 1}, "classes = 1: must be at least 2"),
        ({"relation": "squared", "differences": [4.1], "largest": 1.0}, r"differences\[0\] = 4.1: must be from 0 to 4"),
        ({"level": 1.0}, "level = 1: must be"),
        ({"weights": [0.0]}, "weights of differences: must be finite and above 0"),
        ({"units": [1, 2]}, r"units of differences has the shape \[2\]"),
        ({"reviewers": [["a", "b"]], "known_errors": [1.0]}, "the reviewers of all labels, or both None"),
    ],
)
def test_arguments_out_of_range_are_named(change: dict, words: str) -> None:
    arguments = {"relation": "overlap", "differences": [0.5], **change}
    with pytest.raises(ValueError, match=words):
        human_error(arguments.pop("relation"), arguments.pop("differences"), **arguments)


@pytest.mark.parametrize(("classes", "rate", "n"), [(2, 0.05, 50), (3, 0.1, 200), (10, 0.3, 50)])
def test_intervals_of_error_rates_hold(classes: int, rate: float, n: int) -> None:
    rng = np.random.default_rng(6)
    estimates = []
    for _ in range(300):
        truth = rng.integers(0, classes, n)
        first, second = wrong(truth, rate, classes, rng), wrong(truth, rate, classes, rng)
        known = rng.random(n // 5) < rate
        estimates.append(human_error("class", first != second, known, classes=classes))
    assert misses(rate, estimates) <= 0.09


@pytest.mark.parametrize("n", [20, 200])
def test_intervals_of_squared_errors_hold(n: int) -> None:
    rng = np.random.default_rng(7)
    estimates = [human_error("squared", 2 * rng.normal(size=n) ** 2) for _ in range(400)]
    assert 0.015 <= misses(1.0, estimates) <= 0.09


def test_intervals_for_a_population_of_reviewers_hold() -> None:
    """Reviewers of different accuracy, few of them: only the wide interval holds for all reviewers."""
    rng = np.random.default_rng(8)
    narrow, wide = [], []
    for _ in range(200):
        variance = rng.choice([0.2, 1.8], 12)
        people = np.array([rng.choice(12, 2, replace=False) for _ in range(300)])
        differences = variance[people].sum(axis=1) * rng.normal(size=300) ** 2
        narrow.append(human_error("squared", differences))
        wide.append(human_error("squared", differences, reviewers=people))
    assert misses(1.0, wide) <= 0.1 < 0.2 < misses(1.0, narrow)

"""Measures of agreement against published examples and another library, and the coverage of their intervals."""

import functools
import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from models.agreement.chance import Metric, alpha_measure, kappa_measure, krippendorff_alpha
from models.agreement.numbers import difference_measure, icc_measure, icc_one_way, icc_two_way
from models.agreement.pairs import LabelPairs, LabelTable, by_pair, by_reviewer, label_pairs

Array = np.ndarray
NAN = math.nan
TWO_CODERS = ("aabbdcccedda", "babbbccceddd")
BINARY = ("0100000010", "1110010000")
FOUR_CODERS = ("123321412000", "123322412503", "033323422510", "123324412510")
"""Examples C, B and D of Krippendorff 2011, "Computing Krippendorff's alpha-reliability"; 0 is missing in the last."""
JUDGES = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
"""Table 2 of Shrout & Fleiss 1979: six targets, four judges."""


def long(table: Array) -> LabelTable:
    """Labels of a table [reviewers, units] without its NaN."""
    reviewer, unit = np.nonzero(np.isfinite(table))
    return LabelTable(unit, reviewer, table[reviewer, unit])


def pairs_of(table: Array) -> LabelPairs:
    labels = long(table)
    value = labels.value
    return label_pairs(labels.unit, labels.reviewer, lambda one, other: float((value[one] - value[other]) ** 2), value)


def coded(rows: tuple[str, ...], missing: str = "") -> Array:
    return np.array([[NAN if sign == missing else float(ord(sign) - ord("0")) for sign in row] for row in rows])


@pytest.mark.parametrize(
    ("rows", "metric", "printed"),
    [
        (coded(BINARY), "nominal", 0.095),
        (coded(TWO_CODERS), "nominal", 0.692),
        (coded(FOUR_CODERS, "0"), "nominal", 0.743),
        (coded(FOUR_CODERS, "0"), "interval", 0.849),
    ],
)
def test_alpha_is_that_of_the_published_examples(rows: Array, metric: Metric, printed: float) -> None:
    assert krippendorff_alpha(long(rows), metric).mean == pytest.approx(printed, abs=5e-4)
    assert alpha_measure(pairs_of(rows), metric=metric).mean == pytest.approx(printed, abs=5e-4)


def test_icc_is_that_of_the_published_example() -> None:
    """Table 4 of Shrout & Fleiss 1979; limits as the R package psych prints them."""
    one, two = icc_one_way(long(JUDGES.T)), icc_two_way(JUDGES)
    assert [one.mean, one.lower, one.upper] == pytest.approx([0.17, -0.13, 0.72], abs=0.006)
    assert [two.mean, two.lower, two.upper] == pytest.approx([0.29, 0.02, 0.76], abs=0.006)
    assert icc_measure(pairs_of(JUDGES.T)).mean == two.mean


def test_icc_is_one_way_where_labels_are_missing() -> None:
    table = JUDGES.T.copy()
    table[0, 0] = NAN
    assert icc_measure(pairs_of(table)) != icc_measure(pairs_of(JUDGES.T))
    assert icc_measure(pairs_of(table)).mean == icc_one_way(long(table)).mean


def test_kappa_is_that_of_the_published_example() -> None:
    """Cohen 1960, table 2: agreement 0.70, by chance 0.41."""
    counts = np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    one, other = np.nonzero(counts)
    repeats = counts[one, other]
    table = np.stack([np.repeat(one, repeats), np.repeat(other, repeats)]).astype(float)
    measured = kappa_measure(pairs_of(table))
    assert measured.mean == pytest.approx(0.29 / 0.59)
    assert (measured.pairs, measured.units, measured.reviewers) == (200, 200, 2)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_kappa_of_two_reviewers_is_that_of_another_library(classes: int) -> None:
    rng = np.random.default_rng(classes)
    truth = rng.integers(0, classes, 300)
    table = np.stack([np.where(rng.random(300) < 0.3, rng.integers(0, classes, 300), truth) for _ in range(2)])
    expected = cohen_kappa_score(table[0], table[1])
    assert kappa_measure(pairs_of(table.astype(float))).mean == pytest.approx(expected)


def test_variance_of_kappa_is_that_of_fleiss_cohen_and_everitt() -> None:
    """Their equation 13 for the standard error, recovered from an interval with many labels."""
    rng = np.random.default_rng(0)
    n = 20_000
    truth = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    table = np.stack([np.where(rng.random(n) < rate, rng.choice(3, n), truth) for rate in (0.2, 0.4)])
    share = np.histogram2d(table[0], table[1], bins=3)[0] / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    observed, chance = np.trace(share), float(rows @ columns)
    kappa = (observed - chance) / (1 - chance)
    diagonal = np.sum(np.diag(share) * (1 - (rows + columns) * (1 - kappa)) ** 2)
    off = share.copy()
    np.fill_diagonal(off, 0)
    others = (1 - kappa) ** 2 * np.sum(off * (columns[:, None] + rows[None, :]) ** 2)
    error = math.sqrt((diagonal + others - (kappa - chance * (1 - kappa)) ** 2) / n) / (1 - chance)
    measured = kappa_measure(pairs_of(table.astype(float)))
    assert (measured.upper - measured.lower) / 2 / 1.96 == pytest.approx(error, rel=0.01)


def test_perfect_agreement_of_few_labels_has_a_lower_end() -> None:
    table = np.tile(np.arange(20) % 2, (2, 1)).astype(float)
    for measured in (kappa_measure(pairs_of(table)), alpha_measure(pairs_of(table))):
        assert (measured.mean, measured.upper) == (1, 1)
        assert 0.6 < measured.lower < 0.9


def test_one_class_alone_shows_no_agreement() -> None:
    pairs = pairs_of(np.ones((2, 10)))
    for measure in (kappa_measure, alpha_measure, icc_measure):
        measured = measure(pairs)
        assert math.isnan(measured.mean)
        assert (measured.lower, measured.upper) == (-1, 1)


def test_labels_are_paired_by_unit_and_reviewer() -> None:
    units, reviewers = ["u", "v", "u", "u", "v", "w"], ["ben", "ann", "ann", "cem", "ann", "ben"]
    pairs = label_pairs(units, reviewers, lambda one, other: float(10 * one + other))
    assert list(zip(pairs.unit, pairs.first, pairs.second, pairs.difference, strict=True)) == [
        ("u", "ann", "ben", 20.0),
        ("u", "ann", "cem", 23.0),
        ("u", "ben", "cem", 3.0),
    ]
    with pytest.raises(ValueError, match="must be the labels as numbers or classes"):
        alpha_measure(pairs)
    with pytest.raises(ValueError, match="must be the classes of both labels"):
        kappa_measure(pairs)


def test_no_pairs_have_no_measure() -> None:
    pairs = label_pairs(["u"], ["ann"], lambda one, other: 0.0, [1.0])
    for measure in (kappa_measure, alpha_measure, icc_measure, difference_measure):
        assert math.isnan(measure(pairs).mean)
    assert by_pair(pairs, kappa_measure) == {}


def test_measures_by_pair_and_by_reviewer_find_the_careless_one() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 900)
    names = np.array(["ann", "ben", "cem"])
    rates = {"ann": 0.02, "ben": 0.02, "cem": 0.5}
    chosen = np.array([rng.choice(names, 2, replace=False) for _ in truth])
    labels = [
        np.where(rng.random(len(truth)) < [rates[name] for name in column], rng.integers(0, 3, len(truth)), truth)
        for column in chosen.T
    ]
    values = np.concatenate(labels).astype(float)
    units = np.tile(np.arange(len(truth)), 2)
    pairs = label_pairs(units, chosen.T.ravel(), lambda one, other: float(values[one] != values[other]), values)
    of_pairs, of_reviewers = by_pair(pairs, kappa_measure), by_reviewer(pairs, difference_measure)
    assert list(of_pairs) == [("ann", "ben"), ("ann", "cem"), ("ben", "cem")]
    assert of_pairs["ann", "ben"].lower > max(of_pairs["ann", "cem"].upper, of_pairs["ben", "cem"].upper)
    assert of_reviewers["cem"].lower > max(of_reviewers["ann"].upper, of_reviewers["ben"].upper)
    assert sum(measured.pairs for measured in of_pairs.values()) == len(pairs) == 900
    assert sum(measured.pairs for measured in of_reviewers.values()) == 2 * 900


def coverage(truth: float, measure, tables: list[Array]) -> float:
    measured = [measure(pairs_of(table)) for table in tables]
    return float(np.mean([one.lower <= truth <= one.upper for one in measured]))


def guesses(n: int, known: float, classes: int, rng: np.random.Generator) -> Array:
    """Two labels, each the truth with a probability and else any class: kappa and alpha are its square."""
    truth = rng.integers(0, classes, n)
    return np.stack([np.where(rng.random(n) < known, truth, rng.integers(0, classes, n)) for _ in range(2)]) * 1.0


@pytest.mark.parametrize(("classes", "known", "n"), [(2, 0.95, 50), (3, 0.8, 50), (10, 0.5, 200)])
def test_intervals_beyond_chance_hold(classes: int, known: float, n: int) -> None:
    rng = np.random.default_rng(2)
    tables = [guesses(n, known, classes, rng) for _ in range(200)]
    assert coverage(known**2, kappa_measure, tables) >= 0.9
    assert coverage(known**2, alpha_measure, tables) >= 0.9


def test_intervals_of_numbers_hold() -> None:
    rng = np.random.default_rng(3)
    tables = [rng.normal(size=50) + 0.5 * rng.normal(size=(2, 50)) for _ in range(200)]
    assert coverage(0.8, icc_measure, tables) >= 0.9
    assert coverage(0.8, functools.partial(alpha_measure, metric="interval"), tables) >= 0.9
    assert coverage(0.5, difference_measure, tables) >= 0.9

"""Certified selective risk: sizes at which anything can be said, ties, orders of rows, refusals in words."""

import math

import numpy as np
import pytest

from models.certification.selective_risk import certify, certify_from_log
from models.certification.units import answered, units


def sample(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and failures whose chance grows with the score, from 0 to 30 %."""
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, (rng.random(n) < 0.3 * scores).astype(float)


@pytest.mark.parametrize(("alpha", "needed"), [(0.05, 59), (0.01, 299)])
def test_without_failures_everything_is_answered_from_the_zero_failure_size_on(alpha: float, needed: int) -> None:
    """One unit more: the largest score lends its value and is not tested."""
    for n, certified in ((needed, False), (needed + 1, True), (3 * needed, True)):
        result = certify(units(np.random.default_rng(n).random(n), np.zeros(n)), alpha, 0.05)
        assert (result.threshold is not None) == certified
        if not certified:
            assert f"needs at least {needed} units" in result.reason
            assert "defer all" in result.reason


def test_where_everything_fails_nothing_is_certified() -> None:
    result = certify(units(np.arange(1000.0), np.ones(1000)), 0.1, 0.05)
    assert result.threshold is None
    assert "a rate of 1" in result.reason
    assert "not more units" in result.reason


def test_a_good_rate_of_too_few_units_says_how_many_would_do() -> None:
    failures = np.zeros(400)
    failures[::20] = 1
    result = certify(units(np.random.default_rng(0).random(400), failures), 0.06, 0.05)
    assert result.threshold is None
    assert "if the rates stay, about 3000 are needed" in result.reason


def test_the_evidence_is_what_was_counted() -> None:
    scores, failures = sample(2000)
    result = certify(units(scores, failures), 0.1, 0.05)
    kept = answered(units(scores).scores, result.threshold)
    assert result.answered is not None
    assert result.loss is not None
    assert 0 <= kept.sum() - result.answered <= 51, "rulers are not counted"
    assert 0 <= failures[kept].sum() - result.loss <= 51
    assert result.pvalue is not None
    assert result.pvalue <= 0.05
    assert 0.4 < kept.mean() < 0.67


def test_errors_are_judged_by_the_limit() -> None:
    scores, failures = sample(2000)
    errors = np.where(failures > 0, 7.0, 2.0)
    assert certify(units(scores, errors), 0.1, 0.05, acceptable=2.0) == certify(units(scores, failures), 0.1, 0.05)
    assert certify(units(scores, errors), 0.1, 0.05, acceptable=1.9).threshold is None


def test_the_answer_is_that_of_the_file_again_and_again() -> None:
    scores, failures = sample(3000)
    assert certify(units(scores, failures), 0.1, 0.05) == certify(units(scores, failures), 0.1, 0.05)


def test_sorted_rows_are_as_good_as_shuffled_ones() -> None:
    scores, failures = sample(4000)
    order = np.argsort(scores)
    shares = [
        (scores <= certify(units(scores[rows], failures[rows]), 0.1, 0.05).threshold).mean()
        for rows in (order, order[::-1], np.arange(4000))
    ]
    assert max(shares) - min(shares) < 0.08


def test_ties_are_answered_together() -> None:
    scores, failures = sample(4000)
    coarse = np.ceil(scores * 10) / 10
    result = certify(units(coarse, failures), 0.1, 0.05)
    assert result.threshold is not None
    kept = answered(units(coarse).scores, result.threshold)
    assert kept.mean() == pytest.approx(np.mean(coarse <= coarse[kept].max()))
    constant = certify(units(np.ones(500), np.zeros(500)), 0.1, 0.05)
    assert constant.threshold == pytest.approx(1)


def test_scores_that_are_missing_are_deferred_and_harm_nobody() -> None:
    scores, failures = sample(3000)
    scores[::3] = np.nan
    result = certify(units(scores, failures), 0.1, 0.05)
    assert result.threshold is not None
    none = certify(units(np.full(100, np.nan), np.zeros(100)), 0.1, 0.05)
    assert none.threshold is None
    assert "no unit has a finite uncertainty" in none.reason


@pytest.mark.parametrize("n", [3000, 120_000])
def test_bounded_losses_are_certified_in_their_unit(n: int) -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(n)
    errors = 8 * scores * rng.random(n)
    result = certify(units(scores, errors), 1.0, 0.05, bound=8.0)
    assert result.threshold is not None
    risk = errors[scores <= result.threshold].mean()
    assert 0.8 < risk <= 1.0
    assert "mean error" in result.statement


def test_scores_of_other_units_choose_the_candidates() -> None:
    scores, failures = sample(2000)
    result = certify(units(scores, failures), 0.1, 0.05, unlabelled=np.random.default_rng(9).random(50_000))
    assert result.units == 2000
    assert result.threshold is not None


def test_a_log_in_which_everything_is_labelled_is_an_ordinary_file() -> None:
    scores, failures = sample(2000)
    log = certify_from_log(units(scores, failures, propensity=np.ones(2000)), 0.1, 0.05)
    assert log.threshold == certify(units(scores, failures), 0.1, 0.05).threshold


def test_a_log_without_labels_or_propensities_certifies_nothing() -> None:
    scores, _ = sample(500)
    empty = certify_from_log(units(scores, np.full(500, np.nan), propensity=np.full(500, 0.1)), 0.1, 0.05)
    assert empty.threshold is None
    assert "there are 0 with labels" in empty.reason
    with pytest.raises(ValueError, match="propensity"):
        certify_from_log(units(scores, np.zeros(500)), 0.1, 0.05)


@pytest.mark.parametrize(
    ("alpha", "delta", "words"),
    [(0.0, 0.05, "risk"), (1.0, 0.05, "risk"), (0.1, 0.0, "delta"), (0.1, 1.0, "delta"), (math.nan, 0.05, "risk")],
)
def test_levels_outside_their_range_are_refused(alpha: float, delta: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        certify(units(np.arange(9.0), np.zeros(9)), alpha, delta)

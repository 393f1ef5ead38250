"""Robust imitative planning: numbers of both released paths, ties, single members."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.predictive import Trajectories
from models.uncertainty import score
from models.uncertainty.trajectories import DeviationUndefined, Operator, aggregate, plan_weights, rank, spreads

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "motion_rip.json").read_text())["cases"]
OPERATORS = get_args(Operator)
RUNS = [(case, operator) for case in CASES for operator in OPERATORS]
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def name(value: object) -> str:
    return f"K={value['K']}" if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(("case", "operator"), RUNS, ids=name)
def test_plans_and_requests_are_those_of_the_released_model_code(case: dict, operator: Operator) -> None:
    scores, official = np.array(case["scores_model_plan_request"]), case["by_algorithm"][operator]
    if case["K"] == 1 and operator in ("LQ", "UQ"):
        assert official["request_uncertainty"] == ["nan", "nan"], "the released code has no answer"
        with pytest.raises(DeviationUndefined, match="K = 1; use ddof 0"):
            rank(scores, operator, ddof=1)
        return
    ranking = rank(scores, operator, ddof=1)
    if official["per_plan"] is not None:
        np.testing.assert_allclose(aggregate(scores, operator, 1), official["per_plan"], **EXACT)
    assert ranking.index.tolist() == official["top5_indices"]
    np.testing.assert_allclose(ranking.score, official["top5_scores"], **EXACT)
    np.testing.assert_allclose(ranking.weight, official["softmax_weights"], **EXACT)
    np.testing.assert_allclose(ranking.confidence, official["request_confidence"], **EXACT)
    np.testing.assert_allclose(ranking.uncertainty, official["request_uncertainty"], **EXACT)


@pytest.mark.parametrize(("case", "operator"), RUNS, ids=name)
def test_requests_are_those_of_the_released_evaluation(case: dict, operator: Operator) -> None:
    """Its standard deviations have ddof 0, over models and over plans."""
    ranking = rank(np.array(case["scores_model_plan_request"]), operator)
    official = case["by_algorithm"][operator]["numpy_posthoc_request_confidence"]
    np.testing.assert_allclose(ranking.confidence, official, **EXACT)


def test_quartiles_of_one_model_are_its_scores() -> None:
    scores = np.array(CASES[0]["scores_model_plan_request"])
    for operator in OPERATORS:
        assert aggregate(scores, operator).tolist() == scores[0].tolist()


all_scores = hnp.arrays(np.float64, (3, 7, 2), elements=st.floats(-1e3, 1e3))


@given(all_scores)
def test_operators_keep_their_order(scores: np.ndarray) -> None:
    worst, low, mean, high, best = (aggregate(scores, operator) for operator in ("WCM", "LQ", "MA", "UQ", "BCM"))
    for lower, other in ((worst, mean), (mean, best), (low, mean), (mean, high)):
        assert (lower <= other + 1e-9).all()


@given(all_scores, st.sampled_from(OPERATORS), st.permutations(range(3)))
def test_the_order_of_models_does_not_matter(scores: np.ndarray, operator: Operator, order: list[int]) -> None:
    np.testing.assert_allclose(aggregate(scores[order], operator), aggregate(scores, operator), rtol=1e-9, atol=1e-9)


@given(all_scores, st.sampled_from(OPERATORS), st.sampled_from([0, 1]))
def test_weights_are_a_distribution_that_falls_with_the_rank(scores: np.ndarray, operator: Operator, ddof: int) -> None:
    ranking = rank(scores, operator, ddof=ddof)
    np.testing.assert_allclose(ranking.weight.sum(axis=1), 1, rtol=1e-12)
    assert (np.diff(ranking.weight, axis=1) <= 0).all()
    assert (np.diff(ranking.score, axis=1) <= 0).all()


def test_among_equal_plans_the_first_comes_first() -> None:
    scores = np.zeros((2, 7, 1))
    scores[:, 4] = 1
    assert rank(scores, "MA").index.tolist() == [[4, 0, 1, 2, 3]]


def test_no_requests_have_no_ranks() -> None:
    ranking = rank(np.zeros((2, 6, 0)), "LQ")
    assert (ranking.index.shape, ranking.weight.shape, ranking.uncertainty.shape) == ((0, 5), (0, 5), (0,))


def test_a_request_may_have_another_operator_than_its_plans() -> None:
    scores = np.array([[[1.0], [5.0]], [[3.0], [4.0]]])
    ranking = rank(scores, "MA", request="WCM", count=2)
    assert (ranking.score.tolist(), ranking.confidence.tolist()) == ([[4.5, 2]], [2])


def test_weights_of_very_unlikely_plans_do_not_vanish_together() -> None:
    assert plan_weights(np.array([[-1e6, -1e6]])).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("scores", "kwargs", "message"),
    [
        (np.zeros((2, 4, 1)), {}, "number of plans, 4, got 5"),
        (np.zeros((2, 4, 1)), {"count": 0}, "got 0"),
        (np.zeros((0, 5, 1)), {}, "at least one score"),
        (np.zeros((2, 5)), {}, "requests"),
        (np.full((2, 5, 1), np.nan), {}, "10 of 10"),
        (np.zeros((2, 5, 1)), {"ddof": 2}, "ddof must be 0"),
    ],
)
def test_what_has_no_rank_is_refused(scores: np.ndarray, kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank(scores, "MA", **kwargs)
    with pytest.raises(ValueError, match="operator must be one of"):
        aggregate(np.zeros((2, 5, 1)), "median")  # type: ignore[arg-type]


def test_spreads_obey_the_law_of_total_variance() -> None:
    plans = np.random.default_rng(3).normal(size=(4, 15, 6, 2))
    total, data, knowledge = spreads(plans, 3)
    assert data is not None
    assert knowledge is not None
    np.testing.assert_allclose(total, plans.var(axis=1).sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(total, data + knowledge, rtol=1e-12)
    np.testing.assert_allclose(data[:, 0], plans.reshape(4, 3, 5, 6, 2)[:, :, :, 0].var(axis=2).sum(-1).mean(1))
    alone = spreads(plans, 1)
    np.testing.assert_allclose(alone[0], total, rtol=1e-12)
    assert alone[1:] == (None, None)


def test_measures_by_operator_are_those_of_the_ranking() -> None:
    scores = np.random.default_rng(4).normal(size=(3, 9, 5))
    for operator in OPERATORS:
        ranked = rank(scores, "MA", request=operator)
        trajectories = Trajectories(np.zeros((5, 5, 2, 2)), ranked.weight, ranked.confidence, ranked.score)
        np.testing.assert_allclose(score(trajectories, operator.lower()), ranked.uncertainty, rtol=1e-12)


def test_a_request_whose_scores_are_not_finite_has_no_measure() -> None:
    trajectories = Trajectories(
        np.zeros((2, 2, 1, 2)), np.ones((2, 2)) / 2, np.zeros(2), np.array([[1.0, np.nan], [1.0, 3.0]])
    )
    assert np.isnan(score(trajectories, "ma")).tolist() == [True, False]

"""Normal members: numbers of the released code, exactness at extreme variances, likelihoods far out."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.assessment.convention import OFFICIAL, PAPER
from models.uncertainty import gaussian, score

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "regression_uncertainty.json").read_text())["cases"]
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def members(case: dict) -> tuple[np.ndarray, np.ndarray]:
    return gaussian.split(np.array(case["preds_mean_var"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed {case['seed']}")
def test_variances_and_divergences_are_those_of_the_released_code(case: dict) -> None:
    mean, variance = members(case)
    official = {name: np.asarray(values, float) for name, values in case["official"].items()}
    np.testing.assert_allclose(gaussian.total_variance(mean, variance), official["tvar"], **EXACT)
    np.testing.assert_allclose(gaussian.data_variance(mean, variance), official["mvar"], **EXACT)
    np.testing.assert_allclose(gaussian.knowledge_variance(mean, variance), official["varm"], **EXACT)
    np.testing.assert_allclose(gaussian.expected_pairwise(mean, variance), official["epkl"], **EXACT)
    divergence = gaussian.expected_pairwise(mean, variance, PAPER)
    np.testing.assert_allclose(divergence, np.asarray(case["true_pairwise_kl"], float), **EXACT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed {case['seed']}")
def test_likelihoods_are_those_of_the_released_code_where_it_does_not_underflow(case: dict) -> None:
    mean, variance = members(case)
    target = np.array(case["targets"])
    single = gaussian.nll(target, mean[0], variance[0])
    np.testing.assert_allclose(single, np.asarray(case["nll_single_model0_raw"], float), **EXACT)
    mixture, official = gaussian.ensemble_nll(target, mean, variance), np.asarray(case["ens_nll_raw"], float)
    finite = np.isfinite(official)
    np.testing.assert_allclose(mixture[finite], official[finite], **EXACT)
    assert np.isfinite(mixture).all()
    if finite.all():
        assert gaussian.mean_nll(target, mean, variance) == pytest.approx(float(case["ens_nll_mean"]), rel=1e-9)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed {case['seed']}")
def test_the_predictive_of_an_ensemble_scores_as_the_released_code(case: dict) -> None:
    mean, variance = members(case)
    prediction = gaussian.predictive(mean, variance)
    for name in ("tvar", "mvar", "varm", "epkl") if len(mean) > 1 else ("tvar", "mvar"):
        values = score(prediction, name)
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, np.asarray(case["official"][name], float), **EXACT)


def naive_pairs(mean: list[float], variance: list[float]) -> tuple[float, float]:
    """Cross-entropy and divergence over all pairs; rational sums, so that nothing is rounded but logarithms."""
    epsilon = Fraction(1e-10)
    v = [Fraction(value) + epsilon for value in variance]
    mu = [Fraction(value) for value in mean]
    pairs = len(mu) ** 2
    quadratic = sum(
        (vi + (mi - mj) ** 2) / vj for mi, vi in zip(mu, v, strict=True) for mj, vj in zip(mu, v, strict=True)
    )
    logs = math.fsum(math.log(value) for value in v) / len(v)
    cross = 0.5 * (math.log(2 * math.pi) + logs + float(quadratic / pairs))
    return cross, 0.5 * float(quadratic / pairs - 1)


exponents = st.floats(-16, 37)
means = st.one_of(st.floats(-50, 50), st.floats(-1e30, 1e30), st.floats(0, 1e-3).map(lambda small: 1e6 + small))
ensembles = st.lists(st.tuples(means, exponents.map(lambda e: 10.0**e)), min_size=1, max_size=6)


@given(ensembles)
def test_moments_give_the_sum_over_pairs_at_extreme_variances(ensemble: list[tuple[float, float]]) -> None:
    mean, variance = ([member[k] for member in ensemble] for k in (0, 1))
    cross, divergence = naive_pairs(mean, variance)
    column = np.array(mean)[:, None], np.array(variance)[:, None]
    pairwise = gaussian.expected_pairwise(*column)[0]
    scale = max(abs(cross), 1)  # a cross-entropy near zero is a difference of larger terms
    assert abs(pairwise - cross) <= 1e-9 * scale
    pairwise = gaussian.expected_pairwise(*column, PAPER)[0]
    assert pairwise >= 0
    assert pairwise == pytest.approx(divergence, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("mean", "variance"),
    [
        ([1e3, 1e3, 1e3], [2.0, 2.0 * (1 + 1e-7), 2.0]),  # a divergence far below the terms that it is made of
        ([1e6, 1e6 + 1e-8, 1e6 + 3e-8], [0.0, 0.0, 0.0]),  # means that differ in their last digits
        ([0.0, 0.0, 0.0], [1e37, 3e-10, 7e-9]),  # a wide member before narrow ones
    ],
)
def test_a_divergence_is_not_lost_in_rounding(mean: list[float], variance: list[float]) -> None:
    pairwise = gaussian.expected_pairwise(np.array(mean)[:, None], np.array(variance)[:, None], PAPER)[0]
    _, divergence = naive_pairs(mean, variance)
    assert divergence > 0
    assert pairwise == pytest.approx(divergence, rel=1e-8)


def test_the_whole_range_of_float32_stays_finite() -> None:
    extremes = np.array([np.finfo(np.float32).max, np.finfo(np.float32).tiny, 0], np.float32)
    variance = np.array([[a, b] for a in extremes for b in extremes], np.float32).T
    mean = np.array([[3e38] * 9, [-3e38] * 9], np.float32)
    for convention in (OFFICIAL, PAPER):
        prediction = gaussian.predictive(mean, variance, convention)
        for name in ("tvar", "mvar", "varm", "epkl"):
            assert np.isfinite(score(prediction, name)).all(), name
    assert np.isfinite(gaussian.ensemble_nll(np.zeros(9), mean, variance)).all()


def test_beyond_float64_a_result_is_infinite() -> None:
    mean, variance = np.array([[1e200], [-1e200]]), np.ones((2, 1))
    assert gaussian.knowledge_variance(mean, variance).tolist() == [math.inf]
    assert gaussian.ensemble_nll(np.zeros(1), mean, variance).tolist() == [math.inf]


def test_a_far_target_has_a_large_finite_likelihood() -> None:
    mean, variance = np.array([[0.0], [1.0]]), np.full((2, 1), 1e-3)
    target = np.array([1e3])
    nearest = gaussian.nll(target, mean[1], variance[1])[0]
    assert nearest > 1e8
    assert gaussian.ensemble_nll(target, mean, variance)[0] == pytest.approx(nearest + math.log(2), rel=1e-12)


def test_a_member_that_is_nan_stays_nan() -> None:
    mean, variance = np.array([[0.0, np.nan], [1.0, 1.0]]), np.array([[np.nan, 1.0], [1.0, 1.0]])
    for convention in (OFFICIAL, PAPER):
        assert np.isnan(gaussian.expected_pairwise(mean, variance, convention)).all()
    assert np.isnan(gaussian.ensemble_nll(np.zeros(2), mean, variance)).all()
    assert np.isnan(gaussian.total_variance(mean, variance)).all()


@given(ensembles, st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_matter(ensemble: list[tuple[float, float]], random: object) -> None:
    shuffled = list(ensemble)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, other = (gaussian.split(np.array(members)[:, None]) for members in (ensemble, shuffled))
    for measure in (gaussian.total_variance, gaussian.knowledge_variance, gaussian.expected_pairwise):
        np.testing.assert_allclose(measure(*first), measure(*other), rtol=1e-9, atol=1e-9)


def test_one_member_diverges_from_itself_by_nothing_and_has_a_cross_entropy() -> None:
    mean, variance = np.array([[5.0]]), np.array([[2.0]])
    assert gaussian.knowledge_variance(mean, variance).tolist() == [0]
    assert gaussian.expected_pairwise(mean, variance, PAPER).tolist() == [0]
    entropy = 0.5 * math.log(2 * math.pi * math.e * 2)
    assert gaussian.expected_pairwise(mean, variance)[0] == pytest.approx(entropy, rel=1e-9)
    prediction = gaussian.predictive(mean, variance)
    assert (prediction.varm, prediction.epkl) == (None, None)
    assert score(prediction, "entropy")[0] == pytest.approx(entropy)


def test_a_certain_model_has_an_entropy_below_all_others() -> None:
    prediction = gaussian.predictive(np.zeros((1, 2)), np.array([[0.0, 1e-300]]))
    assert score(prediction, "entropy")[0] == -math.inf < score(prediction, "entropy")[1]


def test_no_units_have_statistics_but_no_mean_likelihood() -> None:
    empty = np.zeros((3, 0))
    assert len(gaussian.predictive(empty, empty)) == 0
    with pytest.raises(ValueError, match="no units"):
        gaussian.mean_nll(np.zeros(0), empty, empty)


@pytest.mark.parametrize(
    ("mean", "variance", "message"),
    [
        (np.zeros((2, 3)), np.full((2, 3), -1.0), "variance must be 0 or larger, 6 of 6"),
        (np.zeros((2, 3)), np.zeros((2, 2)), "shapes"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "at least one member"),
        (np.zeros(3), np.zeros(3), r"\[members, units\]"),
    ],
)
def test_what_is_no_ensemble_of_normals_is_refused(mean: np.ndarray, variance: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gaussian.predictive(mean, variance)


def test_targets_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="target"):
        gaussian.nll(np.zeros(2), np.zeros((1, 3)), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="mean, variance"):
        gaussian.split(np.zeros((2, 3)))

"""Errors of sets of trajectories: the released numbers, padding, and the example that motivates the likelihood."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from models.assessment import trajectories as trj

ORACLE = json.loads((Path(__file__).parents[2] / "fixtures" / "motion_metrics.json").read_text())


def one(case: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.array(case[name])[None] for name in ("ground_truth", "predicted", "weights"))


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: f"{case['mode']}-{len(case['weights'])}")
def test_figures_are_those_of_the_released_code(case: dict) -> None:
    truth, predicted, weights = one(case)
    errors = {"ade": trj.mode_ade(truth, predicted), "fde": trj.mode_fde(truth, predicted)}
    ours = {
        **errors,
        **{
            f"{how}_{name}": trj.aggregate(value, weights, how)
            for name, value in errors.items()
            for how in ("min", "avg", "top1", "weighted")
        },
        "log_likelihood": trj.log_likelihood(truth, predicted, weights),
        "corrected_nll": trj.cnll(truth, predicted, weights),
        "log_likelihood_sigma2": trj.log_likelihood(truth, predicted, weights, sigma=2.0),
        "corrected_nll_sigma2": trj.cnll(truth, predicted, weights, sigma=2.0),
    }
    assert ours.keys() == case["official"].keys()
    for name, value in ours.items():
        np.testing.assert_allclose(value[0], case["official"][name], rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("weights_sum_0.9", [0.4, 0.5]),
        ("weights_negative", [1.5, -0.5]),
        ("weights_sum_1.00001_accepted", [0.50001, 0.5]),
        ("weights_sum_1.00002", [0.50002, 0.5]),
    ],
)
def test_weights_are_refused_where_and_as_the_released_code_does(name: str, weights: list) -> None:
    case = ORACLE["weight_checks"][name]
    rows = np.array([[0.5, 0.5], weights])
    if "ok" in case:
        assert trj.aggregate(np.zeros((2, 2)), rows, "weighted").tolist() == [0, 0]
        return
    fact = case["message"].removesuffix(".").split(" Sum: ")[0].removesuffix(".")
    with pytest.raises(trj.WeightsError, match=rf"{fact}.*row 1"):
        trj.aggregate(np.zeros((2, 2)), rows, "weighted")
    with pytest.raises(trj.WeightsError, match=fact):
        trj.cnll(np.zeros((2, 3, 2)), np.zeros((2, 2, 3, 2)), rows)


def batch(seed: int, requests: int, modes: int, steps: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(modes), requests)
    return rng.normal(size=(requests, steps, 2)), rng.normal(size=(requests, modes, steps, 2)), weights


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, predicted, weights = batch(1, 40, 3)
    whole = trj.mode_ade(truth, predicted), trj.cnll(truth, predicted, weights)
    monkeypatch.setattr(trj, "_BLOCK", 7 * 3 * 5)
    np.testing.assert_array_equal(trj.mode_ade(truth, predicted), whole[0])
    np.testing.assert_array_equal(trj.cnll(truth, predicted, weights), whole[1])


def test_the_corrected_likelihood_is_the_formula() -> None:
    truth, predicted, weights = batch(2, 20, 4)
    d2 = np.square(predicted - truth[:, None]).sum(axis=(2, 3))
    np.testing.assert_allclose(
        trj.cnll(truth, predicted, weights, sigma=0.5), -logsumexp(-d2 / 0.5, axis=1, b=weights), rtol=1e-12
    )


def test_padding_counts_nowhere() -> None:
    truth, predicted, weights = batch(3, 6, 3)
    padded = np.concatenate([predicted, np.full((6, 2, 5, 2), np.nan)], axis=1)
    wide = np.concatenate([weights, np.zeros((6, 2))], axis=1)
    np.testing.assert_array_equal(trj.cnll(truth, padded, wide), trj.cnll(truth, predicted, weights))
    errors = trj.mode_ade(truth, padded)
    for how in ("min", "avg", "top1", "weighted"):
        np.testing.assert_allclose(
            trj.aggregate(errors, wide, how), trj.aggregate(errors[:, :3], weights, how), rtol=1e-12
        )


def test_a_mode_of_weight_zero_is_a_mode_as_released() -> None:
    errors, weights = np.array([[3.0, 1.0, np.nan]]), np.array([[1.0, 0.0, 0.0]])
    assert trj.aggregate(errors, weights, "min") == 1
    assert trj.aggregate(errors, weights, "avg") == 2
    assert trj.aggregate(errors, weights, "top1") == 3
    assert trj.aggregate(errors, weights, "weighted") == 3


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: f"{case['mode']}-{len(case['weights'])}")
def test_the_released_least_errors_do_not_look_at_weights(case: dict) -> None:
    """All weight on the first mode: the released least and average errors stay, as the rest still counts."""
    truth, predicted, weights = one(case)
    sure = np.zeros_like(weights)
    sure[:, 0] = 1
    for how in ("min", "avg"):
        for name, errors in (("ade", trj.mode_ade(truth, predicted)), ("fde", trj.mode_fde(truth, predicted))):
            actual = trj.aggregate(errors, sure, how)
            np.testing.assert_allclose(actual[0], case["official"][f"{how}_{name}"], rtol=1e-9)


def test_the_first_of_equal_weights_is_top() -> None:
    assert trj.aggregate(np.array([[3.0, 1.0, 2.0]]), np.array([[0.2, 0.4, 0.4]]), "top1") == 1


def test_a_sure_and_exact_mode_costs_nothing_and_a_hopeless_one_stays_finite() -> None:
    truth = np.zeros((1, 25, 2))
    predicted = np.stack([truth, truth + 1e4], axis=1)
    assert trj.cnll(truth, predicted, np.array([[1.0, 0.0]])) == 0
    far = trj.cnll(truth, predicted[:, 1:], np.array([[1.0]]))
    np.testing.assert_allclose(far, 25 * 1e8)


def test_float32_positions_are_judged_in_float64() -> None:
    truth, predicted, weights = batch(4, 5, 3)
    single = truth.astype(np.float32), predicted.astype(np.float32)
    exact = single[0].astype(np.float64), single[1].astype(np.float64)
    np.testing.assert_array_equal(trj.cnll(*single, weights), trj.cnll(*exact, weights))


def test_a_collapsed_mode_wins_in_weighted_displacement_and_loses_in_likelihood() -> None:
    """Shifts 1.0, equations 16 to 19: the paper prints 201.5, 101.5, 1.09 and 50.75; these are the exact values."""
    y = np.linspace(-30, 30, 60_001)
    density = (np.exp(-((y - 10) ** 2) / 2) + np.exp(-((y + 10) ** 2) / 2)) / (2 * np.sqrt(2 * np.pi))
    truth = np.stack([y, np.zeros_like(y)], axis=-1)[:, None]
    weights = np.full((len(y), 2), 0.5)

    def expectations(modes: list[float]) -> tuple[float, ...]:
        positions = np.array([[[mode, 0.0]] for mode in modes])
        predicted = np.broadcast_to(positions, (len(y), 2, 1, 2))
        figures = (
            trj.aggregate(trj.mode_squared_distance(truth, predicted), weights, "weighted"),
            trj.aggregate(trj.mode_ade(truth, predicted), weights, "weighted"),
            trj.cnll(truth, predicted, weights),
        )
        return tuple(float(np.trapezoid(figure * density, y)) for figure in figures)

    both, collapsed = expectations([10, -10]), expectations([0, 0])
    assert both[0] == pytest.approx(201, rel=1e-6)
    assert collapsed[0] == pytest.approx(101, rel=1e-6)
    assert both[2] == pytest.approx(0.5 + np.log(2), rel=1e-6)
    assert both[2] == pytest.approx(1.193, abs=5e-4)
    assert collapsed[2] == pytest.approx(50.5, rel=1e-6)
    assert collapsed[1] < both[1], "the same conclusion for distances that are not squared"


@pytest.mark.parametrize(
    ("truth", "predicted"),
    [((2, 5, 2), (2, 3, 4, 2)), ((2, 5, 3), (2, 1, 5, 3)), ((0, 5, 2), (0, 1, 5, 2)), ((5, 2), (3, 5, 2))],
)
def test_shapes_that_do_not_fit_are_refused(truth: tuple, predicted: tuple) -> None:
    for figure in (trj.mode_ade, trj.mode_fde, trj.mode_squared_distance):
        with pytest.raises(ValueError, match="none empty"):
            figure(np.zeros(truth), np.zeros(predicted))


def test_positions_that_are_not_finite_are_refused_by_row() -> None:
    truth, predicted, weights = batch(5, 4, 2)
    predicted[2, 1, 3, 0] = np.nan
    with pytest.raises(ValueError, match="mode 1 in row 2"):
        trj.aggregate(trj.mode_ade(truth, predicted), weights, "min")
    with pytest.raises(ValueError, match="mode 1 in row 2"):
        trj.cnll(truth, predicted, weights)
    truth[3, 4, 0] = np.inf
    with pytest.raises(ValueError, match="row 3 at step 4"):
        trj.mode_ade(truth, predicted)


def test_arguments_out_of_range_are_refused() -> None:
    truth, predicted, weights = batch(6, 2, 2)
    with pytest.raises(ValueError, match="sigma is 0"):
        trj.cnll(truth, predicted, weights, sigma=0)
    with pytest.raises(ValueError, match="aggregator is 'mean'"):
        trj.aggregate(weights, weights, "mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one shape"):
        trj.aggregate(weights, weights[:, :1], "min")
    with pytest.raises(trj.WeightsError, match="Sum: nan in row 0"):
        trj.checked_weights(np.array([[np.nan, 1.0]]))

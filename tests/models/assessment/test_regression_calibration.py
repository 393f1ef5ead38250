"""Calibration of variances against numbers of the released formulas, and at the edges."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models.assessment import regression_calibration as cal
from models.assessment.convention import OFFICIAL, PAPER

ORACLE = json.loads((Path(__file__).parents[2] / "fixtures" / "regression_calibration.json").read_text())
TENTHS = np.arange(10) / 10


def regenerated(case: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets, means and variances [100000] of the recipe that the file states."""
    rng, n = np.random.default_rng(case["seed"]), case["n"]
    variance = rng.gamma(2, 0.6, n) + 0.05
    mean = rng.normal(12, 8, n)
    if case["mode"] == "const":
        variance = 1 + np.arange(n) * 1e-9
    target = mean + rng.normal(0, 1, n) * np.sqrt(variance) * (2 if case["mode"] == "over" else 1)
    return target, mean, variance


@pytest.mark.parametrize("case", ORACLE["large_cases"], ids=lambda case: case["mode"])
def test_figures_of_large_cases_are_those_of_the_released_code(case: dict) -> None:
    target, mean, variance = regenerated(case)
    error = np.square(target - mean)
    groups = cal.bins_by_variance(error, variance)
    assert (len(groups.rmse), groups.rows, groups.dropped) == (case["bins"], case["bin_size"], 0)
    np.testing.assert_allclose(groups.rmv[:3], case["first_rmv"], rtol=1e-9)
    np.testing.assert_allclose(groups.rmse[:3], case["first_rmse"], rtol=1e-9)
    ence, cv = cal.ence(groups), cal.cv(variance)
    assert ence == pytest.approx(case["official_ence"], rel=1e-9)
    assert cv == pytest.approx(case["official_cv"], rel=1e-9)
    assert cal.lence(ence, cv) == pytest.approx(case["official_lence"], rel=1e-9)
    ratio = cal.at_fractions(cal.r3_curve(error, variance), tuple(case["fractions"]))
    np.testing.assert_allclose(ratio, case["paper_r3"], rtol=1e-9)
    weighted = cal.at_fractions(cal.mwse_curve(error, variance, denominator=100_000), TENTHS)
    official = [point["ok"] for point in case["official_mwse_at_0_to_90pct"]]
    np.testing.assert_allclose(weighted, official, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("case", ORACLE["large_cases"], ids=lambda case: case["mode"])
def test_the_released_ratio_takes_means_for_squared_errors_and_is_not_followed(case: dict) -> None:
    _, mean, variance = regenerated(case)
    order = np.argsort(variance, kind="stable")
    as_coded = np.sqrt(np.cumsum(mean[order]) / np.cumsum(variance[order]))
    ends = np.array(case["fractions"]) * case["n"]
    np.testing.assert_allclose(as_coded[ends.astype(int) - 1], case["official_r3_as_coded"], rtol=1e-9)


@pytest.mark.parametrize("case", ORACLE["small_ence_cases"], ids=lambda case: f"n={case['n']}")
def test_figures_of_small_cases_are_those_of_the_formulas(case: dict) -> None:
    variance = np.array(case["var"])
    error = np.square(np.array(case["target"]) - np.array(case["mean"]))
    groups = cal.bins_by_variance(error, variance, bin_rows=case["bin_size"])
    assert (len(groups.rmse), groups.dropped) == (case["bins_used"], case["rows_dropped_highest_variance"])
    assert cal.ence(groups) == cal.ence(cal.bins_by_variance(error, variance, bins=case["bins_used"]))
    assert cal.ence(groups) == pytest.approx(case["ence"], rel=1e-9)
    assert cal.cv(variance) == pytest.approx(case["cv"], rel=1e-9)
    assert cal.lence(cal.ence(groups), cal.cv(variance)) == pytest.approx(case["lence"], rel=1e-9)
    assert cal.mwse(error, variance) == pytest.approx(case["mwse_full"], rel=1e-9)
    assert cal.mwse_curve(error, variance)[-1] == pytest.approx(case["mwse_full"], rel=1e-9)
    assert cal.r3_curve(error, variance)[-1] == pytest.approx(case["r3_paper_full"], rel=1e-9)


@pytest.mark.parametrize("case", ORACLE["llfu_cases"], ids=lambda case: str(case["seed"]))
def test_ll_fu_has_the_logarithm_of_its_reading(case: dict) -> None:
    members, target = np.array(case["preds_mean_var"]), np.array(case["targets"])
    mean, variance = members.mean(axis=0).T
    single = members[0].T
    ours = {
        "official_llfu_ensemble": cal.ll_fu(target, mean, variance),
        "official_llfu_single": cal.ll_fu(target, single[0], single[1]),
        "paper_llfu_natural_log_ensemble": cal.ll_fu(target, mean, variance, convention=PAPER),
    }
    for name, value in ours.items():
        np.testing.assert_allclose(value, case[name], rtol=1e-9, err_msg=name)


def test_calibrated_variances_have_small_errors_and_halved_ones_do_not() -> None:
    rng = np.random.default_rng(2)
    variance = rng.gamma(2, 1, 50_000) + 0.1
    error = np.square(rng.normal(size=50_000)) * variance
    assert cal.ence(cal.bins_by_variance(error, variance)) < 0.05
    assert cal.ence(cal.bins_by_variance(error, variance / 4)) == pytest.approx(1, abs=0.05)
    assert cal.r3_curve(error, variance)[-1] == pytest.approx(1, abs=0.02)


def test_the_number_of_bins_follows_the_rows() -> None:
    assert [cal.default_bins(n) for n in (1, 7, 10, 1999, 2000, 2400, 99_999, 100_000, 10**6)] == [
        1,
        7,
        10,
        10,
        10,
        12,
        499,
        500,
        500,
    ]


def test_the_rows_of_highest_variance_fill_no_bin() -> None:
    variance = np.array([5.0, 1.0, 2.0, 4.0, 3.0])
    groups = cal.bins_by_variance(np.array([500.0, 1.0, 2.0, 4.0, 3.0]), variance, bins=2)
    assert groups.dropped == 1
    np.testing.assert_allclose(groups.rmv, np.sqrt([1.5, 3.5]))
    np.testing.assert_allclose(groups.rmse, groups.rmv)


def test_equal_variances_have_no_variation_and_infinite_lence() -> None:
    for value in (0.0, 0.01, 3.0):
        assert cal.cv(np.full(7, value)) == 0
    assert cal.lence(0.5, 0.0) == cal.lence(0.5, 0.0, convention=PAPER) == math.inf


def test_one_row_has_no_variation() -> None:
    single = np.array([2.0])
    assert math.isnan(cal.cv(single))
    assert math.isnan(cal.lence(cal.ence(cal.bins_by_variance(single, single)), cal.cv(single)))
    assert cal.ence(cal.bins_by_variance(single, single)) == 0
    assert cal.r3_curve(single, single)[1] == 1
    assert cal.mwse(single, single) == 4


def test_the_official_variation_leaves_out_variances_above_ten() -> None:
    variance = np.array([1.0, 2.0, 10.0, 11.0])
    assert cal.cv(variance) == pytest.approx(np.std(np.sqrt(variance[:3]), ddof=1) / np.mean(np.sqrt(variance[:3])))
    assert cal.cv(variance, convention=PAPER) == pytest.approx(
        np.std(np.sqrt(variance), ddof=1) / np.sqrt(variance).mean()
    )
    assert math.isnan(cal.cv(np.array([11.0, 12.0])))


def test_zero_variance_agrees_with_no_error_only() -> None:
    zero, error = np.zeros(2), np.array([0.0, 1.0])
    assert cal.ence(cal.bins_by_variance(zero, zero)) == 0
    assert cal.ence(cal.bins_by_variance(error, zero)) == math.inf
    assert cal.r3_curve(error, zero)[1:].tolist() == [1, math.inf]
    assert cal.ll_fu(error, zero, zero).tolist() == [0, math.inf]
    assert cal.ll_fu(error, zero, zero, convention=PAPER).tolist() == [0, math.inf]


def test_absurd_variances_of_real_models_give_finite_figures() -> None:
    rng = np.random.default_rng(3)
    variance = np.exp(rng.uniform(np.log(1e-16), np.log(1.1e37), 1000)).astype(np.float32)
    error = np.square(rng.normal(size=1000))
    for convention in (OFFICIAL, PAPER):
        assert math.isfinite(cal.cv(variance, convention=convention))
        assert np.isfinite(cal.ll_fu(np.sqrt(error), np.zeros(1000), variance, convention=convention)).all()
    assert math.isfinite(cal.ence(cal.bins_by_variance(error, variance)))
    assert np.isfinite(cal.r3_curve(error, variance)[1:]).all()
    assert np.isfinite(cal.mwse_curve(error, variance)).all()


def test_curves_are_prefixes_of_ascending_variance() -> None:
    rng = np.random.default_rng(4)
    error, variance = rng.random(50), rng.random(50)
    order = np.argsort(variance)
    ratio, weighted = cal.r3_curve(error, variance), cal.mwse_curve(error, variance)
    for k in (1, 17, 50):
        kept = order[:k]
        assert ratio[k] == pytest.approx(math.sqrt(error[kept].mean() / variance[kept].mean()))
        assert weighted[k] == pytest.approx((error * variance)[kept].sum() / 50)
    assert math.isnan(ratio[0])
    assert weighted[0] == 0
    fixed = cal.mwse_curve(error, variance, denominator=100_000)
    np.testing.assert_allclose(fixed, weighted * 50 / 100_000)


def test_an_uncertainty_may_be_negative_and_a_variance_may_not() -> None:
    error, uncertainty = np.array([1.0, 2.0]), np.array([-1.0, 3.0])
    assert cal.mwse(error, uncertainty) == pytest.approx(2.5)
    np.testing.assert_allclose(cal.mwse_curve(error, uncertainty), [0, -0.5, 2.5])
    for figure in (cal.bins_by_variance, cal.r3_curve):
        with pytest.raises(ValueError, match="variance of row 0 is -1.0"):
            figure(error, uncertainty)


def test_rows_and_parameters_out_of_range_are_refused() -> None:
    three = np.ones(3)
    for arguments in ({"bins": 4}, {"bins": 0}, {"bin_rows": 4}):
        with pytest.raises(ValueError, match="for 3 rows: allowed is 1 to 3"):
            cal.bins_by_variance(three, three, **arguments)
    with pytest.raises(ValueError, match="give one"):
        cal.bins_by_variance(three, three, bins=1, bin_rows=1)
    with pytest.raises(ValueError, match="at least 1"):
        cal.r3_curve(np.zeros(0), np.zeros(0))
    with pytest.raises(ValueError, match="squared error of row 1 is nan"):
        cal.mwse(np.array([1.0, np.nan]), np.ones(2))
    with pytest.raises(ValueError, match="variance of row 2 is inf"):
        cal.cv(np.array([1.0, 1.0, np.inf]))
    with pytest.raises(ValueError, match="retained shares"):
        cal.at_fractions(three, (1.1,))
    with pytest.raises(ValueError, match="denominator is 0"):
        cal.mwse_curve(three, three, denominator=0)
    with pytest.raises(ValueError, match="target and mean"):
        cal.ll_fu(three, np.ones(2), three)

"""Retention figures against numbers of the released code, and their properties."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models.assessment import errors as err
from models.assessment import retention
from models.assessment.convention import OFFICIAL, PAPER, Convention

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "retention.json").read_text())["cases"]


def arrays(case: dict) -> tuple[np.ndarray, np.ndarray]:
    return np.array(case["errors"], float), np.array(case["uncertainty"], float)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_figures_are_those_of_the_released_code(case: dict) -> None:
    errors, uncertainty = arrays(case)
    grouped = retention.error_curve(errors, uncertainty)
    f1 = retention.f_curve(errors, uncertainty, case["threshold"])
    f2 = retention.f_curve(errors, uncertainty, case["threshold"], beta=2)
    ours = {
        "official_rejection_curve_grouped": grouped[::-1],
        "official_r_auc_mean": retention.r_auc(grouped),
        "official_vessel_r_auc_optimal": retention.r_auc(retention.optimal_curve(errors), "trapezoid"),
        "official_f1_curve_by_retained_count": f1,
        "official_f1_auc": retention.f_auc(f1),
        "official_f1_at_95": retention.f_at(f1),
        "official_f2_auc": retention.f_auc(f2),
        "official_f2_at_95": retention.f_at(f2),
    }
    if len(set(uncertainty)) == len(uncertainty):  # the released vessel sort is unstable: ties are undefined
        plain = retention.error_curve(errors, uncertainty, group_ties=False)
        ours["official_rejection_curve_ungrouped"] = plain[::-1]
        ours["official_vessel_r_auc_trapezoid_ungrouped"] = retention.r_auc(plain, "trapezoid")
    if len(set(errors)) > 1:  # else 0 / 0 in the released code
        ours["official_prr_percent"] = retention.prr(errors, uncertainty)
    for name, value in ours.items():
        np.testing.assert_allclose(value, np.asarray(case[name], float), rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_two_areas_are_related_as_the_conventions_say() -> None:
    rng = np.random.default_rng(3)
    curve = retention.error_curve(rng.random(20), rng.random(20))
    mean, trapezoid = retention.r_auc(curve), retention.r_auc(curve, "trapezoid")
    assert mean == pytest.approx((20 * trapezoid + curve[-1] / 2) / 21, rel=1e-12)
    assert mean != pytest.approx(trapezoid, rel=1e-3)


def test_random_ranking_has_half_the_mean_error_and_no_rejection_ratio() -> None:
    errors = np.random.default_rng(4).random(50)
    assert retention.r_auc(retention.random_curve(errors)) == pytest.approx(errors.mean() / 2)
    assert retention.prr(errors, errors) == pytest.approx(100)
    assert math.isnan(retention.prr(np.ones(5), np.arange(5.0)))


def test_a_limit_is_inclusive_and_ties_prefer_the_later_row() -> None:
    curve = retention.f_curve(np.array([2.0, 1.0]), np.array([0.0, 0.0]), 1.0)
    assert curve[1] == pytest.approx(1.0)


def test_perfect_data_gives_two_minus_two_ln_two() -> None:
    curve = retention.f_curve(np.zeros(20_000), np.arange(20_000.0), 1.0)
    assert retention.f_auc(curve) == pytest.approx(2 - 2 * math.log(2), abs=1e-4)


@pytest.mark.parametrize(("errors", "uncertainty"), [(np.zeros(0), np.zeros(0)), (np.zeros(2), np.zeros(3))])
def test_what_has_no_units_or_two_lengths_is_refused(errors: np.ndarray, uncertainty: np.ndarray) -> None:
    with pytest.raises(ValueError, match="length"):
        retention.error_curve(errors, uncertainty)


def test_an_error_that_is_nan_is_refused_by_its_place() -> None:
    with pytest.raises(ValueError, match="error 1 is NaN"):
        retention.error_curve(np.array([1.0, np.nan]), np.zeros(2))


def test_a_unit_without_uncertainty_is_deferred_first() -> None:
    errors = np.array([1.0, 2.0, 4.0])
    curve = retention.error_curve(errors, np.array([np.nan, 0.0, np.inf]))
    np.testing.assert_allclose(curve, [0, 2 / 3, 2, 7 / 3])


@pytest.mark.parametrize("convention", [OFFICIAL, PAPER], ids=lambda item: item.name)
@pytest.mark.parametrize("decimals", [1, 9])
def test_the_f_curve_is_that_of_counting(convention: Convention, decimals: int) -> None:
    """Precision and recall by hand at every number retained, ties in the order that the convention says."""
    rng = np.random.default_rng(decimals)
    errors, uncertainty = np.round(rng.random(40), 2), np.round(rng.random(40), decimals)
    limit = float(errors[3])  # so that the limit itself occurs
    good = errors < limit if convention.strict_limit else errors <= limit
    if convention.f_ties_share:
        share = {value: good[uncertainty == value].mean() for value in set(uncertainty.tolist())}
        ranked = np.array([share[value] for value in np.sort(uncertainty).tolist()])
    else:
        order = sorted(range(40), key=lambda unit: (uncertainty[unit], -unit))
        ranked = good[order].astype(float)
    expected = [0.0]
    for k in range(1, 41):
        precision, recall = ranked[:k].sum() / k, ranked[:k].sum() / good.sum()
        expected.append(2 * precision * recall / (precision + recall + 1e-10))
    curve = retention.f_curve(errors, uncertainty, limit, convention=convention)
    np.testing.assert_allclose(curve, expected, rtol=1e-12)
    axis = np.arange(41) / (40 if convention.f_axis_to_one else 41)
    assert retention.f_auc(curve, convention) == pytest.approx(np.trapezoid(expected, axis), rel=1e-12)
    at = expected[38] if convention.f_axis_to_one else expected[int(0.95 * 41)]
    assert retention.f_at(curve, convention=convention) == pytest.approx(at)


def test_the_random_f_curve_is_the_mean_over_rankings_and_no_ranking_beats_the_optimal_one() -> None:
    rng = np.random.default_rng(5)
    errors = rng.random(30)
    random = retention.random_f_curve(errors, 0.4)
    optimal = retention.optimal_f_curve(errors, 0.4)
    curves = [retention.f_curve(errors, rng.random(30), 0.4) for _ in range(4000)]
    np.testing.assert_allclose(np.mean(curves, axis=0), random, atol=0.02)
    assert all((curve <= optimal + 1e-9).all() for curve in curves)
    np.testing.assert_allclose(retention.f_curve(errors, errors, 0.4), optimal, rtol=1e-12)


def test_nothing_acceptable_has_no_f() -> None:
    for curve in (
        retention.f_curve(np.ones(3), np.arange(3.0), 0.5),
        retention.random_f_curve(np.ones(3), 0.5),
        retention.optimal_f_curve(np.ones(3), 0.5),
    ):
        assert curve[0] == 0
        assert np.isnan(curve[1:]).all()
        assert math.isnan(retention.f_auc(curve))


def test_a_curve_has_a_value_at_any_retention() -> None:
    curve = retention.error_curve(np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4.0))
    assert retention.error_at(curve, 0) == 0
    assert retention.error_at(curve, 0.25) == pytest.approx(0.25)
    assert retention.error_at(curve, 0.375) == pytest.approx((0.25 + 0.75) / 2)
    assert retention.error_at(curve, 1) == pytest.approx(2.5)
    for outside in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            retention.error_at(curve, outside)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    errors, uncertainty = rng.random(100), rng.random(100)
    whole = retention.f_curve(errors, uncertainty, 0.5)
    monkeypatch.setattr(retention, "_BLOCK", 7)
    np.testing.assert_array_equal(retention.f_curve(errors, uncertainty, 0.5), whole)


def test_errors_of_a_known_case() -> None:
    target, prediction = np.array([100.0, 200.0]), np.array([110.0, 170.0])
    assert err.rmse(target, prediction) == pytest.approx(math.sqrt(500))
    assert err.mae(target, prediction) == pytest.approx(20)
    assert err.mape(target, prediction) == pytest.approx(12.5)


@pytest.mark.parametrize("errors", [np.zeros(0), np.array([1.0, np.nan])], ids=["none", "NaN"])
def test_reference_curves_refuse_what_the_curves_refuse(errors: np.ndarray) -> None:
    for curve in (
        lambda: retention.optimal_curve(errors),
        lambda: retention.random_curve(errors),
        lambda: retention.optimal_f_curve(errors, 1.0),
        lambda: retention.random_f_curve(errors, 1.0),
    ):
        with pytest.raises(ValueError, match=r"errors need the shape|error 1 is NaN"):
            curve()

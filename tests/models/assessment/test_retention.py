"""Retention figures against numbers of the released code, and their properties."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models.assessment import errors as err
from models.assessment import retention

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


@pytest.mark.parametrize(
    ("errors", "uncertainty"),
    [(np.zeros(0), np.zeros(0)), (np.zeros(2), np.zeros(3)), (np.zeros(1), np.array([np.nan]))],
)
def test_what_has_no_rank_is_refused(errors: np.ndarray, uncertainty: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"length|rank"):
        retention.error_curve(errors, uncertainty)


def test_errors_of_a_known_case() -> None:
    target, prediction = np.array([100.0, 200.0]), np.array([110.0, 170.0])
    assert err.rmse(target, prediction) == pytest.approx(math.sqrt(500))
    assert err.mae(target, prediction) == pytest.approx(20)
    assert err.mape(target, prediction) == pytest.approx(12.5)

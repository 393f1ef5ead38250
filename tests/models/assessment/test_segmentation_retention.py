"""Retention of voxels, patients and lesions against numbers of the released code and one pass a point."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models.assessment import segmentation as seg
from models.assessment import segmentation_retention as ret
from models.assessment.convention import OFFICIAL, PAPER, Convention

FIXTURES = Path(__file__).parents[2] / "fixtures"
VOXELS = json.loads((FIXTURES / "lesion_metrics.json").read_text())
SCALES = json.loads((FIXTURES / "lesion_multiscale_retention.json").read_text())["cases"]


def volume(stored: dict) -> np.ndarray:
    flat = np.zeros(math.prod(stored["shape"]), np.float32)
    flat[stored["ones_flat_c_order"]] = 1
    return flat.reshape(stored["shape"])


@pytest.mark.parametrize("case", VOXELS["cases"], ids=lambda case: case["name"])
def test_voxel_figures_are_those_of_the_released_code(case: dict) -> None:
    truth, prediction, mask = (volume(case[name]) for name in ("ground_truth", "prediction", "brain_mask"))
    uncertainty = np.full(truth.shape, np.nan)  # outside of the mask it has no say
    uncertainty[mask == 1] = case["uncertainty_in_mask"]
    curve = ret.voxel_curve(truth, prediction, uncertainty, mask)
    np.testing.assert_allclose(curve, case["official_retention_curve_200"], rtol=1e-5)
    assert ret.voxel_r_aac(curve) == pytest.approx(case["official_ndsc_r_aac_in_mask"], rel=1e-5, abs=1e-9)
    np.testing.assert_allclose(ret.log_grid(), VOXELS["fracs_retained"], rtol=1e-12)


def slow_curve(
    truth: np.ndarray, prediction: np.ndarray, uncertainty: np.ndarray, convention: Convention
) -> np.ndarray:
    """The definition: a mixed volume for each of the 200 points."""
    order = np.argsort(uncertainty.ravel(), kind="stable")
    target, answer = truth.ravel()[order], prediction.ravel()[order]
    points = []
    for fraction in ret.log_grid():
        k = int(len(target) * fraction)
        points.append(seg.ndsc(target, np.concatenate([answer[:k], target[k:]]), convention=convention))
    return np.array(points)


@pytest.mark.parametrize("convention", [OFFICIAL, PAPER], ids=lambda convention: convention.name)
@pytest.mark.parametrize(("voxels", "levels"), [(1, 1), (7, 3), (500, 4), (3000, 10**6)])
def test_one_sort_gives_what_two_hundred_passes_give(voxels: int, levels: int, convention: Convention) -> None:
    rng = np.random.default_rng(voxels)
    truth, prediction = rng.random(voxels) < 0.2, rng.random(voxels) < 0.3
    uncertainty = rng.integers(0, levels, voxels).astype(np.float32)
    ours = ret.voxel_curve(truth, prediction, uncertainty, convention=convention)
    np.testing.assert_allclose(ours, slow_curve(truth, prediction, uncertainty, convention), rtol=1e-12)


def test_a_measure_that_ranks_errors_last_has_the_least_area() -> None:
    rng = np.random.default_rng(8)
    truth, prediction = rng.random(4000) < 0.05, rng.random(4000) < 0.05
    wrong = (truth != prediction).astype(float)
    areas = [ret.voxel_r_aac(ret.voxel_curve(truth, prediction, u)) for u in (wrong, rng.random(4000), -wrong)]
    assert areas == sorted(areas)
    assert areas[0] < areas[1] / 2


def test_special_volumes_have_defined_curves() -> None:
    empty, full, uncertainty = np.zeros(50), np.ones(50), np.arange(50.0)
    assert ret.voxel_r_aac(ret.voxel_curve(empty, empty, uncertainty)) == pytest.approx(0)
    assert np.isnan(ret.voxel_curve(full, empty, uncertainty)).all()
    only_false = ret.voxel_curve(empty, full, uncertainty)
    assert set(only_false) == {0.0, 1.0}
    assert only_false[0] == 1


def test_a_mask_is_a_crop() -> None:
    rng = np.random.default_rng(9)
    shape = (6, 5, 4)
    truth, prediction, mask = (rng.random(shape) < share for share in (0.3, 0.3, 0.6))
    uncertainty = rng.random(shape)
    masked = ret.voxel_curve(truth, prediction, uncertainty, mask.astype(np.uint8))
    np.testing.assert_array_equal(masked, ret.voxel_curve(truth[mask], prediction[mask], uncertainty[mask]))
    assert ret.voxel_r_aac(masked) != ret.voxel_r_aac(ret.voxel_curve(truth, prediction, uncertainty))


@pytest.mark.parametrize("case", SCALES, ids=lambda case: f"n={len(case['dsc'])}")
def test_patient_and_lesion_figures_are_those_of_the_later_paper(case: dict) -> None:
    uncertainty, scores = np.array(case["uncertainty"]), np.array(case["dsc"])
    curve = ret.patient_curve(scores, uncertainty)
    np.testing.assert_allclose(curve, case["patient_curve"], rtol=1e-9)
    assert ret.patient_auc(curve) == pytest.approx(case["patient_auc"], rel=1e-9)
    true_positive, fractions = np.array(case["lesion_types"]) == "tp", np.array(case["lesion_fracs"])
    area, values = case["lesion_lppv"]["ok"]
    lppv = ret.lppv_curve(true_positive, uncertainty, fractions)
    np.testing.assert_allclose(lppv, values, rtol=1e-9, atol=1e-12)
    assert ret.lppv_aac(lppv, fractions) == pytest.approx(area, rel=1e-9)


def test_patients_not_retained_get_the_best_score() -> None:
    scores, uncertainty = np.array([0.5, 0.1]), np.array([2.0, 1.0])
    np.testing.assert_allclose(ret.patient_curve(scores, uncertainty), [1, 0.55, 0.3])
    np.testing.assert_allclose(ret.patient_curve(scores, uncertainty, replacement=0), [0, 0.05, 0.3])


def test_true_lesions_are_confirmed_and_false_ones_removed_when_not_retained() -> None:
    true_positive, uncertainty = np.array([True, False]), np.array([2.0, 1.0])
    np.testing.assert_allclose(
        ret.lppv_curve(true_positive, uncertainty, np.array([0, 0.25, 0.5, 1])), [1, 0.75, 0.5, 0.5]
    )


def test_what_has_no_rank_or_place_is_refused() -> None:
    two = np.array([0.0, 1.0])
    with pytest.raises(ValueError, match="NaN in 1 of 2"):
        ret.voxel_curve(two, two, np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match="shape of the truth"):
        ret.voxel_curve(two, two, np.zeros(3))
    with pytest.raises(ValueError, match="no voxels"):
        ret.voxel_curve(two, two, two, np.zeros(2))
    with pytest.raises(ValueError, match="200 points"):
        ret.voxel_r_aac(two)
    with pytest.raises(ValueError, match="at least 1"):
        ret.patient_curve(np.zeros(0), np.zeros(0))
    with pytest.raises(ValueError, match="no rank"):
        ret.lppv_curve(np.array([True]), np.array([np.nan]), two)
    with pytest.raises(ValueError, match="booleans"):
        ret.lppv_curve(np.array([1]), np.array([1.0]), two)
    with pytest.raises(ValueError, match="outside"):
        ret.lppv_curve(np.array([True]), np.array([1.0]), 2 * two)

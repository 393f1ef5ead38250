"""Folders of segmentations: released figures, scores by hand, and a real mask."""

import json
import math
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from scipy import ndimage

from models.assessment import segmentation_retention
from models.assessment.convention import PAPER
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.tasks.lesion.data.predictions import read
from models.tasks.lesion.spec import LESIONS
from tests.models.lesion.nifti import SHAPE, box, saved, scan

PROJECT = Path(__file__).resolve().parents[3]
ORACLE = json.loads((Path(__file__).parents[2] / "fixtures" / "lesion_metrics.json").read_text())


def notes(judged: UnitErrors) -> str:
    return "; ".join(judged.notes)


def of_oracle(stored: dict[str, Any]) -> np.ndarray:
    flat = np.zeros(math.prod(stored["shape"]), bool)
    flat[stored["ones_flat_c_order"]] = True
    return flat.reshape(stored["shape"])


def test_figures_are_those_of_the_released_code(tmp_path: Path) -> None:
    cases = ORACLE["cases"]
    for number, case in enumerate(cases):
        brain = of_oracle(case["brain_mask"])
        uncertainty = np.zeros(brain.shape)
        uncertainty[brain] = case["uncertainty_in_mask"]
        saved(tmp_path / f"{number}_uncs_rmi.nii.gz", uncertainty, kind=np.float64)
        for kind, name in (
            ("gt_isovox", "ground_truth"),
            ("pred_seg", "prediction"),
            ("isovox_fg_mask", "brain_mask"),
        ):
            saved(tmp_path / f"{number}_{kind}.nii.gz", of_oracle(case[name]))
    judged = read(tmp_path, ErrorOptions())
    assert judged.own is not None
    for number, case in enumerate(cases):
        own = judged.own(np.arange(len(cases)) == number)
        assert own["ndsc"] == pytest.approx(case["official_ndsc_full_volume"]["ok"], rel=1e-5), case["name"]
        assert own["dice"] == pytest.approx(case["official_dice_full_volume"], rel=1e-5), case["name"]
        assert own["lesion_f1"] == pytest.approx(case["official_lesion_f1_iou_0.5"], rel=1e-5), case["name"]
        assert own["voxel_r_aac"] == pytest.approx(case["official_ndsc_r_aac_in_mask"], rel=1e-4), case["name"]
        expected = np.mean(case["uncertainty_in_mask"])
        assert judged.measures["mean_rmi"][number] == pytest.approx(expected, rel=1e-12), case["name"]


def test_errors_are_one_minus_scores_and_have_no_limit(tmp_path: Path) -> None:
    scan(tmp_path, "1")
    scan(tmp_path, "2", pred_seg=box(1))
    document = evaluate(read(tmp_path, ErrorOptions())).document()
    # 27 lesion voxels, of which the prediction moved by one holds 18
    assert document["errors"]["dice_error"]["error"] == pytest.approx((1 - 36 / 54) / 2)
    assert document["dice"] == pytest.approx((36 / 54 + 1) / 2)
    assert document["dice_sd"] == pytest.approx((1 - 36 / 54) / 2)
    assert document["lesion_f1"] == 1.0, "IoU 18 / 36 reaches one half"
    assert evaluate(read(tmp_path, ErrorOptions(convention=PAPER))).document()["lesion_f1"] == 0.5, (
        "and does not pass it"
    )
    k = 0.999 * 27 / (0.001 * (960 - 27))
    assert document["error"] == pytest.approx((1 - 36 / (36 + 9 * k + 9)) / 2)
    assert (
        (document["error_name"], document["acceptable"]) == (LESIONS.error, LESIONS.acceptable) == ("ndsc_error", None)
    )
    assert math.isnan(document["f1_auc"])
    assert {document["units"][name] for name in ("error", "dice", "ndsc_sd", "voxel_r_aac")} == {"1"}


def test_another_error_and_a_limit_can_be_asked_for(tmp_path: Path) -> None:
    scan(tmp_path)
    judged = read(tmp_path, ErrorOptions(error="dice_error", acceptable=0.4))
    assert (judged.error_name, judged.error.acceptable) == ("dice_error", 0.4)
    assert judged.errors["ndsc_error"].acceptable is None
    with pytest.raises(BadFile, match="error 'volume' is not one of ndsc_error"):
        read(tmp_path, ErrorOptions(error="volume"))


def test_without_a_segmentation_probabilities_are_cut_and_cleaned_as_released(tmp_path: Path) -> None:
    probability = np.float32(0.1) * np.ones(SHAPE, np.float32)
    probability[box(1)] = 0.35
    probability[8:10, 5:7, 5:7] = 0.9  # 8 voxels, too few
    probability[11, 0:9, 0] = 0.9  # 9 voxels, too few as well
    scan(tmp_path, pred_seg=None, pred_prob=probability)
    judged = read(tmp_path, ErrorOptions())
    assert judged.own is not None
    assert judged.own(None)["dice"] == 1.0
    assert "segmented here of probabilities from 0.35, components of at most 9 voxels dropped: 1" in notes(judged)
    scan(tmp_path, pred_seg=np.zeros(SHAPE, bool))
    judged = read(tmp_path, ErrorOptions())
    assert judged.own is not None
    assert judged.own(None)["dice"] == 0.0, "a segmentation goes before probabilities"
    assert "segmented here" not in notes(judged)


def test_measures_are_means_in_the_brain_and_retention_is_by_the_first(tmp_path: Path) -> None:
    volumes = scan(tmp_path, uncs_entropy=np.full(SHAPE, 0.25))
    judged = read(tmp_path, ErrorOptions())
    brain, uncertainty = volumes["isovox_fg_mask"], np.float32(volumes["uncs_rmi"])
    assert list(judged.measures) == ["mean_rmi", "mean_entropy"]
    assert judged.measures["mean_rmi"] == pytest.approx(uncertainty[brain].mean(dtype=np.float64))
    assert judged.measures["mean_entropy"] == pytest.approx(0.25)
    curve = segmentation_retention.voxel_curve(volumes["gt_isovox"], volumes["pred_seg"], uncertainty, brain)
    assert judged.own is not None
    assert judged.own(None)["voxel_r_aac"] == pytest.approx(segmentation_retention.voxel_r_aac(curve))
    (tmp_path / "1_isovox_fg_mask.nii.gz").unlink()
    whole = read(tmp_path, ErrorOptions())
    assert whole.measures["mean_rmi"] == pytest.approx(uncertainty.mean(dtype=np.float64))
    assert "no brain mask" in notes(whole)


def test_members_give_the_structural_uncertainty_that_comes_first(tmp_path: Path) -> None:
    half = box(1)
    half[3] = False  # 18 of 27 voxels
    masks = [box(1), half, np.zeros(SHAPE, bool)]
    members = {f"pred_prob_member{number}": 0.9 * mask for number, mask in enumerate(masks, 8)}
    scan(tmp_path, pred_seg=box(1), **members)
    judged = read(tmp_path, ErrorOptions())
    assert list(judged.measures) == ["scan_structural_uncertainty", "mean_rmi"]
    assert judged.measures["scan_structural_uncertainty"] == pytest.approx(1 - (1 + 36 / 45 + 0) / 3)
    assert judged.members == 3


def test_voxels_of_another_size_or_place_are_noted(tmp_path: Path) -> None:
    scan(tmp_path)
    saved(tmp_path / "1_gt_isovox.nii.gz", box(1), voxel=1.005)
    assert read(tmp_path, ErrorOptions()).notes == ()
    saved(tmp_path / "1_gt_isovox.nii.gz", box(1), voxel=1.2)
    text = notes(read(tmp_path, ErrorOptions()))
    assert "voxels are not of 1 mm" in text
    assert "different affines" in text


def test_voxels_in_another_order_are_put_into_that_of_the_truth(tmp_path: Path) -> None:
    folder, turned = tmp_path / "same", tmp_path / "turned"
    for path in (folder, turned):
        path.mkdir()
        scan(path)
    expected = read(folder, ErrorOptions())
    for path in turned.glob("1_*"):
        if "gt" not in path.name:
            image = nibabel.load(path)
            order = nibabel.orientations.axcodes2ornt("ILA")
            ornt = nibabel.orientations.ornt_transform(nibabel.io_orientation(image.affine), order)
            nibabel.save(nibabel.Nifti1Image.from_bytes(image.as_reoriented(ornt).to_bytes()), path)
    result = read(turned, ErrorOptions())
    assert result.error.values.tolist() == expected.error.values.tolist()
    assert result.measures["mean_rmi"] == pytest.approx(expected.measures["mean_rmi"])
    assert result.notes == expected.notes


def test_empty_truths_have_their_released_values(tmp_path: Path) -> None:
    scan(tmp_path, "1", gt_isovox=np.zeros(SHAPE, bool), pred_seg=np.zeros(SHAPE, bool))
    scan(tmp_path, "2", gt_isovox=np.zeros(SHAPE, bool))
    judged = read(tmp_path, ErrorOptions())
    assert judged.error.values.tolist() == [0, 1]


def test_a_real_lesion_mask_is_judged_as_by_other_means(tmp_path: Path, test_data: Path) -> None:
    real = test_data / "lesion" / "lesion_masks_mni" / "patient01.nii.gz"
    if not real.exists():
        pytest.skip(f"no real mask at {real}")
    truth = np.asarray(nibabel.load(real).dataobj) == 1
    predicted = np.roll(truth, 1, axis=2)
    saved(tmp_path / "1_gt_isovox.nii.gz", truth)
    saved(tmp_path / "1_pred_seg.nii.gz", predicted)
    saved(tmp_path / "1_uncs_rmi.nii.gz", ndimage.gaussian_filter(np.float32(truth ^ predicted), 1))
    judged = read(tmp_path, ErrorOptions())
    both = np.count_nonzero(truth & predicted)
    wrong = np.count_nonzero(truth) - both
    k = 0.999 * (both + wrong) / (0.001 * (truth.size - both - wrong))
    assert judged.error.values == pytest.approx(1 - 2 * both / (2 * both + k * wrong + wrong), rel=1e-9)
    assert judged.own is not None
    own = judged.own(None)
    assert own["dice"] == pytest.approx(both / (both + wrong))
    assert 0 < own["voxel_r_aac"] < 1 - own["ndsc"], "uncertainty that marks the errors retains better than the error"


def test_a_scan_of_lesion_only_is_left_out_and_named(tmp_path: Path) -> None:
    for number in ("1", "2", "3"):
        scan(tmp_path, number, seed=int(number))
    saved(tmp_path / "2_gt_isovox.nii.gz", np.ones(SHAPE, bool))
    judged = read(tmp_path, ErrorOptions())
    assert len(judged) == 2
    assert judged.notes[0] == "2: every voxel is lesion, so that no nDSC exists; left out"


def test_a_scan_whose_lesions_fill_the_brain_has_no_retention_area_and_is_named(tmp_path: Path) -> None:
    scan(tmp_path, "1")
    scan(tmp_path, "2", isovox_fg_mask=box(1))
    judged = read(tmp_path, ErrorOptions())
    assert judged.own is not None
    assert judged.own(None)["voxel_r_aac"] == judged.own(np.array([True, False]))["voxel_r_aac"]
    assert np.isnan(judged.own(np.array([False, True]))["voxel_r_aac"])
    assert any("so that the scan has none: 2" in note for note in judged.notes)

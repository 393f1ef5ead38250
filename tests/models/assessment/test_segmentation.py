"""Segmentation figures against numbers of the released code, scikit-learn and scipy, in both readings."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from sklearn import metrics

from models.assessment import segmentation as seg
from models.assessment.convention import PAPER

ORACLE = json.loads((Path(__file__).parents[2] / "fixtures" / "lesion_metrics.json").read_text())


def volume(stored: dict) -> np.ndarray:
    flat = np.zeros(math.prod(stored["shape"]), np.float32)
    flat[stored["ones_flat_c_order"]] = 1
    return flat.reshape(stored["shape"])


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["name"])
def test_figures_are_those_of_the_released_code(case: dict) -> None:
    truth, prediction, mask = (volume(case[name]) for name in ("ground_truth", "prediction", "brain_mask"))
    inside = mask == 1
    ours = {
        "official_dice_full_volume": seg.dice(truth, prediction),
        "official_ndsc_in_mask": seg.ndsc(truth[inside], prediction[inside]),
        "official_lesion_f1_iou_0.25": seg.lesion_f1(truth, prediction, overlap=0.25),
        "official_lesion_f1_iou_0.5": seg.lesion_f1(truth, prediction),
    }
    for name, value in ours.items():
        assert value == pytest.approx(case[name], rel=1e-5), name
    assert seg.ndsc(truth, prediction) == pytest.approx(case["official_ndsc_full_volume"]["ok"], rel=1e-5)
    kept = seg.drop_small_components(prediction)
    np.testing.assert_array_equal(kept, volume(case["official_remove_small_l_min9"]) == 1)


def test_padding_changes_the_normalised_figure_and_not_dice() -> None:
    case = ORACLE["padding_case"]
    truth, prediction = volume(case["ground_truth"]), volume(case["prediction"])
    wide = np.pad(truth, 4), np.pad(prediction, 4)
    assert seg.ndsc(truth, prediction) == pytest.approx(case["ndsc_unpadded"], rel=1e-5)
    assert seg.ndsc(*wide) == pytest.approx(case["ndsc_padded_4"], rel=1e-5)
    assert seg.dice(truth, prediction) == seg.dice(*wide) == pytest.approx(case["dice"])


def test_an_array_of_lesion_only_has_no_normalised_figure() -> None:
    case = ORACLE["all_lesion_volume"]
    truth, prediction = np.array(case["gt"]), np.array(case["pred"])
    assert case["official"]["ok"] == "nan"
    for empty in (prediction, np.zeros(8), truth):
        assert math.isnan(seg.ndsc(truth, empty))
        assert math.isnan(seg.ndsc(truth, empty, convention=PAPER))


def random_pair(seed: int, shape: tuple[int, ...] = (12, 11, 10), share: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = ndimage.binary_dilation(rng.random(shape) < share / 8)
    return truth, truth ^ (rng.random(shape) < share / 2)


@pytest.mark.parametrize("seed", range(5))
def test_dice_is_the_f1_of_scikit_learn(seed: int) -> None:
    truth, prediction = random_pair(seed)
    assert seg.dice(truth, prediction) == pytest.approx(metrics.f1_score(truth.ravel(), prediction.ravel()))


@pytest.mark.parametrize("seed", range(3))
def test_the_two_normalised_forms_are_harmonic_and_geometric_means(seed: int) -> None:
    truth, prediction = random_pair(seed)
    load, r = truth.mean(), 0.01
    k = (1 - r) * load / (r * (1 - load))
    hits = np.count_nonzero(truth & prediction)
    precision, recall = hits / (hits + k * np.count_nonzero(prediction & ~truth)), hits / np.count_nonzero(truth)
    harmonic = 2 * precision * recall / (precision + recall)
    assert seg.ndsc(truth, prediction, reference=r) == pytest.approx(harmonic)
    geometric = seg.ndsc(truth, prediction, reference=r, convention=PAPER)
    assert geometric == pytest.approx(math.sqrt(precision * recall))
    assert geometric > harmonic
    assert seg.ndsc(truth, prediction, reference=load) == pytest.approx(seg.dice(truth, prediction)), "k is 1"


def test_empty_volumes_have_defined_figures() -> None:
    empty, some = np.zeros((3, 3, 3)), np.zeros((3, 3, 3))
    some[1, 1, 1] = 1
    for convention in (seg.OFFICIAL, PAPER):
        assert seg.ndsc(empty, empty, convention=convention) == 1
        assert seg.ndsc(empty, some, convention=convention) == seg.ndsc(some, empty, convention=convention) == 0
        assert seg.lesion_f1(empty, empty, convention=convention) == 1
        assert seg.lesion_f1(empty, some, convention=convention) == 0
        assert seg.lesion_f1(some, empty, convention=convention) == 0
    assert (seg.dice(empty, empty), seg.dice(empty, some)) == (1, 0)


def pairwise_f1(truth: np.ndarray, prediction: np.ndarray, overlap: float) -> float:
    """The definition, one pair of components after the other."""
    (true, m), (predicted, n) = ndimage.label(truth), ndimage.label(prediction)
    iou = np.array(
        [
            [np.sum((true == i) & (predicted == j)) / np.sum((true == i) | (predicted == j)) for j in range(1, n + 1)]
            for i in range(1, m + 1)
        ]
    ).reshape(m, n)
    hits = int((iou.max(axis=0, initial=0) >= overlap).sum())
    missed = int((iou.max(axis=1, initial=0) < overlap).sum())
    wrong = n - hits + missed
    return hits / (hits + wrong / 2) if hits + wrong else 1.0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("overlap", [0.1, 0.25, 0.5, 0.75])
def test_matching_by_labels_is_matching_pair_by_pair(seed: int, overlap: float) -> None:
    truth, prediction = random_pair(seed)
    assert seg.lesion_f1(truth, prediction, overlap=overlap) == pytest.approx(pairwise_f1(truth, prediction, overlap))


def test_an_overlap_of_exactly_the_limit_parts_the_readings() -> None:
    truth, prediction = np.array([1, 1, 0, 0, 1]), np.array([1, 0, 0, 0, 1])
    assert seg.lesion_f1(truth, prediction) == 1
    assert seg.lesion_f1(truth, prediction, convention=PAPER) == pytest.approx(0.5)


def test_voxels_that_share_an_edge_only_are_two_lesions() -> None:
    corner = np.eye(10, dtype=bool)
    assert not seg.drop_small_components(corner, 1).any()
    assert seg.drop_small_components(np.ones(10, bool), 9).all()
    assert not seg.drop_small_components(np.ones(9, bool)).any(), "nine voxels are dropped"
    assert not seg.drop_small_components(np.zeros(3)).any()


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        (np.zeros(3), np.zeros(4), "one shape"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "no voxels"),
        (np.zeros(2), np.array([0.0, 0.3]), "prediction holds 0.3"),
        (np.array([0.0, np.nan]), np.zeros(2), "truth holds nan"),
    ],
)
def test_what_is_no_segmentation_is_refused(truth: np.ndarray, prediction: np.ndarray, message: str) -> None:
    for figure in (seg.dice, seg.ndsc, seg.lesion_f1):
        with pytest.raises(ValueError, match=message):
            figure(truth, prediction)


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="reference is 0"):
        seg.ndsc(np.array([0, 1]), np.array([0, 1]), reference=0)
    with pytest.raises(ValueError, match="overlap is 50"):
        seg.lesion_f1(np.zeros(1), np.zeros(1), overlap=50)

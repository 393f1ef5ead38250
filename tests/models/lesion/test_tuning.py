"""The threshold: the best of all, judged by what is served."""

import numpy as np
import pytest

from models.assessment.segmentation import drop_small_components, ndsc
from models.tasks.lesion.training import tuning


def scan(seed: int, clear: float) -> tuple[np.ndarray, np.ndarray]:
    """Lesions of probability 0.3 to 0.9 in a background of 0 to ``clear``."""
    generator = np.random.default_rng(seed)
    truth = np.zeros((24, 24, 24), bool)
    truth[4:9, 4:9, 4:9] = truth[14:20, 12:17, 10:18] = True
    probability = np.where(truth, generator.uniform(0.3, 0.9, truth.shape), generator.uniform(0, clear, truth.shape))
    return probability.astype(np.float32), truth


def test_the_threshold_separates_what_can_be_separated() -> None:
    tuned = tuning.tune([scan(0, 0.25), scan(1, 0.25)])
    assert tuned.threshold == pytest.approx(0.28, abs=0.02)
    assert tuned.ndsc == 1


def test_the_curve_is_the_mean_of_what_each_scan_reaches() -> None:
    scans = [scan(0, 0.5), scan(1, 0.6)]
    tuned = tuning.tune(scans)
    assert len(tuned.levels) == 99
    for number in (10, 40, 55, 98):
        level = np.float32(tuned.levels[number])
        each = [ndsc(truth, drop_small_components(probability >= level)) for probability, truth in scans]
        assert tuned.curve[number] == pytest.approx(np.mean(each), abs=1e-12)
    assert tuned.ndsc == tuned.curve.max()
    assert tuned.curve[round(tuned.threshold * 100) - 1] == tuned.ndsc


def test_small_components_count_as_they_are_served() -> None:
    probability, truth = scan(0, 0.25)
    probability[22, 22, 20:23] = 0.5
    kept = tuning.tune([(probability, truth)], small_voxels=0)
    assert tuning.tune([(probability, truth)]).ndsc == 1
    assert kept.ndsc < 1


def test_a_scan_without_lesions_is_won_by_a_high_threshold() -> None:
    probability = np.zeros((12, 12, 12), np.float32)
    probability[2:6, 2:6, 2:6] = 0.6
    tuned = tuning.tune([(probability, np.zeros(probability.shape, bool))])
    assert tuned.ndsc == 1
    assert tuned.threshold > 0.6


def test_no_scan_has_no_threshold() -> None:
    with pytest.raises(ValueError, match="at least one scan"):
        tuning.tune([])
    with pytest.raises(ValueError, match="at least one scan"):
        tuning.tune([(np.ones((4, 4, 4), np.float32), np.ones((4, 4, 4), bool))])

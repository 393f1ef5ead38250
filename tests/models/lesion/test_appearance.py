"""Scans that look unlike the training's are told apart from those that do, with a word on what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference.appearance import FEATURES, appearance, remarks
from tests.models.lesion.heads import head, packed

SHAPE = (120, 140, 110)
ALONG = np.linspace(-1, 1, SHAPE[1])[None, :, None]


@pytest.fixture(scope="module")
def plain() -> np.ndarray:
    return head(SHAPE, spots=((50, 70, 60),))


def noisy(plain: np.ndarray) -> np.ndarray:
    noise = 15 * np.random.default_rng(1).standard_normal(SHAPE)
    return plain + np.where(plain > 0, noise, 0).astype(np.float32)


def seen(values: np.ndarray, affine: Any = None) -> dict[str, float]:
    return appearance(read_scan({"flair": packed(values, affine)}, ("flair",)))


def codes(values: np.ndarray, affine: Any = None, typical: Any = None) -> set[str]:
    return {remark.code for remark in remarks(seen(values, affine), typical or {})}


def test_numbers_measure_what_they_are_called(plain: np.ndarray) -> None:
    features = seen(plain)
    assert list(features) == list(FEATURES)
    brain = np.count_nonzero(plain)
    assert features["brain_ml"] == pytest.approx(brain / 1000)
    assert features["nonzero_share"] == pytest.approx(brain / plain.size)
    assert features["noise"] == pytest.approx(0.04, rel=0.1), "a standard deviation of 4 at 100"
    assert seen(noisy(plain))["noise"] == pytest.approx(np.hypot(0.15, 0.04), rel=0.1)
    assert features["bias"] < 0.01
    assert seen(plain * np.exp(0.5 * ALONG))["bias"] == pytest.approx(0.5 * 0.84 / np.sqrt(5), rel=0.15)
    assert features["sharpness"] == pytest.approx(1, rel=0.05), "tissue here is white noise"
    blurred = ndimage.gaussian_filter(plain, 3) * (plain > 0)
    assert seen(blurred)["sharpness"] < 0.6
    assert seen(plain, np.diag([1, 1, 2, 1]))["voxel_mm"] == 2


@pytest.mark.parametrize(
    ("change", "affine", "code"),
    [
        (lambda plain: plain + 20, np.diag([1.1, 1.1, 1.1, 1]), "looks_raw"),
        (lambda plain: plain[:, :, ::4], np.diag([1, 1, 4, 1]), "thick_slices"),
        (lambda plain: plain * np.exp(2 * ALONG), None, "bias_field"),
        (noisy, None, "noisy"),
        (lambda plain: ndimage.gaussian_filter(plain, 6) * (plain > 0), None, "blurred"),
        (lambda plain: plain[::2, ::2, ::2], None, "small_brain"),
        (lambda plain: np.where(plain > 150, 5 * plain, plain) + 300 * (plain > 105), None, "unusual_contrast"),
        (lambda plain: plain - 2 * plain.max() * (plain > 0), None, "unusual_contrast"),
    ],
)
def test_what_looks_unusual_is_said(
    plain: np.ndarray, change: Callable[[np.ndarray], np.ndarray], affine: Any, code: str
) -> None:
    assert code in codes(change(plain).astype(np.float32), affine)


def test_typical_values_move_the_limits(plain: np.ndarray) -> None:
    features = seen(noisy(plain))
    typical = {"noise": (0.1, 0.2), "contrast": (1.0, 1.2), "sharpness": (0.8, 1.0)}
    assert "noisy" in {remark.code for remark in remarks(features, {})}
    assert "noisy" not in {remark.code for remark in remarks(features, typical)}
    (noise_remark,) = (
        remark for remark in remarks(features, typical | {"noise": (0.01, 0.02)}) if remark.code == "noisy"
    )
    assert (noise_remark.value, noise_remark.unit, noise_remark.upper) == (features["noise"], "1", 0.025)
    assert "denoise it" in noise_remark.message


def test_raw_clinical_scans_are_flagged_and_prepared_ones_are_not(test_data: Path) -> None:
    raw = sorted((test_data / "lesion" / "ljubljana_longitudinal_raw").rglob("*FLAIR.nii.gz"))
    ready = sorted((test_data / "lesion" / "ljubljana_cross_sectional").rglob("FLAIR.nii.gz"))
    assert (len(raw), len(ready)) == (4, 3)
    looks = {path: appearance(read_scan({"flair": path.read_bytes()}, ("flair",))) for path in raw + ready}
    simulated = {
        "nonzero_share": (0.3, 0.385),
        "noise": (0.007, 0.056),
        "bias": (0.015, 0.065),
        "contrast": (1.26, 1.44),
        "sharpness": (0.56, 0.67),
    }
    for typical in ({}, simulated):
        for path in raw:
            assert {"looks_raw", "thick_slices"} <= {remark.code for remark in remarks(looks[path], typical)}, path
        for path in ready:
            assert remarks(looks[path], typical) == (), path

"""Scans that look unlike the training's are told apart from those that do, with a word on what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from models.tasks.lesion.appearance import FEATURES, appearance, remarks
from models.tasks.lesion.image import read_scan
from tests.models.lesion.heads import head, packed

SHAPE = (120, 140, 110)
HEAD = head(SHAPE, spots=((50, 70, 60),))
NOISY = HEAD + np.where(HEAD > 0, 15 * np.random.default_rng(1).standard_normal(SHAPE), 0).astype(np.float32)
SKULL = HEAD + 20
ALONG = np.linspace(-1, 1, SHAPE[1])[None, :, None]


def seen(values: np.ndarray, affine: Any = None) -> dict[str, float]:
    return appearance(read_scan({"flair": packed(values, affine)}, ("flair",)))


def codes(values: np.ndarray, affine: Any = None, typical: Any = None) -> set[str]:
    return {one.code for one in remarks(seen(values, affine), typical or {})}


def test_numbers_measure_what_they_are_called() -> None:
    found = seen(HEAD)
    assert list(found) == list(FEATURES)
    brain = np.count_nonzero(HEAD)
    assert found["brain_ml"] == pytest.approx(brain / 1000)
    assert found["nonzero_share"] == pytest.approx(brain / HEAD.size)
    assert found["noise"] == pytest.approx(0.04, rel=0.1), "a standard deviation of 4 at 100"
    assert seen(NOISY)["noise"] == pytest.approx(np.hypot(0.15, 0.04), rel=0.1)
    assert found["bias"] < 0.01
    assert seen(HEAD * np.exp(0.5 * ALONG))["bias"] == pytest.approx(0.5 * 0.84 / np.sqrt(5), rel=0.15)
    assert found["sharpness"] == pytest.approx(1, rel=0.05), "tissue here is white noise"
    blurred = ndimage.gaussian_filter(HEAD, 3) * (HEAD > 0)
    assert seen(blurred)["sharpness"] < 0.6
    assert seen(HEAD, np.diag([1, 1, 2, 1]))["voxel_mm"] == 2


@pytest.mark.parametrize(
    ("values", "affine", "code"),
    [
        (SKULL, np.diag([1.1, 1.1, 1.1, 1]), "looks_raw"),
        (HEAD[:, :, ::4], np.diag([1, 1, 4, 1]), "thick_slices"),
        (HEAD * np.exp(2 * ALONG), None, "bias_field"),
        (NOISY, None, "noisy"),
        (ndimage.gaussian_filter(HEAD, 6) * (HEAD > 0), None, "blurred"),
        (HEAD[::2, ::2, ::2], None, "small_brain"),
        (np.where(HEAD > 150, 5 * HEAD, HEAD) + 300 * (HEAD > 105), None, "unusual_contrast"),
        (HEAD - 2 * HEAD.max() * (HEAD > 0), None, "unusual_contrast"),
    ],
)
def test_what_looks_unusual_is_said(values: np.ndarray, affine: Any, code: str) -> None:
    assert code in codes(values.astype(np.float32), affine)


def test_typical_values_move_the_limits() -> None:
    found = seen(NOISY)
    typical = {"noise": (0.1, 0.2), "contrast": (1.0, 1.2), "sharpness": (0.8, 1.0)}
    assert "noisy" in {one.code for one in remarks(found, {})}
    assert "noisy" not in {one.code for one in remarks(found, typical)}
    (said,) = (one for one in remarks(found, typical | {"noise": (0.01, 0.02)}) if one.code == "noisy")
    assert (said.value, said.unit, said.upper) == (found["noise"], "1", 0.025)
    assert "denoise it" in said.message


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
            assert {"looks_raw", "thick_slices"} <= {one.code for one in remarks(looks[path], typical)}, path
        for path in ready:
            assert remarks(looks[path], typical) == (), path

"""Appearance of a scan in a few numbers, and remarks on scans that look unlike the training data.

Denoising, skull stripping and bias correction are not done here; scans that seem to lack them are flagged, with advice.
The numbers describe the FLAIR image on its own grid, in up to 32 of its planes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.input_warning import InputWarning
from models.tasks.lesion.data.image import Scan
from models.tasks.lesion.inference.lesions import box_of

Float32 = NDArray[np.float32]
Mask = NDArray[np.bool_]

FEATURES: Mapping[str, str] = {
    "voxel_mm": "mm",
    "brain_ml": "ml",
    "nonzero_share": "1",
    "noise": "1",
    "bias": "1",
    "contrast": "1",
    "sharpness": "1",
}
"""Unit of each feature of ``appearance``.

voxel_mm: longest edge of a voxel. brain_ml: volume of the brain as used. nonzero_share: of the grid's voxels. noise:
standard deviation of the noise in bright tissue over the brain's median. bias: standard deviation of the smooth part (a
polynomial of degree 2) of the logarithm of the intensity. contrast: 98th percentile over median of the brain.
sharpness: mean change over one voxel to that over two, about 0.5 for a blurred image, 1 for pure noise.
"""

_PLANES = 32
_POINTS = 30_000  # points for the fit of the polynomial
_BEYOND = 0.5  # tolerance beyond the typical range, in widths of the range


@dataclass(frozen=True)
class _Rule:
    """Rule that flags a feature below ``lower`` or above ``upper``; typical values move these limits unless
    ``absolute``.
    """

    code: str
    feature: str
    message: str
    lower: float = -np.inf
    upper: float = np.inf
    absolute: bool = False
    """True if typical values leave the limits unchanged."""
    needed: bool = False
    """True if a missing number is flagged."""


_SKULL = "strip the skull (HD-BET, SynthStrip) and set voxels outside the brain to 0"
_RULES = (
    _Rule(
        "looks_raw",
        "brain_ml",
        f"more than a brain is in the image; {_SKULL}, or send a brain mask",
        upper=2000,
        absolute=True,
    ),
    _Rule("looks_raw", "nonzero_share", f"too much of the image is not 0; {_SKULL}", upper=0.55),
    _Rule(
        "small_brain",
        "brain_ml",
        "the brain is small; check the field of view and the brain extraction",
        lower=700,
        absolute=True,
    ),
    _Rule(
        "thick_slices",
        "voxel_mm",
        "slices are thick, small lesions may be lost; acquire FLAIR in 3D, or look at the result with care",
        upper=2.5,
        absolute=True,
    ),
    _Rule(
        "bias_field", "bias", "the intensity varies smoothly across the brain; correct the bias field (N4)", upper=0.25
    ),
    _Rule("noisy", "noise", "the image is noisy; denoise it (non-local means), or repeat the acquisition", upper=0.12),
    _Rule(
        "blurred",
        "sharpness",
        "the image is smoother than its voxels; send it as acquired, not interpolated or smoothed",
        lower=0.51,
    ),
    _Rule(
        "unusual_contrast",
        "contrast",
        "bright tissue stands out otherwise than usual; check that the image is FLAIR, and its intensity scale",
        lower=1.1,
        upper=3.0,
        needed=True,
    ),
)


def appearance(scan: Scan) -> dict[str, float]:
    """Return the features of a scan by the names of ``FEATURES``; NaN if too little of a brain is visible."""
    brain = scan.brain
    nonzero = float(np.count_nonzero(scan.flair != 0)) / scan.flair.size  # counting booleans is much faster
    features = {
        "voxel_mm": max(scan.spacing),
        "brain_ml": float(np.count_nonzero(brain)) * scan.voxel_mm3 / 1000,
        "nonzero_share": nonzero,
    }
    planes, inside = _planes(scan, brain)
    tissue = planes[inside]
    median = float(np.median(tissue)) if tissue.size else np.nan
    if not median > 0:  # the image is not one of tissue
        return features | dict.fromkeys(("noise", "bias", "contrast", "sharpness"), np.nan)
    return features | {
        "noise": _noise(planes, inside, median) / median,
        "bias": _bias(planes, inside, median),
        "contrast": float(np.percentile(tissue, 98)) / median,
        "sharpness": _sharpness(planes, inside),
    }


def remarks(features: Mapping[str, float], typical: Mapping[str, tuple[float, float]]) -> tuple[InputWarning, ...]:
    """Return the remarks on a scan, given the typical range (middle 99 %) of training scans.

    Default limits apply without a range.
    """
    by_code: dict[str, InputWarning] = {}
    for rule in _RULES:
        value = features.get(rule.feature, np.nan)
        lower, upper = rule.lower, rule.upper
        if rule.feature in typical and not rule.absolute:
            low, high = typical[rule.feature]
            room = _BEYOND * (high - low)
            lower = low - room if np.isfinite(lower) else lower
            upper = high + room if np.isfinite(upper) else upper
        if rule.code not in by_code and (value < lower or value > upper or (rule.needed and np.isnan(value))):
            unit = FEATURES[rule.feature]
            by_code[rule.code] = InputWarning(
                code=rule.code,
                message=f"{rule.feature} is {value:.3g}{'' if unit == '1' else f' {unit}'}: {rule.message}",
                value=value,
                unit=unit,
                lower=max(lower, 0.0),
                upper=upper,
            )
    return tuple(by_code.values())


def _planes(scan: Scan, brain: Mask) -> tuple[Float32, Mask]:
    """Return planes of the two finest axes through the brain, and the brain mask in them, [planes, a, b]."""
    axis = int(np.argmax(scan.spacing))
    box = box_of(brain)
    inside, planes = np.moveaxis(brain[box], axis, 0), np.moveaxis(scan.flair[box], axis, 0)
    chosen = np.unique(np.linspace(0, len(inside) - 1, min(_PLANES, len(inside))).round().astype(int))
    return np.ascontiguousarray(planes[chosen], np.float32), np.ascontiguousarray(inside[chosen])


def _noise(planes: Float32, inside: Mask, median: float) -> float:
    """Estimate the noise in bright tissue by a difference of Laplacians (Immerkaer 1996).

    Structure hardly affects it.
    """
    rows = planes[:, :-2] - 2 * planes[:, 1:-1] + planes[:, 2:]
    both = rows[..., :-2] - 2 * rows[..., 1:-1] + rows[..., 2:]
    whole = inside[:, :-2] & inside[:, 1:-1] & inside[:, 2:]
    whole = whole[..., :-2] & whole[..., 1:-1] & whole[..., 2:]
    bright = whole & (planes[:, 1:-1, 1:-1] > median)
    if not bright.any():
        return float("nan")
    return float(1.4826 * np.median(np.abs(both[bright])) / 6)


def _bias(planes: Float32, inside: Mask, median: float) -> float:
    """Return the spread of the smooth part of ln intensity of tissue, without fluid and very bright voxels."""
    tissue = inside & (planes > 0.5 * median) & (planes < 2 * median)
    places = np.flatnonzero(tissue)
    if len(places) < 100:
        return float("nan")
    places = places[:: max(len(places) // _POINTS, 1)]
    x, y, z = (
        2 * axis / max(length - 1, 1) - 1
        for axis, length in zip(np.unravel_index(places, tissue.shape), tissue.shape, strict=True)
    )
    terms = np.stack([np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z, y * z], axis=1)
    logs = np.log(planes.reshape(-1)[places].astype(np.float64))
    coefficients, *_ = np.linalg.lstsq(terms, logs, rcond=None)
    return float(np.std(terms @ coefficients))


def _sharpness(planes: Float32, inside: Mask) -> float:
    near = far = 0.0
    for values, here in ((planes, inside), (planes.swapaxes(1, 2), inside.swapaxes(1, 2))):
        both = here[:, :-2] & here[:, 1:-1] & here[:, 2:]
        near += float(np.abs(values[:, 1:-1] - values[:, :-2])[both].sum(dtype=np.float64))
        far += float(np.abs(values[:, 2:] - values[:, :-2])[both].sum(dtype=np.float64))
    return near / far if far else float("nan")

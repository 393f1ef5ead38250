"""Segmentation files: gzipped NIfTI of single maps, or a folder of official names that evaluation reads."""

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Literal

import msgspec
import numpy as np

from models.imaging import nifti
from models.tasks.lesion.inference.segmentation import Segmentation

OFFICIAL = {
    "mask": "pred_seg",
    "probability": "pred_prob",
    "rmi": "uncs_rmi",
    "total": "uncs_entropy",
    "data": "uncs_data_entropy",
    "knowledge": "uncs_mi",
    "advice": "advice",
}
"""File name part of each map: ``ID_pred_seg.nii.gz``. Advice has no official name."""


Encoding = Literal["float32", "uint8"]
"""Encodings of maps of numbers in files."""
_STEPS = 255
PROBABILITY_STEPS = np.float32(1 << 14)
"""Number of steps of probabilities in a file, from 0 to 1."""


def names(segmentation: Segmentation) -> tuple[str, ...]:
    """Return the names of a segmentation's maps, the mask first."""
    return tuple(name for name in OFFICIAL if name == "mask" or name in segmentation.maps)


def encoded(segmentation: Segmentation, name: str, encoding: Encoding = "float32") -> bytes:
    """Return a map as a gzipped NIfTI-1 file on the scan's grid: mask and advice as uint8, others in ``encoding``.

    As float32, probabilities are rounded to multiples of 2^-14: unrounded, with the whole background, the file would be
    five times as large. As uint8, values are rounded to 255 steps from 0 to the largest of them, so they are off by at
    most half a step; the size of a step is in the header, and readers multiply by it.

    Raises:
        KeyError: the segmentation has no such map.
    """
    values = segmentation.mask if name == "mask" else segmentation.maps[name]
    if encoding == "uint8" and values.dtype == np.float32:
        step = float(values.max(initial=0.0)) / _STEPS or 1.0
        levels = np.rint(values / np.float32(step)).clip(0, _STEPS).astype(np.uint8)
        return nifti.write(levels, segmentation.affine, segmentation.space, slope=step)
    if name == "probability":
        values = np.rint(values * PROBABILITY_STEPS) / PROBABILITY_STEPS
    return nifti.write(values, segmentation.affine, segmentation.space)


def official(segmentation: Segmentation, scan: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of a scan's files: its maps, its lesions, and a summary of the scan."""
    for name in names(segmentation):
        yield f"{scan}_{OFFICIAL[name]}.nii.gz", encoded(segmentation, name)
    yield f"{scan}_lesions.csv", lesion_table(segmentation).encode()
    yield f"{scan}_scan.json", summary(segmentation)


def lesion_table(segmentation: Segmentation) -> str:
    """Return comma-separated values with a row per lesion, largest first; missing values are empty."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(
        ("label", "volume_mm3", "x_mm", "y_mm", "z_mm", "mean_probability", "structural_uncertainty", "look_at")
    )
    for number, lesion in enumerate(segmentation.lesions, 1):
        known = (lesion.mean_probability, lesion.structural_uncertainty)
        numbers = (
            "" if value is None else f"{value:.6g}" for value in (lesion.volume_mm3, *lesion.centroid_mm, *known)
        )
        rows.writerow((number, *numbers, "" if lesion.look_at is None else int(lesion.look_at)))
    return file.getvalue()


def summary(segmentation: Segmentation) -> bytes:
    """Return a JSON document of everything but the volumes; limits that do not exist are null."""
    answer = segmentation
    document = {
        "burden": asdict(answer.burden),
        "means": asdict(answer.means),
        "structural": answer.structural,
        "look_at_voxels": answer.look_at_voxels,
        "brain_ml": answer.brain_ml,
        "resampled": answer.resampled,
        "appearance": dict(answer.appearance),
        "remarks": [asdict(remark) for remark in answer.remarks],
        "lesions": [asdict(lesion) for lesion in answer.lesions],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"

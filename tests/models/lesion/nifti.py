"""The files of a scan, written as they are published."""

from pathlib import Path
from typing import Any

import nibabel
import numpy as np

SHAPE = (12, 10, 8)


def saved(path: Path, values: Any, voxel: float = 1.0, kind: Any = None) -> Path:
    """A NIfTI file, in the smallest usual type."""
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.asarray(values)
    array = array.astype(kind or (np.uint8 if array.dtype == bool else np.float32))
    nibabel.save(nibabel.Nifti1Image(array, np.diag([voxel, voxel, voxel, 1.0])), path)
    return path


def box(*corners: int, size: int = 3) -> np.ndarray:
    volume = np.zeros(SHAPE, bool)
    for corner in corners:
        volume[corner : corner + size, corner : corner + size, corner : corner + size] = True
    return volume


def scan(folder: Path, case_id: str = "1", seed: int = 0, **files: Any) -> dict[str, np.ndarray]:
    """The files of a scan: truth, mask, segmentation, uncertainty; others by their kind, None leaves one out."""
    rng = np.random.default_rng(seed)
    volumes = {
        "gt_isovox": box(1),
        "pred_seg": np.roll(box(1), 1, axis=0),
        "isovox_fg_mask": np.pad(np.ones((10, 8, 6), bool), 1),
        "uncs_rmi": rng.random(SHAPE),
    } | files
    for kind, values in volumes.items():
        if values is not None:
            saved(folder / f"{case_id}_{kind}.nii.gz", values)
    return volumes

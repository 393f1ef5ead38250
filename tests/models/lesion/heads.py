"""Small heads: an ellipsoid of tissue with bright spots, and members whose lesions are its bright voxels."""

import gzip
from collections.abc import Sequence
from typing import Any

import nibabel
import numpy as np

SHAPE = (56, 60, 52)
SPOTS = ((20, 30, 26), (34, 28, 24), (28, 40, 30))


def head(shape: Sequence[int] = SHAPE, spots: Sequence[Sequence[int]] = SPOTS, radius: float = 3.2) -> np.ndarray:
    """Tissue of about 100 with a little texture, lesions of 180, 0 outside; float32 [x, y, z]."""
    rng = np.random.default_rng(0)
    places = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"))
    centre = np.array(shape).reshape(3, 1, 1, 1) / 2
    brain = (((places - centre) / (0.42 * np.array(shape).reshape(3, 1, 1, 1))) ** 2).sum(axis=0) < 1
    values = 100 + 4 * rng.standard_normal(shape)
    for spot in spots:
        values[((places - np.reshape(spot, (3, 1, 1, 1))) ** 2).sum(axis=0) < radius**2] = 180
    return np.where(brain, values, 0).astype(np.float32)


def packed(values: Any, affine: Any = None, *, zipped: bool = True, kind: Any = nibabel.Nifti1Image) -> bytes:
    """The bytes of a NIfTI file; without an affine voxels of 1 mm, RAS."""
    image = kind(np.asarray(values), np.eye(4) if affine is None else np.asarray(affine, float))
    content: bytes = image.to_bytes()
    return gzip.compress(content, 1, mtime=0) if zipped else content


def unpacked(content: bytes) -> Any:
    """The image of the bytes of a gzipped NIfTI-1 file, as nibabel reads it."""
    return nibabel.Nifti1Image.from_bytes(gzip.decompress(content))


class Bright:
    """Members that mark what is brighter than a z-score: the higher the member, the pickier it is."""

    def __init__(self, members: int = 3, *, step: float = 0.5) -> None:
        self._members, self._step = members, step
        self.calls: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return self._members

    def difference(self, member: int, window: np.ndarray) -> np.ndarray:
        self.calls.append((member, window.tobytes()[:64]))
        return np.asarray(4 * window[0] - (12 + self._step * member), np.float32)

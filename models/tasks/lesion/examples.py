"""Labelled scans as training takes them: prepared as they are when served, beside their lesions on the same grid."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ARRAYS = ("image", "truth")


@dataclass(frozen=True)
class Example:
    """A prepared scan with its lesions.

    Raises:
        ValueError: image and truth of different grids.
    """

    image: NDArray[np.floating[Any]]
    """Normalised, [C, x, y, z], float16 or float32."""
    truth: NDArray[np.bool_]
    """[x, y, z]."""

    def __post_init__(self) -> None:
        if self.image.ndim != 4 or self.image.shape[1:] != self.truth.shape:
            raise ValueError(
                f"an image [C, x, y, z] and its truth [x, y, z] are needed, got {self.image.shape} and "
                f"{self.truth.shape}"
            )

    def save(self, folder: Path) -> None:
        """As two plain files, so that processes that train side by side share the memory."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "image.npy", self.image.astype(np.float16))
        np.save(folder / "truth.npy", self.truth)

    @classmethod
    def load(cls, folder: Path) -> Example:
        """What ``save`` wrote; read when it is used."""
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False) for name in _ARRAYS))

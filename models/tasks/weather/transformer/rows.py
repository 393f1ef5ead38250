"""Labelled training rows, validated before training."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TrainingRows:
    """Training rows with labels of one head or both.

    Raises:
        ValueError: there are no labels, labels do not fit the rows, a temperature is not finite, or a class is not a
            whole number from 0.
    """

    features: NDArray[np.float32]
    """Features, float32 [N, F] in the schema's units; NaN and sentinels are missing values."""
    temperature: NDArray[Any] | None = None
    """Temperature, °C, [N]."""
    classes: NDArray[Any] | None = None
    """Precipitation class from 0, [N]."""

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.features.dtype != np.float32 or not len(self.features):
            raise ValueError(
                f"features are {self.features.dtype} {list(self.features.shape)}, float32 [N, F] with N ≥ 1 is needed"
            )
        if self.temperature is None and self.classes is None:
            raise ValueError("rows without temperatures and without classes: nothing can be learnt")
        for name, labels in (("temperature", self.temperature), ("classes", self.classes)):
            if labels is not None and labels.shape != (len(self),):
                raise ValueError(f"{name} has the shape {list(labels.shape)}, [{len(self)}] as the rows is needed")
        if self.temperature is not None and not np.isfinite(self.temperature).all():
            row = int(np.argmin(np.isfinite(self.temperature)))
            raise ValueError(
                f"temperature is {self.temperature[row]} °C in row {row}: leave out rows without a finite label"
            )
        if self.classes is not None:
            fits = (self.classes >= 0) & (self.classes == np.floor(self.classes))
            if not fits.all():
                row = int(np.argmin(fits))
                raise ValueError(f"class is {self.classes[row]} in row {row}: a whole number from 0 is needed")

    def __len__(self) -> int:
        return len(self.features)

    @property
    def heads(self) -> tuple[bool, bool]:
        """Presence of temperatures, and of classes."""
        return self.temperature is not None, self.classes is not None

    def fingerprint(self) -> str:
        """Return the sha256 of all arrays."""
        digest = hashlib.sha256()
        for array, kind in ((self.features, "<f4"), (self.temperature, "<f8"), (self.classes, "<i8")):
            digest.update(b"|" if array is None else np.ascontiguousarray(array, kind).tobytes())
        return digest.hexdigest()

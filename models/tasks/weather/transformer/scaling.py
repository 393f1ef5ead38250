"""Labelled training rows, validated before training, and their preparation: missing values, scaling and clipping."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 6.0
"""Largest magnitude of a prepared value, standard deviations: no input is far from the training data."""
LARGEST = 1e30
"""Limit of raw values in the feature's unit, so that float32 arithmetic with them stays finite."""
TAIL = 1e-3
"""Tail probability: mean and standard deviation are of values clipped to the quantiles TAIL and 1 - TAIL."""
SAMPLE = 200_000
"""Largest number of rows for quantiles, evenly spaced."""


@dataclass(frozen=True)
class Scaling:
    """Affine scaling of features and temperature.

    A value that is NaN or equal to a sentinel of its feature is missing: the network has a token for it.
    """

    mean: NDArray[np.float32]
    """Mean of each feature in its unit, float32 [F]."""
    inverse: NDArray[np.float32]
    """One over the standard deviation, float32 [F]; zero for features that are constant in training, which are
    ignored.
    """
    sentinels: NDArray[np.float32]
    """Values that mean "missing", float32 [S, F]; NaN if a feature has fewer than S."""
    temperature_mean: float = 0.0
    """Mean of the temperature, °C."""
    temperature_std: float = 1.0
    """Standard deviation of the temperature, °C."""

    @classmethod
    def fit(
        cls,
        features: NDArray[np.float32],
        temperature: NDArray[Any] | None = None,
        sentinels: Sequence[tuple[int, float]] = (),
    ) -> Scaling:
        """Return the scaling of training rows [N, F] and temperatures [N], °C.

        Args:
            sentinels: column and value of each sentinel (``Schema.sentinels``).

        Raises:
            ValueError: there are fewer than two rows, or the temperature is constant.
        """
        if len(features) < 2:
            raise ValueError(f"scaling needs at least two rows, got {len(features)}")
        codes = sentinel_table(features.shape[1], sentinels)
        rows = features[:: -(-len(features) // SAMPLE)]
        moments = [_moments(rows[:, column], codes[:, column]) for column in range(rows.shape[1])]
        mean, inverse = np.array(moments, np.float32).T
        if temperature is None:
            return cls(mean, inverse, codes)
        centre, spread = float(temperature.mean(dtype=np.float64)), float(temperature.std(dtype=np.float64))
        if not spread > 0:
            raise ValueError(f"the temperature is {centre:g} °C in all {len(temperature)} rows: nothing can be learnt")
        return cls(mean, inverse, codes, centre, spread)

    def __len__(self) -> int:
        return len(self.mean)


def sentinel_table(features: int, sentinels: Sequence[tuple[int, float]]) -> NDArray[np.float32]:
    """Return columns and values as an array [S, F], filled up with NaN."""
    by_column: list[list[float]] = [[] for _ in range(features)]
    for column, value in sentinels:
        by_column[column].append(float(value))
    table = np.full((max(map(len, by_column)), features), np.nan, np.float32)
    for column, values in enumerate(by_column):
        table[: len(values), column] = values
    return table


def _moments(column: NDArray[np.float32], sentinels: NDArray[np.float32]) -> tuple[float, float]:
    """Return mean and inverse standard deviation of the present values; (0, 0) if there is none."""
    values = column[np.isfinite(column) & ~np.isin(column, sentinels)].astype(np.float64)
    if not len(values):
        return 0.0, 0.0
    typical = np.clip(values, *np.quantile(values, (TAIL, 1 - TAIL)))
    spread = typical.std() or values.std()  # rare events are outside the quantiles
    mean = typical.mean()
    if not spread > 1e-6 * max(abs(mean), 1e-24):
        return float(mean), 0.0
    return float(mean), float(1 / spread)


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

"""Preparation of rows: missing values, standardisation and clipping."""

from __future__ import annotations

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

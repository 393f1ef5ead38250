"""A trained ensemble as plain arrays: the result of training, for export, calibration and files.

Nothing here needs torch. All arrays have the members axis first, so an ensemble of M networks is one dictionary of
stacked weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Family = Literal["dnn", "mc_dropout", "variational", "symbolic"]
FAMILIES: tuple[Family, ...] = get_args(Family)
SAMPLED: tuple[Family, ...] = ("mc_dropout", "variational")
"""Families whose members are sampled at inference (Shifts 2.0, D.3: ten times each)."""

DRY_DOCK = "timeSinceDryDock"
DRY_DOCK_DIVISOR = 4_324_320.0
"""Divisor of the released scaler for the time since dry dock, minutes; it subtracts no mean."""

Array = NDArray[np.float32]
Weights = dict[str, Array]


@dataclass(frozen=True)
class Scaling:
    """Affine scaling of inputs and target: ``(rows - mean) / std`` and ``(power - mean) / std``."""

    mean: NDArray[np.float64]
    """Mean of each feature in schema order and units, float64 [F]; zero if only a divisor applies."""
    std: NDArray[np.float64]
    """Divisor of each feature, float64 [F]."""
    power_mean: float
    """Mean power, kW."""
    power_std: float
    """Standard deviation of the power, kW."""

    @classmethod
    def fit(cls, names: tuple[str, ...], features: NDArray[Any], power: NDArray[Any]) -> Scaling:
        """Return the released scaling of features [N, F] and power [N]: standard deviations with ddof 1.

        Raises:
            ValueError: there are fewer than two rows, or a column is constant.
        """
        if len(features) < 2:
            raise ValueError(f"scaling needs at least two rows, got {len(features)}")
        mean = features.mean(axis=0, dtype=np.float64)
        std = features.std(axis=0, ddof=1, dtype=np.float64)
        if DRY_DOCK in names:
            mean[names.index(DRY_DOCK)], std[names.index(DRY_DOCK)] = 0.0, DRY_DOCK_DIVISOR
        power_std = float(power.std(ddof=1, dtype=np.float64))
        constant = [name for name, value in zip(names, std, strict=True) if not value > 0]
        if constant or not power_std > 0:
            raise ValueError(f"columns that do not vary cannot be scaled: {constant or ['power']}")
        return cls(mean, std, float(power.mean(dtype=np.float64)), power_std)


@dataclass(frozen=True)
class TrainedEnsemble:
    """M trained networks of one family."""

    family: Family
    scaling: Scaling
    weights: Weights
    """Stacked float32 arrays [M, ...] for scaled inputs and scaled power; names are the network's."""
    seeds: tuple[int, ...]
    """Seed of each member."""
    samples: int = 1
    """Frozen masks or weight samples per member at inference."""
    sample_seed: int = 0
    training: dict[str, float | int | str] = field(default_factory=dict)
    """Settings and outcome of the training, for the manifest."""

    def __post_init__(self) -> None:
        counts = {len(array) for array in self.weights.values()} | {len(self.seeds)}
        if len(counts) != 1:
            raise ValueError(f"weights and seeds disagree on the number of members: {sorted(counts)}")
        if self.samples > 1 and self.family not in SAMPLED:
            raise ValueError(f"{self.family} has nothing to sample, but {self.samples} samples were asked for")

    @property
    def members(self) -> int:
        return len(self.seeds)

    @property
    def size(self) -> int:
        """Number of predictors in the ensemble: members times samples."""
        return self.members * self.samples

    def select(self, members: slice) -> TrainedEnsemble:
        """Return some of the members; their frozen samples are unchanged."""
        weights = {name: array[members] for name, array in self.weights.items()}
        return replace(self, weights=weights, seeds=self.seeds[members])

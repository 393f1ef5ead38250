"""A trained ensemble as plain arrays: the result of training, for export, calibration and files; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.tasks.weather.transformer.scaling import Scaling
from models.tasks.weather.transformer.settings import Sizes

Family = Literal["ft_transformer", "ft_mcdp"]
FAMILIES: tuple[Family, ...] = get_args(Family)
SAMPLED: tuple[Family, ...] = ("ft_mcdp",)
"""Families whose members are sampled at inference."""
SAMPLES = 10
"""Default number of frozen dropout masks per member."""

Array = NDArray[np.float32]
Weights = dict[str, Array]


@dataclass(frozen=True)
class TrainedEnsemble:
    """M trained networks of one family."""

    family: Family
    sizes: Sizes
    scaling: Scaling
    weights: Weights
    """Stacked float32 arrays [M, ...]; names are the torch network's."""
    seeds: tuple[int, ...]
    """Seed of each member."""
    samples: int = 1
    """Frozen dropout masks per member at inference."""
    sample_seed: int = 0
    training: dict[str, float | int | str] = field(default_factory=dict)
    """Settings and outcome of the training, for the manifest."""

    def __post_init__(self) -> None:
        counts = {len(array) for array in self.weights.values()} | {len(self.seeds)}
        if len(counts) != 1:
            raise ValueError(f"weights and seeds disagree on the number of members: {sorted(counts)}")
        if self.family not in FAMILIES:
            raise ValueError(f"family {self.family!r} is unknown; use one of {', '.join(FAMILIES)}")
        if self.samples > 1 and self.family not in SAMPLED:
            raise ValueError(f"{self.family} has nothing to sample, but {self.samples} samples were asked for")
        if not self.heads:
            raise ValueError("a network without a head answers nothing: give temperatures, classes or both")

    @property
    def members(self) -> int:
        return len(self.seeds)

    @property
    def size(self) -> int:
        """Number of predictors in the ensemble: members times samples."""
        return self.members * self.samples

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the networks' heads, which are the names of the graph's outputs."""
        return tuple(head.name for head in (TEMPERATURE, PRECIPITATION) if f"{head.name}.weight" in self.weights)

    def outputs(self, head: str) -> int:
        """Return the number of outputs of the head's last layer: 2, or one per class."""
        return int(self.weights[f"{head}.weight"].shape[1])

    def select(self, members: slice) -> TrainedEnsemble:
        """Return some of the members; their frozen masks are unchanged."""
        weights = {name: array[members] for name, array in self.weights.items()}
        return replace(self, weights=weights, seeds=self.seeds[members])

    def sampled(self, samples: int = SAMPLES, sample_seed: int = 0) -> TrainedEnsemble:
        """Return the same networks as a Monte-Carlo dropout ensemble (Gal and Ghahramani 2016)."""
        return replace(self, family="ft_mcdp", samples=samples, sample_seed=sample_seed)

    def plain(self) -> TrainedEnsemble:
        """Return the same networks without sampling."""
        return replace(self, family="ft_transformer", samples=1, sample_seed=0)

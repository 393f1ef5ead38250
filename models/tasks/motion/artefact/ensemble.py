"""A trained motion ensemble before it becomes an artefact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from models.manifest import Executor
from models.tasks.motion.networks.masks import FrozenMasks, frozen_masks

if TYPE_CHECKING:
    from models.tasks.motion.networks.network import Network

GRAPH = "members.onnx"
"""File of all members."""


@dataclass(frozen=True)
class Ensemble:
    """Members of one family, as networks."""

    family: str
    networks: tuple[Network, ...]
    seeds: tuple[int, ...]
    training: Mapping[str, float | int | str]
    samples: int = 1
    """Number of frozen dropout masks of each member, with a plan each; 1 for members without masks."""
    sample_seed: int | None = None
    """Seed of the masks; None for members without masks."""

    def __len__(self) -> int:
        return len(self.networks)

    def subset(self, count: int) -> Ensemble:
        """Return the ensemble of the first ``count`` members; their output is the same as in the whole ensemble.

        Raises:
            ValueError: ``count`` is not in 1 to the number of members.
        """
        if not 1 <= count <= len(self):
            raise ValueError(f"{len(self)} members have no subset of {count}; 1 to {len(self)} are possible")
        return replace(self, networks=self.networks[:count], seeds=self.seeds[:count])

    @property
    def masks(self) -> tuple[FrozenMasks, ...]:
        """Masks of each member; empty for members without masks."""
        if self.sample_seed is None:
            return ()
        return tuple(
            frozen_masks(
                network.sizes.dropout,
                network.width,
                network.sizes.hidden,
                sample_seed=self.sample_seed,
                seed=seed,
                samples=self.samples,
            )
            for network, seed in zip(self.networks, self.seeds, strict=True)
        )

    @property
    def executor(self) -> Executor:
        """Executor that runs the graph."""
        return Executor(kind="onnx", file=GRAPH, layout="split")

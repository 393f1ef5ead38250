"""A trained motion ensemble before it becomes an artefact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from models.artefact import Executor
from models.tasks.motion.networks.masks import FrozenMasks, frozen_masks

if TYPE_CHECKING:
    from models.tasks.motion.networks.network import Network

GRAPH = "members.onnx"
"""File of all members."""


@dataclass(frozen=True)
class Ensemble:
    """Members of one family."""

    family: str
    networks: tuple[Network, ...]
    seeds: tuple[int, ...]
    training: Mapping[str, float | int | str]
    samples: int = 1
    """Frozen dropout masks of each member, a plan each; 1 for members without."""
    sample_seed: int | None = None
    """Of the masks; None for members without."""

    def __len__(self) -> int:
        return len(self.networks)

    def subset(self, count: int) -> Ensemble:
        """Return the first members as an ensemble of their own: they say what they said among the others.

        Raises:
            ValueError: no members, or more than there are.
        """
        if not 1 <= count <= len(self):
            raise ValueError(f"{len(self)} members have no subset of {count}; 1 to {len(self)} are possible")
        return replace(self, networks=self.networks[:count], seeds=self.seeds[:count])

    @property
    def masks(self) -> tuple[FrozenMasks, ...]:
        """Of each member; none for members without."""
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
        """How the graph is run."""
        return Executor(kind="onnx", file=GRAPH, layout="split")

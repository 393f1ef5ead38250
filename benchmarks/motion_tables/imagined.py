"""What an ensemble of five imagined for the requests of a split: enough for every smaller ensemble and operator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.motion_tables.rows import Members

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Imagined:
    """N requests; plans and scores of a member do not depend on the others, so that parts of it are ensembles, too."""

    plans: Float32
    """[N, K Q, T, 2], m, the plans of a member together."""
    scores: Float32
    """[N, K, K Q], nats: of each plan under each member."""
    truth: Float32
    """[N, T, 2], m, in the agents' frames."""
    shifted: NDArray[np.bool_]
    """[N]: other city, or precipitation."""
    group: NDArray[np.str_]
    """[N]: city."""

    def part(self, members: Members) -> tuple[Float32, Float32]:
        """Plans and scores of an ensemble of some of the members."""
        count = self.scores.shape[1]
        samples = self.plans.shape[1] // count
        own = np.concatenate([np.arange(member * samples, (member + 1) * samples) for member in members])
        return self.plans[:, own], self.scores[:, members][:, :, own]

    def save(self, path: Path) -> None:
        """Whole or not at all."""
        scratch = path.with_name(path.name + ".part.npz")
        np.savez(scratch, **{name: getattr(self, name) for name in self.__dataclass_fields__})
        scratch.replace(path)


def load(path: Path) -> Imagined:
    """What ``save`` wrote."""
    with np.load(path) as arrays:
        return Imagined(**{name: arrays[name] for name in Imagined.__dataclass_fields__})

"""The contract of everything that runs members of an ensemble, whatever they are made of: rows in, members out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Members = Mapping[str, NDArray[np.float32]]
"""Head name to what its members say, float32 [M, n, K]: mean and variance (K = 2, in the head's unit and its square)
of a Gaussian head, class probabilities (K = C) of a categorical one."""


class MemberExecutor(Protocol):
    """Runs all members over rows; may be called by several threads at once."""

    @property
    def heads(self) -> tuple[str, ...]: ...

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """What each member says of rows [n, F]."""
        ...

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Warms up with rows [n, F], and chooses among ways to compute where there are some."""
        ...


@dataclass(frozen=True)
class Joined:
    """Ensembles that become one: the members of each, side by side."""

    parts: Sequence[MemberExecutor]

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads that every part has."""
        return tuple(name for name in self.parts[0].heads if all(name in part.heads for part in self.parts[1:]))

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        said = [part(rows) for part in self.parts]
        return {name: np.concatenate([members[name] for members in said]) for name in self.heads}

    def measure(self, rows: NDArray[np.float32]) -> None:
        """As each part does."""
        for part in self.parts:
            part.measure(rows)

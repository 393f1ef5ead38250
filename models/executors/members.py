"""Contract of executors of ensemble members of any kind: rows in, members out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Members = Mapping[str, NDArray[np.float32]]
"""Head name to the outputs of its members, float32 [M, n, K]: mean and variance (K = 2, in the head's unit and its
square) of a Gaussian head, class probabilities (K = C) of a categorical one."""


class MemberExecutor(Protocol):
    """Executor of all members over rows; several threads may call it at once."""

    @property
    def heads(self) -> tuple[str, ...]: ...

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """Return the outputs of each member for rows [n, F]."""
        ...

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Warm up with rows [n, F], and choose the fastest of several ways to compute, if any."""
        ...


@dataclass(frozen=True)
class Joined:
    """Several ensembles joined to one, with the members of all."""

    parts: Sequence[MemberExecutor]

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads that every part has."""
        return tuple(name for name in self.parts[0].heads if all(name in part.heads for part in self.parts[1:]))

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        outputs = [part(rows) for part in self.parts]
        return {name: np.concatenate([members[name] for members in outputs]) for name in self.heads}

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Measure each part."""
        for part in self.parts:
            part.measure(rows)

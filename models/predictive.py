"""What an ensemble says, reduced to sufficient statistics: the one thing that passes from models to policy.

Uncertainties that do not exist (the knowledge of a single model) are ``None``, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Predictive(Protocol):
    """Statistics of the units of one head, along axis 0."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Gaussian:
    """An ensemble of normal distributions (Shifts 2.0, D.3). All arrays float32 [N].

    ``mean`` is in the head's unit; the others in its square, except ``epkl`` (nats).
    """

    mean: Array
    mvar: Array
    """Mean of the members' variances: data uncertainty."""
    varm: Array | None = None
    """Variance (ddof 0) of the members' means: knowledge uncertainty; None for a single model."""
    epkl: Array | None = None
    """Expected pairwise divergence of members, where the executor computes it."""

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def tvar(self) -> Array:
        """Total variance of the mixture: mvar + varm, float32 [N]."""
        return self.mvar if self.varm is None else self.mvar + self.varm


@dataclass(frozen=True)
class Categorical:
    """An ensemble of distributions over C classes. Entropies in nats."""

    probabilities: Array
    """Members' mean class probabilities, float32 [N, C]; each row sums to one."""
    expected_entropy: Array | None = None
    """Mean of the members' entropies, float32 [N]: data uncertainty; None for a single model."""
    expected_log: Array | None = None
    """Mean of the members' log-probabilities, float32 [N, C]; None for a single model."""

    def __len__(self) -> int:
        return len(self.probabilities)


Predictives = Mapping[str, Predictive]
"""Head name to the statistics of that head's units."""

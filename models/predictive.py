"""What an ensemble says, reduced to sufficient statistics: the one thing that passes from models to policy.

Units lie along axis 0. Services hold statistics in float32; evaluation makes them in float64, so that different
units do not tie. Statistics that do not exist (the knowledge of a single model) are ``None``, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


class Predictive(Protocol):
    """Statistics of the units of one head, along axis 0."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Gaussian:
    """An ensemble of normal distributions (Shifts 2.0, D.3). All arrays [N].

    ``mean`` is in the head's unit; the others in its square, except ``epkl`` (nats).
    """

    mean: Array
    mvar: Array
    """Mean of the members' variances: data uncertainty."""
    varm: Array | None = None
    """Variance (ddof 0) of the members' means: knowledge uncertainty; None for a single model."""
    epkl: Array | None = None
    """Expected pairwise divergence of members, where it was computed."""

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def tvar(self) -> Array:
        """Total variance of the mixture: mvar + varm, [N]; a single model's own variance."""
        return self.mvar if self.varm is None else self.mvar + self.varm


@dataclass(frozen=True)
class Categorical:
    """An ensemble of distributions over C classes. Entropies in nats."""

    probabilities: Array
    """Members' mean class probabilities, [N, C]; each row sums to one."""
    expected_entropy: Array | None = None
    """Mean of the members' entropies, [N]: data uncertainty; None for a single model."""
    expected_log: Array | None = None
    """Mean of the members' log-probabilities, [N, C]; None for a single model."""
    expected_renyi: Array | None = None
    """Mean of the members' Rényi entropies of order 0.8, [N]; None where it was not computed."""

    def __len__(self) -> int:
        return len(self.probabilities)


@dataclass(frozen=True)
class Sequences:
    """The n-best lists of N requests, H hypotheses each, best first. Everything is per token, in nats."""

    score: Array
    """Log-probability of each hypothesis over its length with the end of sentence, [N, H]."""
    hypothesis_scores: Mapping[str, Array] | None = None
    """The released scores by the names of ``uncertainty.sequences.SCORES``, [N, H] each; None for a single model."""
    texts: Sequence[Sequence[str]] | None = None
    """Of the hypotheses, [N][H]; None where they are not known."""

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True)
class Trajectories:
    """The best D plans of N requests, best first, as robust imitative planning ranks them (Shifts 1.0, E.4)."""

    plans: Array
    """Positions at T steps in the frame of the vehicle, m, [N, D, T, 2]."""
    weights: Array
    """Softmax of the plans' scores, [N, D]; each row sums to one."""
    confidence: Array
    """The operator over the plans' scores, nats, [N]: larger is more certain."""
    scores: Array | None = None
    """Of the plans, nats, [N, D]; None where only their softmax is known."""
    total: Array | None = None
    """Variance of positions over all samples, both axes together, m², [N, T]; None where samples are not known."""
    data: Array | None = None
    """Mean over members of the variance of their own samples, m², [N, T]; None for a single model."""
    knowledge: Array | None = None
    """Variance of the members' mean positions, m², [N, T]: total less data; None for a single model."""

    def __len__(self) -> int:
        return len(self.confidence)


@dataclass(frozen=True)
class Volumes:
    """Ensembles of voxel-wise foreground probabilities, one volume a unit; shapes may differ.

    The entropies are means over the voxels that count (a mask of the task), in nats, [N].
    """

    probability: Sequence[Array]
    """Members' mean foreground probability of each voxel."""
    mask: Sequence[NDArray[np.bool_]]
    """Voxels that the ensemble calls foreground."""
    entropy: Array
    expected_entropy: Array | None = None
    """Mean of the members' entropies: data uncertainty; None for a single model."""
    epkl: Array | None = None
    """Expected pairwise divergence of the members; None for a single model."""
    structural: Array | None = None
    """One minus the members' mean Dice with the ensemble's mask, 0 to 1; None for a single model."""
    affines: Sequence[NDArray[np.float64]] | None = None
    """Voxel index to world of each volume, mm, [4, 4]; None where unknown."""

    def __len__(self) -> int:
        return len(self.entropy)


Predictives = Mapping[str, Predictive]
"""Head name to the statistics of that head's units."""

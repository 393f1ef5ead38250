"""Sufficient statistics of ensembles: the interface between models and policy.

Units lie along axis 0. Services hold statistics in float32; evaluation computes them in float64, so that different
units do not tie. Statistics that do not exist (the knowledge of a single model) are ``None``, never zero.
"""

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
    """Ensemble of normal distributions (Shifts 2.0, D.3). All arrays [N].

    ``mean`` is in the head's unit; the others in its square, except ``epkl`` (nats).
    """

    mean: Array
    mvar: Array
    """Mean of the members' variances: data uncertainty."""
    varm: Array | None = None
    """Variance (ddof 0) of the members' means: knowledge uncertainty; None for a single model."""
    epkl: Array | None = None
    """Expected pairwise divergence of members; None if it was not computed."""

    def __len__(self) -> int:
        return len(self.mean)

    def part(self, units: slice) -> "Gaussian":
        """Return the statistics of some units."""
        return Gaussian(self.mean[units], self.mvar[units], _part(self.varm, units), _part(self.epkl, units))

    @property
    def tvar(self) -> Array:
        """Total variance of the mixture: mvar + varm, [N]; for a single model its own variance."""
        return self.mvar if self.varm is None else self.mvar + self.varm


@dataclass(frozen=True)
class Categorical:
    """Ensemble of distributions over C classes. Entropies in nats."""

    probabilities: Array
    """Members' mean class probabilities, [N, C]; each row sums to one."""
    expected_entropy: Array | None = None
    """Mean of the members' entropies, [N]: data uncertainty; None for a single model."""
    expected_log: Array | None = None
    """Mean of the members' log-probabilities, [N, C]; None for a single model."""
    expected_renyi: Array | None = None
    """Mean of the members' Rényi entropies of order 0.8, [N]; None if it was not computed."""

    def __len__(self) -> int:
        return len(self.probabilities)

    def part(self, units: slice) -> "Categorical":
        """Return the statistics of some units."""
        others = (self.expected_entropy, self.expected_log, self.expected_renyi)
        return Categorical(self.probabilities[units], *(_part(array, units) for array in others))


def _part(array: Array | None, units: slice) -> Array | None:
    return None if array is None else array[units]


@dataclass(frozen=True)
class Sequences:
    """N-best lists of N requests, H hypotheses each, best first. All values are per token, in nats."""

    score: Array
    """Log-probability of each hypothesis divided by its length including end of sentence, [N, H]."""
    hypothesis_scores: Mapping[str, Array] | None = None
    """Released scores by the names of ``uncertainty.sequences.SCORES``, [N, H] each; None for a single model."""
    texts: Sequence[Sequence[str]] | None = None
    """Texts of the hypotheses, [N][H]; None if they are not known."""

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True)
class Trajectories:
    """Best D plans of N requests, best first, as robust imitative planning ranks them (Shifts 1.0, E.4)."""

    plans: Array
    """Positions at T steps in the frame of the vehicle, m, [N, D, T, 2]."""
    weights: Array
    """Softmax of the plans' scores, [N, D]; each row sums to one."""
    confidence: Array
    """Result of the operator over the plans' scores, nats, [N]: larger is more certain."""
    scores: Array | None = None
    """Scores of the plans, nats, [N, D]; None if only their softmax is known."""
    total: Array | None = None
    """Variance of positions over all samples, summed over both axes, m², [N, T]; None if samples are not known."""
    data: Array | None = None
    """Mean over members of the variance of their own samples, m², [N, T]; None for a single model."""
    knowledge: Array | None = None
    """Variance of the members' mean positions, m², [N, T]: total minus data; None for a single model."""

    def __len__(self) -> int:
        return len(self.confidence)


@dataclass(frozen=True)
class Volumes:
    """Ensembles of voxel-wise foreground probabilities, one volume a unit; shapes may differ.

    The entropies are means over the voxels of a mask of the task, in nats, [N].
    """

    probability: Sequence[Array]
    """Members' mean foreground probability of each voxel."""
    mask: Sequence[NDArray[np.bool_]]
    """Masks of the voxels that the ensemble predicts as foreground."""
    entropy: Array
    expected_entropy: Array | None = None
    """Mean of the members' entropies: data uncertainty; None for a single model."""
    epkl: Array | None = None
    """Expected pairwise divergence of the members; None for a single model."""
    structural: Array | None = None
    """One minus the members' mean Dice with the ensemble's mask, 0 to 1; None for a single model."""
    affines: Sequence[NDArray[np.float64]] | None = None
    """Transforms from voxel index to world coordinates of each volume, mm, [4, 4]; None if unknown."""

    def __len__(self) -> int:
        return len(self.entropy)


Predictives = Mapping[str, Predictive]
"""Head name to the statistics of the head's units."""

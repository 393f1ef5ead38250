"""Scores of the same units under two numeric profiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.certification.units import as_scores

Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replayed:
    """Scores of one measure, n units; made by ``replayed``, which checks them."""

    reference: NDArray[np.float32]
    """Scores under the profile of the thresholds' calibration [n]."""
    scores: NDArray[np.float32]
    """Scores under the new profile, at B batch sizes [B, n]."""
    in_domain: float = 1.0
    """Least share of in-domain units, to which thresholds and certificates apply."""

    def __len__(self) -> int:
        return len(self.reference)

    @cached_property
    def unusable(self) -> int:
        """Number of units with a score that is not finite under either profile."""
        return int((~np.isfinite(self.reference) | ~np.isfinite(self.scores).all(axis=0)).sum())

    @cached_property
    def ordered(self) -> Float64:
        """Reference scores, ascending [n]."""
        return np.sort(self.reference.astype(np.float64))

    @cached_property
    def shift(self) -> Float64:
        """Score minus reference score, float64 [B, n]."""
        return self.scores.astype(np.float64) - self.reference

    @cached_property
    def largest(self) -> Float64:
        """Largest absolute shift of each unit over batch sizes [n]."""
        return np.asarray(np.abs(self.shift).max(axis=0))

    @cached_property
    def constant(self) -> bool:
        """True if all reference scores are equal."""
        return bool(self.ordered[0] == self.ordered[-1])

    def part(self, units: slice) -> Replayed:
        """Return the scores of some of the units."""
        return Replayed(self.reference[units], self.scores[:, units], self.in_domain)


def replayed(reference: Floats, scores: Floats, in_domain: float = 1.0) -> Replayed:
    """Check scores and convert them to float32, as policies compare them.

    Args:
        reference: reference scores [n].
        scores: new scores [B, n], or [n] for one batch size.
        in_domain: least share of the units that are in-domain, above 0.

    Raises:
        ValueError: no units, or shapes that do not match.
    """
    several = scores[None] if scores.ndim == 1 else scores
    if reference.ndim != 1 or not len(reference) or several.shape[1:] != reference.shape or not len(several):
        raise ValueError(
            f"scores have the shape {list(scores.shape)} and reference scores {list(reference.shape)}: must be "
            "[batch sizes, units] and [units], of the same units and at least one of each"
        )
    return Replayed(as_scores(reference), as_scores(several), in_domain)


def upper_limit(count: int, units: int, level: float = 0.95) -> float:
    """Return the one-sided upper limit of a share (Clopper & Pearson 1934); 0.00075 for 0 of 4000 at 95 %."""
    return 1.0 if count >= units else _beta_quantile(count + 1, units - count, level)


def lower_limit(count: int, units: int, level: float = 0.95) -> float:
    """Return the one-sided lower limit of a share (Clopper & Pearson 1934)."""
    return _beta_quantile(count, units - count + 1, 1 - level) if count else 0.0


def _beta_quantile(a: int, b: int, level: float) -> float:
    from scipy.special import betaincinv  # late: services that carry nothing need no SciPy

    return float(betaincinv(a, b, level))


def most_of_part(share: float, part: float) -> float:
    """Return the largest share within a part (at least ``part`` of all) that a share of all units allows."""
    return min(1.0, share / part)


def least_of_part(share: float, part: float) -> float:
    """Return the smallest share within a part (at least ``part`` of all) that a share of all units allows."""
    return max(0.0, (share - (1 - part)) / part)

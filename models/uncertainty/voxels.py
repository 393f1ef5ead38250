"""Binary members on volumes: voxel entropies from logit differences, and agreement of members on structures.

With two classes everything follows from d = logit 1 - logit 0 without a probability that rounds to 0 or 1: float32 is
enough, for any d. The released code adds 1e-10 inside logarithms. This term is kept only in the members' logarithms of
``epkl`` and ``rmi``, which it bounds at 23 nats. Elsewhere it would change less than 1e-9.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import listed, overlaps
from models.assessment.segmentation import dice
from models.predictive import Array, Volumes
from models.uncertainty.categorical import LOG_EPSILON
from models.uncertainty.refusals import need, need_ensemble

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]

_SATURATED = 1000  # nats: the less likely class has no probability, in float64 too


@dataclass(frozen=True)
class VoxelUncertainty:
    """Maps of one volume, in the dtype and shape of a member, nats; knowledge is None for a single model."""

    probability: Array
    """Members' mean probability of class 1."""
    entropy: Array
    """Total uncertainty: entropy of the mean distribution."""
    expected_entropy: Array | None = None
    """Data uncertainty: mean of the members' entropies."""
    mi: Array | None = None
    epkl: Array | None = None
    rmi: Array | None = None


def voxel_uncertainty(difference: Floats | Sequence[Floats]) -> VoxelUncertainty:
    """Return maps from the members' logit differences, [M, ...] or M arrays of one shape, float32 or float64.

    Members are read one after another; memory is a few maps for any M.

    Raises:
        ValueError: no member, members of different shapes, or an integer type.
    """
    if not len(difference):
        raise ValueError("voxel measures need at least one member, got none")
    first = difference[0]
    if not np.issubdtype(first.dtype, np.floating):
        raise ValueError(f"logit differences must be floating-point numbers, got {first.dtype}")
    p1, p0, entropies, log1, log0 = (np.zeros_like(first) for _ in range(5))
    log_epsilon = first.dtype.type(math.log(LOG_EPSILON))
    for d in difference:
        if d.shape != first.shape:
            raise ValueError(f"members must have one shape, got {first.shape} and {d.shape}")
        size = np.minimum(np.abs(d), _SATURATED)
        small = np.exp(-size)
        softplus = np.log1p(small)  # -ln of the likelier class
        minor = small / (1 + small)
        major = 1 / (1 + small)
        positive = d > 0
        p1 += np.where(positive, major, minor)
        p0 += np.where(positive, minor, major)
        entropies += softplus + size * minor
        likely = -softplus
        with np.errstate(invalid="ignore"):  # NaN stays NaN
            unlikely = np.logaddexp(likely - size, log_epsilon)
        log1 += np.where(positive, likely, unlikely)
        log0 += np.where(positive, unlikely, likely)
    members = len(difference)
    for total in (p1, p0, entropies, log1, log0):
        total /= members
    entropy = _binary_entropy(np.minimum(p1, p0))
    if members == 1:
        return VoxelUncertainty(p1, entropy)
    mi = np.maximum(entropy - entropies, 0)
    epkl = np.maximum(-(p1 * log1 + p0 * log0) - entropies, 0)
    return VoxelUncertainty(p1, entropy, entropies, mi, epkl, np.maximum(epkl - mi, 0))


def lesion_structural_uncertainty(ensemble: Mask, members: Sequence[Mask] | Mask) -> NDArray[np.float64]:
    """Return one minus the members' mean overlap with each component of the ensemble's mask, 0 to 1, [components].

    A member's overlap is the largest IoU (intersection over union) of the component with one of the member's own, zero
    if none touches it. Component k + 1 of ``components`` is entry k. (Molchanova et al., "Structural-based uncertainty
    in deep learning across anatomical scales".)

    Raises:
        MeasureAbsent: fewer than two members.
        ValueError: masks of different shapes, or that are not booleans.
    """
    need_ensemble(len(members), "lesion_structural_uncertainty")
    _check_mask("the ensemble's mask", ensemble)
    ours = listed(ensemble)
    total = np.zeros(ours.count)
    for member in members:
        _check_shape(ensemble, member)
        total += overlaps(ours, listed(member)).ours
    return np.asarray(1 - total / len(members))


def scan_structural_uncertainty(ensemble: Mask, members: Sequence[Mask] | Mask) -> float:
    """Return one minus the members' mean Dice with the ensemble's mask, 0 to 1; two empty masks agree.

    Raises:
        MeasureAbsent: fewer than two members.
        ValueError: masks of different shapes, or that are not booleans.
    """
    need_ensemble(len(members), "scan_structural_uncertainty")
    _check_mask("the ensemble's mask", ensemble)
    for member in members:
        _check_shape(ensemble, member)
    return 1 - float(np.mean([dice(ensemble, member) for member in members]))


def _binary_entropy(minor: Array) -> Array:
    """Return the entropy of the probabilities p and 1 - p, from the smaller one."""
    tiny = np.finfo(minor.dtype).tiny
    return np.asarray(-minor * np.log(np.maximum(minor, tiny)) - (1 - minor) * np.log1p(-minor))


def _check_mask(name: str, mask: Mask) -> None:
    if mask.dtype != np.bool_:
        raise ValueError(f"{name} must be booleans, got {mask.dtype}; compare probabilities with the threshold first")


def _check_shape(ensemble: Mask, member: Mask) -> None:
    _check_mask("a member's mask", member)
    if member.shape != ensemble.shape:
        raise ValueError(f"masks must have one shape, got {ensemble.shape} (ensemble) and {member.shape} (member)")


def _mi(volumes: Volumes, measure: str) -> Array:
    return volumes.entropy - need(volumes.expected_entropy, measure)


MEASURES: Mapping[str, Callable[[Volumes], Array]] = {
    "entropy": lambda v: v.entropy,
    "data_entropy": lambda v: need(v.expected_entropy, "data_entropy"),
    "mi": lambda v: _mi(v, "mi"),
    "epkl": lambda v: need(v.epkl, "epkl"),
    "rmi": lambda v: need(v.epkl, "rmi") - _mi(v, "rmi"),
    "scan_structural_uncertainty": lambda v: need(v.structural, "scan_structural_uncertainty"),
}

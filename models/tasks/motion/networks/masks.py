"""Frozen dropout masks, so that the same request has the same answer. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class FrozenMasks:
    """Of one member, Q of each: 0 where something is dropped, else 1 / (1 - p). Plan q is made and scored under q."""

    pooled: Float32
    """On the encoder's pooled features, [Q, width]."""
    hidden: Float32
    """On the decoder's hidden state before mean and scale, [Q, hidden]."""


def frozen_masks(dropout: float, width: int, hidden: int, *, sample_seed: int, seed: int, samples: int) -> FrozenMasks:
    """Masks of a member; no two are the same, and each keeps something.

    A mask depends on (sample seed, member's seed, its number) only.

    Args:
        dropout: p, in [0, 1).
        samples: Q.

    Raises:
        ValueError: some are the same: there are too few features, or dropout is too close to 0.
    """
    kept = np.stack(
        [_kept(np.random.default_rng([sample_seed, seed, q]), dropout, width, hidden) for q in range(samples)]
    )
    if len(np.unique(kept, axis=0)) < samples:
        raise ValueError(
            f"{samples} masks of {width + hidden} features at a dropout of {dropout} are not all different"
        )
    scaled = kept.astype(np.float32) / np.float32(1 - dropout)
    return FrozenMasks(scaled[:, :width], scaled[:, width:])


def _kept(generator: np.random.Generator, dropout: float, width: int, hidden: int) -> NDArray[np.bool_]:
    drawn = generator.random(width), generator.random(hidden)
    return np.concatenate([(one >= dropout) | (one == one.max()) for one in drawn])

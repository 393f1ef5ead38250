"""Frozen dropout masks, so that equal requests have equal results. Needs no torch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class FrozenMasks:
    """Q masks of a member: 0 for dropped features, else 1 / (1 - p). Plan q is sampled and scored under mask q."""

    pooled: Float32
    """Masks of the encoder's pooled features, [Q, width]."""
    hidden: Float32
    """Masks of the decoder's hidden state before mean and scale, [Q, hidden]."""


def frozen_masks(dropout: float, width: int, hidden: int, *, sample_seed: int, seed: int, samples: int) -> FrozenMasks:
    """Return the masks of a member; all are different, and each keeps a feature.

    A mask depends only on (sample seed, member's seed, its number).

    Args:
        dropout: probability p of dropping, in [0, 1).
        samples: number of masks, Q.

    Raises:
        ValueError: some are equal: there are too few features, or dropout is too close to 0.
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
    return np.concatenate([(draw >= dropout) | (draw == draw.max()) for draw in drawn])

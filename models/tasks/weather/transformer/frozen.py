"""Frozen dropout masks, which make a Monte-Carlo dropout ensemble deterministic.

A mask keeps or drops each (token, feature) wherever training drops hidden or residual activations, the same for every
row. Attention weights, which training may drop as well, are all kept: a mask of tokens x tokens per head and sample
would be larger than the network. A sample depends only on (sample seed, member's seed, sample number), so a member that
is taken from an ensemble keeps its samples.
"""

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.settings import Sizes

Masks = dict[str, NDArray[np.bool_]]
"""Masks ``attended.i``, ``hidden.i`` and ``fed.i`` of block i, True if kept; the last block has one token only."""


def places(sizes: Sizes, features: int) -> dict[str, tuple[float, tuple[int, int]]]:
    """Return dropout probability and (tokens, width) of each place where activations are dropped."""
    dropped: dict[str, tuple[float, tuple[int, int]]] = {}
    for block in range(sizes.blocks):
        tokens = 1 if block == sizes.blocks - 1 else features + 1
        dropped[f"attended.{block}"] = (sizes.residual_dropout, (tokens, sizes.width))
        dropped[f"hidden.{block}"] = (sizes.hidden_dropout, (tokens, sizes.hidden))
        dropped[f"fed.{block}"] = (sizes.residual_dropout, (tokens, sizes.width))
    return {name: place for name, place in dropped.items() if place[0] > 0}


def masks(ensemble: TrainedEnsemble) -> Masks:
    """Return the masks of all members and samples, bool [M, S, T, width]; empty for an ensemble that is not sampled."""
    if ensemble.samples == 1:
        return {}
    drawn: Masks = {}
    for number, (name, (dropout, shape)) in enumerate(places(ensemble.sizes, len(ensemble.scaling)).items()):
        kept = np.empty((ensemble.members, ensemble.samples, *shape), bool)
        for member, seed in enumerate(ensemble.seeds):
            for sample in range(ensemble.samples):
                generator = np.random.default_rng([ensemble.sample_seed, seed, sample, number])
                kept[member, sample] = generator.random(shape, np.float32) >= dropout
        drawn[name] = kept
    return drawn

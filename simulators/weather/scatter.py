"""First places of a random order, drawn without making the whole order."""

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 6
_ODD = np.uint64(0x9E3779B97F4A7C15)


def scattered(rng: np.random.Generator, things: int, count: int) -> NDArray[np.int64]:
    """Return the first ``count`` places [count] of a random permutation of ``things`` numbers from 0, all different.

    A larger ``count`` from the same generator begins with the same places. The permutation is a Feistel network with
    cycle-walking (Black & Rogaway 2002), whose cost is that of the requested places.

    Raises:
        ValueError: more places than things.
    """
    if count > things:
        raise ValueError(f"{count} of {things} things cannot be taken without taking some twice")
    half = np.uint64(max((max(things - 1, 1).bit_length() + 1) // 2, 1))
    keys = rng.integers(0, 2**63, _ROUNDS, dtype=np.uint64)
    places = _shuffled(np.arange(count, dtype=np.uint64), half, keys)
    outside = np.flatnonzero(places >= things)
    while len(outside):  # the network permutes a power of four; places beyond `things` walk on
        places[outside] = _shuffled(places[outside], half, keys)
        outside = outside[places[outside] >= things]
    return places.astype(np.int64)


def _shuffled(numbers: NDArray[np.uint64], half: np.uint64, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = numbers >> half, numbers & mask
    for key in keys:
        mixed = (right + key) * _ODD
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD
        left, right = right, left ^ ((mixed >> np.uint64(32)) & mask)
    return (left << half) | right

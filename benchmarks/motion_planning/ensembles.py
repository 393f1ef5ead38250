"""Measured ensembles, and the comparison of their results."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.members import STEPS
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import RELEASED_BC, RELEASED_DIM, SAMPLES, SMALL_BC, SMALL_DIM, Sizes
from tests.models.motion.toys import untrained

Array = NDArray[np.float32]
Case = Callable[[], tuple[Array, Array]]
"""Function that returns plans [G, T, 2] and scores [K, G]."""

MEMBERS = 5
SIZES: Mapping[str, Sizes] = {
    "released, BC": RELEASED_BC,
    "released, DIM": RELEASED_DIM,
    "small, BC": SMALL_BC,
    "small, DIM": SMALL_DIM,
}


def members(sizes: Sizes) -> list[Network]:
    """Return members with random weights."""
    return [untrained(sizes, seed) for seed in range(MEMBERS)]


def noise() -> Array:
    """Return standard normal noise, [K, Q, T, 2]."""
    return np.random.default_rng(0).standard_normal((MEMBERS, SAMPLES, STEPS, 2), np.float32)


def check(cases: Mapping[str, Case], tolerance: float = 1e-4) -> None:
    """Check that all cases give the same results.

    Raises:
        RuntimeError: a case differs.
    """
    (first, expected), *others = ((name, case()) for name, case in cases.items())
    for name, results in others:
        for actual, other in zip(results, expected, strict=True):
            difference = float(np.abs(actual - other).max() / np.abs(other).max())
            if not difference <= tolerance:
                raise RuntimeError(f"{name!r} and {first!r} differ by {difference:.1e} of the largest value")

"""Folds by hash: units on which a threshold is chosen, and units on which it is evaluated.

A unit's draw in [0, 1) is a keyed hash of its id, or of its row number if it has none. It does not depend on scores
and labels, so folds are random for any order of the rows; it never changes, so the same file gives the same threshold,
and rows with the same id stay together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

KEY = b"demur: folds of calibration"
"""Hash key of folds; other hashes of the same ids, such as those of audits, have other keys and are independent."""


@dataclass(frozen=True)
class Folds:
    """Masks of the folds [n]; every unit is in one of them."""

    calibrate: NDArray[np.bool_]
    judge: NDArray[np.bool_]


def row_draws(n: int, key: bytes = KEY) -> NDArray[np.float64]:
    """Return draws [n] by row number: Philox, a keyed function of a counter (Salmon et al. 2011)."""
    seed = int.from_bytes(blake2b(key, digest_size=16).digest(), "big")
    return np.random.Generator(np.random.Philox(key=seed)).random(n)


def id_draws(ids: Iterable[str], key: bytes = KEY) -> NDArray[np.float64]:
    """Return draws [n] by id: the first 53 bits of keyed BLAKE2b."""
    keyed = blake2b(digest_size=8, key=key)

    def digest(name: str) -> bytes:
        hasher = keyed.copy()
        hasher.update(name.encode())
        return hasher.digest()

    bits = np.frombuffer(b"".join(map(digest, ids)), ">u8")
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def split(draws: NDArray[np.float64], judge_share: float) -> Folds:
    """Return the folds of draws [n]; in expectation a ``judge_share`` of the units is in the judge fold.

    Raises:
        ValueError: the share is outside [0, 1).
    """
    if not 0 <= judge_share < 1:
        raise ValueError(f"judge share is {judge_share:g}; a share in [0, 1) is needed")
    judge = draws >= 1 - judge_share
    return Folds(~judge, judge)

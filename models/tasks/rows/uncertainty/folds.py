"""Folds for cross-fitting: what is fitted on some rows is evaluated on others."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDS = 10
"""Number of folds; with ten, a fit in a fold has nearly as many rows as the fit that is served."""
SEED = 0


def numbers(count: int, groups: NDArray[Any] | None = None, folds: int = FOLDS) -> NDArray[np.intp]:
    """Return the number of the fold of each row [n]; rows of one group are in one fold."""
    generator = np.random.default_rng(SEED)
    if groups is None:
        return generator.permutation(np.arange(count) % folds)
    _, place = np.unique(groups, return_inverse=True)
    order = generator.permutation(place.max() + 1)
    return np.asarray(order[place] % folds, np.intp)


def parts(fold: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the positions of the rows to fit and of the rows to evaluate, for each fold that has rows."""
    for number in np.unique(fold):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

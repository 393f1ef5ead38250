"""Properties of the files of a task with rows: columns of labels, and the benchmark's submission."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]
"""Columns of answers as ``demur score`` writes them, [n] each."""


class AddRows(Protocol):
    """Function that writes rows to a submission."""

    def __call__(self, rows: NDArray[np.intp], ids: Sequence[str | int], columns: Columns) -> int:
        """Write rows of the input.

        Args:
            rows: numbers of the rows in the input, from 0 [n].
            ids: their ids [n].
            columns: their answers [n], NaN if a prediction is withheld.

        Returns:
            Number of rows that were left out, because they have no prediction.
        """
        ...


@dataclass(frozen=True)
class Submission:
    """File of predictions in the benchmark's format."""

    name: str
    """Name of the file in the benchmark, such as ``vessel-power-estimates.json``."""
    holds: str
    """Its content, for the help text."""
    opened: Callable[[Path], AbstractContextManager[AddRows]]
    """Function that opens the file, which exists once the block ends; raises ValueError for another suffix."""


@dataclass(frozen=True)
class RowFiles:
    """Files of one task."""

    labels: tuple[str, ...] = ()
    """Columns of official files with labels or groups for break-downs; they are copied to scored files."""
    named_heads: bool | None = None
    """True if columns of answers begin with the head's name; None: only if there are several heads."""
    submission: Submission | None = None

"""What a task of rows says of its files: the columns that hold labels, and the benchmark's submission."""

from __future__ import annotations

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
    """Writes rows to a submission."""

    def __call__(self, rows: NDArray[np.intp], ids: Sequence[str | int], columns: Columns) -> int:
        """Write rows of the input.

        Args:
            rows: their numbers in the input, from 0 [n].
            ids: their identities, n.
            columns: their answers [n], NaN where a prediction is withheld.

        Returns:
            How many rows are not in the submission, because they have no prediction.
        """
        ...


@dataclass(frozen=True)
class Submission:
    """The benchmark's file of predictions."""

    name: str
    """How the benchmark calls the file, such as ``vessel-power-estimates.json``."""
    holds: str
    """What is in it, for the help text."""
    opened: Callable[[Path], AbstractContextManager[AddRows]]
    """Begins a file, which is there when the block ends; raises ValueError where the name says another form."""


@dataclass(frozen=True)
class RowFiles:
    """Files of one task."""

    labels: tuple[str, ...] = ()
    """Columns of official files that hold labels or what figures are broken down by; they go to scored files."""
    named_heads: bool | None = None
    """Whether columns of answers begin with the head's name; None: where there are several heads."""
    submission: Submission | None = None

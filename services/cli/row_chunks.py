"""What ``demur score`` reads of a file of any format: rows in chunks, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

IDENTITY = "time_id"


@dataclass(frozen=True)
class Chunk:
    """Rows of the file."""

    start: int
    """Data row of the first one, counted from 0 behind the header."""
    table: np.ndarray[Any, np.dtype[np.float32]]
    """float32 [n, F], in the units of the file; NaN where a value is missing."""
    ids: Sequence[str | int]
    """The text of column ``time_id``; without such a column the data rows' numbers."""

    @property
    def numbered(self) -> bool:
        """Whether the file has no identities of its own."""
        return isinstance(self.ids, range)


def check_names(header: Sequence[str], names: Sequence[str]) -> None:
    """
    Raises:
        ValueError: the file lacks one of the columns, or has it twice.
    """
    for name in names:
        if name not in header:
            raise ValueError(f"the file has no column {name!r}; it has {', '.join(header) or 'none'}")
        if header.count(name) > 1:
            raise ValueError(f"the file has {header.count(name)} columns {name!r}; one is needed")

"""What ``demur score`` reads of a file of any format: rows in chunks, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Table = np.ndarray[Any, np.dtype[np.float32]]

IDENTITY = "time_id"
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Chunk:
    """Rows of the file."""

    start: int
    """Data row of the first one, counted from 0 behind the header."""
    table: Table
    """float32 [n, F], in the units of the file; NaN where a value is missing, and in rows that could not be read."""
    ids: Sequence[str | int]
    """The text of column ``time_id``; without such a column the data rows' numbers."""
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Columns that go to the output as they are, by name; n values each."""
    faults: Mapping[int, str] = field(default_factory=dict)
    """Rows that could not be read, counted within the chunk, and why."""

    @property
    def numbered(self) -> bool:
        """Whether the file has no identities of its own."""
        return isinstance(self.ids, range)

    def head(self, rows: int) -> Chunk:
        """The first rows, all of which could be read."""
        kept = {name: values[:rows] for name, values in self.kept.items()}
        return Chunk(self.start, self.table[:rows], self.ids[:rows], kept)


@dataclass(frozen=True)
class Wanted:
    """The columns that are read of a file."""

    names: Sequence[str]
    """Inputs of the model, in the order of the table."""
    nullable: frozenset[str] = frozenset()
    """Inputs in which a value may be missing."""
    flags: frozenset[str] = frozenset()
    """Inputs whose only values are 0 and 1, so that booleans mean them."""
    kept: Sequence[str] = ()
    """Columns that go to the output as they are, where the file has them."""


def check_names(header: Sequence[str], names: Sequence[str]) -> None:
    """
    Raises:
        ValueError: the file lacks one of the columns, or has it twice.
    """
    for name in names:
        if name not in header:
            listed = ", ".join(header[:40]) + (f" and {len(header) - 40} more" if len(header) > 40 else "")
            raise ValueError(f"the file has no column {name!r}; it has {listed or 'none'}")
        if header.count(name) > 1:
            raise ValueError(f"the file has {header.count(name)} columns {name!r}; one is needed")


def beside(header: Sequence[str], kept: Sequence[str]) -> list[str]:
    """The identity and the kept columns that a file has, each once."""
    return [name for name in dict.fromkeys((IDENTITY, *kept)) if name in header]

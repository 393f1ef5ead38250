"""Chunks of rows, which the readers of all formats produce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Table = np.ndarray[Any, np.dtype[np.float32]]

IDENTITY = "time_id"
CHUNK_ROWS = 4096
_LISTED = 10
"""Categories that an error names."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file."""

    start: int
    """Number of the first row, from 0, without the header."""
    table: Table
    """float32 [n, F], in the units of the file; NaN where a value is missing, and in rows that could not be read."""
    ids: Sequence[str | int]
    """Text of column ``time_id`` by row; without such a column, the row numbers."""
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values [n] of the columns that are copied to the output, by name."""
    faults: Mapping[int, str] = field(default_factory=dict)
    """Errors of rows that could not be read, by row number within the chunk."""

    @property
    def numbered(self) -> bool:
        """True if the file has no identities of its own."""
        return isinstance(self.ids, range)

    def head(self, rows: int) -> Chunk:
        """Return the first rows, all of which must be readable."""
        kept = {name: values[:rows] for name, values in self.kept.items()}
        return Chunk(self.start, self.table[:rows], self.ids[:rows], kept)


@dataclass(frozen=True)
class Texts:
    """Texts of a categorical column, which become codes."""

    codes: Mapping[str, float]
    other: float | None = None
    """Code of all other texts; None if they are refused."""

    def code(self, name: str, text: object) -> float:
        """Return the code of a text.

        Raises:
            ValueError: it is no text, or none of the categories of a column that takes no others.
        """
        if isinstance(text, str):
            if (code := self.codes.get(text, self.other)) is not None:
                return code
            listed = ", ".join([*self.codes][:_LISTED]) + (", …" if len(self.codes) > _LISTED else "")
            raise ValueError(f"{name} = {text!r:.60} is not one of {listed}")
        raise ValueError(f"{name} = {text!r:.60} is not a text")


@dataclass(frozen=True)
class Selection:
    """Columns to read from a file."""

    names: Sequence[str]
    """Inputs of the model, in the order of the table."""
    nullable: frozenset[str] = frozenset()
    """Inputs that may miss values."""
    flags: frozenset[str] = frozenset()
    """Inputs with the values 0 and 1 only, for which booleans are accepted."""
    kept: Sequence[str] = ()
    """Columns to copy to the output, if the file has them."""
    texts: Mapping[str, Texts] = field(default_factory=dict)
    """Inputs that are texts."""


def check_names(header: Sequence[str], names: Sequence[str]) -> None:
    """Check that a file has each column exactly once.

    Raises:
        ValueError: a column is missing or occurs twice.
    """
    for name in names:
        if name not in header:
            listed = ", ".join(header[:40]) + (f" and {len(header) - 40} more" if len(header) > 40 else "")
            raise ValueError(f"the file has no column {name!r}; it has {listed or 'none'}")
        if header.count(name) > 1:
            raise ValueError(f"the file has {header.count(name)} columns {name!r}; one is needed")


def beside(header: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Return the identity column and the kept columns that a file has, each once."""
    return [name for name in dict.fromkeys((IDENTITY, *kept)) if name in header]

"""The table that ``demur score`` writes: a row for each of the file, flat columns for each head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import demur
from services.cli.row_chunks import IDENTITY, Chunk

Columns = Mapping[str, NDArray[Any]]

UNCERTAINTIES = ("total", "data", "knowledge", "uncertainty")
DECISIONS = ("deferred", "shifted", "prediction_id")


class Writer(Protocol):
    """What of a ``csv.writer`` is used."""

    def writerow(self, row: Any, /) -> Any:
        """Writes a row."""
        ...

    def writerows(self, rows: Any, /) -> Any:
        """Writes rows."""
        ...


class Scored:
    """Writes answers as they come, and counts what was deferred.

    Columns are named as the client's ``to_dict`` names them: without the head's name where a task's answer is that
    of its only head, else ``<head>.<column>``. What the model does not have is an empty column.
    """

    def __init__(self, writer: Writer, heads: Sequence[demur.Head]) -> None:
        self._writer = writer
        self._heads = heads
        self._prefixes: list[str] | None = None
        self._names: list[str] = []
        self.rows = 0
        self._counts = {head.name: {"deferred": 0, "shifted": 0} for head in heads}

    def add(self, chunk: Chunk, found: Columns) -> None:
        """The answer to a chunk, as columns [n]."""
        if self._prefixes is None:
            self._begin([head.name for head in self._heads if f"{head.name}.deferred" in found], chunk.numbered)
        empty = [""] * len(chunk.ids)
        columns = [_shown(found[name]) if name in found else empty for name in self._names]
        self._writer.writerows(zip(chunk.ids, *columns, strict=True))
        self.rows += len(chunk.ids)
        for prefix, counts in zip(self._prefixes or (), self._counts.values(), strict=True):
            for name in counts:
                counts[name] += int(np.count_nonzero(found.get(prefix + name, ())))

    def close(self) -> None:
        """Writes the header that stands alone, where nothing was answered."""
        if self._prefixes is None:
            self._begin([head.name for head in self._heads if len(self._heads) > 1], numbered=True)

    def counts(self) -> dict[str, Any]:
        """Rows, and of each head how many were deferred and shifted; flat as the columns are."""
        heads = self._counts if self._named else next(iter(self._counts.values()))
        return {"rows": self.rows, **heads}

    def told(self) -> str:
        """The counts in words."""
        said = [f"{name}: " * self._named + _counted(counts) for name, counts in self._counts.items()]
        return f"{self.rows} rows, {'; '.join(said)}"

    @property
    def _named(self) -> bool:
        return any(self._prefixes or ())

    def _begin(self, named: Sequence[str], numbered: bool) -> None:
        self._prefixes = [f"{head.name}." if named else "" for head in self._heads]
        for prefix, head in zip(self._prefixes, self._heads, strict=True):
            self._names += [prefix + name for name in (*_predictions(head), *UNCERTAINTIES, *DECISIONS)]
        # flat tables have always called the first column so, which their readers know
        self._writer.writerow(["row" if named and numbered else IDENTITY, *self._names])


def _predictions(head: demur.Head) -> list[str]:
    """Columns of what a head predicts."""
    if head.kind == "categorical":
        return ["class", *(f"p{place}" for place in range(len(head.class_names)))]
    return ["mean"]


def _shown(values: NDArray[Any]) -> list[Any]:
    return values.astype(int).tolist() if values.dtype == np.bool_ else values.tolist()  # type: ignore[no-any-return]


def _counted(counts: Mapping[str, int]) -> str:
    return f"{counts['deferred']} deferred, {counts['shifted']} shifted"

"""The summary of a run of `demur score`: a CSV file of one row a unit, written while the run goes on."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO


class SummaryFile:
    """Takes rows one by one; the file has its name when the run is over, however it ended, if there is any row."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._columns = tuple(columns)
        self._rows = 0

    def __enter__(self) -> SummaryFile:
        self._file: TextIO = self._part.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(self._columns)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self._rows:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)

    def add(self, row: Mapping[str, Any]) -> None:
        """A row by column; what is missing or None is an empty cell, and a boolean 0 or 1."""
        self._writer.writerow([_cell(row.get(name)) for name in self._columns])
        self._rows += 1


def _cell(value: Any) -> Any:
    return "" if value is None else int(value) if isinstance(value, bool) else value

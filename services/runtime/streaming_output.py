"""Files of a run of `demur score` that are written while the run goes on, and are there however it ended."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def growing(path: Path) -> Iterator[BinaryIO]:
    """A file ``<path>.part`` that becomes ``path`` when the block ends, also by an error, unless it is empty."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
    finally:
        if part.exists() and part.stat().st_size:
            part.replace(path)
        else:
            part.unlink(missing_ok=True)


@contextmanager
def summary(path: Path, columns: Sequence[str]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A CSV file that grows; what is yielded takes a row by column. Missing and None are empty, a boolean is 0 or 1."""
    with growing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)

        def add(row: Mapping[str, Any]) -> None:
            if not file.tell():
                writer.writerow(columns)
            writer.writerow([_cell(row.get(name)) for name in columns])

        try:
            yield add
        finally:
            text.detach()


def _cell(value: Any) -> Any:
    return "" if value is None else int(value) if isinstance(value, bool) else value

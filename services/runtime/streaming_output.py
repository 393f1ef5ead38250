"""Output files that are written under a temporary name, and renamed when complete or after an error."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def growing(path: Path) -> Iterator[BinaryIO]:
    """Open ``<path>.part``; it is renamed to ``path`` at the end of the block, even after an error, unless empty."""
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
def complete(path: Path) -> Iterator[Path]:
    """Return the path of ``<path>.part``; it is renamed to ``path`` at the end of the block, unless this raises."""
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def summary(path: Path, columns: Sequence[str]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Open a growing CSV file; return a function that writes a row by column.

    Missing values and None are empty cells; a boolean is 0 or 1.
    """
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

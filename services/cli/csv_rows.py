"""A CSV file as chunks of numbers, in bounded memory."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

CHUNK_BYTES = 4096 * 96
"""About 4096 rows of the official files."""

IDENTITY = "time_id"


@dataclass(frozen=True)
class Chunk:
    """Rows of the file."""

    start: int
    """Data row of the first one, counted from 0 behind the header."""
    table: np.ndarray[Any, np.dtype[np.float32]]
    """float32 [n, F], in the units of the file."""
    ids: Sequence[str | int]
    """The text of column ``time_id``; without such a column the data rows' numbers."""


def chunks(source: BinaryIO, names: Sequence[str]) -> Iterator[Chunk]:
    """Chunks of the named columns; other columns are not looked at, empty lines are skipped.

    Raises:
        ValueError: a column is missing, or a value is no number; the message names row and column.
    """
    header = next(csv.reader([source.readline().decode("utf-8-sig")]), [])
    for name in names:
        if name not in header:
            raise ValueError(f"the file has no column {name!r}; it has {', '.join(header) or 'none'}")
    wanted = [header.index(name) for name in names]
    start = 0
    while lines := _lines(source):
        if filled := [line for line in lines if line.strip()]:
            try:
                table = _load(filled, wanted, np.float32, 2)
                ids: Sequence[str | int] = range(start, start + len(table))
                if IDENTITY in header:
                    ids = _load(filled, header.index(IDENTITY), str, 1).tolist()
            except ValueError as error:
                raise ValueError(_reason(filled, header, wanted, start) or f"from row {start} on: {error}") from error
            yield Chunk(start, table, ids)
            start += len(table)


def _lines(source: BinaryIO) -> list[bytes]:
    """Whole rows: a quoted line break does not end one."""
    lines = source.readlines(CHUNK_BYTES)
    quotes = sum(line.count(b'"') for line in lines)
    while quotes % 2 and (more := source.readline()):
        lines.append(more)
        quotes += more.count(b'"')
    return lines


def _load(lines: list[bytes], columns: Any, kind: Any, axes: Any) -> np.ndarray[Any, Any]:
    return np.loadtxt(
        lines,
        delimiter=",",
        quotechar='"',
        comments=None,
        usecols=columns,
        dtype=kind,
        ndmin=axes,
        encoding="utf-8",
    )


def _reason(lines: list[bytes], header: list[str], wanted: list[int], start: int) -> str:
    """The first thing wrong, in words; empty where a closer look finds nothing."""
    rows = csv.reader(line.decode(errors="replace") for line in lines)
    for row, cells in enumerate(rows, start):
        if len(cells) <= max(wanted):
            return f"row {row} (from 0) has {len(cells)} values instead of {len(header)}"
        for column in wanted:
            try:
                float(cells[column])
            except ValueError:
                return f"row {row} (from 0): {header[column]} = {cells[column]!r} is not a number"
    return ""

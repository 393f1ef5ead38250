"""A CSV file as chunks of numbers, in bounded memory."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from services.cli.row_chunks import IDENTITY, Chunk, check_names

CHUNK_BYTES = 4096 * 96
"""About 4096 rows of the official vessel files; wide ones get more, so that a chunk holds some thousand rows."""
_WIDE = 32
"""Columns for which that many bytes are read."""


def chunks(source: BinaryIO, names: Sequence[str], nullable: Collection[str] = ()) -> Iterator[Chunk]:
    """Chunks of the named columns; other columns are not looked at, empty lines are skipped.

    Args:
        nullable: columns in which a value may be missing: an empty cell, or ``nan``, which is read as NaN.

    Raises:
        ValueError: a column is missing or doubled, or a value is no number; the message names row and column.
    """
    header = next(csv.reader([source.readline().decode("utf-8-sig")]), [])
    check_names(header, names)
    wanted = [header.index(name) for name in names]
    may_miss = [position for position in wanted if header[position] in nullable]
    start = 0
    size = CHUNK_BYTES * max(1, len(names) // _WIDE)
    while lines := _lines(source, size):
        if filled := [line for line in lines if line.strip()]:
            try:
                table = _table(filled, wanted, may_miss)
                ids: Sequence[str | int] = range(start, start + len(table))
                if IDENTITY in header:
                    ids = _load(filled, header.index(IDENTITY), str, 1).tolist()
            except ValueError as error:
                reason = _reason(filled, header, wanted, may_miss, start)
                raise ValueError(reason or f"from row {start} on: {error}") from error
            yield Chunk(start, table, ids)
            start += len(table)


def _lines(source: BinaryIO, size: int) -> list[bytes]:
    """Whole rows: a quoted line break does not end one."""
    lines = source.readlines(size)
    quotes = sum(line.count(b'"') for line in lines)
    while quotes % 2 and (more := source.readline()):
        lines.append(more)
        quotes += more.count(b'"')
    return lines


def _table(lines: list[bytes], wanted: list[int], may_miss: list[int]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Numbers float32 [n, F]. The parser knows no missing values, so that they are written out for it."""
    if not may_miss:
        return _load(lines, wanted, np.float32, 2)
    try:
        table = _load([_written_out(line) for line in lines], wanted, np.float32, 2)
    except ValueError:  # blanks or "" for missing, which are rare, or what is really wrong
        return _load(_rewritten(lines, may_miss), wanted, np.float32, 2)
    required = [place for place, position in enumerate(wanted) if position not in may_miss]
    if np.isnan(table[:, required]).any():
        _load(lines, [wanted[place] for place in required], np.float32, 2)  # fails where a cell is empty
    return table


def _written_out(line: bytes) -> bytes:
    """A line with ``nan`` in its empty cells. A text may get one too, where commas follow each other in it: nobody
    looks at texts here, and the number of cells stays."""
    cells = line.rstrip(b"\r\n")
    cells = cells.replace(b",,", b",nan,").replace(b",,", b",nan,")
    first, last = b"nan" * cells.startswith(b","), b"nan" * cells.endswith(b",")
    return first + cells + last + b"\n"


def _rewritten(lines: list[bytes], may_miss: list[int]) -> io.StringIO:
    """The same table with ``nan`` in every blank cell of the columns in which values may be missing."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for cells in csv.reader(line.decode() for line in lines):
        for position in may_miss:
            if position < len(cells) and not cells[position].strip():
                cells[position] = "nan"
        writer.writerow(cells)
    text.seek(0)
    return text


def _load(lines: Any, columns: Any, kind: Any, axes: Any) -> np.ndarray[Any, Any]:
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


def _reason(lines: list[bytes], header: list[str], wanted: list[int], may_miss: list[int], start: int) -> str:
    """The first thing wrong, in words; empty where a closer look finds nothing."""
    rows = csv.reader(line.decode(errors="replace") for line in lines)
    for row, cells in enumerate(rows, start):
        if len(cells) <= max(wanted):
            return f"row {row} (from 0) has {len(cells)} values instead of {len(header)}"
        for column in wanted:
            if column in may_miss and not cells[column].strip():
                continue
            try:
                float(cells[column])
            except ValueError:
                hint = "; leave the cell of a missing value empty" if column in may_miss else ""
                return f"row {row} (from 0): {header[column]} = {cells[column]!r} is not a number{hint}"
    return ""

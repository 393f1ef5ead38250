"""A CSV file as chunks of numbers, in bounded memory."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from services.cli.row_chunks import IDENTITY, Chunk, Table, Wanted, beside, check_names

CHUNK_BYTES = 4096 * 96
"""About 4096 rows of the official vessel files; wide ones get more, so that a chunk holds some thousand rows."""
_WIDE = 32
"""Columns for which that many bytes are read."""


def chunks(source: BinaryIO, wanted: Wanted) -> Iterator[Chunk]:
    """Chunks of the wanted columns; other columns are not looked at, empty lines are skipped.

    A missing value is an empty cell, or ``nan``, which is read as NaN. Rows with another number of cells, or with a
    cell that is no number, are among the faults of their chunk.

    Raises:
        ValueError: a column is missing or doubled, or bytes are no text.
    """
    header = next(csv.reader([source.readline().decode("utf-8-sig")]), [])
    check_names(header, wanted.names)
    extra = beside(header, wanted.kept)
    check_names(header, extra)
    layout = _Layout(header, wanted, extra)
    start = 0
    size = CHUNK_BYTES * max(1, len(wanted.names) // _WIDE)
    while lines := _lines(source, size):
        if filled := [line for line in lines if line.strip()]:
            chunk = layout.chunk(filled, start)
            yield chunk
            start += len(chunk.table)


class _Layout:
    """Where the wanted columns stand."""

    def __init__(self, header: Sequence[str], wanted: Wanted, extra: Sequence[str]) -> None:
        self.header = header
        self.places = [header.index(name) for name in wanted.names]
        self.may_miss = [place for place in self.places if header[place] in wanted.nullable]
        self.extra = {name: header.index(name) for name in extra}

    def chunk(self, lines: list[bytes], start: int) -> Chunk:
        """Numbers by the parser of numpy; where it fails, row by row, so that only what is wrong is lost."""
        try:
            table = _table(lines, self.places, self.may_miss)
            texts = _load(lines, list(self.extra.values()), str, 2) if self.extra else np.empty((len(table), 0), str)
            if len(texts) == len(table) == len(lines):
                columns = {name: texts[:, number].tolist() for number, name in enumerate(self.extra)}
                return self._made(start, table, columns, {})
        except ValueError:
            pass
        return self._by_row(lines, start)

    def _by_row(self, lines: list[bytes], start: int) -> Chunk:
        rows = [cells for cells in csv.reader(line.decode(errors="replace") for line in lines) if cells]
        table = np.full((len(rows), len(self.places)), np.nan, np.float32)
        faults = {}
        with np.errstate(over="ignore"):  # beyond float32 is infinite, which is refused as such
            for row, cells in enumerate(rows):
                if fault := self._fault(cells):
                    faults[row] = fault
                else:
                    table[row] = [float(cells[place]) if cells[place].strip() else np.nan for place in self.places]
        columns = {
            name: [cells[place] if place < len(cells) else "" for cells in rows] for name, place in self.extra.items()
        }
        return self._made(start, table, columns, faults)

    def _fault(self, cells: Sequence[str]) -> str:
        """The first thing wrong with a row, in words; empty where it can be read."""
        if len(cells) <= max((*self.places, *self.extra.values())):
            return f"the row has {len(cells)} values instead of {len(self.header)}"
        for place in self.places:
            missing = not cells[place].strip()
            if missing and place in self.may_miss:
                continue
            try:
                if "_" in cells[place]:  # Python takes 1_0, files do not mean it
                    raise ValueError
                float(cells[place])
            except ValueError:
                hint = "; leave the cell of a missing value empty" if place in self.may_miss else ""
                return f"{self.header[place]} = {cells[place]!r} is not a number{hint}"
        return ""

    def _made(self, start: int, table: Table, columns: dict[str, list[str]], faults: dict[int, str]) -> Chunk:
        ids = columns.pop(IDENTITY, None)
        return Chunk(start, table, range(start, start + len(table)) if ids is None else ids, columns, faults)


def _lines(source: BinaryIO, size: int) -> list[bytes]:
    """Whole rows: a quoted line break does not end one."""
    lines = source.readlines(size)
    quotes = sum(line.count(b'"') for line in lines)
    while quotes % 2 and (more := source.readline()):
        lines.append(more)
        quotes += more.count(b'"')
    return lines


def _table(lines: list[bytes], places: list[int], may_miss: list[int]) -> Table:
    """Numbers float32 [n, F]. The parser knows no missing values, so that they are written out for it."""
    if not may_miss:
        return _load(lines, places, np.float32, 2)
    try:
        table = _load([_written_out(line) for line in lines], places, np.float32, 2)
    except ValueError:  # blanks or "" for missing, which are rare, or what is really wrong
        return _load(_rewritten(lines, may_miss), places, np.float32, 2)
    required = [number for number, place in enumerate(places) if place not in may_miss]
    if np.isnan(table[:, required]).any():
        _load(lines, [places[number] for number in required], np.float32, 2)  # fails where a cell is empty
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
        for place in may_miss:
            if place < len(cells) and not cells[place].strip():
                cells[place] = "nan"
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

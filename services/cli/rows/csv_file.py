"""Reader of CSV files as chunks of numbers, in bounded memory."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from services.cli.rows.chunking import IDENTITY, Chunk, Selection, Table, beside, check_names

CHUNK_BYTES = 4096 * 96
"""Size of a chunk: about 4096 rows of the official vessel files. Wide files get more, see ``_WIDE``."""
_WIDE = 32
"""Number of columns for which ``CHUNK_BYTES`` are read."""


def chunks(source: BinaryIO, selection: Selection) -> Iterator[Chunk]:
    """Yield chunks of the selected columns; other columns are ignored, empty lines are skipped.

    A missing value is an empty cell, or ``nan``, which is read as NaN. Rows with another number of cells, or with a
    cell that is no number, are among the faults of their chunk.

    Raises:
        ValueError: a column is missing or doubled, or bytes are no text.
    """
    header = next(csv.reader([source.readline().decode("utf-8-sig")]), [])
    check_names(header, selection.names)
    extra = beside(header, selection.kept)
    check_names(header, extra)
    layout = _Layout(header, selection, extra)
    start = 0
    size = CHUNK_BYTES * max(1, len(selection.names) // _WIDE)
    while lines := _lines(source, size):
        if filled := [line for line in lines if line.strip()]:
            chunk = layout.chunk(filled, start)
            yield chunk
            start += len(chunk.table)


class _Layout:
    """Positions of the selected columns."""

    def __init__(self, header: Sequence[str], selection: Selection, extra: Sequence[str]) -> None:
        self.header = header
        self.places = [header.index(name) for name in selection.names]
        self.may_miss = [place for place in self.places if header[place] in selection.nullable]
        self.texts = {header.index(name): texts for name, texts in selection.texts.items()}
        self.extra = {name: header.index(name) for name in extra}

    def chunk(self, lines: list[bytes], start: int) -> Chunk:
        """Parse lines with numpy; if that fails, row by row, so that only wrong rows are lost."""
        try:
            table = self._coded(lines) if self.texts else _table(lines, self.places, self.may_miss)
            texts = _load(lines, list(self.extra.values()), str, 2) if self.extra else np.empty((len(table), 0), str)
            if len(texts) == len(table) == len(lines):
                columns = {name: texts[:, number].tolist() for number, name in enumerate(self.extra)}
                return self._made(start, table, columns, {})
        except ValueError:
            pass
        return self._by_row(lines, start)

    def _coded(self, lines: list[bytes]) -> Table:
        """Parse numbers and texts, which become codes.

        Raises:
            ValueError: a cell that cannot be read.
        """
        numeric = [place for place in self.places if place not in self.texts]
        numbers = (
            _table(lines, numeric, [place for place in self.may_miss if place not in self.texts]) if numeric else None
        )
        words = _load(lines, list(self.texts), str, 2)
        table = np.empty((len(words), len(self.places)), np.float32)
        for position, place in enumerate(self.places):
            if place in self.texts:
                column = words[:, list(self.texts).index(place)].tolist()
                table[:, position] = [self._cell(place, text) for text in column]
            else:
                assert numbers is not None
                table[:, position] = numbers[:, numeric.index(place)]
        return table

    def _cell(self, place: int, cell: str) -> float:
        """Return a cell as a number or code; a blank one is NaN, if the column may miss values.

        Raises:
            ValueError: it cannot be read.
        """
        blank = not cell.strip()
        if place not in self.texts:
            return np.nan if blank else float(cell)
        if blank and place in self.may_miss:
            return np.nan
        return self.texts[place].code(self.header[place], cell)

    def _by_row(self, lines: list[bytes], start: int) -> Chunk:
        rows = [cells for cells in csv.reader(line.decode(errors="replace") for line in lines) if cells]
        table = np.full((len(rows), len(self.places)), np.nan, np.float32)
        faults = {}
        with np.errstate(over="ignore"):  # values beyond float32 become infinite, and are refused as such
            for row, cells in enumerate(rows):
                if fault := self._fault(cells):
                    faults[row] = fault
                else:
                    table[row] = [self._cell(place, cells[place]) for place in self.places]
        columns = {
            name: [cells[place] if place < len(cells) else "" for cells in rows] for name, place in self.extra.items()
        }
        return self._made(start, table, columns, faults)

    def _fault(self, cells: Sequence[str]) -> str:
        """Return the first error of a row; empty if it can be read."""
        if len(cells) <= max((*self.places, *self.extra.values())):
            return f"the row has {len(cells)} values instead of {len(self.header)}"
        for place in self.places:
            missing = not cells[place].strip()
            if missing and place in self.may_miss:
                continue
            if place in self.texts:
                try:
                    self._cell(place, cells[place])
                except ValueError as error:
                    return str(error)
                continue
            try:
                if "_" in cells[place]:  # Python accepts 1_0
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
    """Read whole rows: a quoted line break does not end a row."""
    lines = source.readlines(size)
    quotes = sum(line.count(b'"') for line in lines)
    while quotes % 2 and (more := source.readline()):
        lines.append(more)
        quotes += more.count(b'"')
    return lines


def _table(lines: list[bytes], places: list[int], may_miss: list[int]) -> Table:
    """Parse numbers, float32 [n, F]; missing values become ``nan`` first, as the parser does not know them."""
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
    """Return a line with ``nan`` in its empty cells.

    A text with consecutive commas gets it too, which does no harm: texts are not read here, and the number of cells
    stays the same.
    """
    cells = line.rstrip(b"\r\n")
    cells = cells.replace(b",,", b",nan,").replace(b",,", b",nan,")
    first, last = b"nan" * cells.startswith(b","), b"nan" * cells.endswith(b",")
    return first + cells + last + b"\n"


def _rewritten(lines: list[bytes], may_miss: list[int]) -> io.StringIO:
    """Return the table with ``nan`` in every blank cell of the columns that may miss values."""
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
        lines, delimiter=",", quotechar='"', comments=None, usecols=columns, dtype=kind, ndmin=axes, encoding="utf-8"
    )

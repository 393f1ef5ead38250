"""Reader of JSON rows (a list of objects, or an object a line) as chunks of numbers, in bounded memory."""

import codecs
import json
import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from services.cli.rows import chunking
from services.cli.rows.chunking import IDENTITY, Chunk, Selection

Row = Mapping[str, Any] | str
"""The values of a row by column, or the reason why it cannot be read."""

_PIECE = 1 << 18
_NEEDED = "a list of rows is needed, [{…}, …] (pandas: orient='records'), or JSON lines, an object a line"
_BLANK = " \t\r\n"
_LONGEST_TEXT = 1 << 16
"""Characters of a text in a row: a longer one is taken for a missing closing quotation mark."""
_DECODER = json.JSONDecoder()


def chunks(source: BinaryIO, selection: Selection, *, lines: bool) -> Iterator[Chunk]:
    """Yield chunks of the selected columns; other columns are ignored.

    A missing value is null, NaN, or an absent column; if a column needs a value, the row is a fault of its chunk, as is
    a line that is not an object.

    Args:
        lines: whether the file is JSON lines; else it is a list.

    Raises:
        ValueError: the file is not a list of rows, or is truncated or not JSON from some row on; or its first row lacks
            a column.
    """
    rows = _of_lines(source) if lines else _of_list(source)
    start = 0
    for block, error in _blocks(rows):
        if block:
            if not start:
                _check_form(block, selection)
            yield _chunk(block, selection, start)
            start += len(block)
        if error is not None:
            raise error


def _blocks(rows: Iterator[Row]) -> Iterator[tuple[list[Row], ValueError | None]]:
    """Yield rows in blocks; the last one with the error that ends the reading, if any."""
    while True:
        block: list[Row] = []
        try:
            block.extend(islice(rows, chunking.CHUNK_ROWS))
        except ValueError as error:
            yield block, error
            return
        if not block:
            return
        yield block, None


def _check_form(rows: list[Row], selection: Selection) -> None:
    """Check that the first rows are rows, with all columns that need a value.

    Raises:
        ValueError: they are not, or lack a column.
    """
    if len(rows) > 1 and all(isinstance(row, str) for row in rows):
        raise ValueError(f"{rows[0]}; {_NEEDED}")
    first = next((row for row in rows if isinstance(row, Mapping)), {})
    if any(isinstance(first.get(name), list | dict) for name in selection.names):
        raise ValueError(f"the file holds columns; {_NEEDED}")
    if first:
        missing = [name for name in selection.names if name not in first and name not in selection.nullable]
        chunking.check_names(list(first), missing)


def _chunk(rows: list[Row], selection: Selection, start: int) -> Chunk:
    table = np.full((len(rows), len(selection.names)), np.nan, np.float32)
    faults: dict[int, str] = {}
    with np.errstate(over="ignore"):  # values beyond float32 become infinite, and are refused as such
        for number, row in enumerate(rows):
            try:
                if isinstance(row, str):
                    raise ValueError(row)
                table[number] = [_number(row, name, selection) for name in selection.names]
            except ValueError as error:
                faults[number] = str(error)
    known = [row if isinstance(row, Mapping) else {} for row in rows]
    kept = {name: [row.get(name) for row in known] for name in selection.kept if any(name in row for row in known)}
    if any(IDENTITY in row for row in known):
        return Chunk(start, table, [_text(row.get(IDENTITY)) for row in known], kept, faults)
    return Chunk(start, table, range(start, start + len(rows)), kept, faults)


def _number(row: Mapping[str, Any], name: str, selection: Selection) -> float:
    value = row.get(name)
    if value is None:
        if name in selection.nullable:
            return math.nan
        raise ValueError(f"{name} is missing; this column needs a value")
    if name in selection.texts:
        return selection.texts[name].code(name, value)
    if isinstance(value, bool) and name in selection.flags:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} = {value!r:.60} is not a number")
    return float(value) if isinstance(value, float) or abs(value) < 1 << 1000 else math.inf


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _of_lines(source: BinaryIO) -> Iterator[Row]:
    for line in source:
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            yield f"the line is not JSON: {error}"
            continue
        yield row if isinstance(row, dict) else f"the line is {str(row)[:40]}; an object {{column: value, …}} is needed"


def _of_list(source: BinaryIO) -> Iterator[Row]:
    """Yield the elements of a list; those of a truncated list come before the error."""
    text = _Text(source)
    if text.next_character() != "[":
        raise ValueError(f"the file begins with {text.shown()!r}; {_NEEDED}")
    text.skip()
    row = 0
    while (character := text.next_character()) != "]":
        if row:
            if character != ",":
                raise ValueError(f"row {row - 1} (from 0) is followed by {text.shown()!r}; a comma or ] is needed")
            text.skip()
        try:
            value = text.value()
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"row {row} (from 0) of the list is not JSON, or the file is truncated: {error}"
            ) from error
        yield (
            value
            if isinstance(value, dict)
            else f"the row is {str(value)[:40]}; an object {{column: value, …}} is needed"
        )
        row += 1


class _Text:
    """Text of a file, read in pieces on demand."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._place = 0

    def next_character(self) -> str:
        """Return the next character that is not blank, without consuming it; empty at the end."""
        while True:
            while self._place < len(self._text) and self._text[self._place] in _BLANK:
                self._place += 1
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more():
                return ""

    def skip(self) -> None:
        """Consume the next character."""
        self._place += 1

    def shown(self) -> str:
        """Return the next few characters."""
        return self._text[self._place : self._place + 20]

    def value(self) -> Any:
        """Read the next value.

        Raises:
            ValueError: it is not JSON, or the file ends within it.
        """
        self.next_character()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                # a value that continues in the next piece fails near the end of this one; a wrong one fails anywhere
                if len(self._text) - error.pos > _LONGEST_TEXT or not self._more():
                    raise ValueError(error.msg) from error
                continue
            self._place = end
            return value

    def _more(self) -> bool:
        piece = self._source.read(_PIECE)
        self._text = self._text[self._place :] + self._decode(piece, final=not piece)
        self._place = 0
        return bool(piece)

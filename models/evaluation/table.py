"""Reader of columns of CSV and Parquet files, in pieces so that memory stays near that of the kept columns."""

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models.evaluation.files import Array, need
from models.evaluation.unit_errors import BadFile

_PIECE_BYTES = 1 << 20
_PARQUET_BYTES = 1 << 25


def column_names(path: Path) -> list[str]:
    """Return the names of the columns, in the order of the file.

    Raises:
        BadFile: no such file, or neither CSV with a header nor Parquet.
    """
    if _is_parquet(path):
        parquet = need("pyarrow.parquet", "reading Parquet")
        try:
            return list(parquet.read_schema(path).names)
        except (OSError, ValueError) as error:
            raise BadFile(f"{path} cannot be read as Parquet: {error}") from error
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            header = file.readline(1 << 16)
        names = next(csv.reader([header.decode("utf-8-sig")]), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise BadFile(f"{path} cannot be read as CSV: {error}") from error
    if not names:
        raise BadFile(f"{path} is empty; a header with the names of its columns is needed")
    return names


def read_columns(
    path: Path, numeric: Sequence[str], other: Sequence[str] = (), *, may_be_empty: bool = False
) -> dict[str, Array]:
    """Read columns as float64 [n] (an empty cell is NaN), and others as text.

    Args:
        may_be_empty: True accepts a header without rows.

    Raises:
        BadFile: a column is missing, a cell is not a number, rows of different length, no rows.
    """
    columns = {name: np.empty(0) for name in numeric}
    texts: dict[str, list[Array]] = {name: [] for name in other}
    row = 0
    for piece in read_pieces(path, numeric, other):
        count = len(next(iter(piece.values()), ()))
        for name, column in columns.items():
            if len(column) < row + count:  # grows in place: a list of pieces would hold all twice
                column.resize(max(len(column) * 5 // 4, row + count), refcheck=False)
            column[row : row + count] = piece[name]
        for name, parts in texts.items():
            parts.append(piece[name])
        row += count
    if not row and not may_be_empty:
        raise BadFile(f"{path} has no rows")
    for column in columns.values():
        column.resize(row, refcheck=False)
    need("pyarrow", "reading").default_memory_pool().release_unused()
    return columns | {name: np.concatenate([np.empty(0, str), *parts]) for name, parts in texts.items()}


def read_pieces(
    path: Path, numeric: Sequence[str], other: Sequence[str] = (), *, piece_bytes: int = _PIECE_BYTES
) -> Iterator[dict[str, Array]]:
    """Yield the columns of ``read_columns`` piece by piece.

    Args:
        piece_bytes: bytes of CSV text in a piece; Parquet is read in pieces of rows.

    Raises:
        BadFile: a column is missing, a cell is not a number, rows of different length.
    """
    have = column_names(path)
    for name in (*numeric, *other):
        if name not in have:
            raise BadFile(f"{path}: column {name} is missing; the file has {', '.join(have)}")
        if have.count(name) > 1:
            raise BadFile(f"{path}: there are {have.count(name)} columns {name}; one is needed")
    row = 0
    try:
        for batch in _batches(path, numeric, other, piece_bytes):
            piece = {name: _numbers(path, name, _column(batch, name), row) for name in numeric}
            yield piece | {name: _texts(path, name, _column(batch, name)) for name in other}
            row += batch.num_rows
    except (OSError, ValueError) as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"{path}: {_in_words(str(error), have)}") from error


def _batches(path: Path, numeric: Sequence[str], other: Sequence[str], piece_bytes: int) -> Iterator[Any]:
    arrow = need("pyarrow", "reading CSV and Parquet")
    columns = [*numeric, *other]
    if _is_parquet(path):
        rows = min(1 << 17, _PARQUET_BYTES // (8 * max(len(columns), 1)))  # wide rows in smaller pieces
        yield from (
            need("pyarrow.parquet", "reading Parquet")
            .ParquetFile(path, buffer_size=_PIECE_BYTES, pre_buffer=False)
            .iter_batches(rows, columns=columns)
        )
        return
    reader = need("pyarrow.csv", "reading CSV")
    # groups as binary: cells that are not text are then reported with the name of their column
    kinds = dict.fromkeys(numeric, arrow.float64()) | dict.fromkeys(other, arrow.binary())
    convert = reader.ConvertOptions(column_types=kinds, include_columns=columns)
    # one thread: the reader otherwise runs ahead and keeps pieces in memory
    yield from reader.open_csv(
        path, reader.ReadOptions(block_size=piece_bytes, use_threads=False), convert_options=convert
    )


def _numbers(path: Path, name: str, column: Any, start: int) -> Array:
    types = need("pyarrow.types", "reading CSV and Parquet")
    kind = column.type
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    if not any(test(kind) for test in tests):
        raise BadFile(f"{path}: column {name} holds {kind}, from row {start} (from 0) on; numbers are needed")
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def _texts(path: Path, name: str, column: Any) -> Array:
    """Return the values of a column as text; an empty cell is the empty text."""
    arrow = need("pyarrow", "reading CSV and Parquet")
    try:
        values = column.cast(arrow.string()).to_pylist()
    except (ValueError, NotImplementedError) as error:
        raise BadFile(f"{path}: column {name} holds {column.type}, which is no text in UTF-8: {error}") from error
    return np.asarray([value or "" for value in values], str)


def _is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its name or its first bytes."""
    if path.suffix == ".parquet":
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # the CSV reader reports the error


def _column(batch: Any, name: str) -> Any:
    return batch.column(batch.schema.get_field_index(name))


def _in_words(message: str, names: list[str]) -> str:
    """Replace pyarrow's column numbers by names in an error message."""
    for number, name in enumerate(names):
        message = message.replace(f"In CSV column #{number}:", f"column {name}:")
    return message

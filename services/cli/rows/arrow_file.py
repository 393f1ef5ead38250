"""Reader of Parquet, Feather and Arrow files as chunks of numbers, in bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from models.evaluation.files import need
from services.cli.rows import chunking
from services.cli.rows.chunking import IDENTITY, Chunk, Selection, Table, Texts, beside, check_names

_PURPOSE = "reading Parquet, Feather and Arrow"


def chunks(header: Sequence[str], batches: Iterable[Any], selection: Selection) -> Iterator[Chunk]:
    """Yield chunks of the selected columns; other columns are ignored.

    A missing value is null, which is read as NaN; if a column needs a value, the row is a fault of its chunk.

    Args:
        header: names of the file's columns.
        batches: ``pyarrow.RecordBatch`` of any size, with the selected columns among theirs.

    Raises:
        ValueError: a column is missing, occurs twice or is not numeric.
    """
    check_names(header, selection.names)
    extra = beside(header, selection.kept)
    check_names(header, extra)
    start = 0
    for whole in batches:
        for first in range(0, whole.num_rows, chunking.CHUNK_ROWS):
            chunk = _chunk(whole.slice(first, chunking.CHUNK_ROWS), selection, extra, start)
            yield chunk
            start += len(chunk.table)


def _chunk(batch: Any, selection: Selection, extra: Sequence[str], start: int) -> Chunk:
    table = np.empty((batch.num_rows, len(selection.names)), np.float32)
    faults: dict[int, str] = {}
    for position, name in enumerate(selection.names):
        column = _column(batch, name)
        if name in selection.texts:
            table[:, position] = _codes(column, name, selection.texts[name], faults)
        else:
            table[:, position] = _numbers(column, name, name in selection.flags, start)
        if column.null_count and name not in selection.nullable:
            for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
                faults.setdefault(row, f"{name} is missing; this column needs a value")
    kept = {name: _column(batch, name).to_pylist() for name in extra}
    ids = kept.pop(IDENTITY, None)
    named = range(start, start + len(table)) if ids is None else [str(number) for number in ids]
    return Chunk(start, table, named, kept, faults)


def _column(batch: Any, name: str) -> Any:
    return batch.column(batch.schema.get_field_index(name))


def _codes(column: Any, name: str, texts: Texts, faults: dict[int, str]) -> list[float]:
    """Return the codes of texts; a missing text is NaN, and a text without a code a fault of its row."""
    codes = []
    for row, text in enumerate(column.to_pylist()):
        try:
            codes.append(np.nan if text is None else texts.code(name, text))
        except ValueError as error:
            codes.append(np.nan)
            faults.setdefault(row, str(error))
    return codes


def _numbers(column: Any, name: str, flag: bool, start: int) -> Table:
    """Return float32 [n]; values beyond float32 become infinite, which the service refuses."""
    kind = column.type
    types = need("pyarrow.types", _PURPOSE)
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    if not (numeric or (flag and types.is_boolean(kind))):
        raise ValueError(f"column {name} holds {kind}, from row {start} (from 0) on; numbers are needed")
    with np.errstate(over="ignore"):
        return np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False), np.float32)

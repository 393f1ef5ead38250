"""A Parquet file as chunks of numbers, in bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from models.evaluation.files import need
from services.cli.row_chunks import IDENTITY, Chunk, check_names

CHUNK_ROWS = 4096


def chunks(
    file: Any, names: Sequence[str], nullable: Collection[str] = (), flags: Collection[str] = ()
) -> Iterator[Chunk]:
    """Chunks of the named columns; other columns are not looked at.

    Args:
        file: a ``pyarrow.parquet.ParquetFile``.
        nullable: columns in which a value may be missing (null), which is read as NaN.
        flags: columns whose only values are 0 and 1, so that booleans mean them.

    Raises:
        ValueError: a column is missing, doubled or no numbers, or a value is missing; the message names row and
            column.
    """
    header = list(file.schema_arrow.names)
    check_names(header, names)
    wanted = [*names, *({IDENTITY} & set(header))]
    start = 0
    for batch in file.iter_batches(CHUNK_ROWS, columns=wanted):
        if not batch.num_rows:
            continue
        table = np.empty((batch.num_rows, len(names)), np.float32)
        for position, name in enumerate(names):
            column = batch.column(batch.schema.get_field_index(name))
            table[:, position] = _numbers(column, name, name in nullable, name in flags, start)
        ids: Sequence[str | int] = range(start, start + len(table))
        if IDENTITY in wanted:
            ids = [str(one) for one in batch.column(batch.schema.get_field_index(IDENTITY)).to_pylist()]
        yield Chunk(start, table, ids)
        start += len(table)


def _numbers(column: Any, name: str, nullable: bool, flag: bool, start: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """float32 [n]; what is beyond float32 is infinite, which the service refuses."""
    kind = column.type
    types = need("pyarrow.types", "reading Parquet")
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    if not (numeric or (flag and types.is_boolean(kind))):
        raise ValueError(f"column {name} holds {kind}, from row {start} (from 0) on; numbers are needed")
    if column.null_count and not nullable:
        row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(f"row {row} (from 0): {name} is missing; this column needs a value")
    with np.errstate(over="ignore"):
        return np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False), np.float32)

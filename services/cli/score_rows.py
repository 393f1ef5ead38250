"""``demur score`` for tasks of rows: a file of any length through the running service, in bounded memory."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import demur
from models.evaluation.files import need
from services.cli import csv_rows, parquet_rows
from services.cli.output import CommandError
from services.cli.replacing import replacing
from services.cli.row_chunks import Chunk
from services.cli.scored import Scored
from services.scoring import Asked, Outcome, Scorer

OUTPUT = (
    "CSV: time_id where the input has it, else the row's number; answers and decisions, as <head>.<column> where the "
    "task has several heads"
)


def run(asked: Asked) -> Outcome:
    """Streams the file and counts what was deferred.

    Raises:
        CommandError: the file or a row cannot be scored; the message says after how many rows.
    """
    rows = 0
    try:
        with ExitStack() as stack:
            client = stack.enter_context(demur.connect(asked.target))
            service = getattr(client, asked.task)
            described = service.describe()
            read, share = stack.enter_context(_opened(asked.source, described.features))
            file = stack.enter_context(replacing(asked.output, asked.source))
            scored = Scored(csv.writer(file), described.heads)
            sent: deque[Chunk] = deque()
            for answer in service.stream(_tables(read, sent), purpose=asked.purpose):
                scored.add(sent.popleft(), answer.to_dict())
                rows += len(answer)
                asked.progress(min(share(), 0.999), "")
            scored.close()
    except demur.InvalidInput as error:
        raise CommandError(f"{_in_file(error, rows)} (after {rows} rows)") from error
    except (demur.DemurError, OSError, ValueError) as error:
        raise CommandError(f"{error} (after {rows} rows)") from error
    asked.progress(1.0, "")
    return Outcome(scored.counts(), scored.told())


@contextmanager
def _opened(path: Path, features: Sequence[demur.Feature]) -> Iterator[tuple[Iterator[Chunk], Callable[[], float]]]:
    """The chunks of a CSV or Parquet file, and the share of it that was read, 0 to 1."""
    names = [feature.name for feature in features]
    nullable = {feature.name for feature in features if feature.nullable}
    if path.suffix.lower() == ".parquet":
        flags = {feature.name for feature in features if set(feature.values) == {0.0, 1.0}}
        with need("pyarrow.parquet", "reading Parquet").ParquetFile(path, pre_buffer=False) as table:
            passed = 0

            def counted() -> Iterator[Chunk]:
                nonlocal passed
                for chunk in parquet_rows.chunks(table, names, nullable, flags):
                    passed += len(chunk.table)
                    yield chunk

            yield counted(), lambda: passed / (table.metadata.num_rows or 1)
        return
    with path.open("rb") as source:
        size = path.stat().st_size or 1
        yield csv_rows.chunks(source, names, nullable), lambda: source.tell() / size


def _tables(read: Iterable[Chunk], sent: deque[Chunk]) -> Iterator[Any]:
    """What is sent, float32 [n, F]; what is in flight waits in ``sent`` for its answer."""
    for chunk in read:
        sent.append(chunk)
        yield chunk.table


def _in_file(error: demur.InvalidInput, answered: int) -> str:
    """The refusal, with the row of the file: the service counts rows within a chunk, and answers chunks in order, so
    that the refused one is the next after the rows that were answered."""
    if error.index is None:
        return str(error)
    return f"row {answered + error.index} (from 0): " + str(error).replace(f" in row {error.index}", "", 1)


SCORER = Scorer("a CSV or .parquet file with the columns of the task; others are ignored", OUTPUT, run)

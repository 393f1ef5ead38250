"""Integrity check of a ledger: units occur once, rows lie within their writers' flushes, contents exist."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select, text

from services.ledger.migrations import MIGRATIONS, version
from services.ledger.segments import unpack
from services.ledger.tables import item, label, metadata, opinion, segment, writer

Longs = NDArray[np.int64]
_EXAMPLES = 5
"""Most examples of one kind of fault."""
_FOLLOWED = (
    *("deployment", "policy", "segment", "item", "request_event", "label", "opinion", "flag", "gap", "delivery"),
    "erasure",
)

_REFERENCES = (
    *(item.c.evidence_ref, item.c.payload_ref, label.c.value_ref, opinion.c.value_ref, opinion.c.correction_ref),
)


@dataclass(frozen=True)
class IntegrityReport:
    """Content of a ledger, and its faults."""

    schema: int
    rows: dict[str, int]
    """Number of rows by table."""
    units: int
    """Number of decided units in segments."""
    references: tuple[str, ...]
    """References into the store, sorted."""
    faults: tuple[str, ...]
    """Descriptions of faults; empty where there are none."""


def examine(connection: Connection, fetch: Callable[[str], bytes] | None = None) -> IntegrityReport:
    """Check a whole ledger, in one state.

    Args:
        fetch: content of the store by its reference (LookupError: not there, ValueError: altered); None: not checked.
    """
    schema = version(connection)
    if schema != len(MIGRATIONS):
        return IntegrityReport(schema, {}, 0, (), (f"schema {schema}; this program knows {len(MIGRATIONS)}",))
    faults: list[str] = []
    if connection.dialect.name == "sqlite":
        lines = list(connection.scalars(text("PRAGMA integrity_check")))
        faults += [] if lines == ["ok"] else [f"the file is damaged: {line}" for line in lines[:_EXAMPLES]]
    units, runs = _segments(connection, faults)
    _items(connection, runs, faults)
    _flushes(connection, faults)
    named = tuple(references(connection))
    if fetch is not None:
        faults += _contents(named, fetch)
    rows = {table.name: count_of(connection, table.name) for table in metadata.sorted_tables}
    return IntegrityReport(schema, rows, units, named, tuple(faults))


def references(connection: Connection) -> Iterator[str]:
    """Return references into the store, sorted, each once."""
    names: set[str] = set()
    for column in _REFERENCES:
        names |= set(connection.scalars(select(column).where(column.is_not(None)).distinct()))
    return iter(sorted(names))


def count_of(connection: Connection, table: str) -> int:
    """Return the number of rows of a table."""
    return connection.scalar(select(func.count()).select_from(metadata.tables[table])) or 0


def _segments(connection: Connection, faults: list[str]) -> tuple[int, dict[int, tuple[Longs, Longs]]]:
    """Return the number of decided units, and for each writer first and end of its runs, ascending."""
    gathered: defaultdict[int, list[tuple[Longs, Longs]]] = defaultdict(list)
    columns = (segment.c.writer, segment.c.flush, segment.c.count, segment.c.body)
    query = select(*columns).where(segment.c.purpose == "decide").execution_options(stream_results=True, yield_per=1000)
    broken, units = [], 0
    for epoch, flush, count, body in connection.execute(query):
        try:
            units_of_row = unpack(body or b"")
        except ValueError as error:
            broken.append(f"{epoch:016x}, flush {flush}: {error}")
            continue
        if len(units_of_row) != count:
            broken.append(f"{epoch:016x}, flush {flush}: {len(units_of_row)} units, not {count}")
        first = units_of_row.first.astype(np.int64)
        gathered[epoch].append((first, first + units_of_row.count.astype(np.int64)))
        units += len(units_of_row)
    faults += _described("segments cannot be read", broken)
    runs, twice = {}, []
    for epoch, parts in gathered.items():
        first, end = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(first, kind="stable")
        first, end = first[order], end[order]
        overlap = np.flatnonzero(first[1:] < np.maximum.accumulate(end)[:-1])
        twice += [f"{epoch:016x}-{first[place + 1]}" for place in overlap.tolist()]
        runs[epoch] = (first, end)
    faults += _described("units are in segments more than once", twice)
    return units, runs


def _items(connection: Connection, runs: dict[int, tuple[Longs, Longs]], faults: list[str]) -> None:
    unmatched = []
    query = select(item.c.epoch, item.c.sequence).execution_options(stream_results=True, yield_per=10_000)
    for part in connection.execute(query).partitions(10_000):
        by_epoch: defaultdict[int, list[int]] = defaultdict(list)
        for epoch, sequence in part:
            by_epoch[epoch].append(sequence)
        for epoch, sequences in by_epoch.items():
            first, end = runs.get(epoch, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
            of_items = np.array(sequences, np.int64)
            place = np.searchsorted(first, of_items, "right") - 1
            inside = (place >= 0) & (of_items < (end[place] if len(end) else 0))
            unmatched += [f"{epoch:016x}-{sequence}" for sequence in of_items[~inside].tolist()]
    faults += _described("items belong to no unit", unmatched)


def _flushes(connection: Connection, faults: list[str]) -> None:
    """Check that no row lies behind its writer's last flush: it would be read by nobody, or twice."""
    ends = {row.epoch: row.flush for row in connection.execute(select(writer.c.epoch, writer.c.flush))}
    wrong = []
    for name in _FOLLOWED:
        table = metadata.tables[name]
        query = select(table.c.writer, func.max(table.c.flush)).group_by(table.c.writer)
        for epoch, last in connection.execute(query):
            if last > ends.get(epoch, -1):
                wrong.append(f"{name} of {epoch:016x} at {last}, its writer is at {ends.get(epoch, 'no row')}")
    faults += _described("rows lie behind their writer's last flush", wrong)


def _contents(named: tuple[str, ...], fetch: Callable[[str], bytes]) -> list[str]:
    lost, altered = [], []
    for reference in named:
        try:
            fetch(reference)
        except LookupError:
            lost.append(reference)
        except ValueError:
            altered.append(reference)
    return _described("contents are not in the store", lost) + _described("contents were altered", altered)


def _described(kind: str, examples: list[str]) -> list[str]:
    """Return one fault of a kind, with examples."""
    more = f" and {len(examples) - _EXAMPLES} more" if len(examples) > _EXAMPLES else ""
    return [f"{len(examples)} {kind}: {', '.join(examples[:_EXAMPLES])}{more}"] if examples else []

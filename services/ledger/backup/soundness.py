"""Whether a ledger is whole: units once, rows within their writers' flushes, contents where they are named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select, text

from services.ledger.migrations import MIGRATIONS, version
from services.ledger.segments import unpack
from services.ledger.tables import item, label, metadata, segment, writer

Longs = NDArray[np.int64]
_SPOKEN = 5
"""Examples of one kind of fault."""
_FOLLOWED = ("deployment", "policy", "segment", "item", "request_event", "label", "gap", "delivery", "erasure")


@dataclass(frozen=True)
class Examined:
    """What a ledger holds, and what is wrong with it."""

    schema: int
    rows: dict[str, int]
    """By table."""
    units: int
    """Decided ones in segments."""
    references: tuple[str, ...]
    """Contents of the store that rows name, sorted."""
    faults: tuple[str, ...]
    """In words; empty where there is none."""


def examine(connection: Connection, fetch: Callable[[str], bytes] | None = None) -> Examined:
    """Reads a whole ledger, in one state.

    Args:
        fetch: content of the store by its reference (LookupError: not there, ValueError: altered); None: not looked at.
    """
    found = version(connection)
    if found != len(MIGRATIONS):
        return Examined(found, {}, 0, (), (f"schema {found}; this program knows {len(MIGRATIONS)}",))
    faults: list[str] = []
    if connection.dialect.name == "sqlite":
        told = list(connection.scalars(text("PRAGMA integrity_check")))
        faults += [] if told == ["ok"] else [f"the file is damaged: {line}" for line in told[:_SPOKEN]]
    units, runs = _segments(connection, faults)
    _items(connection, runs, faults)
    _flushes(connection, faults)
    named = tuple(references(connection))
    if fetch is not None:
        faults += _contents(named, fetch)
    rows = {table.name: count_of(connection, table.name) for table in metadata.sorted_tables}
    return Examined(found, rows, units, named, tuple(faults))


def references(connection: Connection) -> Iterator[str]:
    """Contents of the store that rows name, sorted, each once."""
    found: set[str] = set()
    for column in (item.c.evidence_ref, item.c.payload_ref, label.c.value_ref):
        found |= set(connection.scalars(select(column).where(column.is_not(None)).distinct()))
    return iter(sorted(found))


def count_of(connection: Connection, table: str) -> int:
    """Rows of a table."""
    return connection.scalar(select(func.count()).select_from(metadata.tables[table])) or 0


def _segments(connection: Connection, faults: list[str]) -> tuple[int, dict[int, tuple[Longs, Longs]]]:
    """Units of real questions, and of each writer the first and end of its runs, ascending."""
    gathered: defaultdict[int, list[tuple[Longs, Longs]]] = defaultdict(list)
    columns = (segment.c.writer, segment.c.flush, segment.c.count, segment.c.body)
    query = select(*columns).where(segment.c.purpose == "decide").execution_options(stream_results=True, yield_per=1000)
    broken, units = [], 0
    for epoch, flush, count, body in connection.execute(query):
        try:
            found = unpack(body or b"")
        except ValueError as error:
            broken.append(f"{epoch:016x}, flush {flush}: {error}")
            continue
        if len(found) != count:
            broken.append(f"{epoch:016x}, flush {flush}: {len(found)} units, not {count}")
        first = found.first.astype(np.int64)
        gathered[epoch].append((first, first + found.count.astype(np.int64)))
        units += len(found)
    faults += _spoken("segments cannot be read", broken)
    runs, twice = {}, []
    for epoch, parts in gathered.items():
        first, end = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(first, kind="stable")
        first, end = first[order], end[order]
        overlap = np.flatnonzero(first[1:] < np.maximum.accumulate(end)[:-1])
        twice += [f"{epoch:016x}-{first[place + 1]}" for place in overlap.tolist()]
        runs[epoch] = (first, end)
    faults += _spoken("units are in segments more than once", twice)
    return units, runs


def _items(connection: Connection, runs: dict[int, tuple[Longs, Longs]], faults: list[str]) -> None:
    strangers = []
    query = select(item.c.epoch, item.c.sequence).execution_options(stream_results=True, yield_per=10_000)
    for part in connection.execute(query).partitions(10_000):
        by_epoch: defaultdict[int, list[int]] = defaultdict(list)
        for epoch, sequence in part:
            by_epoch[epoch].append(sequence)
        for epoch, sequences in by_epoch.items():
            first, end = runs.get(epoch, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
            wanted = np.array(sequences, np.int64)
            place = np.searchsorted(first, wanted, "right") - 1
            inside = (place >= 0) & (wanted < (end[place] if len(end) else 0))
            strangers += [f"{epoch:016x}-{sequence}" for sequence in wanted[~inside].tolist()]
    faults += _spoken("items belong to no unit", strangers)


def _flushes(connection: Connection, faults: list[str]) -> None:
    """A row behind its writer's last flush would be read by nobody, or twice."""
    ends = {row.epoch: row.flush for row in connection.execute(select(writer.c.epoch, writer.c.flush))}
    wrong = []
    for name in _FOLLOWED:
        table = metadata.tables[name]
        query = select(table.c.writer, func.max(table.c.flush)).group_by(table.c.writer)
        for epoch, last in connection.execute(query):
            if last > ends.get(epoch, -1):
                wrong.append(f"{name} of {epoch:016x} at {last}, its writer is at {ends.get(epoch, 'no row')}")
    faults += _spoken("rows lie behind their writer's last flush", wrong)


def _contents(named: tuple[str, ...], fetch: Callable[[str], bytes]) -> list[str]:
    lost, altered = [], []
    for reference in named:
        try:
            fetch(reference)
        except LookupError:
            lost.append(reference)
        except ValueError:
            altered.append(reference)
    return _spoken("contents are not in the store", lost) + _spoken("contents were altered", altered)


def _spoken(words: str, found: list[str]) -> list[str]:
    """One fault of a kind, with examples."""
    more = f" and {len(found) - _SPOKEN} more" if len(found) > _SPOKEN else ""
    return [f"{len(found)} {words}: {', '.join(found[:_SPOKEN])}{more}"] if found else []

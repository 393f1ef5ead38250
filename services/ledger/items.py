"""Rows of a flush: a segment for all units of a head, model, policy and purpose, and items of single units.

Items are kept of deferred and audited units, and of all units under a census.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, insert

from services.ledger.contract import Place
from services.ledger.database import driver
from services.ledger.decided import Decided, Key
from services.ledger.segments import Runs, join, pack
from services.ledger.store import INLINE_BYTES, Store
from services.ledger.tables import UNASKED, segment
from services.policy.audit_draws import Draws
from services.policy.decision import Decision

_FIXED = ("epoch", "writer", "flush", "head", "model", "policy", "payload_type", "census")
"""Columns with the same value in all items of a flush that have one key."""
_VARYING = (
    "sequence",
    "time",
    "uncertainty",
    "raw_uncertainty",
    "decision",
    "propensity",
    "evidence",
    "evidence_ref",
    "payload",
    "payload_ref",
    "state",
    "priority",
)
_SEGMENT = (*Place.__dataclass_fields__, "part", *Key._fields, "count", "deferred", "first_time", "last_time", "body")
_BLOCKS = (64, 32, 16, 8, 4, 2, 1)
"""Items per insert: between statements other threads may take the interpreter lock, for milliseconds."""
_PRIORITY_SECONDS = 0.01
"""Requests are ordered by time, at random within this span: windows complete one after the other, and the database
writes one page for many items."""


class Parts:
    """Counter of the segments of one flush; for the writer's thread."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._next = 0

    def take(self, place: Place, count: int) -> int:
        """Return the first of so many new numbers."""
        if place is not self._place:
            self._place, self._next = place, 0
        self._next += count
        return self._next - count


def write_segments(connection: Connection, place: Place, runs: Mapping[Key, Runs], parts: Parts) -> None:
    """Write a row for each key."""
    part = parts.take(place, len(runs))
    rows = [
        (
            place.writer,
            place.flush,
            number,
            *key,
            len(units),
            int(np.count_nonzero(units.decisions == Decision.DEFER.value)),
            float(units.time[0]),
            float(units.time[-1]),
            pack(units),
        )
        for number, (key, units) in enumerate(runs.items(), part)
    ]
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    columns, marks = ", ".join(_SEGMENT), ", ".join([mark] * len(_SEGMENT))
    if rows:
        connection.exec_driver_sql(f"INSERT INTO segment ({columns}) VALUES ({marks})", rows)  # noqa: S608 - our own


def write_tallies(connection: Connection, place: Place, tallies: Mapping[Key, Mapping[str, Any]], parts: Parts) -> None:
    """Write a row for the explored units of each key: counts, and a histogram instead of units."""
    part = parts.take(place, len(tallies))
    rows = [
        key._asdict() | place.columns | {"part": number} | dict(tally)
        for number, (key, tally) in enumerate(tallies.items(), part)
    ]
    if rows:
        connection.execute(insert(segment), rows)


def by_key(portions: Iterable[Decided]) -> dict[Key, Runs]:
    """Join all units to one run per key."""
    runs: dict[Key, list[Runs]] = {}
    for decided in portions:
        runs.setdefault(decided.key, []).append(decided.runs)
    return {key: join(parts) for key, parts in runs.items()}


def keep_large(portions: Iterable[Decided], store: Store) -> None:
    """Store what is too large for a row, before there are rows, and replace it by references.

    Raises:
        OSError: the store cannot keep it.
    """
    for decided in portions:
        for name in ("evidence", "payload"):
            contents: Sequence[bytes | None] = getattr(decided, name)
            if any(content is not None and len(content) > INLINE_BYTES for content in contents):
                setattr(decided, name, [_kept(content, store) for content in contents])


def write_items(connection: Connection, place: Place, portions: Iterable[Decided], draws: Draws) -> None:
    """Write a row for each itemised unit: few statements, however many portions the units come from."""
    alike: dict[tuple[Any, ...], list[Decided]] = {}
    for decided in portions:
        if len(decided.itemised):
            kind = decided.payload_type if decided.payload else None
            head, model, policy, _ = decided.key
            alike.setdefault((head, model, policy, kind, int(decided.census)), []).append(decided)
    if not alike:
        return
    writing = (draws.epoch, place.writer, place.flush)
    write = _copy if connection.dialect.name == "postgresql" else _insert
    with driver(connection, "items") as raw:
        write(raw, [((*writing, *fixed), list(_varying(parts, draws))) for fixed, parts in alike.items()])


def _varying(parts: Sequence[Decided], draws: Draws) -> Iterable[tuple[Any, ...]]:
    """Return the values of the varying columns of each item of some portions."""
    counts = [len(part.itemised) for part in parts]
    times = np.repeat([part.time for part in parts], counts)
    uncertainty = np.concatenate([part.uncertainty[part.itemised] for part in parts])
    decisions = np.concatenate([part.decisions[part.itemised] for part in parts])
    rates = np.concatenate([np.broadcast_to(part.propensity, len(part.uncertainty))[part.itemised] for part in parts])
    drawn = np.concatenate([draws.uniforms(part.first, n, b"priority") for part, n in zip(parts, counts, strict=True)])
    evidence, evidence_refs = _columns(list(chain.from_iterable(part.evidence for part in parts)))
    payload, payload_refs = _columns(
        list(chain.from_iterable(part.payload or repeat(None, n) for part, n in zip(parts, counts, strict=True)))
    )
    return zip(
        np.concatenate([part.itemised + part.first for part in parts]).tolist(),
        times.tolist(),
        [None if score != score else score for score in uncertainty.tolist()],  # NaN
        _raw(parts, uncertainty),
        decisions.tolist(),
        np.where(decisions == Decision.DEFER.value, 1.0, rates).tolist(),
        evidence,
        evidence_refs,
        payload,
        payload_refs,
        _states(parts, counts),
        (times + _PRIORITY_SECONDS * drawn).tolist(),
        strict=True,
    )


def _states(parts: Sequence[Decided], counts: Sequence[int]) -> list[str]:
    if all(part.requested is None for part in parts):
        return ["requested"] * sum(counts)
    requested = np.concatenate(
        [np.ones(n, bool) if part.requested is None else part.requested for part, n in zip(parts, counts, strict=True)]
    )
    return ["requested" if is_requested else UNASKED for is_requested in requested.tolist()]


def _raw(parts: Sequence[Decided], uncertainty: NDArray[np.float32]) -> list[float | None]:
    """Return the measure of units whose prediction is impossible; None for the others, and for NaN."""
    if all(part.raw is None for part in parts):
        return [None] * len(uncertainty)
    raw = np.concatenate(
        [np.full(len(p.itemised), np.nan, np.float32) if p.raw is None else p.raw[p.itemised] for p in parts]
    )
    differing = np.isposinf(uncertainty) & ~np.isnan(raw)
    return [score if differs else None for score, differs in zip(raw.tolist(), differing.tolist(), strict=True)]


class Reference(str):
    """Reference to a large content in the store."""


def _kept(content: bytes | None, store: Store) -> Any:
    return content if content is None or len(content) <= INLINE_BYTES else Reference(store.put(content))


def _columns(contents: Sequence[Any]) -> tuple[list[bytes | None], list[str | None]]:
    """Split contents and references into two columns."""
    inline = [None if isinstance(content, Reference) else content for content in contents]
    return inline, [str(content) if isinstance(content, Reference) else None for content in contents]


_Portions = list[tuple[tuple[Any, ...], list[tuple[Any, ...]]]]
"""Values of the fixed columns, and of the varying columns per item."""


def _insert(raw: Any, portions: _Portions) -> None:
    """Insert items into SQLite; fixed columns are bound once per statement, since binding is much of its cost."""
    for fixed, rows in portions:
        start = 0
        for size in _BLOCKS:
            while len(rows) - start >= size:
                raw.execute(_statement(size), (*fixed, *chain.from_iterable(rows[start : start + size])))
                start += size


@lru_cache(maxsize=len(_BLOCKS))
def _statement(rows: int) -> str:
    """Return the statement that inserts so many items into SQLite."""
    width = len(_VARYING)
    fixed = [f"?{number}" for number in range(1, len(_FIXED) + 1)]
    first = len(_FIXED) + 1
    values = [
        f"({', '.join(fixed + [f'?{first + row * width + column}' for column in range(width)])})" for row in range(rows)
    ]
    return f"INSERT INTO item ({', '.join(_FIXED + _VARYING)}) VALUES {', '.join(values)}"  # noqa: S608 - our own


def _copy(raw: Any, portions: _Portions) -> None:
    """Copy items into PostgreSQL: one round trip, several times as fast as inserts."""
    with raw.cursor() as cursor, cursor.copy(f"COPY item ({', '.join(_FIXED + _VARYING)}) FROM STDIN") as copy:
        for fixed, rows in portions:
            for row in rows:
                copy.write_row((*fixed, *row))

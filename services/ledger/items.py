"""Rows of a flush: a segment of all units of a head, model, policy and purpose; an item of each deferred or audited."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert
from sqlalchemy.engine import Dialect

from services.ledger.audits import Draws
from services.ledger.decided import Decided, Key
from services.ledger.segments import Runs, join, pack
from services.ledger.store import INLINE_BYTES, Store
from services.ledger.tables import item, segment
from services.ledger.writer import Place
from services.policy import Decision

_COLUMNS = (
    "epoch",
    "sequence",
    "writer",
    "flush",
    "head",
    "model",
    "policy",
    "time",
    "uncertainty",
    "decision",
    "propensity",
    "evidence",
    "evidence_ref",
    "payload",
    "payload_ref",
    "payload_type",
    "state",
    "priority",
)


class Parts:
    """Numbers the segments of one flush; for the writer's thread."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._next = 0

    def take(self, place: Place, count: int) -> int:
        """The first of so many new numbers."""
        if place is not self._place:
            self._place, self._next = place, 0
        self._next += count
        return self._next - count


def write_segments(connection: Connection, place: Place, runs: Mapping[Key, Runs], parts: Parts) -> None:
    """A row for each key."""
    part = parts.take(place, len(runs))
    rows = [
        key._asdict()
        | place.columns
        | {
            "part": number,
            "count": len(found),
            "deferred": int(np.count_nonzero(found.decisions == Decision.DEFER)),
            "first_time": float(found.time[0]),
            "last_time": float(found.time[-1]),
            "body": pack(found),
        }
        for number, (key, found) in enumerate(runs.items(), part)
        if len(found)
    ]
    if rows:
        connection.execute(insert(segment), rows)


def write_tallies(connection: Connection, place: Place, tallies: Mapping[Key, Mapping[str, Any]], parts: Parts) -> None:
    """A row for the explored units of each key: counts, and a histogram instead of units."""
    part = parts.take(place, len(tallies))
    rows = [
        key._asdict() | place.columns | {"part": number} | dict(found)
        for number, (key, found) in enumerate(tallies.items(), part)
    ]
    if rows:
        connection.execute(insert(segment), rows)


def by_key(portions: Iterable[Decided]) -> dict[Key, Runs]:
    """All units, joined to one row a key."""
    found: dict[Key, list[Runs]] = {}
    for decided in portions:
        found.setdefault(decided.key, []).append(decided.runs)
    return {key: join(parts) for key, parts in found.items()}


def keep_large(portions: Iterable[Decided], store: Store) -> None:
    """Puts what is too large for a row into the store, before there are rows: references take its place.

    Raises:
        OSError: the store cannot keep it.
    """
    for decided in portions:
        for name in ("evidence", "payload"):
            contents: Sequence[bytes] = getattr(decided, name)
            if any(len(content) > INLINE_BYTES for content in contents):
                setattr(decided, name, [_kept(content, store) for content in contents])


def write_items(connection: Connection, place: Place, portions: Iterable[Decided], draws: Draws) -> None:
    """A row for each itemised unit."""
    rows = [row for decided in portions if len(decided.itemised) for row in _rows(decided, place, draws)]
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        _copy(connection, rows)
    else:
        connection.exec_driver_sql(_statement(connection.dialect), rows)


def _rows(decided: Decided, place: Place, draws: Draws) -> Iterable[tuple[Any, ...]]:
    units = decided.itemised
    scores = decided.uncertainty[units].tolist()
    decisions = decided.decisions[units].tolist()
    rates = np.broadcast_to(decided.propensity, len(decided.uncertainty))[units].tolist()
    sequences = (units + decided.first).tolist()
    priorities = draws.uniforms(decided.first, len(decided.uncertainty), b"priority")[units].tolist()
    payloads = decided.payload or (None,) * len(units)
    kind = decided.payload_type if decided.payload else None
    key, time = decided.key, decided.time
    for sequence, score, decision, rate, evidence, payload, priority in zip(
        sequences, scores, decisions, rates, decided.evidence, payloads, priorities, strict=True
    ):
        yield (
            draws.epoch,
            sequence,
            place.writer,
            place.flush,
            key.head,
            key.model,
            key.policy,
            time,
            None if math.isnan(score) else score,
            decision,
            1.0 if decision == Decision.DEFER else rate,
            *_columns(evidence),
            *_columns(payload),
            kind,
            "requested",
            priority,
        )


class Reference(str):
    """Where a large content is, instead of it."""


def _kept(content: bytes, store: Store) -> Any:
    return Reference(store.put(content)) if len(content) > INLINE_BYTES else content


def _columns(content: Any) -> tuple[bytes | None, str | None]:
    """Content and reference, as two columns."""
    return (None, str(content)) if isinstance(content, Reference) else (content, None)


@lru_cache(maxsize=4)
def _statement(dialect: Dialect) -> str:
    """The insert of items, compiled once: it runs for every deferred answer."""
    return str(insert(item).compile(dialect=dialect, column_keys=list(_COLUMNS)))


def _copy(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    """COPY is several times as fast as inserts, a round trip for all."""
    raw: Any = connection.connection.driver_connection
    with raw.cursor() as cursor, cursor.copy(f"COPY item ({', '.join(_COLUMNS)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)

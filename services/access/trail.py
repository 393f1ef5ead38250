"""Who did what: changes of policies, labels, requests and erasures, read from the events that the ledger has anyway.

Nothing here is a copy, and nothing of what was labelled or asked is told. Rows of one flush that one actor wrote
alike are one entry: a batch of a thousand labels is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sqlalchemy import Column, ColumnElement, Connection, Table, func, select

from services.labels.identity import unit_text
from services.ledger.tables import erasure, label, policy, request_event, writer

Kind = Literal["policy", "label", "request", "erasure"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SCANNED = 50_000
"""Newest rows of a table that are looked at; older ones are found with ``before``."""


@dataclass(frozen=True, slots=True)
class Act:
    """One entry."""

    time: float
    """Seconds since 1970."""
    kind: Kind
    actor: str
    """Name of the token; without tokens what the caller said, or who it is of the service itself."""
    what: str
    """Of a policy its version, of a label its source, of a request its new state."""
    count: int
    """Labels, requests or units."""
    head: str = ""
    unit: str = ""
    """Where it is one."""
    reason: str = ""

    def json(self) -> dict[str, Any]:
        """What is said of it."""
        return {name: value for name, value in asdict(self).items() if value != ""}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries."""

    kinds: tuple[Kind, ...] = KINDS
    actor: str = ""
    """Empty: everybody but the service itself."""
    since: float = 0.0
    """Seconds since 1970."""
    before: float | None = None
    """None: up to now."""
    most: int = 100


OWN_ACTORS = ("service", "settings")
"""The service itself: leases that end, requests that expire, policies of settings."""


def trail(connection: Connection, task: str, wanted: Wanted) -> list[Act]:
    """The last acts, the newest first."""
    readers = {"policy": _policies, "label": _labels, "request": _requests, "erasure": _erasures}
    found = [act for kind in wanted.kinds for act in readers[kind](connection, task, wanted)]
    return sorted(found, key=lambda act: act.time, reverse=True)[: wanted.most]


def _policies(connection: Connection, task: str, wanted: Wanted) -> Iterator[Act]:
    query = (
        select(policy.c.time, policy.c.author, policy.c.version, policy.c.head, policy.c.reason)
        .where(policy.c.task == task, *_within(policy.c.time, policy.c.author, wanted))
        .order_by(policy.c.time.desc())
        .limit(wanted.most)
    )
    for row in connection.execute(query):
        yield Act(row.time, "policy", row.author, row.version, 1, head=row.head, reason=row.reason)


def _labels(connection: Connection, task: str, wanted: Wanted) -> Iterator[Act]:
    rows = _newest(label, label.c.received, task, wanted, label.c.source, label.c.head)
    for row in connection.execute(_grouped(rows, ("source", "head"), wanted)):
        yield Act(row.time, "label", row.actor, row.source, row.number, head=row.head, unit=_only(row))


def _requests(connection: Connection, task: str, wanted: Wanted) -> Iterator[Act]:
    rows = _newest(request_event, request_event.c.time, task, wanted, request_event.c.state, request_event.c.reason)
    for row in connection.execute(_grouped(rows, ("state", "reason"), wanted)):
        yield Act(row.time, "request", row.actor, row.state, row.number, unit=_only(row), reason=row.reason)


def _erasures(connection: Connection, task: str, wanted: Wanted) -> Iterator[Act]:
    query = (
        select(erasure.c.time, erasure.c.actor, erasure.c.units, erasure.c.reason)
        .where(_by(erasure, task), *_within(erasure.c.time, erasure.c.actor, wanted))
        .order_by(erasure.c.id.desc())
        .limit(wanted.most)
    )
    for row in connection.execute(query):
        yield Act(row.time, "erasure", row.actor, "erased", row.units, reason=row.reason)


def _newest(table: Table, time: Column[Any], task: str, wanted: Wanted, *columns: Any) -> Any:
    """The newest rows that fit, at most so many."""
    chosen = [table.c.writer, table.c.flush, table.c.actor, table.c.epoch, table.c.sequence, time.label("time")]
    query = select(*chosen, *columns).where(_by(table, task), *_within(time, table.c.actor, wanted))
    return query.order_by(table.c.id.desc()).limit(_SCANNED).subquery()


def _grouped(rows: Any, columns: tuple[str, ...], wanted: Wanted) -> Any:
    same = [rows.c.writer, rows.c.flush, rows.c.actor, *(rows.c[name] for name in columns)]
    found = [func.max(rows.c.time).label("time"), func.count().label("number")]
    first = [func.min(rows.c.epoch).label("epoch"), func.min(rows.c.sequence).label("sequence")]
    return select(*same, *found, *first).group_by(*same).order_by(func.max(rows.c.time).desc()).limit(wanted.most)


def _only(row: Any) -> str:
    return unit_text((row.epoch, row.sequence)) if row.number == 1 else ""


def _by(table: Table, task: str) -> ColumnElement[bool]:
    """Rows that a service of the task wrote: several tasks may share a database."""
    return table.c.writer.in_(select(writer.c.epoch).where(writer.c.task == task))


def _within(time: Column[Any], actor: Column[Any], wanted: Wanted) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [time >= wanted.since]
    if wanted.before is not None:
        found.append(time < wanted.before)
    found.append(actor == wanted.actor if wanted.actor else actor.not_in(OWN_ACTORS))
    return found

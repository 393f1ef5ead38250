"""Audit trail: changes of policies, labels, requests and erasures by actor, read from the events of the ledger.

Entries reveal neither inputs nor labels. Equal rows of one flush and one actor, such as a batch of a thousand labels,
are one entry.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sqlalchemy import Column, ColumnElement, Connection, Table, func, select

from services.ledger.tables import erasure, label, policy, request_event, writer
from services.ledger.unit_ids import unit_text

Kind = Literal["policy", "label", "request", "erasure"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SCANNED = 50_000
"""Newest rows of a table that are read; older ones need ``before``."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Entry of the audit trail."""

    time: float
    """Seconds since 1970."""
    kind: Kind
    actor: str
    """Name of the token; without tokens the name that the caller gave; or a part of the service."""
    what: str
    """Version of a policy, source of a label, or new state of a request."""
    count: int
    """Number of labels, requests or units."""
    head: str = ""
    unit: str = ""
    """Unit, where there is exactly one."""
    reason: str = ""

    def json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {name: value for name, value in asdict(self).items() if value != ""}


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Selection of entries."""

    kinds: tuple[Kind, ...] = KINDS
    actor: str = ""
    """Empty: all but the service itself."""
    since: float = 0.0
    """Seconds since 1970."""
    before: float | None = None
    """None: up to now."""
    most: int = 100


OWN_ACTORS = ("service", "settings")
"""Actors of the service itself: ended leases, expired requests, policies from settings."""


def trail(connection: Connection, task: str, selection: AuditQuery) -> list[AuditEntry]:
    """Return the last entries, the newest first."""
    readers = {"policy": _policies, "label": _labels, "request": _requests, "erasure": _erasures}
    entries = [entry for kind in selection.kinds for entry in readers[kind](connection, task, selection)]
    return sorted(entries, key=lambda entry: entry.time, reverse=True)[: selection.most]


def _policies(connection: Connection, task: str, selection: AuditQuery) -> Iterator[AuditEntry]:
    query = (
        select(policy.c.time, policy.c.author, policy.c.version, policy.c.head, policy.c.reason)
        .where(policy.c.task == task, *_within(policy.c.time, policy.c.author, selection))
        .order_by(policy.c.time.desc())
        .limit(selection.most)
    )
    for row in connection.execute(query):
        yield AuditEntry(row.time, "policy", row.author, row.version, 1, head=row.head, reason=row.reason)


def _labels(connection: Connection, task: str, selection: AuditQuery) -> Iterator[AuditEntry]:
    rows = _newest(label, label.c.received, task, selection, label.c.source, label.c.head)
    for row in connection.execute(_grouped(rows, ("source", "head"), selection)):
        yield AuditEntry(row.time, "label", row.actor, row.source, row.number, head=row.head, unit=_only(row))


def _requests(connection: Connection, task: str, selection: AuditQuery) -> Iterator[AuditEntry]:
    rows = _newest(request_event, request_event.c.time, task, selection, request_event.c.state, request_event.c.reason)
    for row in connection.execute(_grouped(rows, ("state", "reason"), selection)):
        yield AuditEntry(row.time, "request", row.actor, row.state, row.number, unit=_only(row), reason=row.reason)


def _erasures(connection: Connection, task: str, selection: AuditQuery) -> Iterator[AuditEntry]:
    query = (
        select(erasure.c.time, erasure.c.actor, erasure.c.units, erasure.c.reason)
        .where(_by(erasure, task), *_within(erasure.c.time, erasure.c.actor, selection))
        .order_by(erasure.c.id.desc())
        .limit(selection.most)
    )
    for row in connection.execute(query):
        yield AuditEntry(row.time, "erasure", row.actor, "erased", row.units, reason=row.reason)


def _newest(table: Table, time: Column[Any], task: str, selection: AuditQuery, *columns: Any) -> Any:
    """Return the newest matching rows, at most ``_SCANNED``."""
    chosen = [table.c.writer, table.c.flush, table.c.actor, table.c.epoch, table.c.sequence, time.label("time")]
    query = select(*chosen, *columns).where(_by(table, task), *_within(time, table.c.actor, selection))
    return query.order_by(table.c.id.desc()).limit(_SCANNED).subquery()


def _grouped(rows: Any, columns: tuple[str, ...], selection: AuditQuery) -> Any:
    same = [rows.c.writer, rows.c.flush, rows.c.actor, *(rows.c[name] for name in columns)]
    figures = [func.max(rows.c.time).label("time"), func.count().label("number")]
    first = [func.min(rows.c.epoch).label("epoch"), func.min(rows.c.sequence).label("sequence")]
    return select(*same, *figures, *first).group_by(*same).order_by(func.max(rows.c.time).desc()).limit(selection.most)


def _only(row: Any) -> str:
    return unit_text((row.epoch, row.sequence)) if row.number == 1 else ""


def _by(table: Table, task: str) -> ColumnElement[bool]:
    """Return the condition for rows that a service of the task wrote: several tasks may share a database."""
    return table.c.writer.in_(select(writer.c.epoch).where(writer.c.task == task))


def _within(time: Column[Any], actor: Column[Any], selection: AuditQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [time >= selection.since]
    if selection.before is not None:
        conditions.append(time < selection.before)
    conditions.append(actor == selection.actor if selection.actor else actor.not_in(OWN_ACTORS))
    return conditions

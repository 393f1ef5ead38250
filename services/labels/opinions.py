"""Opinions: labels of units that have one already, from which the error of reviewers is estimated.

Second opinions are drawn when a unit is labelled. Known units, whose label is of a census or adjudicated, are drawn
when somebody claims. An adjudication is requested where two labels differ by more than the operator allows. Second
opinions and known units are mixed into the blind queue and look like every other request.
"""

import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Table,
    and_,
    exists,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from services.labels.label_options import Options
from services.labels.label_precedence import rank_of
from services.labels.queue_entries import ClaimedRequest, OpinionKind, had_by, seen_with_draft
from services.labels.request_expiry import SHOWN, due, for_update, shows_open
from services.labels.request_ids import new_request_id, unit_draw
from services.labels.requests import EXPIRE, LABEL
from services.ledger.contract import Place
from services.ledger.database import insert_missing
from services.ledger.tables import item, opinion
from services.ledger.tables import label as labels
from services.ledger.unit_ids import Unit

_KNOWN_IDS = 10_000
"""Number of labels among which known units are searched for one claim."""
_MOST_COUNTED = 1000
"""Number up to which open opinions are counted, to mix them into the queue."""
_RESERVED = 0.25
"""Share of the time in which requests expire for which a request is kept for who may give the opinion that shows it."""
_PAYLOAD = or_(item.c.payload.is_not(None), item.c.payload_ref.is_not(None))


@dataclass(frozen=True)
class Opinions:
    """Opinions of a ledger; its methods are parts of changes that a ``LedgerWriter`` runs."""

    key: bytes
    """Secret of the draws."""
    options: Options

    def draw_second(self, connection: Connection, place: Place, label: int, author: str, now: float) -> None:
        """Request a second opinion on a labelled unit, for the set share of units. Idempotent.

        Args:
            label: id of the label, which its author gave without sight of the prediction.
        """
        row = connection.execute(select(labels).where(labels.c.id == label)).one()
        unit = (row.epoch, row.sequence)
        if unit_draw(self.key, "second opinion", unit) < self.options.second_opinions:
            _request(connection, place, unit, row.head, "second", now, label=label, author=author)

    def relabelled(self, connection: Connection, place: Place, unit: Unit, head: str, label: int) -> None:
        """Compare the second opinion on a unit with a blind correction of its label instead."""
        values = {"label": label, "difference": None} | place.columns
        connection.execute(update(opinion).where(_unit_kind(unit, head, "second")).values(values))

    def waiting(self, connection: Connection, heads: Sequence[str], actor: str, now: float) -> int:
        """Return the number of second opinions that this reviewer could give, up to a thousand."""
        rows = select(opinion.c.request).where(*self._open("second", heads, actor, now)).limit(_MOST_COUNTED).subquery()
        return connection.scalar(select(func.count()).select_from(rows)) or 0

    def adjudications(self, connection: Connection, heads: Sequence[str], actor: str, now: float) -> int:
        """Return the number of adjudications that this reviewer could make."""
        query = select(func.count()).select_from(opinion).where(*self._open("adjudication", heads, actor, now))
        return connection.scalar(query) or 0

    def candidates(
        self,
        connection: Connection,
        place: Place,
        kind: OpinionKind,
        heads: Sequence[str],
        actor: str,
        now: float,
        count: int,
    ) -> list[tuple[str, str]]:
        """Return ids and heads of open opinions for this reviewer, at random, locked where other processes claim.

        Those that were given back are left out while the request that they show is open, see ``returned``.
        """
        query = select(opinion).where(*self._open(kind, heads, actor, now)).order_by(opinion.c.request).limit(count)
        rows = connection.execute(for_update(connection, query, opinion)).all()
        return [
            (row.request if row.shown_epoch is None else _renewed(connection, place, row), row.head) for row in rows
        ]

    def known(
        self, connection: Connection, place: Place, heads: Mapping[str, int], actor: str, now: float, count: int
    ) -> list[tuple[str, str]]:
        """Request the labels of up to ``count`` random known units that this reviewer has not seen yet.

        Args:
            heads: most units of each head.

        Returns:
            Ids of the opinions and their heads.
        """
        if not count:
            return []
        unseen = ~_seen_by(actor)
        ended = item.c.state.in_(("unasked", LABEL.target))  # else it may come again as a request of its own
        names, left = list(heads), Counter(heads)
        choices = [
            *self._adjudicated(connection, names, actor, unseen),
            *self._census(connection, names, unseen, ended),
        ]
        requests: list[tuple[str, str]] = []
        used = set[Unit]()
        while choices and len(requests) < count:
            unit, head, label = choices.pop(secrets.randbelow(len(choices)))
            if unit in used:
                continue
            used.add(unit)
            if left[head] and (request := _request(connection, place, unit, head, "known", now, label=label)):
                left[head] -= 1
                requests.append((request, head))
        return requests

    def returned(self, connection: Connection, units: Sequence[Unit], actor: str, now: float) -> dict[Unit, str | None]:
        """Return the opinions that were given back, or had too long, by the open request that each shows.

        They come again with that request, whoever claims it, or reviewers could see that their times change.

        Args:
            units: open requests.

        Returns:
            Their ids; None: this reviewer may not get the opinion.
        """
        if not units:
            return {}
        shown = (opinion.c.shown_epoch, opinion.c.shown_sequence)
        bound = (
            select(opinion.c.request, opinion.c.epoch, opinion.c.sequence, *shown)
            .add_columns(self._may_get(actor, now).label("may_get"))
            .where(opinion.c.kind.in_(("second", "known")), opinion.c.state == "requested")
            .where(opinion.c.shown_epoch.is_not(None), tuple_(*shown).in_(units))
        )
        rows = connection.execute(bound).all()
        of_units = {(row.epoch, row.sequence): row.request for row in rows if row.may_get}  # one for each unit
        same = (opinion.c.request.in_(of_units.values()), opinion.c.state == "requested")
        locked = set(connection.scalars(for_update(connection, select(opinion.c.request).where(*same), opinion)))
        by_shown: dict[Unit, str | None] = {(row.shown_epoch, row.shown_sequence): None for row in rows}
        by_shown |= {(row.shown_epoch, row.shown_sequence): row.request for row in rows if row.request in locked}
        return by_shown

    def reserved(self, connection: Connection, heads: Sequence[str], actor: str, now: float) -> set[Unit]:
        """Return the open requests whose times opinions show that were given back and that this reviewer may not get.

        Others get the opinion with the request; once that is labelled, nobody can get it who has had it. So this
        reviewer gets other requests first, but not for longer than a part of the time in which requests expire.
        """
        recent = opinion.c.time >= now - _RESERVED * self._request_seconds
        query = (
            select(opinion.c.shown_epoch, opinion.c.shown_sequence)
            .where(opinion.c.kind.in_(("second", "known")), opinion.c.state == "requested", opinion.c.head.in_(heads))
            .where(opinion.c.shown_epoch.is_not(None), recent, shows_open(), ~self._may_get(actor, now))
            .limit(_MOST_COUNTED)
        )
        return {(row.shown_epoch, row.shown_sequence) for row in connection.execute(query)}

    def lend(self, connection: Connection, shown: Mapping[str, Unit | None], holder: str, until: float) -> None:
        """Give leases on opinions until a time, seconds since 1970.

        Args:
            shown: ids of the opinions, and the open request whose times each shows; None: its own.
        """
        for request, unit in shown.items():
            epoch, sequence = unit or (None, None)
            change = update(opinion).where(opinion.c.request == request)
            lease = {"lease": secrets.token_hex(16), "lease_until": until, "holder": holder}
            shows = {"revealed": None, "shown_epoch": epoch, "shown_sequence": sequence}
            handed_to = opinion.c.handed_to + f"\n{holder}\n"
            connection.execute(change.values(state="claimed", handed_to=handed_to, **lease, **shows))

    def claimed_requests(self, connection: Connection, requests: Sequence[str]) -> list[tuple[float, ClaimedRequest]]:
        """Return claimed opinions with the priority that they show; their content is that of a request of the unit."""
        same = and_(item.c.epoch == opinion.c.epoch, item.c.sequence == opinion.c.sequence)
        columns = (opinion, item.c.payload, item.c.payload_ref, item.c.payload_type)
        query = select(*columns).join_from(opinion, item, same).where(opinion.c.request.in_(requests))
        expires = due(self._request_seconds).label("expires")
        times = select(opinion.c.request, item.c.priority, expires).join_from(opinion, item, SHOWN)
        times = times.where(opinion.c.request.in_(requests))
        shown = {row.request: (row.priority, row.expires) for row in connection.execute(times)}
        claimed = []
        for row in connection.execute(query):
            priority, expiry = shown.get(row.request, (math.inf, row.time + self._request_seconds))
            request = ClaimedRequest(
                request=row.request,
                lease=row.lease,
                lease_until=row.lease_until,
                due=expiry,
                must_complete=False,
                head=row.head,
                payload=row.payload,
                payload_ref=row.payload_ref,
                payload_type=row.payload_type,
                queue="adjudication" if row.kind == "adjudication" else "blind",
            )
            claimed.append((priority, request))
        return claimed

    @property
    def _request_seconds(self) -> float:
        return self.options.request_days * 86_400

    def _open(self, kind: OpinionKind, heads: Sequence[str], actor: str, now: float) -> list[ColumnElement[bool]]:
        """Return the conditions for opinions of a kind that this reviewer may get, without those that come again."""
        if kind == "adjudication":
            unseen = [self._waiting(actor, now), ~seen_with_draft(opinion, actor)]
        else:
            comes_again = opinion.c.shown_epoch.is_not(None) & (shows_open() | _handed_to(opinion, actor))
            unseen = [self._may_get(actor, now), ~comes_again]
        return [opinion.c.head.in_(heads), opinion.c.kind == kind, *unseen]

    def _may_get(self, actor: str, now: float) -> ColumnElement[bool]:
        """Return the condition for second opinions and known units that wait and that this reviewer may give."""
        return and_(self._waiting(actor, now), _new_to(actor))

    def _waiting(self, actor: str, now: float) -> ColumnElement[bool]:
        """Return the condition for opinions that wait, on labels of others."""
        return and_(
            opinion.c.state == "requested",
            opinion.c.erased.is_(None),
            opinion.c.author != actor,
            opinion.c.other_author != actor,
            (opinion.c.time >= now - self._request_seconds) | shows_open(),
        )

    def _adjudicated(
        self, connection: Connection, heads: Sequence[str], actor: str, unseen: ColumnElement[bool]
    ) -> list[tuple[Unit, str, int]]:
        """Return units with an adjudicated label, which none of both authors and not this reviewer gave."""
        same = and_(item.c.epoch == opinion.c.epoch, item.c.sequence == opinion.c.sequence)
        query = (
            select(opinion.c.epoch, opinion.c.sequence, opinion.c.head, opinion.c.label)
            .join_from(opinion, item, same)
            .where(opinion.c.kind == "adjudication", opinion.c.state == LABEL.target, opinion.c.head.in_(heads))
            .where(opinion.c.actor != actor, opinion.c.author != actor, opinion.c.other_author != actor)
            .where(opinion.c.erased.is_(None), opinion.c.label.is_not(None), _PAYLOAD, unseen)
            .limit(_MOST_COUNTED)
        )
        return [((row.epoch, row.sequence), row.head, row.label) for row in connection.execute(query)]

    def _census(
        self, connection: Connection, heads: Sequence[str], unseen: ColumnElement[bool], ended: ColumnElement[bool]
    ) -> list[tuple[Unit, str, int]]:
        """Return units with a census label among a piece of the labels that starts at random."""
        census = [head for head in heads if head in self.options.census]
        last = connection.scalar(select(func.max(labels.c.id))) if census else None
        if last is None:
            return []
        first = secrets.randbelow(max(last - _KNOWN_IDS, 0) + 1)
        same = and_(item.c.epoch == labels.c.epoch, item.c.sequence == labels.c.sequence)
        other = labels.alias()
        of_unit = and_(other.c.epoch == labels.c.epoch, other.c.sequence == labels.c.sequence)
        of_census = and_(of_unit, other.c.head == labels.c.head, other.c.source == "census")
        superseded = exists(select(other.c.id).where(of_census, rank_of(other) > rank_of(labels)))
        query = (
            select(labels.c.epoch, labels.c.sequence, labels.c.head, labels.c.id)
            .join_from(labels, item, same)
            .where(labels.c.id.between(first, first + _KNOWN_IDS), labels.c.source == "census")
            .where(labels.c.head.in_(census), labels.c.erased.is_(None), _PAYLOAD, unseen, ended, ~superseded)
            .limit(_MOST_COUNTED)
        )
        return [((row.epoch, row.sequence), row.head, row.id) for row in connection.execute(query)]


def request_adjudication(connection: Connection, place: Place, compared: Any, second_author: str, now: float) -> None:
    """Request that a third reviewer decides between a label and the second opinion on it. Idempotent.

    Args:
        compared: row of the second opinion.
    """
    unit = (compared.epoch, compared.sequence)
    authors = {"author": compared.author, "other_author": second_author}
    _request(connection, place, unit, compared.head, "adjudication", now, label=compared.label, **authors)


def _request(
    connection: Connection,
    place: Place,
    unit: Unit,
    head: str,
    kind: OpinionKind,
    now: float,
    *,
    label: int,
    author: str = "",
    other_author: str = "",
) -> str | None:
    """Add an opinion that waits; return its request id, or None where the unit has one of this kind already."""
    number = 0
    if kind == "known":
        of_unit = and_(opinion.c.epoch == unit[0], opinion.c.sequence == unit[1], opinion.c.kind == kind)
        number = 1 + (connection.scalar(select(func.max(opinion.c.number)).where(of_unit)) or 0)
    elif connection.scalar(select(exists().where(_unit_kind(unit, head, kind)))):
        return None
    request = new_request_id()
    row = {"request": request, "epoch": unit[0], "sequence": unit[1], "head": head, "kind": kind, "number": number}
    row |= {"time": now, "state": "requested", "label": label, "author": author, "other_author": other_author}
    written = connection.execute(insert_missing(connection, opinion), row | place.columns)
    return request if written.rowcount else None


def _renewed(connection: Connection, place: Place, ended: Row[Any]) -> str:
    """Replace an opinion that was given back and whose shown request has ended by a new one; return its request id.

    Under the old id, those who had it would see that its times are those of another request now.
    """
    request = new_request_id()
    kept = ("epoch", "sequence", "head", "kind", "time", "label", "author", "other_author")
    row = {name: getattr(ended, name) for name in kept} | {"request": request, "number": ended.number + 1}
    connection.execute(insert(opinion).values(row | {"state": "requested"} | place.columns))
    over = {"state": EXPIRE.target, "holder": None, "lease": None, "lease_until": None}
    connection.execute(update(opinion).where(opinion.c.request == ended.request).values(over))
    return request


def _unit_kind(unit: Unit, head: str, kind: OpinionKind) -> ColumnElement[bool]:
    same_unit = and_(opinion.c.epoch == unit[0], opinion.c.sequence == unit[1])
    return and_(same_unit, opinion.c.head == head, opinion.c.kind == kind)


def _handed_to(opinions: FromClause, actor: str) -> ColumnElement[bool]:
    """Return the condition for opinions that a reviewer has had."""
    return func.replace(opinions.c.handed_to, f"\n{actor}\n", "") != opinions.c.handed_to  # LIKE may ignore case


def _seen_by(actor: str) -> ColumnElement[bool]:
    """Return the condition for items whose unit a reviewer has labelled or claimed, or has had an opinion on."""
    own = opinion.alias()
    same_unit = and_(own.c.epoch == item.c.epoch, own.c.sequence == item.c.sequence)
    return or_(exists(select(own.c.request).where(same_unit, _handed_to(own, actor))), _known_to(item, actor))


def _new_to(actor: str) -> ColumnElement[bool]:
    """Return the condition for opinions on units that a reviewer has seen in none but this opinion, if at all."""
    own = opinion.alias()
    same_unit = and_(own.c.epoch == opinion.c.epoch, own.c.sequence == opinion.c.sequence)
    other = and_(same_unit, own.c.request != opinion.c.request, _handed_to(own, actor))
    return ~or_(exists(select(own.c.request).where(other)), _known_to(opinion, actor))


def _known_to(rows: Table, actor: str) -> ColumnElement[bool]:
    """Return the condition for rows of a table whose unit a reviewer has labelled, or claimed as a request."""
    submitted = labels.alias()
    of_unit = and_(submitted.c.epoch == rows.c.epoch, submitted.c.sequence == rows.c.sequence)
    own = exists(select(submitted.c.id).where(of_unit, submitted.c.source == "requested", submitted.c.actor == actor))
    return or_(own, had_by(rows, actor))

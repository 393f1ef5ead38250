"""Opinions: labels of units that have one already, from which the error of reviewers is estimated.

Second opinions are drawn when a unit is labelled. Known units, whose label is of a census or adjudicated, are drawn
when somebody claims. An adjudication is requested where two labels differ by more than the operator allows. Second
opinions and known units are mixed into the blind queue and look like every other request.
"""

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, update

from services.labels.label_options import Options
from services.labels.queue_entries import ClaimedRequest, OpinionKind, seen_with_draft
from services.labels.request_expiry import due, for_update
from services.labels.request_ids import new_request_id, unit_draw
from services.labels.requests import LABEL
from services.labels.stand_ins import SHOWN, hidden_units, next_open, stand_ins
from services.ledger.contract import Place
from services.ledger.database import insert_missing
from services.ledger.tables import item, opinion
from services.ledger.tables import label as labels
from services.ledger.unit_ids import Unit

_KNOWN_IDS = 10_000
"""Number of labels among which known units are searched for one claim."""
_MOST_COUNTED = 1000
"""Number up to which open opinions are counted, to mix them into the queue."""
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
        self, connection: Connection, kind: OpinionKind, heads: Sequence[str], actor: str, now: float, count: int
    ) -> list[str]:
        """Return open opinions for this reviewer in a random order, locked where other processes claim, too."""
        query = select(opinion.c.request).where(*self._open(kind, heads, actor, now)).order_by(opinion.c.request)
        return [row.request for row in connection.execute(for_update(connection, query.limit(count), opinion))]

    def known(
        self, connection: Connection, place: Place, heads: Sequence[str], actor: str, now: float, count: int
    ) -> list[str]:
        """Request the labels of up to ``count`` random known units that this reviewer has not labelled yet."""
        unseen = ~_seen_by(actor)
        ended = item.c.state.in_(("unasked", LABEL.target))  # else it may come again as a request of its own
        choices = [
            *self._adjudicated(connection, heads, actor, unseen),
            *self._census(connection, heads, unseen, ended),
        ]
        requests: list[str | None] = []
        while choices and len(requests) < count:
            unit, head, label = choices.pop(secrets.randbelow(len(choices)))
            requests.append(_request(connection, place, unit, head, "known", now, label=label))
        return [request for request in requests if request is not None]

    def lend(
        self, connection: Connection, requests: Sequence[str], holder: str, until: float, free: dict[Unit, str]
    ) -> None:
        """Give leases on opinions until a time, seconds since 1970.

        Each shows the times of an open request of its head: of a random one of those that this claim could take, so
        that neither the times nor their order tell opinions from requests, else of the next one.

        Args:
            free: heads of the open requests, of which those that are shown are removed.
        """
        query = select(opinion.c.request, opinion.c.head, opinion.c.kind).where(opinion.c.request.in_(requests))
        rows = connection.execute(query).all()
        taken = hidden_units(stand_ins(connection, sorted({row.head for row in rows}), self._request_seconds))
        for row in rows:
            shown = None
            if row.kind != "adjudication":
                choices = [unit for unit, head in free.items() if head == row.head]
                shown = secrets.choice(choices) if choices else next_open(connection, row.head, taken)
            if shown is not None:
                free.pop(shown, None)
                taken.add(shown)
            epoch, sequence = shown or (None, None)
            values = {"state": "claimed", "holder": holder, "lease": secrets.token_hex(16), "lease_until": until}
            values |= {"revealed": None, "shown_epoch": epoch, "shown_sequence": sequence}
            connection.execute(update(opinion).where(opinion.c.request == row.request).values(values))

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
        return [
            opinion.c.state == "requested",
            opinion.c.head.in_(heads),
            opinion.c.kind == kind,
            opinion.c.erased.is_(None),
            opinion.c.author != actor,
            opinion.c.other_author != actor,
            ~seen_with_draft(opinion, actor),
            opinion.c.time >= now - self._request_seconds,
        ]

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
        query = (
            select(labels.c.epoch, labels.c.sequence, labels.c.head, labels.c.id)
            .join_from(labels, item, same)
            .where(labels.c.id.between(first, first + _KNOWN_IDS), labels.c.source == "census")
            .where(labels.c.head.in_(census), labels.c.erased.is_(None), _PAYLOAD, unseen, ended)
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


def _unit_kind(unit: Unit, head: str, kind: OpinionKind) -> ColumnElement[bool]:
    same_unit = and_(opinion.c.epoch == unit[0], opinion.c.sequence == unit[1])
    return and_(same_unit, opinion.c.head == head, opinion.c.kind == kind)


def _seen_by(actor: str) -> ColumnElement[bool]:
    """Return the condition for items that a reviewer has labelled, or seen with a prediction, or has an opinion on."""
    own = opinion.alias()
    same_unit = and_(own.c.epoch == item.c.epoch, own.c.sequence == item.c.sequence)
    labelled = labels.alias()
    of_item = and_(labelled.c.epoch == item.c.epoch, labelled.c.sequence == item.c.sequence)
    return or_(
        exists(select(own.c.request).where(same_unit, or_(own.c.actor == actor, own.c.holder == actor))),
        exists(select(labelled.c.id).where(of_item, labelled.c.source == "requested", labelled.c.actor == actor)),
        seen_with_draft(item, actor),
    )

"""Review queue of label requests: reviewers claim some for a time, and answer, skip or release them.

The queue is blind. A claim hands out the input and the meaning of its label; their order is that of time, random within
a hundredth of a second, and nothing here depends on the score, the prediction, or on whether a unit was deferred or
audited. The only exception is the queue of drafts, whose condition is passed in: it holds no audits, since a request
without a draft would be recognised.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, bindparam, case, false, func, or_, select, update

from services.labels.opinions import Opinions
from services.labels.queue_entries import WITH_DRAFT, ClaimedRequest, Lease, Queue, find_entry, had_by, seen_with_draft
from services.labels.request_expiry import SERVICE, drawn, due, end_leases, for_update
from services.labels.request_ids import RequestIds
from services.labels.requests import CLAIM, EXTEND, LABEL, STATES, Move, State, next_state
from services.labels.stand_ins import hidden_units, stand_ins
from services.labels.statements import note, of_units
from services.ledger.contract import Place
from services.ledger.tables import UNASKED, item
from services.ledger.tables import label as labels
from services.ledger.unit_ids import Unit

_MOST_COUNTED = 1000
"""Number up to which open requests are counted, to mix opinions into them."""


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """Requests that a reviewer claims."""

    count: int
    heads: tuple[str, ...]
    queue: Queue = "blind"
    only: ColumnElement[bool] | None = None
    """Condition for the units of the queue of drafts; None: all units."""
    requests: tuple[str, ...] | None = None
    """Ids of the list of waiting requests, of which any that are open are claimed; None: the next ones."""

    @property
    def may_mix(self) -> bool:
        """Whether opinions may come in the place of requests: these are the next ones of the blind queue."""
        return self.queue == "blind" and self.requests is None


@dataclass(frozen=True, slots=True)
class _OpenRequest:
    head: str
    replaceable: bool
    """True: an opinion may come in its place, since it need not be completed, and this reviewer has not had it yet."""


@dataclass(frozen=True)
class ReviewQueue:
    """Review queue of a ledger; its methods are changes to be run by a ``LedgerWriter``."""

    ids: RequestIds
    list_ids: RequestIds
    """Ids in the list of waiting requests."""
    request_seconds: float
    """Time after which an unanswered request expires."""
    opinions: Opinions

    def claim(
        self, connection: Connection, place: Place, spec: ClaimSpec, *, actor: str, seconds: float, now: float
    ) -> list[ClaimedRequest]:
        """Claim open requests for so many seconds; two callers never get the same one."""
        end_leases(connection, place, now)
        until = now + seconds
        if spec.queue == "adjudication":
            adjudications = self.opinions.candidates(connection, place, spec.queue, spec.heads, actor, now, spec.count)
            chosen = [request for request, _ in adjudications]
            self.opinions.lend(connection, dict.fromkeys(chosen), actor, until)
            return [request for _, request in self.opinions.claimed_requests(connection, chosen)]
        free = self._next(connection, place, spec, actor, now)
        shown: dict[str, Unit | None] = {}
        if spec.queue == "blind":
            replaceable = [unit for unit in free if free[unit].replaceable]
            returned = self.opinions.returned(connection, replaceable, actor, now)
            shown |= {request: unit for unit, request in returned.items() if request is not None}
            self.opinions.lend(connection, shown, actor, until)  # each at once: none comes twice, of whatever kind
            if spec.may_mix:
                shown |= self._mixed_in(connection, place, spec, actor, until, now, _without(free, returned))
        claimed = list(_without(free, shown.values()))
        self._lend(connection, place, claimed, actor, until, now, with_draft=spec.queue == "drafts")
        missing = spec.count - len(free)
        if missing > 0 and spec.may_mix and not self._any_open(connection, spec, actor, now):
            rest = self.opinions.candidates(connection, place, "second", spec.heads, actor, now, missing)
            alone = dict.fromkeys(request for request, _ in rest)
            self.opinions.lend(connection, alone, actor, until)
            shown |= alone
        handed = self._claimed_requests(connection, claimed, spec.queue)
        handed += self.opinions.claimed_requests(connection, list(shown))
        return [request for _, request in sorted(handed, key=lambda pair: pair[0])]

    def extend(self, connection: Connection, request: str, lease: str, *, seconds: float, now: float) -> Lease:
        """Extend a lease to so many seconds from now; no event, since nothing changes for others."""
        entry = find_entry(connection, self.ids, request)
        next_state(entry.state, EXTEND, holds=entry.held_by(lease))
        connection.execute(update(entry.table).where(entry.row).values(lease_until=now + seconds))
        return Lease(request, "claimed", now + seconds)

    def end(
        self,
        connection: Connection,
        place: Place,
        request: str,
        lease: str,
        move: Move,
        *,
        actor: str,
        reason: str,
        now: float,
    ) -> Lease:
        """Release, skip or give up a claimed request.

        Raises:
            NotFound, Conflict, InvalidInput: see ``next_state``; or there is no such request.
        """
        entry = find_entry(connection, self.ids, request)
        holds = entry.held_by(lease)
        state = next_state(entry.state, move, holds=holds, reason=reason, must_complete=entry.must_complete)
        values = {"state": state, "holder": None, "lease": None, "lease_until": None, "revealed": None}
        connection.execute(update(entry.table).where(entry.row).values(values))
        if entry.opinion is None:
            note(connection, place, [entry.unit], state, now, actor, reason)
        return Lease(request, state, None)

    def held(self, connection: Connection, request: str, lease: str) -> ClaimedRequest:
        """Return a request that a lease holds, or has labelled.

        Raises:
            NotFound, Conflict: there is no such request, or the lease is lost.
        """
        entry = find_entry(connection, self.ids, request, lock=False)
        if entry.state != LABEL.target or not entry.held_by(lease):
            next_state(entry.state, EXTEND, holds=entry.held_by(lease))
        if entry.opinion is None:
            return self._claimed_requests(connection, [entry.unit], "blind")[0][1]
        return self.opinions.claimed_requests(connection, [request])[0][1]

    def counts(self, connection: Connection) -> dict[str, dict[State, int]]:
        """Return the number of requests by head and state, without erased ones."""
        query = select(item.c.head, item.c.state, func.count()).where(item.c.erased.is_(None), item.c.state != UNASKED)
        by_head: dict[str, dict[State, int]] = {}
        for head, state, count in connection.execute(query.group_by(item.c.head, item.c.state)):
            by_head.setdefault(head, dict.fromkeys(STATES, 0))[state] = count
        for stand_in in stand_ins(connection, list(by_head), self.request_seconds):
            by_head[stand_in.head]["requested"] -= stand_in.hidden is not None
            by_head[stand_in.head]["claimed"] += 1
        return by_head

    def _mixed_in(
        self,
        connection: Connection,
        place: Place,
        spec: ClaimSpec,
        actor: str,
        until: float,
        now: float,
        free: Mapping[Unit, _OpenRequest],
    ) -> dict[str, Unit]:
        """Lend opinions in the place of some open requests, at random by their share of what waits; return them.

        Args:
            free: open requests that this claim could take.
        """
        options = self.opinions.options
        if not (options.second_opinions or options.known_units):
            return {}
        by_head: dict[str, list[Unit]] = {}
        for unit, request in free.items():
            if request.replaceable:
                by_head.setdefault(request.head, []).append(unit)
        places = {head: len(units) for head, units in by_head.items()}
        count = sum(places.values())
        trials = _successes(count, options.known_units)
        known = _placed(self.opinions.known(connection, place, places, actor, now, trials), by_head)
        self.opinions.lend(connection, known, actor, until)  # before second opinions are chosen: no unit comes as both
        waiting = self.opinions.waiting(connection, spec.heads, actor, now)
        query = select(item.c.sequence).where(*self._conditions(spec, actor, now), item.c.head.in_(spec.heads))
        others = connection.scalar(select(func.count()).select_from(query.limit(_MOST_COUNTED).subquery())) or 0
        trials = _successes(count - len(known), waiting / max(waiting + others, 1))
        second = self.opinions.candidates(connection, place, "second", list(places), actor, now, trials)
        placed = _placed(second, by_head)
        self.opinions.lend(connection, placed, actor, until)
        return known | placed

    def _conditions(self, spec: ClaimSpec, actor: str, now: float) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions for open requests that this reviewer may get."""
        return (
            item.c.state == "requested",
            item.c.erased.is_(None),
            (due(self.request_seconds) >= now) | drawn(),
            *([~seen_with_draft(item, actor)] if spec.queue == "blind" and self.opinions.options.drafts else []),
            *([] if spec.only is None else [spec.only]),
        )

    def _next(
        self, connection: Connection, place: Place, spec: ClaimSpec, actor: str, now: float
    ) -> dict[Unit, _OpenRequest]:
        """Return the next open requests by unit, in the order of the queue; without those labelled before.

        Requests that are hidden for claimed opinions are left out, as if they were claimed.
        """
        later = self.opinions.reserved(connection, spec.heads, actor, now) if spec.may_mix else set()
        hidden = self._hidden(connection, spec)
        seen = set[Unit]()
        chosen: dict[Unit, _OpenRequest] = {}
        while missing := spec.count - len(chosen):
            units = self._open(connection, spec, actor, now, missing, hidden | seen, later)
            free = set(units)
            if connection.dialect.name == "postgresql":  # others claim meanwhile, and hide requests
                free = _locked(connection, units)
                hidden = self._hidden(connection, spec)
            free -= hidden
            free -= self._answered_before(connection, place, sorted(free), now)
            chosen |= {unit: request for unit, request in units.items() if unit in free}
            seen |= set(units)
            if len(units) < missing:
                break
        return chosen

    def _hidden(self, connection: Connection, spec: ClaimSpec) -> set[Unit]:
        return hidden_units(stand_ins(connection, spec.heads, self.request_seconds))

    def _open(
        self,
        connection: Connection,
        spec: ClaimSpec,
        actor: str,
        now: float,
        count: int,
        left_out: set[Unit],
        later: set[Unit],
    ) -> dict[Unit, _OpenRequest]:
        """Return up to ``count`` open requests by unit, in the order of the queue.

        Args:
            left_out: units that are not returned.
            later: units that come after all others.
        """
        conditions = self._conditions(spec, actor, now)
        replaceable = ~drawn() & ~had_by(item, actor)
        columns = (item.c.priority, item.c.epoch, item.c.sequence, item.c.head, replaceable.label("replaceable"))
        if spec.requests is not None:
            named = [unit for request in spec.requests if (unit := self.list_ids.unit(request)) is not None]
            conditions = (*conditions, or_(false(), *of_units(item, named)))
        candidates: list[tuple[float, int, int, str, bool]] = []
        for head in spec.heads:  # each in the order of its index
            query = select(*columns).where(item.c.head == head, *conditions).order_by(item.c.priority)
            rows = connection.execute(query.limit(count + len(left_out) + len(later)))
            candidates += [tuple(row) for row in rows if (row.epoch, row.sequence) not in left_out]
        candidates.sort(key=lambda row: ((row[1], row[2]) in later, row))
        return {
            (epoch, sequence): _OpenRequest(head, bool(may_be))
            for _, epoch, sequence, head, may_be in candidates[:count]
        }

    def _any_open(self, connection: Connection, spec: ClaimSpec, actor: str, now: float) -> bool:
        """Return whether this reviewer may get any request still, also if another process is about to claim it."""
        hidden = self._hidden(connection, spec)
        query = select(item.c.epoch, item.c.sequence).where(*self._conditions(spec, actor, now))
        rows = connection.execute(query.where(item.c.head.in_(spec.heads)).limit(len(hidden) + 1))
        return any((epoch, sequence) not in hidden for epoch, sequence in rows)

    def _answered_before(self, connection: Connection, place: Place, units: list[Unit], now: float) -> set[Unit]:
        """Mark and return units whose label came before their request was claimed."""
        labelled: set[Unit] = set()
        for condition in of_units(labels, units):
            query = select(labels.c.epoch, labels.c.sequence).where(condition, labels.c.source == "requested")
            labelled |= {(epoch, sequence) for epoch, sequence in connection.execute(query)}
        for condition in of_units(item, labelled):
            connection.execute(update(item).where(condition).values(state=LABEL.target))
        note(connection, place, sorted(labelled), LABEL.target, now, SERVICE, "the label was there")
        return labelled

    def _lend(
        self,
        connection: Connection,
        place: Place,
        units: list[Unit],
        holder: str,
        until: float,
        now: float,
        *,
        with_draft: bool,
    ) -> None:
        """Give leases on requests until a time, seconds since 1970.

        Labels of units whose prediction the holder sees now, or has seen as a draft, are marked as assisted.
        """
        if not units:
            return
        values = {"state": CLAIM.target, "holder": holder, "lease": bindparam("token"), "lease_until": until}
        values |= {"revealed": now if with_draft else case((seen_with_draft(item, holder), now))}
        change = update(item).where(item.c.epoch == bindparam("e"), item.c.sequence == bindparam("s"))
        leases = [{"e": epoch, "s": sequence, "token": secrets.token_hex(16)} for epoch, sequence in units]
        connection.execute(change.values(values), leases)
        note(connection, place, units, CLAIM.target, now, holder, WITH_DRAFT if with_draft else "")

    def _claimed_requests(
        self, connection: Connection, units: list[Unit], queue: Queue
    ) -> list[tuple[float, ClaimedRequest]]:
        """Return claimed requests with their priority."""
        columns = (item.c.head, item.c.lease, item.c.lease_until, item.c.due, item.c.time, drawn().label("drawn"))
        payload = (item.c.payload, item.c.payload_ref, item.c.payload_type)
        claimed = []
        for condition in of_units(item, units):
            query = select(item.c.epoch, item.c.sequence, item.c.priority, *columns, *payload).where(condition)
            for row in connection.execute(query):
                request = ClaimedRequest(
                    request=self.ids.text((row.epoch, row.sequence)),
                    lease=row.lease,
                    lease_until=row.lease_until,
                    due=None if row.drawn else row.due if row.due is not None else row.time + self.request_seconds,
                    must_complete=bool(row.drawn),
                    head=row.head,
                    payload=row.payload,
                    payload_ref=row.payload_ref,
                    payload_type=row.payload_type,
                    queue=queue,
                )
                claimed.append((row.priority, request))
        return claimed


def _locked(connection: Connection, units: Collection[Unit]) -> set[Unit]:
    """Lock open requests; return the units of those that no other process works on and that are still open."""
    locked: set[Unit] = set()
    for condition in of_units(item, units):
        query = select(item.c.epoch, item.c.sequence).where(condition, item.c.state == "requested")
        locked |= {(epoch, sequence) for epoch, sequence in connection.execute(for_update(connection, query))}
    return locked


def _placed(opinions: Iterable[tuple[str, str]], by_head: Mapping[str, list[Unit]]) -> dict[str, Unit]:
    """Take a random unit of its head for each opinion, (id, head), as long as there are any; return them by id."""
    return {
        opinion: by_head[head].pop(secrets.randbelow(len(by_head[head]))) for opinion, head in opinions if by_head[head]
    }


def _without(free: Mapping[Unit, _OpenRequest], units: Iterable[Unit | None]) -> dict[Unit, _OpenRequest]:
    left = set(free) - set(units)
    return {unit: request for unit, request in free.items() if unit in left}


def _successes(trials: int, share: float) -> int:
    """Return the number of successes in independent trials."""
    return sum(secrets.randbelow(1 << 53) < share * (1 << 53) for _ in range(trials))

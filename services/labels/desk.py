"""Everything that callers do with labels, requests and resolutions, behind one door; transports are thin over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection

from models.head import Head
from models.label_errors import FittedLabelRule, LabelRule, label_rule
from models.schema import Schema
from services.labels.feed import Claimed, Feed, Lease
from services.labels.fit import Fit
from services.labels.given import GivenLabel, Row, Rules
from services.labels.identity import RequestIds, Unit, unit_text
from services.labels.intake import INLINE_BYTES, Outcome, pieces, take
from services.labels.outbox import Delivery, call_back
from services.labels.requests import State, check_reason
from services.labels.resolution import Resolver
from services.labels.telling import Teller
from services.labels.values import input_json
from services.labels.words import (
    MOST_CLAIMED,
    MOST_WAIT_SECONDS,
    Batch,
    Blobs,
    Book,
    Eraser,
    Options,
    Request,
    Told,
    check_lease,
    check_range,
    check_units,
)
from services.ledger.secret import shared_secret
from services.ledger.writer import Place
from services.runtime.addresses import checked
from services.runtime.errors import InvalidInput, LedgerUnavailable, NotFound, TooLarge, shortened
from services.runtime.offload import Offload

T = TypeVar("T")
PAUSES_SECONDS = (0.05, 0.2, 0.8)
"""Before another try to write a piece of a batch."""
_BYTES_A_LABEL = 200
"""Text that takes about as long to read as a label takes to be checked."""


class Desk:
    """One for each process; use it from its event loop."""

    def __init__(
        self,
        book: Book,
        store: Blobs,
        heads: Sequence[Head],
        schema: Schema | None,
        options: Options,
        *,
        offload: Offload,
        clock: Callable[[], float],
        eraser: Callable[[Mapping[str, LabelRule]], Eraser],
    ) -> None:
        """
        Args:
            eraser: of the same ledger, by the judging of its heads.
            clock: seconds since 1970, that of the writer.

        Raises:
            LookupError: a census is declared of what is no head of this model.
        """
        self.heads = {head.name: head for head in heads}
        if strange := sorted(set(options.census) - set(self.heads)):
            raise LookupError(f"DEMUR_CENSUS names {strange[0]!r}; the heads of this model are {', '.join(self.heads)}")
        self.options = options
        self.rules = Rules({head.name: label_rule(head) for head in heads}, frozenset(options.census))
        self.resolver = Resolver(book.read)
        self.book = book
        fitting = {name: one for name, one in self.rules.judgings.items() if isinstance(one, FittedLabelRule)}
        self._fit = Fit(fitting, store, book.read)
        self.clock = clock
        self._store = store
        self._teller = Teller(self.heads, self.rules.judgings, store)
        self._schema = schema
        self._offload = offload
        self._feed: Feed | None = None
        self._eraser = eraser(self.rules.judgings)

    def check_count(self, labels: int) -> None:
        """Before a batch is taken apart: millions of empty labels fit into one message.

        Raises:
            TooLarge: more than one call may carry.
        """
        if labels > self.options.most_labels:
            raise TooLarge(
                f"{labels} labels in one call, at most {self.options.most_labels} are taken; send several calls, "
                "or a gRPC stream",
                code="too_many_rows",
                field="labels",
                value=str(labels),
                unit="labels",
                allowed=f"[1, {self.options.most_labels}]",
            )

    async def submit(self, labels: Sequence[GivenLabel | InvalidInput], actor: str) -> Batch:
        """Takes labels; what is not rejected is durable when this returns. The same again is a duplicate.

        Raises:
            TooLarge: more than one call may carry.
            LedgerUnavailable: not all of them could be written; send all of them again.
        """
        self.check_count(len(labels))
        now = self.clock()
        nbytes = sum(_BYTES_A_LABEL + _size(one) for one in labels)
        checked_rows, rejected = await self._offload.run(nbytes, self.rules.check, labels, now)
        rows, misfits = await self._fit.check(checked_rows)
        rejected += misfits
        outcomes = bytearray([Outcome.REJECTED] * len(labels))
        for piece in pieces(rows):
            refs = await self._refs(piece)

            def change(connection: Connection, place: Place, piece: Sequence[Row] = piece, refs: Any = refs) -> Any:
                return take(connection, place, piece, actor=actor, received=self.clock(), refs=refs)

            taken = await self._patiently(change)
            rejected += taken.rejected
            for index, outcome in taken.outcomes.items():
                outcomes[index] = outcome
        if rows:
            self.resolver.changed()
        return Batch(bytes(outcomes), tuple(sorted(rejected, key=lambda one: one.at)))

    async def claim(self, *, count: int, head: str, actor: str, seconds: float) -> list[Request]:
        """Takes up to ``count`` requests for so many seconds.

        Raises:
            InvalidInput: a count, a head or a time that is none.
        """
        check_range("count", count, 1, MOST_CLAIMED, "requests")
        check_lease(seconds)
        if head and head not in self.heads:
            raise InvalidInput(
                f"head = {shortened(head)!r}: this model has {', '.join(self.heads)}",
                code="unknown_head",
                field="head",
                value=head,
                allowed=", ".join(self.heads),
            )
        heads = (head,) if head else tuple(self.heads)
        feed = await self.feed()
        claimed = await self.book.run(
            lambda connection, place: feed.claim(
                connection, place, count=count, heads=heads, actor=actor, seconds=seconds, now=self.clock()
            )
        )
        return [await self._readable(one) for one in claimed]

    async def extend(self, request: str, lease: str, *, seconds: float) -> Lease:
        """Keeps a claimed request so many seconds from now."""
        check_lease(seconds)
        feed = await self.feed()
        return await self.book.run(
            lambda connection, place: feed.extend(connection, request, lease, seconds=seconds, now=self.clock())
        )

    async def release(self, request: str, lease: str, *, actor: str) -> Lease:
        """Hands a request back."""
        feed = await self.feed()
        return await self.book.run(
            lambda connection, place: feed.release(connection, place, request, lease, actor=actor, now=self.clock())
        )

    async def skip(self, request: str, lease: str, *, reason: str, unlabelable: bool, actor: str) -> Lease:
        """Leaves a request unanswered."""
        feed = await self.feed()
        ended = await self.book.run(
            lambda connection, place: feed.skip(
                connection,
                place,
                request,
                lease,
                reason=reason,
                unlabelable=unlabelable,
                actor=actor,
                now=self.clock(),
            )
        )
        self.resolver.changed()
        return ended

    async def answer(self, request: str, lease: str, value: object, *, observed: float | None, actor: str) -> Outcome:
        """Labels a claimed request, in one transaction with its state."""
        feed = await self.feed()
        refs: dict[int, str] = {}
        if isinstance(value, bytes) or (isinstance(value, str) and len(value) > INLINE_BYTES // 4):  # may become large
            unit, head = await self.book.read(lambda connection: feed.about(connection, request))
            rows, _ = self.rules.check([GivenLabel(unit, value, head=head)], self.clock())
            rows, misfits = await self._fit.check(rows)
            if misfits:
                misfits[0].error.index = -1
                raise misfits[0].error
            refs = await self._refs(rows)
        outcome = await self.book.run(
            lambda connection, place: feed.submit(
                connection,
                place,
                request,
                lease,
                value,
                rules=self.rules,
                observed=observed,
                refs=refs,
                actor=actor,
                now=self.clock(),
            )
        )
        self.resolver.changed()
        return outcome

    async def counts(self) -> dict[str, dict[State, int]]:
        """Number of requests by head and state."""
        feed = await self.feed()
        return await self.book.read(feed.counts)

    async def resolve(self, units: Sequence[Unit], wait_seconds: float = 0.0) -> list[Told]:
        """What became of units, in their order; waits until none is pending, at most so long."""
        check_range("wait", wait_seconds, 0, MOST_WAIT_SECONDS, "s")
        check_units(units)
        return [await self._teller.told(one) for one in await self.resolver.wait(units, wait_seconds)]

    async def resolve_one(self, unit: Unit, wait_seconds: float) -> Told:
        """As ``resolve``.

        Raises:
            NotFound: nothing is known of the unit.
        """
        (found,) = await self.resolve([unit], wait_seconds)
        if found.status == "unknown":
            raise NotFound(
                f"nothing is known of {unit_text(unit)}: no unit that was deferred or audited here, and no label",
                code="no_unit",
                field="unit",
                value=unit_text(unit),
            )
        return found

    async def watch(self, units: Sequence[Unit]) -> AsyncGenerator[Told, None]:
        """Each unit's resolution once it is final."""
        check_units(units)
        async with aclosing(self.resolver.watch(units)) as resolutions:
            async for resolution in resolutions:
                yield await self._teller.told(resolution)

    async def call_back(self, units: Sequence[Unit], url: str) -> int:
        """Notes that the labels of these units are to be told to an address; how many are new.

        Raises:
            InvalidInput: the operator does not allow it.
        """
        check_units(units)
        address = checked(url, self.options.callbacks)
        key = (await self.feed()).ids.key
        return await self.book.run(
            lambda connection, place: call_back(connection, place, key, units, address, self.clock())
        )

    async def erase(self, units: Sequence[Unit], *, actor: str, reason: str) -> int:
        """Forgets inputs, evidence and labels of units, and keeps the numbers; how many had anything to forget.

        Raises:
            InvalidInput: no reason is given, or one that is too long.
            LedgerUnavailable: not all were erased; the call may be repeated.
        """
        check_units(units)
        check_reason("erase", reason)
        count = await self._eraser.erase(units, actor, reason)
        self.resolver.changed()
        return count

    async def compose(self, due: Sequence[Delivery]) -> list[bytes | None]:
        """Bodies of deliveries: a label, or that there is a request. What was erased is not told."""
        found = {one.unit: one for one in await self.resolver.get([one.unit for one in due])}
        ids = (await self.feed()).ids
        bodies: list[bytes | None] = []
        for one in due:
            resolution = found[one.unit]
            if resolution.status == "erased" or (one.kind == "resolution" and resolution.status != "resolved"):
                bodies.append(None)
            elif one.kind == "request":
                told = {"id": one.id, "kind": "request", "request": ids.text(one.unit), "head": resolution.head}
                bodies.append(msgspec.json.encode(told))
            else:
                resolved = (await self._teller.told(resolution)).json()
                bodies.append(msgspec.json.encode({"id": one.id, "kind": "resolution"} | resolved))
        return bodies

    async def feed(self) -> Feed:
        """The feed; its key is the ledger's, which may be down when the process starts."""
        if self._feed is None:
            key = await self.book.run(lambda connection, place: shared_secret(connection, "requests"))
            self._feed = Feed(RequestIds(key), self.options.request_days * 86_400)
        return self._feed

    async def _patiently(self, change: Callable[[Connection, Place], T]) -> T:
        """Makes a change that may be made twice, again where the ledger stalls for a moment: a batch has many."""
        for pause in PAUSES_SECONDS:
            try:
                return await self.book.run(change)
            except LedgerUnavailable:
                await asyncio.sleep(pause)
        return await self.book.run(change)

    async def _readable(self, claimed: Claimed) -> Request:
        payload = claimed.payload
        if payload is None and claimed.payload_ref is not None:
            payload = await asyncio.to_thread(self._store.get, claimed.payload_ref)
        return Request(
            claimed, self.heads[claimed.head], input_json(payload, claimed.payload_type, self._schema), payload
        )

    async def _refs(self, rows: Sequence[Row]) -> dict[int, str]:
        """Large values go to the store before there are rows that name them."""
        large = [row for row in rows if len(row.value) > INLINE_BYTES]
        return {row.at: await asyncio.to_thread(self._store.put, row.value) for row in large}


def _size(label: GivenLabel | InvalidInput) -> int:
    return len(label.value) if isinstance(label, GivenLabel) and isinstance(label.value, bytes) else 0

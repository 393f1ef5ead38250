"""Label service: everything that callers do with labels, requests and resolutions; transports are thin over it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection

from models.head import Head
from models.label_errors import FittedLabelRule, LabelRule, label_rule
from models.schema import Schema
from services.labels.intake import INLINE_BYTES, Outcome, pieces, take
from services.labels.label_types import (
    MOST_CLAIMED,
    MOST_WAIT_SECONDS,
    Batch,
    ContentStore,
    Eraser,
    Options,
    Request,
    check_lease,
    check_range,
    check_units,
    input_json,
)
from services.labels.label_validation import LabelRules, Row, SubmittedLabel
from services.labels.mask_compatibility import MaskCompatibility
from services.labels.outbox import Delivery, call_back
from services.labels.request_ids import RequestIds, shared_secret
from services.labels.requests import GIVE_UP, RELEASE, SKIP, Move, State, check_reason
from services.labels.resolution import Resolver
from services.labels.resolution_view import ResolutionPresenter, ResolutionView
from services.labels.review_queue import ClaimedRequest, Lease, ReviewQueue
from services.ledger.contract import LedgerWriter, Place
from services.ledger.unit_ids import Unit, unit_text
from services.runtime.addresses import checked
from services.runtime.errors import InvalidInput, LedgerUnavailable, NotFound, TooLarge
from services.runtime.offload import Offload

T = TypeVar("T")
PAUSES_SECONDS = (0.05, 0.2, 0.8)
"""Pauses before a piece of a batch is written again."""
_BYTES_A_LABEL = 200
"""Bytes of text that take about as long to decode as a label takes to validate."""


class LabelService:
    """Labels, requests and resolutions of one process; use it from its event loop."""

    def __init__(
        self,
        ledger: LedgerWriter,
        store: ContentStore,
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
            eraser: makes the eraser of the same ledger from the judging of its heads.
            clock: seconds since 1970, that of the writer.

        Raises:
            LookupError: a census is declared for a head that this model does not have.
        """
        self.heads = {head.name: head for head in heads}
        if unknown := sorted(set(options.census) - set(self.heads)):
            raise LookupError(f"DEMUR_CENSUS = {unknown[0]!r}: must name heads of this model: {', '.join(self.heads)}")
        self.options = options
        self.rules = LabelRules({head.name: label_rule(head) for head in heads}, frozenset(options.census))
        self.resolver = Resolver(ledger.read)
        self.ledger = ledger
        fitting = {name: rule for name, rule in self.rules.judgings.items() if isinstance(rule, FittedLabelRule)}
        self._compatibility = MaskCompatibility(fitting, store, ledger.read)
        self.clock = clock
        self._store = store
        self._presenter = ResolutionPresenter(self.heads, self.rules.judgings, store)
        self._schema = schema
        self._offload = offload
        self._review_queue: ReviewQueue | None = None
        self._eraser = eraser(self.rules.judgings)

    def check_count(self, labels: int) -> None:
        """Check the size of a batch before it is decoded: millions of empty labels fit into one message.

        Raises:
            TooLarge: more than one call may carry.
        """
        if labels > self.options.most_labels:
            raise TooLarge.about(
                "labels",
                labels,
                code="too_many_rows",
                allowed=f"[1, {self.options.most_labels}]",
                unit="labels",
                advice="send several calls, or a gRPC stream",
            )

    async def submit(self, labels: Sequence[SubmittedLabel | InvalidInput], actor: str) -> Batch:
        """Store labels; those that are not rejected are durable on return. Idempotent: repeated labels are duplicates.

        Raises:
            TooLarge: more than one call may carry.
            LedgerUnavailable: not all of them could be written; send all of them again.
        """
        self.check_count(len(labels))
        now = self.clock()
        nbytes = sum(_BYTES_A_LABEL + _size(label) for label in labels)
        checked_rows, rejected = await self._offload.run(nbytes, self.rules.check, labels, now)
        rows, misfits = await self._compatibility.check(checked_rows)
        rejected += misfits
        outcomes = bytearray([Outcome.REJECTED] * len(labels))
        for piece in pieces(rows):
            refs = await self._refs(piece)

            def change(connection: Connection, place: Place, piece: Sequence[Row] = piece, refs: Any = refs) -> Any:
                return take(connection, place, piece, actor=actor, received=self.clock(), refs=refs)

            taken = await self._retried(change)
            rejected += taken.rejected
            for index, outcome in taken.outcomes.items():
                outcomes[index] = outcome
        if rows:
            self.resolver.changed()
        return Batch(bytes(outcomes), tuple(sorted(rejected, key=lambda rejection: rejection.at)))

    async def claim(self, *, count: int, head: str, actor: str, seconds: float) -> list[Request]:
        """Claim up to ``count`` requests for so many seconds.

        Raises:
            InvalidInput: the count, the head or the time is invalid.
        """
        check_range("count", count, 1, MOST_CLAIMED, "requests")
        check_lease(seconds)
        if head and head not in self.heads:
            raise InvalidInput.about("head", head, code="unknown_head", allowed=", ".join(self.heads))
        heads = (head,) if head else tuple(self.heads)
        queue = await self.review_queue()
        claimed = await self.ledger.run(
            lambda connection, place: queue.claim(
                connection, place, count=count, heads=heads, actor=actor, seconds=seconds, now=self.clock()
            )
        )
        return [await self._readable(request) for request in claimed]

    async def extend(self, request: str, lease: str, *, seconds: float) -> Lease:
        """Extend a lease to so many seconds from now."""
        check_lease(seconds)
        queue = await self.review_queue()
        return await self.ledger.run(
            lambda connection, place: queue.extend(connection, request, lease, seconds=seconds, now=self.clock())
        )

    async def release(self, request: str, lease: str, *, actor: str) -> Lease:
        """Return a request to the queue."""
        return await self._end(request, lease, RELEASE, actor)

    async def skip(self, request: str, lease: str, *, reason: str, unlabelable: bool, actor: str) -> Lease:
        """Leave a request unanswered: for now (it counts as non-response), or because no label can exist."""
        lease_ended = await self._end(request, lease, GIVE_UP if unlabelable else SKIP, actor, reason)
        self.resolver.changed()
        return lease_ended

    async def answer(self, request: str, lease: str, value: object, *, observed: float | None, actor: str) -> Outcome:
        """Label a claimed request, in one transaction with its state."""
        queue = await self.review_queue()
        refs: dict[int, str] = {}
        if isinstance(value, bytes) or (isinstance(value, str) and len(value) > INLINE_BYTES // 4):  # may become large
            unit, head = await self.ledger.read(lambda connection: queue.about(connection, request))
            rows, _ = self.rules.check([SubmittedLabel(unit, value, head=head)], self.clock())
            rows, misfits = await self._compatibility.check(rows)
            if misfits:
                misfits[0].error.index = -1
                raise misfits[0].error
            refs = await self._refs(rows)
        outcome = await self.ledger.run(
            lambda connection, place: queue.submit(
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
        """Return the number of requests by head and state."""
        queue = await self.review_queue()
        return await self.ledger.read(queue.counts)

    async def resolve(self, units: Sequence[Unit], wait_seconds: float = 0.0) -> list[ResolutionView]:
        """Return the resolutions of units, in their order; wait at most so long until none is pending."""
        check_range("wait", wait_seconds, 0, MOST_WAIT_SECONDS, "s")
        check_units(units)
        return [await self._presenter.view(resolution) for resolution in await self.resolver.wait(units, wait_seconds)]

    async def resolve_one(self, unit: Unit, wait_seconds: float) -> ResolutionView:
        """Return the resolution of one unit, as ``resolve`` does.

        Raises:
            NotFound: nothing is known of the unit.
        """
        (view,) = await self.resolve([unit], wait_seconds)
        if view.status == "unknown":
            raise NotFound.about(
                "unit",
                unit_text(unit),
                "must be a unit that was deferred or audited here, or that has a label",
                code="no_unit",
            )
        return view

    async def watch(self, units: Sequence[Unit]) -> AsyncGenerator[ResolutionView, None]:
        """Yield each unit's resolution once it is final."""
        check_units(units)
        async with aclosing(self.resolver.watch(units)) as resolutions:
            async for resolution in resolutions:
                yield await self._presenter.view(resolution)

    async def call_back(self, units: Sequence[Unit], url: str) -> int:
        """Register a callback address for the labels of units; return how many registrations are new.

        Raises:
            InvalidInput: the operator does not allow the address.
        """
        check_units(units)
        address = checked(url, self.options.callbacks)
        key = (await self.review_queue()).ids.key
        return await self.ledger.run(
            lambda connection, place: call_back(connection, place, key, units, address, self.clock())
        )

    async def erase(self, units: Sequence[Unit], *, actor: str, reason: str) -> int:
        """Erase inputs, evidence and raw labels of units; keep their scores. Return how many had anything to erase.

        Raises:
            InvalidInput: the reason is missing or too long.
            LedgerUnavailable: not all were erased; the call may be repeated.
        """
        check_units(units)
        check_reason("erase", reason)
        count = await self._eraser.erase(units, actor, reason)
        self.resolver.changed()
        return count

    async def compose(self, due: Sequence[Delivery]) -> list[bytes | None]:
        """Return the bodies of deliveries: a label, or the id of a request; None for what was erased."""
        resolutions = await self.resolver.get([delivery.unit for delivery in due])
        ids = (await self.review_queue()).ids
        bodies: list[bytes | None] = []
        for delivery, resolution in zip(due, resolutions, strict=True):
            if resolution.status == "erased" or (delivery.kind == "resolution" and resolution.status != "resolved"):
                bodies.append(None)
            elif delivery.kind == "request":
                body = {
                    "id": delivery.id,
                    "kind": "request",
                    "request": ids.text(delivery.unit),
                    "head": resolution.head,
                }
                bodies.append(msgspec.json.encode(body))
            else:
                resolved = (await self._presenter.view(resolution)).json()
                bodies.append(msgspec.json.encode({"id": delivery.id, "kind": "resolution"} | resolved))
        return bodies

    async def review_queue(self) -> ReviewQueue:
        """Return the review queue; its key is in the ledger, which may be down when the process starts."""
        if self._review_queue is None:
            key = await self.ledger.run(lambda connection, place: shared_secret(connection, "requests"))
            self._review_queue = ReviewQueue(RequestIds(key), self.options.request_days * 86_400)
        return self._review_queue

    async def _end(self, request: str, lease: str, move: Move, actor: str, reason: str = "") -> Lease:
        queue = await self.review_queue()
        return await self.ledger.run(
            lambda connection, place: queue.end(
                connection, place, request, lease, move, actor=actor, reason=reason, now=self.clock()
            )
        )

    async def _retried(self, change: Callable[[Connection, Place], T]) -> T:
        """Make an idempotent change, and repeat it where the ledger stalls for a moment: a batch has many."""
        for pause in PAUSES_SECONDS:
            try:
                return await self.ledger.run(change)
            except LedgerUnavailable:
                await asyncio.sleep(pause)
        return await self.ledger.run(change)

    async def _readable(self, claimed: ClaimedRequest) -> Request:
        payload = claimed.payload
        if payload is None and claimed.payload_ref is not None:
            payload = await asyncio.to_thread(self._store.get, claimed.payload_ref)
        return Request(
            claimed, self.heads[claimed.head], input_json(payload, claimed.payload_type, self._schema), payload
        )

    async def _refs(self, rows: Sequence[Row]) -> dict[int, str]:
        """Store large values, before there are rows that name them."""
        large = [row for row in rows if len(row.value) > INLINE_BYTES]
        return {row.at: await asyncio.to_thread(self._store.put, row.value) for row in large}


def _size(label: SubmittedLabel | InvalidInput) -> int:
    return len(label.value) if isinstance(label, SubmittedLabel) and isinstance(label.value, bytes) else 0

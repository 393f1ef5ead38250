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
from services.labels.label_options import Options
from services.labels.label_types import (
    MOST_WAIT_SECONDS,
    Batch,
    ContentStore,
    Eraser,
    check_range,
    check_units,
)
from services.labels.label_validation import LabelRules, Row, SubmittedLabel
from services.labels.mask_compatibility import MaskCompatibility
from services.labels.outbox import Delivery, call_back
from services.labels.requests import check_reason
from services.labels.resolution import Resolver
from services.labels.resolution_view import ResolutionPresenter, ResolutionView
from services.labels.review_service import ReviewService
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
        if unknown := sorted(set(options.adjudicate) - set(self.heads)):
            raise LookupError(
                f"DEMUR_ADJUDICATE = {unknown[0]!r}: must name heads of this model: {', '.join(self.heads)}"
            )
        self.options = options
        self.rules = LabelRules({head.name: label_rule(head) for head in heads}, frozenset(options.census))
        self.resolver = Resolver(ledger.read)
        self.ledger = ledger
        fitting = {name: rule for name, rule in self.rules.judgings.items() if isinstance(rule, FittedLabelRule)}
        self._compatibility = MaskCompatibility(fitting, store, ledger.read)
        self.clock = clock
        self._store = store
        self.reviews = ReviewService(
            ledger,
            store,
            self.heads,
            schema,
            options,
            rules=self.rules,
            compatibility=self._compatibility,
            resolver=self.resolver,
            clock=clock,
        )
        self._presenter = ResolutionPresenter(self.heads, self.rules.judgings, store)
        self._offload = offload
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
        key = (await self.reviews.queues()).ids.key
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
        ids = (await self.reviews.queues()).ids
        bodies: list[bytes | None] = []
        for delivery, resolution in zip(due, resolutions, strict=True):
            if resolution.status == "erased" or (delivery.kind == "resolution" and resolution.status != "resolved"):
                bodies.append(None)
            elif delivery.kind == "request":
                body = {
                    "id": delivery.id,
                    "kind": "request",
                    "request": ids.of_list.text(delivery.unit),  # a claimed request has another id
                    "head": resolution.head,
                }
                bodies.append(msgspec.json.encode(body))
            else:
                resolved = (await self._presenter.view(resolution)).json()
                bodies.append(msgspec.json.encode({"id": delivery.id, "kind": "resolution"} | resolved))
        return bodies

    async def _retried(self, change: Callable[[Connection, Place], T]) -> T:
        """Make an idempotent change, and repeat it where the ledger stalls for a moment: a batch has many."""
        for pause in PAUSES_SECONDS:
            try:
                return await self.ledger.run(change)
            except LedgerUnavailable:
                await asyncio.sleep(pause)
        return await self.ledger.run(change)

    async def _refs(self, rows: Sequence[Row]) -> dict[int, str]:
        """Store large values, before there are rows that name them."""
        large = [row for row in rows if len(row.value) > INLINE_BYTES]
        return {row.at: await asyncio.to_thread(self._store.put, row.value) for row in large}


def _size(label: SubmittedLabel | InvalidInput) -> int:
    return len(label.value) if isinstance(label, SubmittedLabel) and isinstance(label.value, bytes) else 0

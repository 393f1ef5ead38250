"""Review service: everything that reviewers do with label requests; transports are thin over it."""

import asyncio
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert

from models.head import Head
from models.schema import Schema
from services.labels.intake import INLINE_BYTES, Outcome
from services.labels.label_options import Options
from services.labels.label_types import (
    MOST_CLAIMED,
    OTHER_TYPE,
    ROW_TYPE,
    ContentStore,
    Request,
    RevealedPrediction,
    check_lease,
    check_range,
    input_json,
    is_small,
)
from services.labels.label_validation import LabelRules, SubmittedLabel
from services.labels.mask_compatibility import MaskCompatibility
from services.labels.neighbours import KeptNeighbours, Neighbours, kept_neighbours, readable_neighbours
from services.labels.opinion_comparison import OpinionComparison
from services.labels.opinions import Opinions
from services.labels.queue_entries import ClaimedRequest, Lease, Queue, find_entry
from services.labels.request_ids import RequestIds, shared_secret
from services.labels.requests import EXTEND, GIVE_UP, RELEASE, SKIP, Move, State, check_reason, next_state
from services.labels.resolution import Resolver
from services.labels.reveal import deferred_units, differing_labels, draft_evidence, reveal
from services.labels.review_queue import ClaimSpec, ReviewQueue
from services.labels.submissions import Answer, Submissions
from services.labels.waiting_requests import MOST_LISTED, WaitingPage, WaitingRequests
from services.ledger.contract import LedgerWriter, Place
from services.ledger.tables import flag
from services.ledger.unit_ids import unit_text
from services.runtime.errors import InvalidInput, NotFound

MOST_SECONDS = 86_400.0
"""Longest time of one label, s."""
NOTE_CHARACTERS = 2000


@dataclass(frozen=True)
class Queues:
    """Parts that need the secret of the ledger."""

    ids: RequestIds
    queue: ReviewQueue
    submissions: Submissions
    waiting: WaitingRequests


class ReviewService:
    """Review of the label requests of one process; use it from its event loop."""

    def __init__(
        self,
        ledger: LedgerWriter,
        store: ContentStore,
        heads: Mapping[str, Head],
        schema: Schema | None,
        options: Options,
        *,
        rules: LabelRules,
        compatibility: MaskCompatibility,
        resolver: Resolver,
        clock: Callable[[], float],
    ) -> None:
        """
        Args:
            clock: seconds since 1970, that of the writer.
        """
        self.heads, self.options = heads, options
        self._ledger, self._store, self._schema = ledger, store, schema
        self._rules, self._compatibility, self._resolver = rules, compatibility, resolver
        self._clock = clock
        self._comparison = OpinionComparison(ledger, rules.judgings, store, options.adjudicate)
        self._queues: Queues | None = None

    async def queues(self) -> Queues:
        """Return the queue; its key is in the ledger, which may be down when the process starts."""
        if self._queues is None:
            key = await self._ledger.run(lambda connection, place: shared_secret(connection, "requests"))
            ids, seconds, opinions = RequestIds(key), self.options.request_days * 86_400, Opinions(key, self.options)
            self._queues = Queues(
                ids,
                ReviewQueue(ids, ids.of_list, seconds, opinions),
                Submissions(ids, opinions, self._rules),
                WaitingRequests(ids.of_list, seconds, self.options.drafts),
            )
        return self._queues

    async def claim(
        self,
        *,
        count: int,
        head: str,
        actor: str,
        seconds: float,
        queue: Queue = "blind",
        requests: tuple[str, ...] | None = None,
        large_inputs: bool = True,
    ) -> list[Request]:
        """Claim up to ``count`` requests for so many seconds.

        Args:
            requests: ids of the list of waiting requests, of which any that are open are claimed; None: the next ones.
            large_inputs: False: inputs that are neither rows nor texts are left out, but for their media type.

        Raises:
            InvalidInput: the count, the head or the time is invalid, there is no such queue here, or requests of the
                queue of drafts are named.
        """
        check_range("count", count, 1, MOST_CLAIMED, "requests")
        check_lease(seconds)
        if queue == "drafts" and not self.options.drafts:
            raise InvalidInput.about(
                "queue",
                queue,
                code="no_drafts",
                allowed="blind, adjudication",
                advice="set DEMUR_DRAFTS=1 to allow drafts",
            )
        if queue == "drafts" and requests is not None:
            problem = "drafts come in their own order; none can be chosen, which would tell deferrals from audits"
            raise InvalidInput.about("requests", len(requests), problem, code="no_drafts", allowed="none")
        only = deferred_units() if queue == "drafts" else None
        spec = ClaimSpec(count, self._heads(head), queue, only, requests)
        review_queue, now = (await self.queues()).queue, self._clock()
        claimed = await self._ledger.run(
            lambda connection, place: review_queue.claim(connection, place, spec, actor=actor, seconds=seconds, now=now)
        )
        return await asyncio.gather(*(self._readable(request, large_inputs) for request in claimed))

    async def waiting(self, *, head: str, actor: str, limit: int, after: str) -> WaitingPage:
        """Return a part of the list of requests that wait, in the order of the queue.

        Raises:
            InvalidInput: the head, the limit or the cursor is invalid.
        """
        check_range("limit", limit, 1, MOST_LISTED, "requests")
        heads, waiting, now = self._heads(head), (await self.queues()).waiting, self._clock()
        return await self._ledger.read(lambda connection: waiting.page(connection, heads, actor, now, limit, after))

    async def extend(self, request: str, lease: str, *, seconds: float) -> Lease:
        """Extend a lease to so many seconds from now."""
        check_lease(seconds)
        queue = (await self.queues()).queue
        return await self._ledger.run(
            lambda connection, place: queue.extend(connection, request, lease, seconds=seconds, now=self._clock())
        )

    async def release(self, request: str, lease: str, *, actor: str, reason: str = "") -> Lease:
        """Return a request to the queue; a reason is kept where one is given."""
        if reason:
            check_reason("release", reason)
        return await self._end(request, lease, RELEASE, actor, reason)

    async def skip(self, request: str, lease: str, *, reason: str, unlabelable: bool, actor: str) -> Lease:
        """Leave a request unanswered: for now (it counts as non-response), or because no label can exist."""
        lease_ended = await self._end(request, lease, GIVE_UP if unlabelable else SKIP, actor, reason)
        self._resolver.changed()
        return lease_ended

    async def submit(self, answer: Answer) -> Outcome:
        """Label a claimed request, in one transaction with its state."""
        refs = await self._checked(answer)
        submissions, now = (await self.queues()).submissions, self._clock()
        outcome = await self._ledger.run(
            lambda connection, place: submissions.submit(connection, place, answer, refs=refs, now=now)
        )
        self._resolver.changed()
        return outcome

    async def correct(self, answer: Answer) -> Outcome:
        """Replace the label that a lease has given; it is marked as assisted if the prediction was shown before."""
        refs = await self._checked(answer)
        submissions, now = (await self.queues()).submissions, self._clock()
        outcome = await self._ledger.run(
            lambda connection, place: submissions.correct(connection, place, answer, refs=refs, now=now)
        )
        self._resolver.changed()
        return outcome

    async def reveal(self, request: str, lease: str) -> RevealedPrediction:
        """Return the prediction of a unit that the holder of the lease has labelled."""
        ids, now = (await self.queues()).ids, self._clock()
        shown = await self._ledger.run(
            lambda connection, place: reveal(connection, place, ids, request, lease, now=now)
        )
        evidence = await self._content(shown.evidence, shown.evidence_ref)
        label = await self._content(shown.label, shown.label_ref)
        rule, head = self._rules.judgings[shown.head], self.heads[shown.head]
        prediction = error = None
        if evidence is not None:
            prediction = await asyncio.to_thread(rule.prediction, evidence)
            if label is not None:
                error = float((await asyncio.to_thread(rule.errors, [evidence], [label]))[0])
        return RevealedPrediction(
            head,
            prediction,
            _finite(error),
            _finite(shown.uncertainty),
            shown.deferred,
            shown.measure,
            _finite(shown.threshold),
        )

    async def flag(self, request: str, lease: str, *, note: str, actor: str) -> Lease:
        """Keep a note about a claimed or labelled request, for operators."""
        if not note.strip() or len(note) > NOTE_CHARACTERS or "\0" in note:
            raise InvalidInput.about(
                "note", len(note), code="bad_note", allowed=f"[1, {NOTE_CHARACTERS}]", unit="characters"
            )
        ids, now = (await self.queues()).ids, self._clock()

        def change(connection: Connection, place: Place) -> State:
            entry = find_entry(connection, ids, request)
            if entry.state != "labelled" or not entry.held_by(lease):
                next_state(entry.state, EXTEND, holds=entry.held_by(lease))
            row = {"epoch": entry.unit[0], "sequence": entry.unit[1], "time": now, "actor": actor, "note": note}
            connection.execute(insert(flag).values(row | place.columns))
            return entry.state

        return Lease(request, await self._ledger.run(change), None)

    async def input(self, request: str, lease: str) -> tuple[str, bytes]:
        """Return media type and content of the input of a claimed request.

        Raises:
            NotFound: there is no such request, or its input is not kept.
            Conflict: the lease is lost.
        """
        queues = await self.queues()
        claimed = await self._ledger.read(lambda connection: queues.queue.held(connection, request, lease))
        content, kind = await self._input(claimed)
        if content is None:
            raise NotFound("the input of this unit is not kept (any more)", code="no_input", field="request")
        return kind or OTHER_TYPE, content

    async def neighbours(self, request: str, lease: str) -> Neighbours:
        """Return the rows just before and just after the unit of a claimed request; see ``services.labels.neighbours``.

        They are empty where the input is no row, where the ledger keeps none, once the request is labelled, and where
        second opinions or known units are mixed into the queue: their neighbours in time are not those of the queue.

        Raises:
            NotFound: there is no such request.
            Conflict: the lease is lost.
        """
        queues, schema = await self.queues(), self._schema
        are_mixed = self.options.second_opinions > 0 or self.options.known_units > 0

        def read(connection: Connection) -> KeptNeighbours | None:
            claimed = queues.queue.held(connection, request, lease)
            entry = find_entry(connection, queues.ids, request, lock=False)
            if are_mixed or claimed.payload_type != ROW_TYPE or entry.state != "claimed":
                return None
            return kept_neighbours(connection, entry.unit, claimed.head)

        kept = await self._ledger.read(read)
        if kept is None or schema is None:
            return Neighbours()
        return await asyncio.to_thread(readable_neighbours, kept, schema, self._store)

    async def counts(self) -> dict[str, dict[State, int]]:
        """Return the number of requests by head and state."""
        return await self._ledger.read((await self.queues()).queue.counts)

    async def adjudications(self, actor: str) -> int:
        """Return the number of adjudications that this reviewer could make."""
        opinions, now, heads = (await self.queues()).queue.opinions, self._clock(), tuple(self.heads)
        return await self._ledger.read(lambda connection: opinions.adjudications(connection, heads, actor, now))

    async def compare_opinions(self) -> int:
        """Compare a piece of new opinions with the labels of their units; return how many."""
        return await self._comparison.compare(self._clock())

    def _heads(self, head: str) -> tuple[str, ...]:
        if head and head not in self.heads:
            raise InvalidInput.about("head", head, code="unknown_head", allowed=", ".join(self.heads))
        return (head,) if head else tuple(self.heads)

    async def _checked(self, answer: Answer) -> dict[int, str]:
        """Check a label that may be large, and store it; return its reference, if any, at 0."""
        if answer.seconds is not None:
            check_range("seconds", answer.seconds, 0, MOST_SECONDS, "s")
        value = answer.value
        if not (isinstance(value, bytes) or (isinstance(value, str) and len(value) > INLINE_BYTES // 4)):
            return {}
        submissions = (await self.queues()).submissions
        unit, head = await self._ledger.read(lambda connection: submissions.about(connection, answer.request))
        rows, _ = await asyncio.to_thread(self._rules.check, [SubmittedLabel(unit, value, head=head)], self._clock())
        rows, misfits = await self._compatibility.check(rows)
        if misfits:
            misfits[0].error.index = -1
            raise misfits[0].error
        large = [row for row in rows if len(row.value) > INLINE_BYTES]
        return {row.at: await asyncio.to_thread(self._store.put, row.value) for row in large}

    async def _end(self, request: str, lease: str, move: Move, actor: str, reason: str = "") -> Lease:
        queue, now = (await self.queues()).queue, self._clock()
        return await self._ledger.run(
            lambda connection, place: queue.end(
                connection, place, request, lease, move, actor=actor, reason=reason, now=now
            )
        )

    async def _readable(self, claimed: ClaimedRequest, large_inputs: bool) -> Request:
        payload, shown = await self._shown_input(claimed, large_inputs)
        request, draft, answers = claimed.request, None, list[object]()
        rule = self._rules.judgings[claimed.head]
        if claimed.queue == "drafts":
            ids = (await self.queues()).ids
            reference = await self._ledger.read(lambda connection: draft_evidence(connection, ids, request))
            evidence = await self._content(*reference)
            draft = None if evidence is None else await asyncio.to_thread(rule.prediction, evidence)
        if claimed.queue == "adjudication":
            pairs = await self._ledger.read(lambda connection: differing_labels(connection, request))
            contents = [await self._content(*pair) for pair in pairs]
            answers = [rule.value(content) for content in contents if content is not None]
            random.SystemRandom().shuffle(answers)
        return Request(claimed, self.heads[claimed.head], shown, payload, draft, tuple(answers))

    async def _shown_input(
        self, claimed: ClaimedRequest, large_inputs: bool
    ) -> tuple[bytes | None, dict[str, Any] | None]:
        """Return the input of a request as bytes and as JSON; see ``claim`` and ``Request``."""
        is_left_out = not large_inputs and not is_small(claimed.payload_type)
        if is_left_out and claimed.payload_ref is not None:  # not even read: a scan takes tens of milliseconds
            return None, {"media_type": claimed.payload_type or OTHER_TYPE}
        payload, kind = await self._input(claimed)
        if payload is not None and not large_inputs and not is_small(kind):
            return None, {"media_type": kind or OTHER_TYPE}
        return payload, input_json(payload, kind, self._schema)

    async def _input(self, claimed: ClaimedRequest) -> tuple[bytes | None, str | None]:
        """Return the input of a request and its media type, from the ledger, else from the source beside it."""
        content, source = await self._content(claimed.payload, claimed.payload_ref), self.options.input_source
        if content is not None or source is None:
            return content, claimed.payload_type
        ids, request = (await self.queues()).ids, claimed.request
        entry = await self._ledger.read(lambda connection: find_entry(connection, ids, request, lock=False))
        return await asyncio.to_thread(source, unit_text(entry.unit)), source.media_type

    async def _content(self, inline: bytes | None, reference: str | None) -> bytes | None:
        if inline is not None or reference is None:
            return inline
        return await asyncio.to_thread(self._store.get, reference)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

"""Methods of ``LabelService`` for reviewers, as the routes of HTTP; thin over ``services.labels.review_service``."""

from typing import Any

from demur.v1 import labels_pb2
from services.labels.label_types import DEFAULT_LEASE_SECONDS
from services.labels.review_service import ReviewService
from services.labels.service import LabelService
from services.labels.submissions import Answer
from services.labels.waiting_requests import MOST_LISTED
from services.runtime.errors import no_ledger
from services.transport.actor import ACTOR_KEY, actor
from services.transport.grpc import review_messages as messages
from services.transport.grpc.label_messages import outcome_number, value


class ReviewHandlers:
    """Methods of label requests; without a label service each call is refused."""

    def __init__(self, service: LabelService | None) -> None:
        self._known = service

    def methods(self) -> dict[str, tuple[Any, Any, Any]]:
        """Return handler, type of request and type of response of each method by name."""
        pb2 = labels_pb2
        return {
            "Claim": (self.claim, pb2.ClaimRequest, pb2.ClaimResponse),
            "ListWaiting": (self.list_waiting, pb2.ListWaitingRequest, pb2.ListWaitingResponse),
            "GetInput": (self.get_input, pb2.GetInputRequest, pb2.RequestInput),
            "GetNeighbours": (self.get_neighbours, pb2.GetNeighboursRequest, pb2.Neighbours),
            "Extend": (self.extend, pb2.ExtendRequest, pb2.Lease),
            "Release": (self.release, pb2.ReleaseRequest, pb2.Lease),
            "Skip": (self.skip, pb2.SkipRequest, pb2.Lease),
            "SubmitClaimed": (self.submit_claimed, pb2.SubmitClaimedRequest, pb2.SubmitClaimedResponse),
            "Correct": (self.correct, pb2.SubmitClaimedRequest, pb2.SubmitClaimedResponse),
            "Reveal": (self.reveal, pb2.RevealRequest, pb2.RevealedPrediction),
            "Flag": (self.flag, pb2.FlagRequest, pb2.Lease),
            "CountRequests": (self.count_requests, pb2.CountRequestsRequest, pb2.CountRequestsResponse),
        }

    async def claim(self, message: Any, context: Any) -> Any:
        requests = await self._reviews.claim(
            count=message.count or 1,
            head=message.head,
            actor=caller_name(context),
            seconds=message.seconds or DEFAULT_LEASE_SECONDS,
            queue=messages.queue(message.queue),
            requests=tuple(message.requests.requests) if message.HasField("requests") else None,
            large_inputs=not message.without_inputs,
        )
        return labels_pb2.ClaimResponse(requests=[messages.request_message(request) for request in requests])

    async def list_waiting(self, message: Any, context: Any) -> Any:
        page = await self._reviews.waiting(
            head=message.head, actor=caller_name(context), limit=message.limit or MOST_LISTED, after=message.after
        )
        return messages.waiting_message(page)

    async def get_input(self, message: Any, context: Any) -> Any:
        media_type, content = await self._reviews.input(message.request, message.lease)
        return labels_pb2.RequestInput(media_type=media_type, content=content)

    async def get_neighbours(self, message: Any, context: Any) -> Any:
        return messages.neighbours_message(await self._reviews.neighbours(message.request, message.lease))

    async def extend(self, message: Any, context: Any) -> Any:
        seconds = message.seconds or DEFAULT_LEASE_SECONDS
        return messages.lease_message(await self._reviews.extend(message.request, message.lease, seconds=seconds))

    async def release(self, message: Any, context: Any) -> Any:
        lease = await self._reviews.release(
            message.request, message.lease, actor=caller_name(context), reason=message.reason
        )
        return messages.lease_message(lease)

    async def skip(self, message: Any, context: Any) -> Any:
        lease = await self._reviews.skip(
            message.request,
            message.lease,
            reason=message.reason,
            unlabelable=message.unlabelable,
            actor=caller_name(context),
        )
        return messages.lease_message(lease)

    async def submit_claimed(self, message: Any, context: Any) -> Any:
        outcome = await self._reviews.submit(_answer(message, context))
        return labels_pb2.SubmitClaimedResponse(outcome=outcome_number(outcome))

    async def correct(self, message: Any, context: Any) -> Any:
        outcome = await self._reviews.correct(_answer(message, context))
        return labels_pb2.SubmitClaimedResponse(outcome=outcome_number(outcome))

    async def reveal(self, message: Any, context: Any) -> Any:
        return messages.revealed_message(await self._reviews.reveal(message.request, message.lease))

    async def flag(self, message: Any, context: Any) -> Any:
        lease = await self._reviews.flag(message.request, message.lease, note=message.note, actor=caller_name(context))
        return messages.lease_message(lease)

    async def count_requests(self, message: Any, context: Any) -> Any:
        reviews = self._reviews
        counts = await reviews.counts()
        return labels_pb2.CountRequestsResponse(
            counts=[
                labels_pb2.RequestCount(head=head, state=state, count=count)
                for head, states in counts.items()
                for state, count in states.items()
            ],
            keeps_inputs=reviews.options.keeps_inputs,
            drafts=reviews.options.drafts,
            adjudications=await reviews.adjudications(caller_name(context)),
        )

    @property
    def _reviews(self) -> ReviewService:
        if self._known is None:
            raise no_ledger()
        return self._known.reviews


def caller_name(context: Any) -> str:
    """Return the actor of a call, see ``services.transport.actor``."""
    stated = dict(context.invocation_metadata() or ()).get(ACTOR_KEY)
    return actor(stated.decode(errors="replace") if isinstance(stated, bytes) else stated)


def _answer(message: Any, context: Any) -> Answer:
    return Answer(
        message.request,
        message.lease,
        value(message.value),
        caller_name(context),
        seconds=message.seconds if message.HasField("seconds") else None,
        observed=message.observed if message.HasField("observed") else None,
    )

"""Label requests over HTTP, for reviewers; thin over ``services.labels.review_service``."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.labels.label_types import from_json
from services.labels.review_service import ReviewService
from services.labels.service import LabelService
from services.labels.submissions import Answer
from services.labels.waiting_requests import MOST_LISTED
from services.runtime.errors import InvalidInput, no_ledger
from services.runtime.settings import Settings
from services.transport.actor import ACTOR_KEY, actor
from services.transport.http import review_bodies as bodies
from services.transport.http.body import json_response
from services.transport.http.decoding import Body, integer
from services.transport.http.label_bodies import outcome_json, read_json
from services.transport.served_model import ServedModel

LEASE_KEY = "demur-lease"
"""HTTP header of the lease, for requests without a body."""


class ReviewRoutes:
    """Endpoints of label requests; without a label service each call is refused."""

    def __init__(self, label_service: LabelService | None, tenant: ServedModel, settings: Settings) -> None:
        self._label_service = label_service
        self._tenant = tenant
        self._settings = settings

    def routes(self, wrapped: Any) -> list[Route]:
        """Return all routes; ``wrapped`` puts the call layer around an endpoint."""
        return [
            Route("/v1/requests", wrapped(self.counts)),
            Route("/v1/requests/waiting", wrapped(self.waiting)),
            Route("/v1/requests/claim", wrapped(self.claim), methods=["POST"]),
            Route("/v1/requests/{request}/input", wrapped(self.input)),
            Route("/v1/requests/{request}/neighbours", wrapped(self.neighbours)),
            Route("/v1/requests/{request}/extend", wrapped(self.extend), methods=["POST"]),
            Route("/v1/requests/{request}/release", wrapped(self.release), methods=["POST"]),
            Route("/v1/requests/{request}/skip", wrapped(self.skip), methods=["POST"]),
            Route("/v1/requests/{request}/submit", wrapped(self.submit), methods=["POST"]),
            Route("/v1/requests/{request}/correct", wrapped(self.correct), methods=["POST"]),
            Route("/v1/requests/{request}/reveal", wrapped(self.reveal), methods=["POST"]),
            Route("/v1/requests/{request}/flag", wrapped(self.flag), methods=["POST"]),
        ]

    async def counts(self, request: Request) -> Response:
        reviews = self._reviews
        return json_response(
            {
                "heads": await reviews.counts(),
                "keeps_inputs": reviews.options.keeps_inputs,
                "drafts": reviews.options.drafts,
                "adjudications": await reviews.adjudications(_actor(request)),
            }
        )

    async def waiting(self, request: Request) -> Response:
        query = request.query_params
        page = await self._reviews.waiting(
            head=query.get("head", ""),
            actor=_actor(request),
            limit=_whole("limit", query.get("limit", str(MOST_LISTED))),
            after=query.get("after", ""),
        )
        return json_response(bodies.waiting_json(page))

    async def claim(self, request: Request) -> Response:
        reviews = self._reviews
        body = await self._body(request, bodies.ClaimBody)
        claimed = await reviews.claim(
            count=integer("count", body.count, "requests"),
            head=body.head,
            actor=_actor(request),
            seconds=body.seconds,
            queue=body.queue,
            requests=None if body.requests is None else tuple(body.requests),
            large_inputs=body.inputs,
        )
        return json_response({"requests": [bodies.request_json(one) for one in claimed]})

    async def input(self, request: Request) -> Response:
        media_type, content = await self._reviews.input(_id(request), request.headers.get(LEASE_KEY, ""))
        headers = {"content-type": media_type, "cache-control": "no-store", "x-content-type-options": "nosniff"}
        return Response(content, headers=headers)

    async def neighbours(self, request: Request) -> Response:
        neighbours = await self._reviews.neighbours(_id(request), request.headers.get(LEASE_KEY, ""))
        return json_response(neighbours, headers={"cache-control": "no-store"})

    async def extend(self, request: Request) -> Response:
        reviews = self._reviews
        body = await self._body(request, bodies.ExtendBody)
        return json_response(bodies.lease_json(await reviews.extend(_id(request), body.lease, seconds=body.seconds)))

    async def release(self, request: Request) -> Response:
        reviews = self._reviews
        body = await self._body(request, bodies.ReleaseBody)
        lease = await reviews.release(_id(request), body.lease, actor=_actor(request), reason=body.reason)
        return json_response(bodies.lease_json(lease))

    async def skip(self, request: Request) -> Response:
        reviews = self._reviews
        body = await self._body(request, bodies.SkipBody)
        lease = await reviews.skip(
            _id(request), body.lease, reason=body.reason, unlabelable=body.unlabelable, actor=_actor(request)
        )
        return json_response(bodies.lease_json(lease))

    async def submit(self, request: Request) -> Response:
        return json_response(outcome_json(await self._reviews.submit(await self._answer(request))))

    async def correct(self, request: Request) -> Response:
        return json_response(outcome_json(await self._reviews.correct(await self._answer(request))))

    async def reveal(self, request: Request) -> Response:
        reviews = self._reviews
        body = await self._body(request, bodies.RevealBody)
        return json_response(bodies.revealed_json(await reviews.reveal(_id(request), body.lease)))

    async def flag(self, request: Request) -> Response:
        reviews = self._reviews
        body = await self._body(request, bodies.FlagBody)
        lease = await reviews.flag(_id(request), body.lease, note=body.note, actor=_actor(request))
        return json_response(bodies.lease_json(lease))

    async def _answer(self, request: Request) -> Answer:
        body = await self._body(request, bodies.AnswerBody)
        value = from_json(body.value)
        return Answer(_id(request), body.lease, value, _actor(request), seconds=body.seconds, observed=body.observed)

    async def _body(self, request: Request, kind: type[Body]) -> Body:
        return await read_json(request, kind, self._settings, self._tenant.pipeline.offload)

    @property
    def _reviews(self) -> ReviewService:
        if self._label_service is None:
            raise no_ledger()
        return self._label_service.reviews


def _actor(request: Request) -> str:
    return actor(request.headers.get(ACTOR_KEY))


def _id(request: Request) -> str:
    identity: str = request.path_params["request"]
    return identity


def _whole(field: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidInput.about(field, text, "must be a whole number", code="not_a_number", allowed="a whole number")
    return int(text)

"""The routes of a service over HTTP, but for /livez and /readyz: those are BentoML's, which asks ``Demur`` for them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.errors import Cancelled, DeadlineExceeded, Draining, MethodNotAllowed, NotFound, internal, status
from services.labels.desk import Desk
from services.lifecycle import Lifecycle
from services.logging import get_logger
from services.metrics import Metrics
from services.policy_keeper import PolicyKeeper
from services.settings import Settings
from services.tenant import Tenant
from services.transport.http.body import discard, error_response, json_response, stalled
from services.transport.http.files import write_answers
from services.transport.http.jobs import JobRoutes
from services.transport.http.labels import LabelRoutes
from services.transport.http.openapi import openapi
from services.transport.http.pickles import WithoutPickles
from services.transport.http.policies import PolicyRoutes
from services.transport.http.presence import Presence
from services.transport.http.request import read_request, timeout_seconds, within

_log = get_logger(__name__)
Endpoint = Callable[[Request], Awaitable[Response]]


def application(
    tenant: Tenant,
    settings: Settings,
    metrics: Metrics,
    lifecycle: Lifecycle,
    desk: Desk | None = None,
    keeper: PolicyKeeper | None = None,
) -> Starlette:
    """The ASGI application of a tenant; ``desk`` is where labels go, ``keeper`` changes policies, None: no ledger."""
    routes = Routes(tenant, settings, metrics, lifecycle)
    jobs = JobRoutes(tenant, settings, lifecycle)
    policies = PolicyRoutes(tenant.pipeline.policies, keeper, settings)
    document = openapi(tenant)
    jobs_file = Route("/v1/jobs/{job}/files/{file}", routes.guarded(jobs.file, while_draining=True))
    app = Starlette(
        routes=[
            Route("/v1/predict", routes.guarded(routes.predict), methods=["POST"]),
            Route("/v1/schema", routes.guarded(routes.schema)),
            Route("/v1/policy", routes.guarded(policies.show)),
            Route("/v1/policy/{head}", routes.guarded(policies.one), methods=["GET", "PUT"]),
            Route("/v1/openapi.json", routes.guarded(_constant(document))),
            Route("/v1/jobs", routes.guarded(jobs.create), methods=["POST"]),
            Route("/v1/jobs/{job}", routes.guarded(jobs.one, while_draining=True), methods=["GET", "DELETE"]),
            Route("/v1/jobs/{job}/events", routes.guarded(jobs.events, while_draining=True)),
            *([] if tenant.http.files is None else [jobs_file]),
            *LabelRoutes(desk, tenant, settings).routes(routes.guarded),
            Route("/metrics", routes.metrics),
        ],
        exception_handlers={404: routes.unknown, 405: routes.wrong_method},
        middleware=[Middleware(WithoutPickles)],
    )
    app.router.redirect_slashes = False  # a redirected POST is not what its caller asked for
    return app


class Routes:
    """Endpoints; each is a thin adapter over the pipeline."""

    def __init__(self, tenant: Tenant, settings: Settings, metrics: Metrics, lifecycle: Lifecycle) -> None:
        self._tenant = tenant
        self._settings = settings
        self._metrics = metrics
        self._lifecycle = lifecycle

    def guarded(self, endpoint: Endpoint, *, while_draining: bool = False) -> Endpoint:
        """Typed errors as typed answers; counted; refused at once while draining, unless it is about work in flight."""

        async def call(request: Request) -> Response:
            start = time.perf_counter()
            with self._lifecycle.in_flight():
                try:
                    if self._lifecycle.draining and not while_draining:
                        raise Draining(
                            "this replica is shutting down; retry at once, another one answers", code="draining"
                        )
                    response = await endpoint(request)
                except Exception as failure:
                    error = internal(failure)
                    if error is not failure:
                        _log.error("a call failed by a defect", exc_info=failure)
                    response = error_response(error)
                    if not isinstance(error, (DeadlineExceeded, Cancelled)):
                        await discard(request, 2 * self._settings.max_message_bytes)
                    if status(error).http in (413, 503) or stalled(request):
                        response.headers["connection"] = "close"
                self._metrics.request("http", str(response.status_code), time.perf_counter() - start)
                return response

        return call

    async def predict(self, request: Request) -> Response:
        timeout = timeout_seconds(request, self._settings.request_seconds)
        deadline = time.monotonic() + timeout
        pipeline = self._tenant.pipeline
        async with within(timeout):
            question = await read_request(request, self._tenant, self._settings)
            call = question.options.call("decide", deadline=deadline)
            async with Presence(request):
                answers = await pipeline.answer(question.request, call, question.nbytes)
        return await pipeline.offload.run(question.nbytes, write_answers, self._tenant, answers, question.wanted)

    async def schema(self, request: Request) -> Response:
        description = self._tenant.description
        features = () if description.schema is None else description.schema.features
        return json_response(
            {
                "task": description.task,
                "model": description.model,
                "schema_hash": None if description.schema is None else description.schema.hash,
                "max_rows": description.max_rows,
                "features": features,
                "metadata": () if description.schema is None else description.schema.metadata,
                "trained_lower": description.trained_lower,
                "trained_upper": description.trained_upper,
                "heads": description.heads,
            }
        )

    async def metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def unknown(self, request: Request, error: Exception) -> Response:
        async def refuse(request: Request) -> Response:
            raise NotFound(
                f"no {request.method} {request.url.path} here; /v1/openapi.json lists the routes", code="no_route"
            )

        return await self.guarded(refuse)(request)

    async def wrong_method(self, request: Request, error: Exception) -> Response:
        """OPTIONS is answered, not refused: it asks for just what the refusal would say."""
        assert isinstance(error, HTTPException)
        given = (error.headers or {}).get("Allow", "").split(", ")
        allowed = ", ".join(sorted({*given, "OPTIONS"}))

        async def refuse(request: Request) -> Response:
            if request.method == "OPTIONS":
                return Response(status_code=204, headers={"allow": allowed})
            raise MethodNotAllowed(
                f"{request.url.path} takes {allowed}, not {request.method}",
                code="method_not_allowed",
                value=request.method,
                allowed=allowed,
            )

        return await self.guarded(refuse)(request)


def _constant(value: Any) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return json_response(value)

    return endpoint

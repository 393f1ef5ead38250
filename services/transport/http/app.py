"""Routes of a service over HTTP, except /livez and /readyz, which come before all others."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from models.head import Head
from services.access.authenticator import Authenticator
from services.access.rules import PROBE_ROUTES, HttpRules
from services.runtime.errors import MethodNotAllowed, NotFound, shortened
from services.runtime.lifecycle import Lifecycle
from services.transport import head_answer
from services.transport.http.body import json_response
from services.transport.http.call import CallLayer, Endpoint
from services.transport.http.error_response import response_for, transport_of
from services.transport.http.jobs import JobRoutes
from services.transport.http.labels import LabelRoutes
from services.transport.http.openapi import openapi
from services.transport.http.policies import PolicyRoutes
from services.transport.http.predict import PATH, PredictRoute
from services.transport.http.review import ReviewRoutes
from services.transport.http.schema import described
from services.transport.http.small_calls import SmallCalls, SmallRoute
from services.transport.http.trail import TrailRoute
from services.transport.oip.bodies import PREFIX as OIP_PREFIX
from services.transport.oip.bodies import TRANSPORT as OIP
from services.transport.oip.bodies import refusal as oip_refusal
from services.transport.oip.infer import InferRoute
from services.transport.oip.model import OipModel
from services.transport.oip.routes import OipRoutes
from services.transport.serving import Serving


def application(serving: Serving, lifecycle: Lifecycle, *, oip_model: OipModel | None = None) -> Starlette:
    """Return the ASGI application of a served model; ``oip_model`` is the model over the Open Inference Protocol, None:
    the application makes one.
    """
    tenant, settings, label_service = serving.tenant, serving.settings, serving.label_service
    calls = CallLayer(lifecycle, serving.metrics, serving.tracer, 2 * settings.max_message_bytes)
    routes = Routes(serving, calls)
    jobs = JobRoutes(tenant, settings, lifecycle)
    policies = PolicyRoutes(tenant.pipeline.policies, serving.keeper, settings)
    document = openapi(tenant, model=serving.about is not None)
    oip = OipRoutes(oip_model or OipModel(tenant, serving.metrics, lambda: lifecycle.ready), settings)
    oip_wrapped = partial(calls.wrapped, refusal=oip_refusal, transport=OIP)
    jobs_file = Route("/v1/jobs/{job}/files/{file}", calls.wrapped(jobs.file, while_draining=True))
    app = Starlette(
        routes=[
            Route(PATH, calls.wrapped(PredictRoute(tenant, settings).endpoint), methods=["POST"]),
            Route("/v1/schema", calls.wrapped(routes.schema)),
            *([] if serving.about is None else [Route("/v1/model", calls.wrapped(_answering(serving.about)))]),
            Route("/v1/policy", calls.wrapped(policies.show)),
            Route("/v1/policy/{head}", calls.wrapped(policies.one), methods=["GET", "PUT"]),
            Route("/v1/audit", calls.wrapped(TrailRoute(label_service, tenant).show)),
            Route("/v1/openapi.json", calls.wrapped(_constant(document))),
            Route("/v1/jobs", calls.wrapped(jobs.create), methods=["POST"]),
            Route("/v1/jobs/{job}", calls.wrapped(jobs.one, while_draining=True), methods=["GET", "DELETE"]),
            Route("/v1/jobs/{job}/events", calls.wrapped(jobs.events, while_draining=True)),
            *([] if tenant.http.files is None else [jobs_file]),
            *LabelRoutes(label_service, tenant, settings).routes(calls.wrapped),
            *ReviewRoutes(label_service, tenant, settings).routes(calls.wrapped),
            *oip.routes(oip_wrapped),
            Route("/metrics", routes.metrics),
        ],
        exception_handlers={404: routes.unknown, 405: routes.wrong_method},
    )
    app.router.redirect_slashes = False  # a redirected POST would change the request
    return app


def small_calls(
    serving: Serving, lifecycle: Lifecycle, authenticator: Authenticator | None, *, oip_model: OipModel
) -> SmallCalls | None:
    """Return the fast path of small calls to the prediction routes; None if the task has no joint pass."""
    tenant, settings = serving.tenant, serving.settings
    joint = tenant.pipeline.joint
    if joint is None:
        return None
    of_model = f"{OIP_PREFIX}/models"
    infer = InferRoute(oip_model, settings, f"{of_model}/{{model}}/infer")
    infer_version = InferRoute(oip_model, settings, f"{of_model}/{{model}}/versions/{{version}}/infer")
    routes: dict[str, SmallRoute] = {
        PATH: PredictRoute(tenant, settings),
        f"{of_model}/{oip_model.name}/infer": infer,
        f"{of_model}/{oip_model.name}/versions/{oip_model.version}/infer": infer_version,
    }
    layer = CallLayer(lifecycle, serving.metrics, serving.tracer, 0)
    return SmallCalls(routes, tenant.pipeline, joint, layer, authenticator)


class Routes:
    """Endpoints of schema and metrics, and answers to requests without a route."""

    def __init__(self, serving: Serving, calls: CallLayer) -> None:
        self._tenant = serving.tenant
        self._metrics = serving.metrics
        self._calls = calls

    async def schema(self, request: Request) -> Response:
        description = self._tenant.description
        features = () if description.schema is None else described(description.schema)
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
                "heads": [self._head(head) for head in description.heads],
            }
        )

    def _head(self, head: Head) -> dict[str, Any]:
        """Return a head, its table of intervals in force and labels of its training."""
        table = self._tenant.intervals.get(head.name)
        labels = self._tenant.description.training_labels.get(head.name)
        return asdict(head) | {
            "intervals": None if table is None else head_answer.interval_record(table),
            "training_labels": None if labels is None else asdict(labels),
        }

    async def metrics(self, request: Request) -> Response:
        body, kind = self._metrics.exposition(request.headers.get("accept", ""))
        return Response(body, headers={"vary": "accept"}, media_type=kind)

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Refuse a path without a route; also called for the probes with an unsupported method."""
        if (methods := _PROBES.methods(request.url.path)) is not None:
            return await self._wrong_method(request, methods)

        async def refuse(request: Request) -> Response:
            path = shortened(request.url.path)
            raise NotFound(f"no {request.method} {path} here; /v1/openapi.json lists the routes", code="no_route")

        return await self._of_path(request)(refuse)(request)

    async def wrong_method(self, request: Request, error: Exception) -> Response:
        """Refuse a method that a route does not have; OPTIONS is answered with the allowed methods."""
        assert isinstance(error, HTTPException)
        return await self._wrong_method(request, (error.headers or {}).get("Allow", "").split(", "))

    async def _wrong_method(self, request: Request, methods: Iterable[str]) -> Response:
        allowed = ", ".join(sorted({*methods, "OPTIONS"}))

        async def refuse(request: Request) -> Response:
            if request.method == "OPTIONS":
                return Response(status_code=204, headers={"allow": allowed})
            raise MethodNotAllowed(
                f"{shortened(request.url.path)} takes {allowed}, not {request.method}",
                code="method_not_allowed",
                value=request.method,
                allowed=allowed,
            )

        return await self._of_path(request)(refuse)(request)

    def _of_path(self, request: Request) -> Callable[[Endpoint], Endpoint]:
        """Return the wrapper of endpoints for a path without a route; its errors have the format of its protocol."""
        path = request.url.path
        return partial(self._calls.wrapped, refusal=partial(response_for, path), transport=transport_of(path))


_PROBES = HttpRules(PROBE_ROUTES)


def _constant(value: Any) -> Endpoint:
    return _answering(lambda: value)


def _answering(value: Callable[[], Any]) -> Endpoint:
    """Return an endpoint that answers with the value of a call, as JSON."""

    async def endpoint(request: Request) -> Response:
        return json_response(value())

    return endpoint

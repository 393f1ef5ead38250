"""Labels, resolutions and commits over HTTP; thin over ``services.labels.service``."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.access.caller import check_sources
from services.labels.label_validation import sources
from services.labels.service import LabelService
from services.ledger.unit_ids import parse_unit
from services.runtime.errors import InvalidInput, no_ledger
from services.runtime.settings import Settings
from services.transport.actor import ACTOR_KEY, actor
from services.transport.http import label_bodies as bodies
from services.transport.http.body import json_response
from services.transport.http.decoding import Body
from services.transport.http.request import DisconnectWatch, number
from services.transport.served_model import ServedModel


class LabelRoutes:
    """Endpoints of labels; without a label service each call is refused."""

    def __init__(self, label_service: LabelService | None, tenant: ServedModel, settings: Settings) -> None:
        self._known = label_service
        self._tenant = tenant
        self._settings = settings

    def routes(self, wrapped: Any) -> list[Route]:
        """Return all routes; ``wrapped`` puts the call layer around an endpoint."""
        return [
            Route("/v1/labels", wrapped(self.submit), methods=["POST"]),
            Route("/v1/erase", wrapped(self.erase), methods=["POST"]),
            Route("/v1/commit", wrapped(self.commit), methods=["POST"]),
            Route("/v1/units/{unit}/resolution", wrapped(self.resolution)),
            Route("/v1/resolutions", wrapped(self.resolutions), methods=["POST"]),
            Route("/v1/resolutions/callbacks", wrapped(self.callbacks), methods=["POST"]),
        ]

    async def submit(self, request: Request) -> Response:
        service = self._service
        body = await self._body(request, bodies.LabelsBody)
        service.check_count(len(body.labels))
        offload = self._tenant.pipeline.offload
        labels = await offload.run(sum(map(_length, body.labels)), bodies.submitted_labels, body)
        check_sources(sources(labels))
        return json_response(bodies.batch_json(await service.submit(labels, _actor(request))))

    async def erase(self, request: Request) -> Response:
        service = self._service
        body = await self._body(request, bodies.EraseBody)
        count = await service.erase(bodies.units(body.units), actor=_actor(request), reason=body.reason)
        return json_response({"erased": count})

    async def commit(self, request: Request) -> Response:
        body = await self._body(request, bodies.CommitBody)
        units = bodies.units(body.units)
        if not units:
            raise InvalidInput("the body names no units; give at least one", code="no_rows", field="units")
        return json_response(bodies.committed_json(await self._tenant.pipeline.ledger.commit(units)))

    async def resolution(self, request: Request) -> Response:
        """Return a resolution by long polling; ends if the caller disconnects."""
        service = self._service
        unit = parse_unit(request.path_params["unit"])
        wait = number("wait", request.query_params.get("wait", "0"))
        async with DisconnectWatch(request):
            return json_response((await service.resolve_one(unit, wait)).json())

    async def resolutions(self, request: Request) -> Response:
        service = self._service
        body = await self._body(request, bodies.UnitsBody)
        units = bodies.units(body.units)
        async with DisconnectWatch(request):
            views = await service.resolve(units, body.wait)
        return json_response({"resolutions": [view.json() for view in views]})

    async def callbacks(self, request: Request) -> Response:
        service = self._service
        body = await self._body(request, bodies.CallbackBody)
        return json_response({"registered": await service.call_back(bodies.units(body.units), body.url)})

    async def _body(self, request: Request, kind: type[Body]) -> Body:
        return await bodies.read_json(request, kind, self._settings, self._tenant.pipeline.offload)

    @property
    def _service(self) -> LabelService:
        if self._known is None:
            raise no_ledger()
        return self._known


def _actor(request: Request) -> str:
    return actor(request.headers.get(ACTOR_KEY))


def _length(raw: Any) -> int:
    return len(memoryview(raw))

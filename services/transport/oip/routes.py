"""HTTP routes of the protocol."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.runtime.settings import Settings
from services.transport.http import decoding
from services.transport.http.body import json_response, read_body
from services.transport.oip.bodies import PREFIX
from services.transport.oip.infer import InferRoute
from services.transport.oip.model import OipModel, absent

_ABSENT = {
    "/repository/models/{model}/load": "RepositoryModel",
    "/repository/models/{model}/unload": "RepositoryModel",
    "/systemsharedmemory/{rest:path}": "SystemSharedMemory",
    "/cudasharedmemory/{rest:path}": "CudaSharedMemory",
    "/models/{model}/trace/setting": "TraceSetting",
    "/trace/setting": "TraceSetting",
    "/logging": "LogSettings",
}
"""Paths of Triton that this service does not implement."""
Endpoint = Callable[[Request], Awaitable[Response]]


class OipRoutes:
    """Endpoints of the protocol; each is a thin adapter over the model."""

    def __init__(self, model: OipModel, settings: Settings) -> None:
        self._model = model
        self._settings = settings

    def routes(self, wrapped: Callable[..., Any]) -> list[Route]:
        """Return all routes; ``wrapped`` puts the call layer around an endpoint."""
        paths = [
            Route(PREFIX, wrapped(self.server)),
            Route(f"{PREFIX}/health/live", self.live),
            Route(f"{PREFIX}/health/ready", self.ready),
            Route(f"{PREFIX}/models/stats", wrapped(self.statistics)),
            Route(f"{PREFIX}/repository/index", wrapped(self.index), methods=["POST"]),
        ]
        for path in (f"{PREFIX}/models/{{model}}", f"{PREFIX}/models/{{model}}/versions/{{version}}"):
            paths += [
                Route(path, wrapped(self.metadata)),
                Route(f"{path}/ready", wrapped(self.model_ready, while_draining=True)),
                Route(f"{path}/config", wrapped(self.config)),
                Route(f"{path}/stats", wrapped(self.statistics)),
                Route(f"{path}/infer", wrapped(InferRoute(self._model, self._settings).endpoint), methods=["POST"]),
            ]
        absences = [
            Route(f"{PREFIX}{path}", wrapped(_refusing(name)), methods=["GET", "POST"])
            for path, name in _ABSENT.items()
        ]
        return paths + absences

    async def live(self, request: Request) -> Response:
        return json_response({"live": True})

    async def ready(self, request: Request) -> Response:
        ready = self._model.ready()
        return json_response({"ready": ready}, 200 if ready else 503)

    async def model_ready(self, request: Request) -> Response:
        self._check(request)
        ready = self._model.ready()
        return json_response({"name": self._model.name, "ready": ready}, 200 if ready else 503)

    async def server(self, request: Request) -> Response:
        return json_response(self._model.server())

    async def metadata(self, request: Request) -> Response:
        self._check(request)
        return json_response(self._model.metadata())

    async def config(self, request: Request) -> Response:
        self._check(request)
        return json_response(self._model.config())

    async def statistics(self, request: Request) -> Response:
        if "model" in request.path_params:
            self._check(request)
        return json_response(self._model.stats())

    async def index(self, request: Request) -> Response:
        """Return the repository index; the body is optional, only ``ready`` is read. Clients expect a bare list."""
        body = await read_body(request, self._settings.max_message_bytes)
        filters = decoding.json(body, dict[str, Any]) if body.strip() else {}
        return json_response(self._model.index(filters.get("ready") is True)["models"])

    def _check(self, request: Request) -> None:
        self._model.check(request.path_params["model"], request.path_params.get("version", ""))


def _refusing(name: str) -> Endpoint:
    async def refuse(request: Request) -> Response:
        raise absent(name)

    return refuse

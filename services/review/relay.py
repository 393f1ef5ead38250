"""Relay of calls about label requests to the service of a task: only the routes of the review queue pass."""

import re
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.review.identity import reviewer
from services.review.services import ServiceAnswer, Services
from services.runtime.errors import NotFound, shortened
from services.transport.http.body import json_only, read_body
from services.transport.http.review import LEASE_KEY

_ID = "[0-9a-f]{32}"
_RELAYED = (
    ("GET", re.compile("")),
    ("GET", re.compile("/waiting")),
    ("POST", re.compile("/claim")),
    ("GET", re.compile(f"/{_ID}/(input|neighbours)")),
    ("POST", re.compile(f"/{_ID}/(extend|release|skip|submit|correct|reveal|flag)")),
)
"""Methods and paths below ``/v1/requests``."""
_QUERY = ("head", "limit", "after")


class Relay:
    """Endpoints below ``/api/tasks/{task}/requests``."""

    def __init__(self, services: Services, most_bytes: int) -> None:
        """Initialise; ``most_bytes`` is the size of the largest body that is read."""
        self.services, self.most_bytes = services, most_bytes

    def routes(self) -> list[Route]:
        paths = ("/api/tasks/{task}/requests", "/api/tasks/{task}/requests/{rest:path}")
        return [Route(path, self.relay, methods=["GET", "POST"]) for path in paths]

    async def relay(self, request: Request) -> Response:
        """Pass a call on, and its answer back.

        Raises:
            NotFound: the path is not one of the review queue, or there is no such service.
            TooLarge, UnsupportedMediaType, NotReady: see the messages.
        """
        rest = request.path_params.get("rest")
        path = "" if rest is None else f"/{rest}"
        if not any(request.method == method and pattern.fullmatch(path) for method, pattern in _RELAYED):
            raise NotFound(f"no {request.method} {shortened(request.url.path)} here", code="no_route")
        content = None
        if request.method == "POST":
            json_only(request)
            content = await read_body(request, self.most_bytes)
        query = {name: request.query_params[name] for name in _QUERY if name in request.query_params}
        answer = await self.services.call(
            request.path_params["task"],
            reviewer(request.headers),
            request.method,
            f"/v1/requests{path}{_query(query)}",
            content=content,
            headers=_lease(request),
        )
        return response(answer)

    async def input(self, request: Request) -> tuple[str, bytes]:
        """Return media type and content of the input of the claimed request that a route names, or its refusal.

        Raises:
            Refused: the service refuses; it has the response.
            NotFound, NotReady: see the messages.
        """
        identity = request.path_params["request"]
        if not re.fullmatch(_ID, identity):
            raise NotFound("there is no such request", code="no_request", field="request")
        answer = await self.services.call(
            request.path_params["task"],
            reviewer(request.headers),
            "GET",
            f"/v1/requests/{identity}/input",
            headers=_lease(request),
        )
        if answer.status != 200:
            raise Refused(response(answer))
        return answer.headers.get("content-type", ""), answer.content


class Refused(Exception):
    """Refusal by a service, with the response that passes it on."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.response = response


def response(answer: ServiceAnswer) -> Response:
    """Return the answer of a service as a response that is not cached, and never read as a page."""
    headers = dict(answer.headers) | {"cache-control": "no-store"}
    return Response(answer.content, answer.status, headers=headers)


def _lease(request: Request) -> dict[str, str]:
    lease = request.headers.get(LEASE_KEY)
    return {} if lease is None else {LEASE_KEY: lease}


def _query(values: dict[str, str]) -> str:
    return f"?{urlencode(values)}" if values else ""

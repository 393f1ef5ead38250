"""Relay of calls to the monitor: figures of reviewers, and the worth of labels. The monitor checks who may see them."""

from collections.abc import Callable, Sequence
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.review.identity import reviewer
from services.review.relay import Relay, response
from services.review.services import Services
from services.transport.http.body import json_response

KINDS = "worth/kinds"
"""Path of the worth of labels for reviewers."""
NO_WORTH: dict[str, float] = {}
"""Answer for reviewers where no monitor runs, or it has no figures yet."""
NOT_FOUND = 404
_QUERY = ("task", "head", "model", "figure")


def routes(monitor: Services, name: str) -> Callable[[Relay], Sequence[Route]]:
    """Return a function that returns the routes, whatever the relay to the tasks.

    Args:
        monitor: client of the monitor alone.
        name: name of the monitor among its addresses.
    """

    def passed_on(path: str) -> Route:
        async def relay(request: Request) -> Response:
            query = {field: request.query_params[field] for field in _QUERY if field in request.query_params}
            end = f"?{urlencode(query)}" if query else ""
            if path == KINDS and name not in monitor.addresses():
                return json_response(NO_WORTH)
            answer = await monitor.call(name, reviewer(request.headers), "GET", f"/v1/{path}{end}")
            return json_response(NO_WORTH) if path == KINDS and answer.status == NOT_FOUND else response(answer)

        return Route(f"/api/monitor/{path}", relay)

    return lambda relay: [passed_on(path) for path in ("reviewers", "worth", KINDS)]

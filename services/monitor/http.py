"""The monitor over HTTP: metrics, probes, what is known as JSON, what-ifs, and a page for people; it reads nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from services.monitor.document import document, what_if_document
from services.monitor.exporter import Exporter
from services.monitor.judge import Windows
from services.monitor.page import Pages
from services.monitor.published import Published
from services.runtime.errors import DemurError, InvalidInput, MethodNotAllowed, NotFound, internal, shortened
from services.runtime.logging import get_logger
from services.transport.http.body import error_response, json_response

_log = get_logger(__name__)

STALE_SECONDS = 15.0
"""A monitor whose last reading is older says that it is not ready."""
MOST_THRESHOLDS = 256
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Routes:
    """Endpoints over what was published last."""

    def __init__(self, exporter: Exporter, windows: Windows, clock: Callable[[], float] = time.time) -> None:
        self._exporter, self._windows, self._clock = exporter, windows, clock
        self._published = Published()
        self._pages = Pages()

    def publish(self, published: Published) -> None:
        """Takes what is known now; called from the monitor's thread."""
        self._exporter.publish(published)
        self._published = published

    @property
    def hindrance(self) -> str:
        """Why the monitor is not ready; empty where it is."""
        known = self._published
        if not known.time:
            return "starting"
        age = self._clock() - known.time
        if age > STALE_SECONDS:
            return f"the last reading was {age:.0f} s ago"
        return known.problem

    async def metrics(self, request: Request) -> Response:
        return Response(self._exporter.text(self._clock()), media_type=_METRICS)

    async def live(self, request: Request) -> Response:
        return json_response({"status": "alive"})

    async def ready(self, request: Request) -> Response:
        reason = self.hindrance
        body = msgspec.json.encode({"status": "not ready", "reason": reason} if reason else {"status": "ready"})
        return Response(body, 503 if reason else 200, media_type="application/json")

    async def known(self, request: Request) -> Response:
        return json_response(document(self._published, self._clock()))

    async def what_if(self, request: Request) -> Response:
        thresholds = _thresholds(request.query_params.getlist("threshold"))
        found = await run_in_threadpool(self._windows.what_if, _wanted(request), thresholds)
        return json_response(what_if_document(found))

    async def sketch(self, request: Request) -> Response:
        """A window in bins, as ``models.estimation.sketch.Sketch.to_bytes``: monitors of several places add up so."""
        one = await run_in_threadpool(self._windows.judged, _wanted(request))
        return Response(await run_in_threadpool(lambda: one.sketch().to_bytes()), media_type="application/octet-stream")

    async def page(self, request: Request) -> Response:
        known = self._published
        return HTMLResponse(await run_in_threadpool(self._pages.page, known, self.hindrance, self._clock()))


def application(routes: Routes, beside: Any = None) -> Starlette:
    """The ASGI application; ``beside`` is a context that is open as long as it runs."""

    async def unknown(request: Request, error: Exception) -> Response:
        return error_response(NotFound(f"there is no {shortened(request.url.path)}", code="no_route"))

    async def wrong_method(request: Request, error: Exception) -> Response:
        allowed = "GET, HEAD"
        return error_response(
            MethodNotAllowed(
                f"{shortened(request.url.path)} takes {allowed}, not {request.method}",
                code="method_not_allowed",
                value=request.method,
                allowed=allowed,
            )
        )

    async def failed(request: Request, error: Exception) -> Response:
        if not isinstance(error, DemurError):
            _log.error("a call failed by a defect", exc_info=error)
        return error_response(internal(error))

    return Starlette(
        routes=[
            Route("/", routes.page),
            Route("/metrics", routes.metrics),
            Route("/livez", routes.live),
            Route("/readyz", routes.ready),
            Route("/v1/live", routes.known),
            Route("/v1/what-if", routes.what_if),
            Route("/v1/sketch", routes.sketch),
        ],
        exception_handlers={404: unknown, 405: wrong_method, DemurError: failed},
        lifespan=beside,
    )


def _wanted(request: Request) -> dict[str, str]:
    """Which window a query is about."""
    return {name: request.query_params.get(name, "") for name in ("task", "head", "model", "window", "source")}


def _thresholds(given: Sequence[str]) -> list[float]:
    """Thresholds of a query: ``threshold=1&threshold=2`` or ``threshold=1,2``.

    Raises:
        InvalidInput: none, too many, or one that is no number.
    """
    texts = [text for one in given for text in one.split(",") if text.strip()]
    if not 1 <= len(texts) <= MOST_THRESHOLDS:
        raise InvalidInput(
            f"threshold needs 1 to {MOST_THRESHOLDS} numbers in the unit of the head's measure, got {len(texts)}",
            code="bad_thresholds",
            field="threshold",
            value=str(len(texts)),
            allowed=f"[1, {MOST_THRESHOLDS}]",
        )
    found = []
    for text in texts:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise InvalidInput(
                f"threshold = {shortened(text)!r} is no number",
                code="not_a_number",
                field="threshold",
                value=text,
                allowed="a number",
            )
        found.append(value)
    return found

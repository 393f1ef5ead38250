"""HTTP interface of the monitor: metrics, probes, the state as JSON, what-ifs, sketches, and the HTML page."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, get_args

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from models.agreement.label_worth import Figure
from models.live.request_worth import RequestWorth
from models.live.stream import SOURCES
from models.live.window_evaluator import WindowResult
from models.live.windows import LAST
from services.monitor.document import document, what_if_document
from services.monitor.exporter import Exporter
from services.monitor.page import Pages
from services.monitor.reviewer_document import named_document
from services.monitor.snapshot import Snapshot
from services.monitor.worth_document import kinds_document, worth_document
from services.runtime.errors import DemurError, InvalidInput, MethodNotAllowed, NotFound, internal, shortened
from services.runtime.logging import get_logger
from services.transport.http.body import error_response, json_response

_log = get_logger(__name__)

STALE_SECONDS = 15.0
"""Age of the last cycle, in seconds, above which the monitor is not ready."""
MOST_THRESHOLDS = 256
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Routes:
    """Endpoints over the last snapshot."""

    def __init__(self, exporter: Exporter, clock: Callable[[], float] = time.time) -> None:
        self._exporter, self._clock = exporter, clock
        self._snapshot = Snapshot()
        self._pages = Pages()

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot; called from the monitor's thread."""
        self._exporter.publish(snapshot)
        self._snapshot = snapshot

    @property
    def hindrance(self) -> str:
        """Reason why the monitor is not ready; empty if it is."""
        snapshot = self._snapshot
        if not snapshot.time:
            return "starting"
        age = self._clock() - snapshot.time
        if age > STALE_SECONDS:
            return f"the last reading was {age:.0f} s ago"
        return snapshot.problem

    async def metrics(self, request: Request) -> Response:
        return Response(self._exporter.text(self._clock()), media_type=_METRICS)

    async def live(self, request: Request) -> Response:
        return json_response({"status": "alive"})

    async def ready(self, request: Request) -> Response:
        reason = self.hindrance
        body = msgspec.json.encode({"status": "not ready", "reason": reason} if reason else {"status": "ready"})
        return Response(body, 503 if reason else 200, media_type="application/json")

    async def known(self, request: Request) -> Response:
        return json_response(document(self._snapshot, self._clock()))

    async def what_if(self, request: Request) -> Response:
        """Return the figures of a window at other thresholds, from the same labels.

        Raises:
            NotFound, InvalidInput: as ``_window``; or the window has no units.
        """
        thresholds = _thresholds(request.query_params.getlist("threshold"))
        window = _window(self._snapshot, request)
        what_if = await run_in_threadpool(window.what_if, thresholds)
        if what_if is None:
            raise NotFound("this window has no units to judge by yet", code="no_units")
        return json_response(what_if_document(window, what_if))

    async def sketch(self, request: Request) -> Response:
        """Return a window in bins, as ``models.estimation.sketch.Sketch.to_bytes``; sketches can be added.

        Raises:
            NotFound, InvalidInput: as ``_window``.
        """
        window = _window(self._snapshot, request)
        body = await run_in_threadpool(lambda: window.sketch().to_bytes())
        return Response(body, media_type="application/octet-stream")

    async def worth(self, request: Request) -> Response:
        """Return what waiting labels are worth for a figure, by kind of request and by unit.

        Raises:
            NotFound, InvalidInput: as ``_window``; the window's units are not all held, or there is no such figure.
        """
        window, name = _window(self._snapshot, request), request.query_params.get("figure", "system_error")
        figure: Figure | None = next((own for own in get_args(Figure) if own == name), None)
        if figure is None:
            allowed = ", ".join(get_args(Figure))
            raise InvalidInput.about("figure", name, "is not a figure", code="unknown_figure", allowed=allowed)
        return json_response(worth_document(window.key, figure, await _worth(window, figure)))

    async def worth_of_kinds(self, request: Request) -> Response:
        """Return what one more label of an answered and of a deferred unit is worth for the error of the system.

        Raises:
            NotFound, InvalidInput: as ``worth``.
        """
        return json_response(kinds_document(await _worth(_window(self._snapshot, request), "system_error")))

    async def reviewers(self, request: Request) -> Response:
        return json_response(await run_in_threadpool(named_document, self._snapshot))

    async def page(self, request: Request) -> Response:
        snapshot = self._snapshot
        return HTMLResponse(await run_in_threadpool(self._pages.page, snapshot, self.hindrance, self._clock()))


def application(routes: Routes, beside: Any = None) -> Starlette:
    """Build the ASGI application.

    Args:
        beside: lifespan context of the application.
    """

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
            _log.error("a call failed because of a defect", exc_info=error)
        return error_response(internal(error))

    return Starlette(
        routes=[
            Route("/", routes.page),
            Route("/metrics", routes.metrics),
            Route("/livez", routes.live),
            Route("/readyz", routes.ready),
            Route("/v1/live", routes.known),
            Route("/v1/reviewers", routes.reviewers),
            Route("/v1/worth", routes.worth),
            Route("/v1/worth/kinds", routes.worth_of_kinds),
            Route("/v1/what-if", routes.what_if),
            Route("/v1/sketch", routes.sketch),
        ],
        exception_handlers={404: unknown, 405: wrong_method, DemurError: failed},
        lifespan=beside,
    )


def _window(snapshot: Snapshot, request: Request) -> WindowResult:
    """Return the window of a query: the newest that fits, by default the window by count of requested labels.

    Raises:
        NotFound: no window fits.
        InvalidInput: windows of several heads fit.
    """
    query = {name: request.query_params.get(name, "") for name in ("task", "head", "model", "window", "source")}
    place = query["window"] or LAST, query["source"] or SOURCES[0]
    stream = (query["task"], query["head"], query["model"])
    fitting = [
        window
        for window in snapshot.windows
        if (window.window, window.source) == place
        and all(value in ("", own) for value, own in zip(stream, window.key, strict=True))
    ]
    if not fitting:
        text = ", ".join(f"{name} {value}" for name, value in query.items() if value)
        raise NotFound(
            f"there is no window of {text or 'any stream'} yet; /v1/live lists all windows", code="no_window"
        )
    heads = sorted({f"task={window.key.task}&head={window.key.head}" for window in fitting})
    if len(heads) > 1:
        allowed = "; ".join(heads)
        raise InvalidInput(
            f"several heads fit; say which: {allowed}", code="several_heads", field="head", allowed=allowed
        )
    return max(fitting, key=lambda window: window.end)


async def _worth(window: WindowResult, figure: Figure) -> RequestWorth:
    if window.worth is None:
        raise NotFound("the worth of labels needs a window whose units are all held: window=last", code="no_units")
    return await run_in_threadpool(window.worth, figure)


def _thresholds(values: Sequence[str]) -> list[float]:
    """Parse the thresholds of a query: ``threshold=1&threshold=2`` or ``threshold=1,2``.

    Raises:
        InvalidInput: there are none or too many, or a text is not a number.
    """
    texts = [text for value in values for text in value.split(",") if text.strip()]
    if not 1 <= len(texts) <= MOST_THRESHOLDS:
        raise InvalidInput.about(
            "threshold",
            len(texts),
            f"must be 1 to {MOST_THRESHOLDS} numbers in the unit of the head's measure",
            code="bad_thresholds",
            allowed=f"[1, {MOST_THRESHOLDS}]",
        )
    return [_threshold(text) for text in texts]


def _threshold(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InvalidInput.about("threshold", text, code="not_a_number", allowed="a number")
    return value

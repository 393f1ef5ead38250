"""Load shedding over HTTP: refuse prediction calls beyond the capacity of the event loop, at almost no cost.

Under overload, a refusal on the full path of a request (task, middleware, routes) costs as much as an answer, and
refusals alone fill the event loop. So calls are shed in the HTTP parser: a small prediction call is held until it is
complete, then answered by ``SmallCalls``, passed on, or refused with precomputed bytes. Everything else passes: probes,
metrics, labels, jobs, and large bodies, which arrive more slowly and are bounded by the limits of the schedule.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from services.request.admission import Crowd, Ticket, ticket
from services.runtime.errors import Busy
from services.transport.http.error_response import response_for
from services.transport.http.small_calls import SmallCalls

GUARDED = (b"/v1/predict", b"/v2/models/")
"""Prefixes of the paths whose POSTs are prediction calls."""
HELD_BYTES = 64 << 10
"""Largest body, in bytes, that is held; larger ones pass."""
_HELD_SECONDS = 0.1
"""Time to wait for the rest of a small body, in seconds; then the application waits for it, with a deadline."""
_RETRY_AFTER_SECONDS = 0.1
_BUSY = Busy(
    "more calls are waiting than can be answered in time; retry in 0.1 s, or send rows together in one call",
    code="queue_full",
    retry_after_seconds=_RETRY_AFTER_SECONDS,
)


def _refusals(prefix: bytes) -> tuple[bytes, bytes]:
    """Return the refusal of a call under a prefix of paths, on a connection that is kept and one that is closed."""
    response = response_for(prefix.decode(), _BUSY)
    head = b"HTTP/1.1 %d Too Many Requests\r\n" % response.status_code
    head += b"".join(b"%s: %s\r\n" % header for header in response.raw_headers)
    return head + b"\r\n" + bytes(response.body), head + b"connection: close\r\n\r\n" + bytes(response.body)


_REFUSALS = {prefix: _refusals(prefix) for prefix in GUARDED}


class _Answered:
    """Replacement for the cycle of a refused request, which uvicorn reads as the last one."""

    response_complete = True
    waiting_for_100_continue = False
    message_event = asyncio.Event()  # no task waits for it


class LoadShedder:
    """Counter of active and refused calls, one per process."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.refused = 0
        self.small_calls: SmallCalls | None = None
        """Fast path of small calls, once the process can answer them; None: all go to the application."""


def shedding_protocol(shedder: LoadShedder) -> type[HttpToolsProtocol]:
    """Return the protocol class for uvicorn, which makes an instance for each connection."""

    class Guarded(HttpToolsProtocol):
        _held: list[bytes] | None = None
        """Parts of the body of the held request."""
        _timer: asyncio.TimerHandle | None = None
        _ticket: Ticket | None = None
        """Ticket of the request whose task is created next."""

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._held is not None and self._timer is None:
                self._timer = self.loop.call_later(_HELD_SECONDS, self._pass_on)

        def connection_lost(self, exc: Exception | None) -> None:
            self._held = None
            self._stop_timer()
            super().connection_lost(exc)

        def on_headers_complete(self) -> None:
            if self._is_guarded():
                self._held = []
            else:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            if self._held is None:
                super().on_body(body)
            else:
                self._held.append(body)

        def on_message_complete(self) -> None:
            if self._held is not None:
                if not shedder.crowd.enter():
                    self._refuse()
                    return
                held = Ticket(shedder.crowd)
                call = None if shedder.small_calls is None else shedder.small_calls.take(self, self._held, held)
                if call is not None:
                    self._held = None
                    self._stop_timer()
                    self.cycle = call  # type: ignore[assignment]
                    return
                self._ticket = held
                self._pass_on()
            super().on_message_complete()

        def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
            if self._ticket is not None:
                app, self._ticket = _ticketed(app, self._ticket), None
            super()._start_asgi_task(cycle, app)

        def _is_guarded(self) -> bool:
            """Return whether the request is a small prediction call, and the only active one of its connection."""
            if not self.url.startswith(GUARDED) or self.parser.get_method() != b"POST" or self.expect_100_continue:
                return False
            if self.cycle is not None and not self.cycle.response_complete:
                return False
            declared = next((value for name, value in self.headers if name == b"content-length"), b"")
            return declared.isdigit() and int(declared) <= HELD_BYTES and not self.parser.should_upgrade()

        def _pass_on(self) -> None:
            parts, self._held = self._held or [], None
            self._stop_timer()
            super().on_headers_complete()
            for part in parts:
                super().on_body(part)

        def _refuse(self) -> None:
            self._held = None
            self._stop_timer()
            shedder.refused += 1
            self.cycle = _Answered()  # type: ignore[assignment]
            kept, closed = next(_REFUSALS[prefix] for prefix in GUARDED if self.url.startswith(prefix))
            if self.parser.should_keep_alive():
                self.transport.write(kept)
                self.on_response_complete()
            else:
                self.transport.write(closed)
                self.transport.close()

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Guarded


def _ticketed(app: Any, held: Ticket) -> Any:
    """Return the application with a call that gives its ticket back at its end at the latest."""

    async def run(scope: Any, receive: Any, send: Any) -> None:
        ticket.set(held)
        try:
            await app(scope, receive, send)
        finally:
            held.give_back()

    return run

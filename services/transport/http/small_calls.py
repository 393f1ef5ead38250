"""Small prediction calls over HTTP, answered in one synchronous batch: from bytes to bytes.

A call that is complete waits for the present turn of the event loop to end. Then all that wait are admitted and
decoded, share a joint pass (validation, one run of the graph, decision, one write of the journal), and are encoded,
each by itself: a failure affects only its own call. No task, no request object and no layer is made for a call. Calls
whose work is longer, or waits for a commit of a database, or whose trace is recorded, continue in tasks.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any, Protocol

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from services.access.authenticator import Authenticator
from services.access.caller import CALLER, Caller
from services.request.admission import Ticket, ticket
from services.request.contract import Call
from services.request.joint_pass import MOST_REQUESTS, JointPass, SmallRequest
from services.request.pipeline import Pipeline
from services.runtime.errors import Cancelled, DemurError, draining
from services.runtime.logging import get_logger
from services.tracing.trace import OUTSIDE, Trace, enter, leave, step
from services.transport.http.body import JSON, Written
from services.transport.http.call import CallLayer
from services.transport.http.request import within

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """Decoded call."""

    request: Any
    """Request of the task."""
    call: Call
    seconds: float
    """Time that the caller waits for the answer."""
    nbytes: int
    """Size of the body as text, in bytes; the answer is assumed to be about as large."""
    write: Callable[[list[Any]], Written]
    """Function that returns the body with all answers of the request."""


class SmallRoute(Protocol):
    """Route of predictions whose small calls need no request object."""

    @property
    def path(self) -> str:
        """Path as declared."""
        ...

    @property
    def transport(self) -> str:
        """Transport that the metrics count calls under."""
        ...

    def takes(self, content_type: str) -> bool:
        """Return whether ``read`` can read bodies of this content type."""
        ...

    def read(self, headers: Mapping[str, str], body: bytes) -> DecodedCall:
        """Decode a call.

        Args:
            headers: by name in lower case, each once.

        Raises:
            DemurError: a header or the body is not valid for the route.
        """
        ...

    def refusal(self, error: DemurError, /) -> Response:
        """Return the response of an error."""
        ...

    def failed(self, seconds: float) -> None:
        """Take note of a call that was refused or failed, after this time."""
        ...


class SmallCall:
    """Complete call of a connection, in the place of uvicorn's cycle, whose flags the connection reads and sets."""

    __slots__ = (
        *("_connection", "_gone", "_task", "body", "caller", "headers", "keep_alive", "left"),
        *("response_complete", "route", "start", "ticket", "trace"),
    )
    waiting_for_100_continue = False
    message_event = asyncio.Event()  # no task waits for it

    def __init__(
        self,
        connection: HttpToolsProtocol,
        route: SmallRoute,
        headers: Mapping[str, str],
        body: bytes,
        held: Ticket,
    ) -> None:
        self._connection, self.route, self.headers, self.body, self.ticket = connection, route, headers, body, held
        self.keep_alive = connection.parser.should_keep_alive()
        self.response_complete = self.left = self._gone = False
        self._task: asyncio.Task[None] | None = None
        self.start = time.perf_counter()
        self.caller: Caller | None = None
        self.trace: Trace = OUTSIDE

    @property
    def disconnected(self) -> bool:
        """True once the caller has closed the connection; the task of the call is then cancelled."""
        return self._gone

    @disconnected.setter
    def disconnected(self, gone: bool) -> None:
        self._gone = gone
        if gone and self._task is not None:
            self._task.cancel()

    def go_on(self, work: Coroutine[Any, Any, None], unanswered: Callable[[], None]) -> None:
        """Continue in a task, which uvicorn waits for when it stops.

        Args:
            unanswered: called if the task ends without an answer: cancelled before its first step, it never begins.
        """
        tasks = self._connection.tasks

        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            if not self.response_complete:
                unanswered()

        self._task = task = self._connection.loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(ended)

    def abort(self) -> None:
        """Close the connection at once, without an answer."""
        self.response_complete = True
        self._connection.transport.abort()

    def respond(self, code: int, headers: Iterable[tuple[bytes, bytes]], content: bytes) -> None:
        """Write the response, unless the caller is gone."""
        self.response_complete = True
        connection = self._connection
        if self._gone:
            return
        lines = [b"%s: %s\r\n" % header for header in (*connection.server_state.default_headers, *headers)]
        if b"connection: close\r\n" in lines:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        connection.transport.write(b"".join((STATUS_LINE[code], *lines, b"\r\n", content)))
        if not self.keep_alive:
            connection.transport.close()
        connection.on_response_complete()


class SmallCalls:
    """Small calls of a process that wait for the present turn of its event loop to end."""

    def __init__(
        self,
        routes: Mapping[str, SmallRoute],
        pipeline: Pipeline[Any, Any],
        joint: JointPass[Any, Any],
        layer: CallLayer,
        authenticator: Authenticator | None,
    ) -> None:
        """
        Args:
            routes: by path; POST with the scope ``predict``.
            joint: the pipeline's joint pass.
            authenticator: checks tokens; None: calls need no token.
        """
        self._routes = {path.encode(): route for path, route in routes.items()}
        self._pipeline, self._joint, self._layer, self._authenticator = pipeline, joint, layer, authenticator
        self._waiting: deque[SmallCall] = deque()

    def take(self, connection: HttpToolsProtocol, parts: Sequence[bytes], held: Ticket) -> SmallCall | None:
        """Accept the complete POST that a connection has parsed, which has no other call under way.

        Returns:
            The call, which will be answered and gives its ticket back; None if it is for the application: another route
            or version of HTTP, repeated or unusual headers, or answers that the caller does not read.
        """
        route = self._routes.get(connection.url)
        if route is None or connection.parser.get_http_version() != "1.1" or connection.flow.write_paused:
            return None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in connection.headers}
        usual = len(headers) == len(connection.headers) and headers.get("content-encoding", "identity") == "identity"
        if not usual or not route.takes(headers.get("content-type", JSON)):
            return None
        call = SmallCall(connection, route, headers, b"".join(parts), held)
        self._layer.lifecycle.enter()
        if not self._waiting:
            connection.loop.call_soon(self._turn, connection.loop)
        self._waiting.append(call)
        return call

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer the calls that wait, as many as one pass may hold; the others have their next turn soon."""
        most_seconds, seconds = self._joint.seconds, 0.0
        together: list[tuple[SmallCall, DecodedCall]] = []
        while self._waiting and seconds < most_seconds and len(together) < MOST_REQUESTS:
            call = self._waiting.popleft()
            if (accepted := self._accepted(call)) is not None:
                decoded, duration = accepted
                seconds += duration
                together.append((call, decoded))
        if self._waiting:
            loop.call_soon(self._turn, loop)
        if together:
            self._answer_together(together)

    def _answer_together(self, together: Sequence[tuple[SmallCall, DecodedCall]]) -> None:
        """Answer decoded calls by a joint pass."""
        try:
            outcomes = self._joint.answer([_small(call, decoded) for call, decoded in together])
        except Exception as defect:
            outcomes = [defect] * len(together)
        for (call, decoded), outcome in zip(together, outcomes, strict=True):
            if isinstance(outcome, Exception):
                self._refuse(call, outcome)
            elif isawaitable(outcome):
                call.go_on(self._later(call, decoded, outcome), partial(self._give_up, call, outcome))
            else:
                self._answer(call, decoded, outcome)

    def _accepted(self, call: SmallCall) -> tuple[DecodedCall, float] | None:
        """Admit and decode a call; return it with the expected seconds of its pass.

        None if it was refused, or continues in a task.
        """
        layer, route = self._layer, call.route
        try:
            if self._authenticator is not None:
                token = call.headers.get("authorization")
                call.caller = self._authenticator.admit(() if token is None else (token,), "predict")
        except Exception as error:
            self._refuse(call, error, close=True)
            return None
        decoded = None
        try:
            call.trace = layer.begin(f"POST {route.path}", route.path, lambda: call.headers)
            if not call.trace.recorded_id:
                layer.check_open()
                if call.disconnected:
                    raise _gone()
                decoded = route.read(call.headers, call.body)
                if self._joint.takes(decoded.request, decoded.call):
                    return decoded, self._joint.duration(decoded.request)
        except Exception as failure:
            self._refuse(call, failure)
            return None
        call.go_on(self._alone(call, decoded), partial(self._give_up, call))
        return None

    def _answer(self, call: SmallCall, decoded: DecodedCall, answer: Any) -> None:
        """Encode and write the answer to a call of a joint pass."""
        try:
            self._respond(call, decoded.write([answer]))
        except Exception as failure:
            self._refuse(call, failure)

    # Calls that take longer

    async def _later(self, call: SmallCall, decoded: DecodedCall, outcome: Awaitable[Any]) -> None:
        """Answer a call whose units wait for a commit."""

        async def answers() -> list[Any]:
            return [await outcome]

        await self._finish(call, decoded, answers)

    async def _alone(self, call: SmallCall, decoded: DecodedCall | None) -> None:
        """Answer a call on the pipeline's usual way; ``decoded`` is None if it is not decoded yet."""
        ticket.set(call.ticket)
        CALLER.set(call.caller)
        with call.trace:
            try:
                if decoded is None:
                    self._layer.check_open()
                    with step("decode"):
                        decoded = call.route.read(call.headers, call.body)
            except Exception as failure:
                self._refuse(call, failure)
                return
            ready = decoded
            await self._finish(call, ready, lambda: self._pipeline.answer(ready.request, ready.call, ready.nbytes))

    async def _finish(self, call: SmallCall, decoded: DecodedCall, answers: Callable[[], Awaitable[list[Any]]]) -> None:
        """Wait for the answers to a call, encode and write them."""
        task = asyncio.current_task()
        assert task is not None
        try:
            async with within(decoded.seconds):
                answered = await answers()
            with step("encode"):
                written = await self._pipeline.offload.run(decoded.nbytes, decoded.write, answered)
            self._respond(call, written)
        except asyncio.CancelledError:
            if not call.disconnected or task.uncancel():
                raise  # the process ends
            self._refuse(call, _gone())
        except Exception as failure:
            self._refuse(call, failure)

    def _give_up(self, call: SmallCall, outcome: Any = None) -> None:
        """End a call whose task was cancelled; an ``outcome`` that nobody will wait for is closed."""
        if outcome is not None:
            outcome.close()
        self._refuse(call, _gone() if call.disconnected else draining())

    # The end of a call

    def _respond(self, call: SmallCall, written: Written) -> None:
        content = written.content
        headers = [
            *((name.encode(), value.encode()) for name, value in written.headers.items()),
            (b"content-length", b"%d" % len(content)),
            (b"content-type", written.media_type.encode()),
        ]
        self._end(call, 200)
        call.respond(200, headers, content)

    def _refuse(self, call: SmallCall, failure: Exception, *, close: bool = False) -> None:
        """Answer with an error; if not even that is possible, close the connection."""
        if call.response_complete:  # what failed is its writing
            call.abort()
            return
        try:
            _, response = self._layer.refused(failure, call.trace, call.route.refusal)
            if close:
                response.headers["connection"] = "close"
            call.route.failed(time.perf_counter() - call.start)
            self._end(call, response.status_code)
            call.respond(response.status_code, response.raw_headers, bytes(response.body))
        except Exception:
            _log.exception("an error could not be answered")
            self._leave(call)
            call.abort()

    def _end(self, call: SmallCall, code: int) -> None:
        """Count a call whose answer is about to be written."""
        self._leave(call)
        call.trace.note("http.response.status_code", code)
        token = enter(call.trace)
        self._layer.ended(call.route.transport, f"POST {call.route.path}", code, call.start)
        leave(token)

    def _leave(self, call: SmallCall) -> None:
        """Count a call out, once."""
        if not call.left:
            call.left = True
            call.ticket.give_back()
            self._layer.lifecycle.leave()


def _small(call: SmallCall, decoded: DecodedCall) -> SmallRequest[Any]:
    return SmallRequest(decoded.request, decoded.call, None if call.caller is None else call.caller.charging)


def _gone() -> Cancelled:
    return Cancelled("the caller went away before the answer", code="disconnected")

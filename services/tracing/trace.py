"""Interface of the trace of a call, and the current trace.

The handler of a call begins a trace (see ``tracer``); until it ends, also in tasks that the call starts, it is
``current()``. Steps of a request need no argument for it: ``with step("policy"):`` is enough. Where nothing is
recorded, a step costs a look-up and two calls that do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

from services.runtime.errors import DemurError
from services.tracing.context import Carrier, Parent, parent, request_id, span_text, trace_text

Value = str | bool | int | float
"""Value of an attribute: small, bounded, and never an input of the model."""


class Span(Protocol):
    """Context manager of a timed step; an exception that passes through is its error."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Share(Protocol):
    """Share of the device that a request has in the scheduler: it waits, then takes part in passes."""

    def passed(self, sharers: Sequence[tuple[Share, int]], start: float, seconds: float, sizes: Sequence[int]) -> str:
        """Record the end of a pass over the device and return the id of the pass's own trace.

        Args:
            sharers: the recorded requests in the pass, this one too, each with the size of its quantum; a request with
                two quanta occurs twice.
            start: on the monotonic clock.
            sizes: of all quanta of the pass, recorded or not: rows, or the unit that the executor counts.
        """
        ...

    def left(self, now: float, error: BaseException | None) -> None:
        """Record that the request's work ended or was cancelled."""
        ...


class Trace(Span, Protocol):
    """Trace of one call, chunk or job; a context manager, within which it is ``current()``."""

    def __enter__(self) -> Trace: ...

    @property
    def recorded_id(self) -> str:
        """Id of the trace, 32 hex digits; empty if it is not recorded."""
        ...

    @property
    def ids(self) -> Mapping[str, str]:
        """Ids for log lines: trace_id, span_id, request_id, as far as they exist."""
        ...

    def step(self, name: str) -> Span:
        """Return a step of the call."""
        ...

    def note(self, name: str, value: Value) -> None:
        """Set an attribute."""
        ...

    def decided(self, verdicts: Mapping[str, Any]) -> None:
        """Add verdicts of some units, head name to ``policy.Verdict``; kept as counts and aggregates."""
        ...

    def failed(self, error: DemurError) -> None:
        """Note the error that ends the call."""
        ...

    def item_failed(self, error: DemurError) -> None:
        """Count an item that failed; the call goes on."""
        ...

    def share(self, now: float) -> Share | None:
        """Return the share of work that enters the scheduler; None if the trace is not recorded."""
        ...

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        """Return the trace of a part that may outlive the call: a chunk of a stream, a job."""
        ...


_NULL_SPAN = nullcontext()
_NO_IDS: Mapping[str, str] = {}


class NullTrace:
    """Trace outside of calls, which keeps nothing."""

    __slots__ = ("_token",)
    recorded_id = ""

    @property
    def ids(self) -> Mapping[str, str]:
        return _NO_IDS

    def __enter__(self) -> Trace:
        self._token = _CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.reset(self._token)

    def step(self, name: str) -> Span:
        return _NULL_SPAN

    def note(self, name: str, value: Value) -> None: ...

    def decided(self, verdicts: Mapping[str, Any]) -> None: ...

    def failed(self, error: DemurError) -> None: ...

    def item_failed(self, error: DemurError) -> None: ...

    def share(self, now: float) -> None:
        return None

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        return NullTrace()


class UnrecordedTrace(NullTrace):
    """Trace that is not recorded, but whose ids from the caller appear in log lines."""

    __slots__ = ("_carrier", "_ids", "_span")

    def __init__(self, carrier: Carrier, span: Parent | None = None, ids: Mapping[str, str] | None = None) -> None:
        """
        Args:
            span: the caller's span; default: read from the carrier when needed.
            ids: ids for log lines; default: those of the span and the carrier.
        """
        self._carrier, self._span, self._ids = carrier, span, ids

    @property
    def ids(self) -> Mapping[str, str]:
        if self._ids is None:
            self._ids = _names(self._span or parent(self._carrier), request_id(self._carrier))
        return self._ids

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        return UnrecordedTrace(self._carrier, ids=self.ids)  # read while the call lasts


def _names(span: Parent | None, request: str) -> dict[str, str]:
    ids = {} if span is None else {"trace_id": trace_text(span.trace_id), "span_id": span_text(span.span_id)}
    return ids | {"request_id": request} if request else ids


OUTSIDE = NullTrace()
"""Trace outside of calls; never entered, so never changed."""
_CURRENT: ContextVar[Trace] = ContextVar("trace", default=OUTSIDE)


def current() -> Trace:
    """Return the trace of the present call; outside of calls one that keeps nothing."""
    return _CURRENT.get()


def log_fields() -> Mapping[str, str]:
    """Return the identifiers of the current trace for a log line: trace_id, span_id and request_id, if known."""
    return _CURRENT.get().ids


def step(name: str) -> Span:
    """Return a step of the current call."""
    return _CURRENT.get().step(name)


def enter(trace: Trace) -> Any:
    """Make a trace the current one; for traces only."""
    return _CURRENT.set(trace)


def leave(token: Any) -> None:
    """Restore the previous trace."""
    _CURRENT.reset(token)

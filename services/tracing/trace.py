"""What a call tells its trace on its way.

Who answers a call opens a trace (see ``tracer``); for all that the call then does, also in tasks that it starts, it
is ``current()``. So the stations of a request need not be handed one: ``with step("policy"):`` is all they say. Where
nothing is recorded, a step costs a look-up and two calls that do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

from services.runtime.errors import DemurError
from services.tracing.context import Carrier, Parent, parent, request_id, span_text, trace_text

Value = str | bool | int | float
"""Of an attribute: small, bounded, and never anything that a caller wants predicted."""


class Span(Protocol):
    """``with``: a stretch of time; an exception that passes through is its error."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Share(Protocol):
    """A request's share of the device, as the schedule knows it: first it waits, then it is in passes."""

    def passed(self, sharers: Sequence[tuple[Share, int]], start: float, seconds: float, sizes: Sequence[int]) -> str:
        """A pass over the device has ended.

        Args:
            sharers: the recorded ones among those who shared it, this one too, each with the size of its quantum; one
                with two quanta is there twice.
            start: on the monotonic clock.
            sizes: of all quanta of the pass, recorded or not: rows, or whatever else the executor counts.

        Returns:
            The identity of the pass's own trace.
        """
        ...

    def left(self, now: float, error: BaseException | None) -> None:
        """The request's work ended, or was given up."""
        ...


class Trace(Span, Protocol):
    """Hears of one call, chunk or job; entered, it is ``current()``, and left it has ended."""

    def __enter__(self) -> Trace: ...

    @property
    def recorded_id(self) -> str:
        """Identity of the trace, 32 hex digits; empty where it is not recorded."""
        ...

    @property
    def ids(self) -> Mapping[str, str]:
        """What log lines tell of it: trace_id, span_id, request_id, as far as there are some."""
        ...

    def step(self, name: str) -> Span:
        """A station on its way."""
        ...

    def note(self, name: str, value: Value) -> None:
        """An attribute."""
        ...

    def decided(self, verdicts: Mapping[str, Any]) -> None:
        """Head name to ``policy.Verdict`` of some of its units; kept as counts and aggregates."""
        ...

    def failed(self, error: DemurError) -> None:
        """It ends in an error."""
        ...

    def item_failed(self, error: DemurError) -> None:
        """One of its items does; it goes on."""
        ...

    def share(self, now: float) -> Share | None:
        """Its work goes into the schedule; None: nobody wants to know."""
        ...

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        """A trace of something that it began and that may outlive it: a chunk of a stream, a job."""
        ...


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


_NOTHING = _Nothing()
_NO_IDS: Mapping[str, str] = {}


class Silent:
    """A trace that keeps nothing."""

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
        return _NOTHING

    def note(self, name: str, value: Value) -> None: ...

    def decided(self, verdicts: Mapping[str, Any]) -> None: ...

    def failed(self, error: DemurError) -> None: ...

    def item_failed(self, error: DemurError) -> None: ...

    def share(self, now: float) -> None:
        return None

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        return Silent()


class Passing(Silent):
    """One that is not recorded, but whose callers may have named it: log lines tell these names."""

    __slots__ = ("_carrier", "_ids", "_span")

    def __init__(self, carrier: Carrier, span: Parent | None = None, ids: Mapping[str, str] | None = None) -> None:
        """
        Args:
            span: where it is known; else it is read from the carrier when somebody asks.
            ids: the same, as log lines tell it.
        """
        self._carrier, self._span, self._ids = carrier, span, ids

    @property
    def ids(self) -> Mapping[str, str]:
        if self._ids is None:
            self._ids = _names(self._span or parent(self._carrier), request_id(self._carrier))
        return self._ids

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        return Passing(self._carrier, ids=self.ids)  # read while the call lasts


def _names(span: Parent | None, request: str) -> dict[str, str]:
    found = {} if span is None else {"trace_id": trace_text(span.trace_id), "span_id": span_text(span.span_id)}
    return found | {"request_id": request} if request else found


_OUTSIDE = Silent()
_CURRENT: ContextVar[Trace] = ContextVar("trace", default=_OUTSIDE)  # never entered, so never changed


def current() -> Trace:
    """The trace of the call that is being answered; one that keeps nothing outside of calls."""
    return _CURRENT.get()


def log_fields() -> Mapping[str, str]:
    """Return the identifiers of the current trace for a log line: trace_id, span_id and request_id, if known."""
    return _CURRENT.get().ids


def step(name: str) -> Span:
    """A station on the way of the current call."""
    return _CURRENT.get().step(name)


def enter(trace: Trace) -> Any:
    """Makes a trace the current one; for traces."""
    return _CURRENT.set(trace)


def leave(token: Any) -> None:
    """The one before is current again."""
    _CURRENT.reset(token)

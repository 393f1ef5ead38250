"""Opens the traces of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from services.tracing.context import Carrier, Parent, parent, request_id
from services.tracing.recording import Means, Recording
from services.tracing.sampling import Sampler
from services.tracing.trace import Passing, Trace, Value


class Tracer(Protocol):
    """What transports open traces with."""

    def begin(
        self, name: str, carrier: Carrier, attributes: Mapping[str, Value], *, start: float | None = None
    ) -> Trace:
        """A call that is being answered.

        Args:
            name: of the route or method, from a bounded set.
            carrier: the caller's headers.
            start: on the monotonic clock; now, where it is not given.
        """
        ...

    @property
    def recording(self) -> bool:
        """Whether any trace may be recorded."""
        ...


class Off:
    """Records nothing."""

    recording = False

    def begin(
        self, name: str, carrier: Carrier, attributes: Mapping[str, Value], *, start: float | None = None
    ) -> Trace:
        return Passing(carrier)


OFF = Off()


class Recorder:
    """Records what its sampler takes."""

    recording = True

    def __init__(self, means: Means, sampler: Sampler, attributes: Mapping[str, Value]) -> None:
        """``attributes``: of every call."""
        self._means, self._sampler, self._attributes = means, sampler, attributes

    def begin(
        self, name: str, carrier: Carrier, attributes: Mapping[str, Value], *, start: float | None = None
    ) -> Trace:
        given = parent(carrier)
        trace_id = (self._means.random(128) or 1) if given is None else given.trace_id
        if not self._sampler.takes(trace_id, given):
            return Passing(carrier, given or Parent(trace_id, self._means.span_id(), False))
        return Recording(
            self._means,
            name,
            {**self._attributes, **attributes},
            parent=given or Parent(trace_id, 0, True),
            remote=given is not None,
            kind="server",
            request_id=request_id(carrier),
            start=start,
        )

"""Tracers: they begin the trace of a call, recorded if the sampler selects it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from services.runtime.variables import SettingsError
from services.tracing.context import Carrier, Parent, parent, request_id
from services.tracing.recording import Backend, Recording
from services.tracing.trace import Trace, UnrecordedTrace, Value

SAMPLERS = ("always_on", "always_off", "traceidratio")
_PARENT = "parentbased_"
_LOW = (1 << 64) - 1


class Tracer(Protocol):
    """Factory of the traces of calls, used by the transports."""

    def begin(
        self, name: str, carrier: Carrier, attributes: Mapping[str, Value], *, start: float | None = None
    ) -> Trace:
        """Begin the trace of a call.

        Args:
            name: route or method, from a bounded set.
            carrier: the caller's headers.
            start: on the monotonic clock; default now.
        """
        ...

    @property
    def recording(self) -> bool:
        """True if any trace may be recorded."""
        ...


class Off:
    """Tracer that records nothing."""

    recording = False

    def begin(
        self, name: str, carrier: Carrier, attributes: Mapping[str, Value], *, start: float | None = None
    ) -> Trace:
        return UnrecordedTrace(carrier)


OFF = Off()


@dataclass(frozen=True, slots=True)
class Sampler:
    """Sampler of a share of traces: the same traces in every service with the same share."""

    ratio: float
    parent_based: bool
    """True if the caller's choice takes precedence over the ratio."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Sampler:
        """Read OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG; default ``parentbased_always_on``.

        Raises:
            SettingsError: the sampler is unknown, or its argument is no share.
        """
        name = environment.get("OTEL_TRACES_SAMPLER", "").strip().lower() or "parentbased_always_on"
        kind = name.removeprefix(_PARENT)
        if kind not in SAMPLERS:
            known = ", ".join((*SAMPLERS, *(_PARENT + sampler for sampler in SAMPLERS)))
            raise SettingsError(f"OTEL_TRACES_SAMPLER = {name!r} is not known here; use {known}")
        ratio = {"always_on": 1.0, "always_off": 0.0}.get(kind)
        if ratio is None:
            ratio = _share(environment.get("OTEL_TRACES_SAMPLER_ARG", "").strip())
        return cls(ratio, name != kind)

    def takes(self, trace_id: int, parent: Parent | None) -> bool:
        """Return True if a trace is to be recorded."""
        if parent is not None and self.parent_based:
            return parent.sampled
        return (trace_id & _LOW) < round(self.ratio * (_LOW + 1))


class Recorder:
    """Tracer that records the traces that its sampler selects."""

    recording = True

    def __init__(self, backend: Backend, sampler: Sampler, attributes: Mapping[str, Value]) -> None:
        """Args:
        attributes: added to those of every call.
        """
        self._backend, self._sampler, self._attributes = backend, sampler, attributes

    def begin(
        self, name: str, carrier: Carrier, attributes: Mapping[str, Value], *, start: float | None = None
    ) -> Trace:
        caller = parent(carrier)
        trace_id = (self._backend.random(128) or 1) if caller is None else caller.trace_id
        if not self._sampler.takes(trace_id, caller):
            return UnrecordedTrace(carrier, caller or Parent(trace_id, self._backend.span_id(), False))
        return Recording(
            self._backend,
            name,
            {**self._attributes, **attributes},
            parent=caller or Parent(trace_id, 0, True),
            remote=caller is not None,
            kind="server",
            request_id=request_id(carrier),
            start=start,
        )


def _share(text: str) -> float:
    try:
        ratio = float(text or "1")
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise SettingsError(f"OTEL_TRACES_SAMPLER_ARG = {text!r}: a share of traces from 0 to 1 is needed")
    return ratio

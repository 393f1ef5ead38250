"""Recorded traces: a call notes moments and numbers; spans are made of them in another thread."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from services.policy.decision import Decision
from services.runtime.errors import DemurError, internal, status
from services.tracing.context import Parent, span_text, trace_text
from services.tracing.trace import Share, Span, Trace, UnrecordedTrace, Value, enter, leave

MOST_STEPS = 96
"""Recorded steps of one call: a document of many sentences has a few for each, which add little after the first."""
MOST_PARTS = 1000
"""Recorded chunks of one stream, which may last for days."""
MOST_LINKS = 128
"""Links of one span, the default of OpenTelemetry."""
_SERVER_FAULT = 500
_random = random.Random()  # noqa: S311 - ids, not secrets; seeded by the system alone
_DECISION_NAMES = {decision: decision.name.lower() for decision in Decision}
Kind = Literal["server", "internal"]


class Link(NamedTuple):
    """Reference to a related span."""

    trace_id: int
    span_id: int


@dataclass(slots=True)
class SpanRecord:
    """Finished span."""

    name: str
    span_id: int
    parent_id: int
    """0 for none."""
    start: float
    end: float
    """Monotonic clock, seconds; so is ``start``."""
    attributes: dict[str, Value] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    kind: Kind = "internal"
    error: str = ""
    """Code of the error that ended it, if the service or this step is at fault; else empty."""


@dataclass(slots=True)
class Bundle:
    """Spans of one trace that ended together: a call, chunk, job or pass with its steps."""

    trace_id: int
    state: str
    """The caller's tracestate."""
    remote: bool
    """True if the parent of the first span is in another process."""
    epoch_ns: int
    """Nanoseconds since 1970 at zero of the monotonic clock."""
    spans: list[SpanRecord]
    """Spans, the outermost first."""


class SpanSink(Protocol):
    """Destination of recorded spans; never blocks."""

    def put(self, bundle: Bundle) -> None: ...


@dataclass(frozen=True)
class Backend:
    """Queue, clocks and random ids shared by all recorded traces of a process."""

    queue: SpanSink
    monotonic: Callable[[], float]
    """Seconds, as in the scheduler."""
    wall_ns: Callable[[], int]
    """Nanoseconds since 1970."""
    random: Callable[[int], int] = field(default=_random.getrandbits)
    """Returns an integer of so many random bits."""

    def epoch_ns(self) -> int:
        """Return the present wall clock at zero of the monotonic clock."""
        return self.wall_ns() - int(self.monotonic() * 1e9)

    def span_id(self) -> int:
        """Return a new id of a span, never 0."""
        return self.random(64) or 1


class _Head:
    def __init__(self) -> None:
        self.counts = [0] * (len(Decision) + 1)
        self.units = self.finite = self.shifted = 0
        self.sum = 0.0
        self.largest = -np.inf
        self.policy = self.measure = ""


class Decisions:
    """Counts and aggregates of the decisions of a request, as attributes of its span; never a single unit."""

    def __init__(self) -> None:
        self._heads: defaultdict[str, _Head] = defaultdict(_Head)

    def add(self, verdicts: Mapping[str, Any]) -> None:
        """Add verdicts, head name to ``policy.Verdict``."""
        for name, verdict in verdicts.items():
            head = self._heads[name]
            counts = np.bincount(verdict.decisions, minlength=len(head.counts)).tolist()
            head.counts = [before + count for before, count in zip(head.counts, counts, strict=True)]
            head.units += len(verdict.decisions)
            head.shifted += int(np.count_nonzero(verdict.shifts))
            head.policy, head.measure = verdict.policy.version, verdict.policy.measure
            scores = verdict.uncertainty[np.isfinite(verdict.uncertainty)]
            if len(scores):
                head.finite += len(scores)
                head.sum += float(scores.sum(dtype=np.float64))
                head.largest = max(head.largest, float(scores.max()))

    def attributes(self) -> dict[str, Value]:
        """Return ``demur.units``, and ``demur.<head>.…`` for each head."""
        attributes: dict[str, Value] = {}
        if self._heads:
            attributes["demur.units"] = sum(head.units for head in self._heads.values())
        for name, head in self._heads.items():
            prefix = f"demur.{name}"
            attributes |= {f"{prefix}.{word}": head.counts[decision] for decision, word in _DECISION_NAMES.items()}
            attributes |= {f"{prefix}.shifted": head.shifted, f"{prefix}.policy": head.policy}
            attributes[f"{prefix}.measure"] = head.measure
            if head.finite:
                attributes[f"{prefix}.uncertainty.mean"] = head.sum / head.finite
                attributes[f"{prefix}.uncertainty.max"] = head.largest
        return attributes


class Recording:
    """Recorded trace; see ``trace.Trace``."""

    def __init__(
        self,
        backend: Backend,
        name: str,
        attributes: Mapping[str, Value],
        *,
        parent: Parent,
        remote: bool,
        kind: Kind,
        request_id: str = "",
        start: float | None = None,
    ) -> None:
        """
        Args:
            parent: the caller's span; with span id 0 for a trace that begins here.
            remote: True if the parent is in another process.
            start: on the monotonic clock; default now.
        """
        self._backend = backend
        self._trace_id, self._state = parent.trace_id, parent.state
        self._request_id = request_id
        self._epoch_ns = backend.epoch_ns()
        begin = backend.monotonic() if start is None else start
        self._own = SpanRecord(name, backend.span_id(), parent.span_id, begin, begin, dict(attributes), kind=kind)
        self._remote = remote
        self._steps: list[SpanRecord] = []
        self._left_out = self._failed_items = self._parts = 0
        self._decisions = Decisions()

    @property
    def recorded_id(self) -> str:
        return trace_text(self._trace_id)

    @property
    def ids(self) -> Mapping[str, str]:
        ids = {"trace_id": trace_text(self._trace_id), "span_id": span_text(self._own.span_id)}
        return ids | {"request_id": self._request_id} if self._request_id else ids

    def __enter__(self) -> Trace:
        self._token = enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave(self._token)
        own = self._own
        if error is not None and "error.type" not in own.attributes:
            self._fail(code_of(error), fault=True)
        own.end = self._backend.monotonic()
        own.attributes |= self._decisions.attributes()
        if self._failed_items:
            own.attributes["demur.failed_items"] = self._failed_items
        if self._left_out:
            own.attributes["demur.steps_left_out"] = self._left_out
        bundle = Bundle(self._trace_id, self._state, self._remote, self._epoch_ns, [own, *self._steps])
        self._backend.queue.put(bundle)

    def step(self, name: str) -> Span:
        """Return a step; decoding begins with the call itself, since its bytes came before its message."""
        return _Step(self, name, self._own.start if name == "decode" else None)

    def note(self, name: str, value: Value) -> None:
        self._own.attributes[name] = value

    def decided(self, verdicts: Mapping[str, Any]) -> None:
        self._decisions.add(verdicts)

    def failed(self, error: DemurError) -> None:
        """Note an error; a fault of the caller is no error of the server span, as in OpenTelemetry's conventions."""
        fault = self._own.kind != "server" or status(error).http >= _SERVER_FAULT
        self._fail(error.code, fault)

    def item_failed(self, error: DemurError) -> None:
        self._failed_items += 1

    def share(self, now: float) -> Share:
        return _Share(self, now)

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        self._parts += 1
        if self._parts > MOST_PARTS:
            return UnrecordedTrace(dict, ids=self.ids)
        parent = Parent(self._trace_id, self._own.span_id, True, self._state)
        return Recording(
            self._backend, name, attributes, parent=parent, remote=False, kind="internal", request_id=self._request_id
        )

    def _fail(self, code: str, fault: bool) -> None:
        self._own.attributes["error.type"] = code
        self._own.error = code if fault else ""

    def _keep(self, span: SpanRecord) -> None:
        if len(self._steps) < MOST_STEPS:
            self._steps.append(span)
        else:
            self._left_out += 1


class _Step:
    """Step of a call, recorded when it ends."""

    __slots__ = ("_name", "_start", "_trace")

    def __init__(self, trace: Recording, name: str, start: float | None) -> None:
        self._trace, self._name, self._start = trace, name, start

    def __enter__(self) -> None:
        if self._start is None:
            self._start = self._trace._backend.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._start is not None
        recording = self._trace
        span = SpanRecord(self._name, recording._backend.span_id(), recording._own.span_id, self._start, 0.0)
        span.end = recording._backend.monotonic()
        if error is not None:
            span.error = span.attributes["error.type"] = code_of(error)
        recording._keep(span)


class _Share:
    """Share of the device that becomes one span ``queue`` and one ``infer``, for any number of passes."""

    def __init__(self, trace: Recording, submitted: float) -> None:
        self._trace = trace
        self._submitted = submitted
        self._began = self._ended = 0.0
        self._span_id = trace._backend.span_id()
        self._quanta = 0
        self._device_seconds = 0.0
        self._links: list[Link] = []

    def passed(self, sharers: Sequence[tuple[Share, int]], start: float, seconds: float, sizes: Sequence[int]) -> str:
        backend = self._trace._backend
        device_pass = Link(backend.random(128) or 1, backend.span_id())
        total = max(1, sum(sizes))
        members = dict.fromkeys(share for share, _ in sharers if isinstance(share, _Share))
        for share, size in sharers:
            if isinstance(share, _Share):
                share._took(device_pass, start, seconds, size / total)
        links = tuple(Link(share._trace._trace_id, share._span_id) for share in members)
        attributes: dict[str, Value] = {"demur.quanta": len(sizes), "demur.size": sum(sizes)}
        span = SpanRecord("pass", device_pass.span_id, 0, start, start + seconds, attributes, links[:MOST_LINKS])
        backend.queue.put(Bundle(device_pass.trace_id, "", False, self._trace._epoch_ns, [span]))
        return trace_text(device_pass.trace_id)

    def _took(self, device_pass: Link, start: float, seconds: float, portion: float) -> None:
        if not self._quanta:
            self._began = start
        self._quanta += 1
        self._ended = max(self._ended, start + seconds)
        self._device_seconds += seconds * portion
        if len(self._links) < MOST_LINKS and (not self._links or self._links[-1] != device_pass):
            self._links.append(device_pass)

    def left(self, now: float, error: BaseException | None) -> None:
        trace = self._trace
        code = "" if error is None else code_of(error)
        waited = SpanRecord("queue", trace._backend.span_id(), trace._own.span_id, self._submitted, now)
        if self._quanta:
            waited.end = max(self._began, self._submitted)
        elif code:
            waited.error = waited.attributes["error.type"] = code
        trace._steps.append(waited)
        if not self._quanta:
            return
        attributes: dict[str, Value] = {"demur.quanta": self._quanta, "demur.device_seconds": self._device_seconds}
        links = tuple(self._links)
        infer = SpanRecord("infer", self._span_id, trace._own.span_id, self._began, self._ended, attributes, links)
        if code:
            infer.error = infer.attributes["error.type"] = code
        trace._steps.append(infer)


def code_of(error: BaseException) -> str:
    """Return the typed code of an error; never its text, which may hold inputs."""
    if isinstance(error, DemurError):
        return error.code
    return internal(error).code if isinstance(error, Exception) else "cancelled"

"""Traces that are kept: on the way of a request moments and numbers are noted; spans are made of them elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

from services.runtime.errors import DemurError, internal, status
from services.tracing.context import Parent, span_text, trace_text
from services.tracing.decisions import Decisions
from services.tracing.recorded import Bundle, Kind, Link, Recorded
from services.tracing.trace import Passing, Share, Span, Trace, Value, enter, leave

MOST_STEPS = 96
"""Of one call: a document of many sentences has a few each, which say no more than the first do."""
MOST_PARTS = 1000
"""Chunks of one stream: it may last for days."""
MOST_LINKS = 128
"""Of one span, as OpenTelemetry has it."""
_SERVER_FAULT = 500
_random = random.Random()  # noqa: S311 - identities, no secrets; seeded by the system, and by nobody else


class Outlet(Protocol):
    """Takes what was recorded; never waits."""

    def put(self, bundle: Bundle) -> None: ...


@dataclass(frozen=True)
class Clocks:
    """Where moments come from."""

    monotonic: Callable[[], float]
    """Seconds; the schedule's."""
    wall_ns: Callable[[], int]
    """Nanoseconds since 1970."""

    def epoch_ns(self) -> int:
        """When the monotonic clock was zero, by the wall clock of this moment."""
        return self.wall_ns() - int(self.monotonic() * 1e9)


@dataclass(frozen=True)
class Means:
    """What all recorded traces of a process share."""

    outlet: Outlet
    clocks: Clocks
    random: Callable[[int], int] = field(default=_random.getrandbits)
    """So many bits."""

    def span_id(self) -> int:
        return self.random(64) or 1


class Recording:
    """A trace that is kept; see ``trace.Trace``."""

    def __init__(
        self,
        means: Means,
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
            parent: its trace; with span 0 for one that begins here.
            remote: whether the parent is the caller's.
            start: on the monotonic clock; now, where it is not given.
        """
        self._means = means
        self._trace_id, self._state = parent.trace_id, parent.state
        self._request_id = request_id
        self._epoch_ns = means.clocks.epoch_ns()
        begin = means.clocks.monotonic() if start is None else start
        self._own = Recorded(name, means.span_id(), parent.span_id, begin, begin, dict(attributes), kind=kind)
        self._remote = remote
        self._steps: list[Recorded] = []
        self._left_out = self._failed_items = self._parts = 0
        self._decisions = Decisions()

    @property
    def recorded_id(self) -> str:
        return trace_text(self._trace_id)

    @property
    def ids(self) -> Mapping[str, str]:
        found = {"trace_id": trace_text(self._trace_id), "span_id": span_text(self._own.span_id)}
        return found | {"request_id": self._request_id} if self._request_id else found

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
        own.end = self._means.clocks.monotonic()
        own.attributes |= self._decisions.attributes()
        if self._failed_items:
            own.attributes["demur.failed_items"] = self._failed_items
        if self._left_out:
            own.attributes["demur.steps_left_out"] = self._left_out
        self._put(Bundle(self._trace_id, self._state, self._remote, self._epoch_ns, [own, *self._steps]))

    def step(self, name: str) -> Span:
        """Decoding begins with the call itself: its bytes came before its message."""
        return _Step(self, name, self._own.start if name == "decode" else None)

    def note(self, name: str, value: Value) -> None:
        self._own.attributes[name] = value

    def decided(self, verdicts: Mapping[str, Any]) -> None:
        self._decisions.add(verdicts)

    def failed(self, error: DemurError) -> None:
        """A caller's fault is told, but is no error of what served the call, as conventions have it."""
        fault = self._own.kind != "server" or status(error).http >= _SERVER_FAULT
        self._fail(error.code, fault)

    def item_failed(self, error: DemurError) -> None:
        self._failed_items += 1

    def share(self, now: float) -> Share:
        return _Share(self, now)

    def part(self, name: str, attributes: Mapping[str, Value]) -> Trace:
        self._parts += 1
        if self._parts > MOST_PARTS:
            return Passing(dict, ids=self.ids)
        parent = Parent(self._trace_id, self._own.span_id, True, self._state)
        return Recording(
            self._means,
            name,
            attributes,
            parent=parent,
            remote=False,
            kind="internal",
            request_id=self._request_id,
        )

    def _fail(self, code: str, fault: bool) -> None:
        self._own.attributes["error.type"] = code
        self._own.error = code if fault else ""

    def _keep(self, span: Recorded) -> None:
        if len(self._steps) < MOST_STEPS:
            self._steps.append(span)
        else:
            self._left_out += 1

    def _put(self, bundle: Bundle) -> None:
        self._means.outlet.put(bundle)


class _Step:
    """A station; it is kept when it ends."""

    __slots__ = ("_name", "_start", "_trace")

    def __init__(self, trace: Recording, name: str, start: float | None) -> None:
        self._trace, self._name, self._start = trace, name, start

    def __enter__(self) -> None:
        if self._start is None:
            self._start = self._trace._means.clocks.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._start is not None
        recording = self._trace
        span = Recorded(self._name, recording._means.span_id(), recording._own.span_id, self._start, 0.0)
        span.end = recording._means.clocks.monotonic()
        if error is not None:
            span.error = span.attributes["error.type"] = code_of(error)
        recording._keep(span)


class _Share:
    """What becomes ``queue`` and ``infer``: one of each, however many passes there are."""

    def __init__(self, trace: Recording, submitted: float) -> None:
        self._trace = trace
        self._submitted = submitted
        self._began = self._ended = 0.0
        self._span_id = trace._means.span_id()
        self._quanta = 0
        self._device_seconds = 0.0
        self._links: list[Link] = []

    def passed(self, sharers: Sequence[tuple[Share, int]], start: float, seconds: float, sizes: Sequence[int]) -> str:
        means = self._trace._means
        one = Link(means.random(128) or 1, means.span_id())
        total = max(1, sum(sizes))
        members = dict.fromkeys(share for share, _ in sharers if isinstance(share, _Share))
        for share, size in sharers:
            if isinstance(share, _Share):
                share._took(one, start, seconds, size / total)
        links = tuple(Link(share._trace._trace_id, share._span_id) for share in members)
        attributes: dict[str, Value] = {"demur.quanta": len(sizes), "demur.size": sum(sizes)}
        span = Recorded("pass", one.span_id, 0, start, start + seconds, attributes, links[:MOST_LINKS])
        means.outlet.put(Bundle(one.trace_id, "", False, self._trace._epoch_ns, [span]))
        return trace_text(one.trace_id)

    def _took(self, one: Link, start: float, seconds: float, portion: float) -> None:
        if not self._quanta:
            self._began = start
        self._quanta += 1
        self._ended = max(self._ended, start + seconds)
        self._device_seconds += seconds * portion
        if len(self._links) < MOST_LINKS and (not self._links or self._links[-1] != one):
            self._links.append(one)

    def left(self, now: float, error: BaseException | None) -> None:
        trace = self._trace
        code = "" if error is None else code_of(error)
        waited = Recorded("queue", trace._means.span_id(), trace._own.span_id, self._submitted, now)
        if self._quanta:
            waited.end = max(self._began, self._submitted)
        elif code:
            waited.error = waited.attributes["error.type"] = code
        trace._steps.append(waited)
        if not self._quanta:
            return
        attributes: dict[str, Value] = {"demur.quanta": self._quanta, "demur.device_seconds": self._device_seconds}
        links = tuple(self._links)
        infer = Recorded("infer", self._span_id, trace._own.span_id, self._began, self._ended, attributes, links)
        if code:
            infer.error = infer.attributes["error.type"] = code
        trace._steps.append(infer)


def code_of(error: BaseException) -> str:
    """The typed code of an error, or the name of its class; never its text."""
    if isinstance(error, DemurError):
        return error.code
    return internal(error).code if isinstance(error, Exception) else "cancelled"

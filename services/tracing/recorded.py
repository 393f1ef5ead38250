"""A trace that was recorded, as it is handed to whoever exports it: plain values, without any library's types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from services.tracing.trace import Value

Kind = Literal["server", "internal"]


class Link(NamedTuple):
    """Another span that has to do with one."""

    trace_id: int
    span_id: int


@dataclass(slots=True)
class Recorded:
    """A span that ended."""

    name: str
    span_id: int
    parent_id: int
    """0: none."""
    start: float
    end: float
    """On the monotonic clock, seconds."""
    attributes: dict[str, Value] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    kind: Kind = "internal"
    error: str = ""
    """Code of the error that it ended in, where that is a fault of the service or of this station; empty: none."""


@dataclass(slots=True)
class Bundle:
    """Spans of one trace that ended together: a call, chunk, job or pass with its stations."""

    trace_id: int
    state: str
    """The caller's tracestate."""
    remote: bool
    """Whether the parent of the first span is in another process."""
    epoch_ns: int
    """Nanoseconds since 1970 at zero of the monotonic clock."""
    spans: list[Recorded]
    """The outermost first."""

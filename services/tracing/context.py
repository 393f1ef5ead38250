"""Trace context of callers: W3C Trace Context, level 1, and the id of the request.

https://www.w3.org/TR/trace-context/. Malformed headers are ignored: a call is never refused for its trace.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

PARENT, STATE, REQUEST = "traceparent", "tracestate", "x-request-id"
Carrier = Callable[[], Mapping[str, str] | Iterable[tuple[str, str | bytes]]]
"""Function that returns headers or metadata, called only when needed; names are in lower case."""

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_REQUEST = re.compile(r"[A-Za-z0-9._:@/+=-]{1,64}", re.ASCII)
"""Accepted ids of requests. Other texts may hold anything and are kept out of logs."""
_STATE_CHARACTERS = 512


class Parent(NamedTuple):
    """Span of the caller."""

    trace_id: int
    span_id: int
    sampled: bool
    state: str = ""
    """The ``tracestate`` of other vendors, handed on unchanged."""


def parent(carrier: Carrier) -> Parent | None:
    """Return the caller's span; None without a valid ``traceparent``."""
    headers = _read(carrier)
    match = _FORM.fullmatch(headers.get(PARENT, ""))
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    trace_id, span_id = int(match[2], 16), int(match[3], 16)
    if not trace_id or not span_id:
        return None
    state = headers.get(STATE, "")
    return Parent(trace_id, span_id, bool(int(match[4], 16) & 1), state if len(state) <= _STATE_CHARACTERS else "")


def request_id(carrier: Carrier) -> str:
    """Return the caller's id of its request; empty without a valid one."""
    name = _read(carrier).get(REQUEST, "")
    return name if _REQUEST.fullmatch(name) else ""


def _read(carrier: Carrier) -> Mapping[str, str]:
    headers = carrier()
    if isinstance(headers, Mapping):
        return headers
    return {name: value for name, value in headers if isinstance(value, str)}


def trace_text(trace_id: int) -> str:
    """Return the id of a trace as 32 hex digits."""
    return f"{trace_id:032x}"


def span_text(span_id: int) -> str:
    """Return the id of a span as 16 hex digits."""
    return f"{span_id:016x}"

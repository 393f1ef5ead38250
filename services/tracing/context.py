"""What callers say of their own traces: W3C Trace Context, and an identity of the request.

https://www.w3.org/TR/trace-context/, level 1. What is malformed is as if it were not there: a call is never refused for
its trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

PARENT, STATE, REQUEST = "traceparent", "tracestate", "x-request-id"
Carrier = Callable[[], Mapping[str, str] | Iterable[tuple[str, str | bytes]]]
"""Headers or metadata, asked for only where somebody wants to know; names in lower case."""

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_REQUEST = re.compile(r"[A-Za-z0-9._:@/+=-]{1,64}", re.ASCII)
"""What passes as an identity. Other texts may be anything, and are kept out of logs."""
_STATE_CHARACTERS = 512


class Parent(NamedTuple):
    """The caller's span."""

    trace_id: int
    span_id: int
    sampled: bool
    state: str = ""
    """What other vendors told each other, handed on as it came."""


def parent(carrier: Carrier) -> Parent | None:
    """The caller's span; None where it tells of none."""
    given = _read(carrier)
    found = _FORM.fullmatch(given.get(PARENT, ""))
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    trace_id, span_id = int(found[2], 16), int(found[3], 16)
    if not trace_id or not span_id:
        return None
    state = given.get(STATE, "")
    return Parent(trace_id, span_id, bool(int(found[4], 16) & 1), state if len(state) <= _STATE_CHARACTERS else "")


def request_id(carrier: Carrier) -> str:
    """The caller's name for its request; empty where it gives none."""
    given = _read(carrier).get(REQUEST, "")
    return given if _REQUEST.fullmatch(given) else ""


def _read(carrier: Carrier) -> Mapping[str, str]:
    given = carrier()
    if isinstance(given, Mapping):
        return given
    return {name: value for name, value in given if isinstance(value, str)}


def trace_text(trace_id: int) -> str:
    """32 hex digits."""
    return f"{trace_id:032x}"


def span_text(span_id: int) -> str:
    """16 hex digits."""
    return f"{span_id:016x}"

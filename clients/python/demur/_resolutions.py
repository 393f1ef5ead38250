"""What became of deferred units: fetched, awaited, or as they come."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, overload

import grpc

from demur._calls import Calls
from demur._connection import Reconnecting
from demur._errors import from_call
from demur._label import Ids, Source, listed, source_word, value_of
from demur._retry import Deadline
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub

POLL_SECONDS = 60.0
"""The longest that one call waits."""
BATCH = 10_000
"""Units of one call."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is known of a unit."""

    unit: str
    status: Literal["resolved", "pending", "unresolved", "erased", "unknown"]
    """``pending``: a label is asked for; ``unresolved``: the request ended without one, see ``state``; ``unknown``: no
    unit that was deferred or audited, and no label."""
    state: str
    """Of the request; empty where there is none."""
    head: str
    value: Any = None
    """The label; see :class:`demur.Label`."""
    source: Source | None = None
    version: int = 0
    observed: float | None = None
    """Seconds since 1970."""
    received: float | None = None
    """Seconds since 1970."""

    @property
    def resolved(self) -> bool:
        return self.status == "resolved"


class Resolutions(Reconnecting):
    """Asks what became of units, blocking; for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    @overload
    def get(self, units: str, *, timeout: float | None = ...) -> Resolution: ...
    @overload
    def get(self, units: Ids, *, timeout: float | None = ...) -> Resolution | list[Resolution]: ...
    def get(self, units: Ids, *, timeout: float | None = None) -> Resolution | list[Resolution]:
        """What is known now: of one id, or of several in their order.

        Raises:
            DemurError: see :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        found = self._ask(listed(units), 0.0, deadline)
        return found[0] if isinstance(units, str) else found

    @overload
    def wait(self, units: str, seconds: float) -> Resolution: ...
    @overload
    def wait(self, units: Ids, seconds: float) -> Resolution | list[Resolution]: ...
    def wait(self, units: Ids, seconds: float) -> Resolution | list[Resolution]:
        """What is known once none is pending any more, or after so many seconds, however many.

        Raises:
            DemurError: see :mod:`demur`.
        """
        until = Deadline(seconds)
        asked = listed(units)
        while True:
            left = max(0.0, until.remaining() or 0.0)
            pause = min(left, POLL_SECONDS)
            found = self._ask(asked, pause, Deadline(pause + 30.0))
            if left <= POLL_SECONDS or not any(one.status == "pending" for one in found):
                return found[0] if isinstance(units, str) else found

    def watch(self, units: Ids, *, timeout: float | None = None) -> Generator[Resolution, None, None]:
        """Each unit once nothing more is awaited of it, as they come; closing the generator ends the call.

        Args:
            timeout: seconds for all of them; None for no limit.

        Raises:
            DemurError: see :mod:`demur`; ``DeadlineExceeded`` where some are still pending then.
        """
        message = labels_pb2.WatchRequest(units=listed(units))
        call = self._calls.watch(self._stub.WatchResolutions, message, timeout)
        try:
            for one in call:
                yield _resolution(one)
        except grpc.RpcError as failed:
            raise from_call(failed, timeout) from failed
        finally:
            call.cancel()

    def _ask(self, units: tuple[str, ...], wait: float, deadline: Deadline) -> list[Resolution]:
        found: list[Resolution] = []
        for start in range(0, len(units), BATCH):
            message = labels_pb2.ResolveRequest(units=units[start : start + BATCH], wait_seconds=wait)
            found += map(_resolution, self._calls.unary(self._stub.Resolve, message, deadline).resolutions)
        return found


def _resolution(message: labels_pb2.Resolution) -> Resolution:
    labelled = message.status == "resolved"
    return Resolution(
        unit=message.unit,
        status=message.status,  # type: ignore[arg-type]
        state=message.state,
        head=message.head,
        value=value_of(message.value) if labelled else None,
        source=source_word(message.source),
        version=message.version,
        observed=message.observed if message.HasField("observed") else None,
        received=message.received if labelled else None,
    )

"""Resolutions of deferred units: fetched, awaited, streamed, or delivered by webhook."""

import hashlib
import hmac
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, overload

import grpc

from demur._connection import Reconnecting
from demur._errors import InvalidInput, from_call
from demur._ids import Ids, listed
from demur._labels.labels import Source, source_name
from demur._labels.values import decode_value
from demur._messages import from_message
from demur._retry import Deadline
from demur._sync.calls import Calls
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub

POLL_SECONDS = 60.0
"""Longest wait of one call."""
BATCH = 10_000
"""Units of one call; more are asked about in several."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """State of a unit, and its label if there is one."""

    unit: str
    status: Literal["resolved", "pending", "unresolved", "erased", "unknown"]
    """``pending``: a label is requested; ``unresolved``: the request ended without one, see ``state``; ``unknown``: not
    a unit that was deferred or audited, and no label."""
    state: str
    """State of the request; empty where there is none."""
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
        """True if there is a label."""
        return self.status == "resolved"


class Resolutions(Reconnecting):
    """Blocking client that reads the resolutions of units, for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    @overload
    def get(self, units: str, *, timeout: float | None = ...) -> Resolution: ...
    @overload
    def get(self, units: Ids, *, timeout: float | None = ...) -> Resolution | list[Resolution]: ...
    def get(self, units: Ids, *, timeout: float | None = None) -> Resolution | list[Resolution]:
        """Return what is known now: the resolution of one id, or of several in their order.

        Raises:
            DemurError: see :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        resolutions = self._resolve(listed(units), 0.0, deadline)
        return resolutions[0] if isinstance(units, str) else resolutions

    @overload
    def wait(self, units: str, seconds: float) -> Resolution: ...
    @overload
    def wait(self, units: Ids, seconds: float) -> Resolution | list[Resolution]: ...
    def wait(self, units: Ids, seconds: float) -> Resolution | list[Resolution]:
        """Return the resolutions once none is pending any more, or after a number of seconds.

        Raises:
            DemurError: see :mod:`demur`.
        """
        until = Deadline(seconds)
        ids = listed(units)
        while True:
            left = max(0.0, until.remaining() or 0.0)
            pause = min(left, POLL_SECONDS)
            resolutions = self._resolve(ids, pause, Deadline(pause + 30.0))
            if left <= POLL_SECONDS or not any(resolution.status == "pending" for resolution in resolutions):
                return resolutions[0] if isinstance(units, str) else resolutions

    def watch(self, units: Ids, *, timeout: float | None = None) -> Generator[Resolution, None, None]:
        """Yield the resolution of each unit once it is not pending any more; closing the generator ends the call.

        Args:
            timeout: seconds for all of them; None for no limit.

        Raises:
            DemurError: see :mod:`demur`; ``DeadlineExceeded`` if some are still pending then.
        """
        message = labels_pb2.WatchRequest(units=listed(units))
        self._calls.check_open()
        call = self._stub.WatchResolutions(message, timeout=timeout, metadata=self._calls.metadata)
        try:
            for resolution in call:
                yield _resolution(resolution)
        except grpc.RpcError as failed:
            raise from_call(failed, timeout) from failed
        finally:
            call.cancel()

    def _resolve(self, units: tuple[str, ...], wait: float, deadline: Deadline) -> list[Resolution]:
        resolutions: list[Resolution] = []
        for start in range(0, len(units), BATCH):
            message = labels_pb2.ResolveRequest(units=units[start : start + BATCH], wait_seconds=wait)
            resolutions += map(_resolution, self._calls.unary(self._stub.Resolve, message, deadline).resolutions)
        return resolutions


def _resolution(message: labels_pb2.Resolution) -> Resolution:
    labelled = message.status == "resolved"
    return from_message(
        Resolution,
        message,
        value=decode_value(message.value) if labelled else None,
        source=source_name(message.source),
        received=message.received if labelled else None,
    )


SIGNATURE_HEADER = "demur-signature"
DELIVERY_HEADER = "demur-delivery"


def verify_webhook(body: bytes, signature: str, secret: str | bytes, *, tolerance: float = 300.0) -> None:
    """Check the header ``demur-signature`` of a webhook delivery against its body, before using its content.

    A delivery may be repeated; the header ``demur-delivery`` identifies it.

    Args:
        body: unchanged bytes of the request.
        secret: the service's DEMUR_WEBHOOK_SECRET.
        tolerance: largest difference of the signature's time from now, seconds.

    Raises:
        InvalidInput: it is not signed with this secret, or its time differs too much from now.
    """
    parts = dict(part.partition("=")[::2] for part in signature.split(","))
    moment, signed = parts.get("t", ""), parts.get("v1", "")
    key = secret.encode() if isinstance(secret, str) else secret
    expected = hmac.new(key, moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signed.encode()):
        raise InvalidInput("the delivery is not signed with this secret", code="bad_signature", field=SIGNATURE_HEADER)
    if not moment.isdecimal() or abs(time.time() - int(moment)) > tolerance:
        raise InvalidInput(
            f"the delivery was signed at {moment} s, more than {tolerance:g} s from now",
            code="bad_signature",
            field=SIGNATURE_HEADER,
        )

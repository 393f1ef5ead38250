"""Requests for labels: the client's part of ``LabelService`` for those who label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from demur._calls import Calls
from demur._connection import Reconnecting
from demur._label import Outcome, outcome_word, value_message
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub


@dataclass(frozen=True, slots=True)
class InputColumn:
    """One number of what was predicted for."""

    name: str
    value: float | None
    """None: missing."""
    unit: str
    description: str


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """A request for a label. Nothing in it tells what was predicted, or whether the unit was deferred or audited."""

    id: str
    """Opaque; not the id of the unit."""
    lease: str = field(repr=False)
    lease_until: float
    """Seconds since 1970; extend before."""
    due: float | None
    """When the request expires, seconds since 1970; None: it does not."""
    must_complete: bool
    """It stands for others that were skipped or expired, and cannot be skipped again."""
    head: str
    label: str
    """What a label is, with its unit."""
    media_type: str
    """Of the input; empty where the service keeps no inputs."""
    columns: tuple[InputColumn, ...]
    """The input, where it is a row."""
    input: bytes = field(repr=False)
    """The input, where it is none."""


class Requests(Reconnecting):
    """Takes requests and answers them, blocking; for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def claim(
        self, count: int = 1, *, seconds: float = 900.0, head: str = "", timeout: float | None = None
    ) -> list[LabelRequest]:
        """Take up to ``count`` open requests for so many seconds; nobody else gets them meanwhile.

        Args:
            count: 1 to 100; fewer come where no more are open.
            seconds: 1 to 86,400.
            head: only of this head; empty: of any.
            timeout: seconds for the call; None for the client's own.

        Raises:
            DemurError: see :mod:`demur`.
        """
        message = labels_pb2.ClaimRequest(count=count, seconds=seconds, head=head)
        return [_request(one) for one in self._call(self._stub.Claim, message, timeout).requests]

    def extend(self, request: LabelRequest, *, seconds: float = 900.0, timeout: float | None = None) -> float:
        """Keep a request so many seconds from now; until when, seconds since 1970.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.ExtendRequest(request=request.id, lease=request.lease, seconds=seconds)
        until: float = self._call(self._stub.Extend, message, timeout).lease_until
        return until

    def release(self, request: LabelRequest, *, timeout: float | None = None) -> None:
        """Hand a request back, for anybody.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.ReleaseRequest(request=request.id, lease=request.lease)
        self._call(self._stub.Release, message, timeout)

    def skip(
        self, request: LabelRequest, reason: str, *, unlabelable: bool = False, timeout: float | None = None
    ) -> None:
        """Leave a request unanswered, and say why.

        Args:
            unlabelable: no label can exist; otherwise it counts as not answered, and may be asked again.

        Raises:
            Conflict: the lease is lost, or the request has to be completed.
        """
        message = labels_pb2.SkipRequest(
            request=request.id, lease=request.lease, reason=reason, unlabelable=unlabelable
        )
        self._call(self._stub.Skip, message, timeout)

    def submit(
        self, request: LabelRequest, value: Any, *, observed: float | None = None, timeout: float | None = None
    ) -> Outcome:
        """Label a request; see :class:`demur.Label` for values.

        Args:
            observed: when it was measured or judged, seconds since 1970.

        Raises:
            Conflict: the lease is lost.
            InvalidInput: the value is no label of the head.
        """
        message = labels_pb2.SubmitClaimedRequest(
            request=request.id, lease=request.lease, value=value_message(value), observed=observed
        )
        return outcome_word(self._call(self._stub.SubmitClaimed, message, timeout).outcome)

    def counts(self, *, timeout: float | None = None) -> dict[str, dict[str, int]]:
        """Number of requests by head and state."""
        found: dict[str, dict[str, int]] = {}
        for one in self._call(self._stub.CountRequests, labels_pb2.CountRequestsRequest(), timeout).counts:
            found.setdefault(one.head, {})[one.state] = one.count
        return found

    def _call(self, method: Any, message: Any, timeout: float | None) -> Any:
        return self._calls.unary(method, message, self._calls.deadline(timeout))


def _request(message: labels_pb2.LabelRequest) -> LabelRequest:
    return LabelRequest(
        id=message.request,
        lease=message.lease,
        lease_until=message.lease_until,
        due=message.due if message.HasField("due") else None,
        must_complete=message.must_complete,
        head=message.head,
        label=message.label,
        media_type=message.media_type,
        columns=tuple(
            InputColumn(one.name, one.value if one.HasField("value") else None, one.unit, one.description)
            for one in message.columns
        ),
        input=message.input,
    )

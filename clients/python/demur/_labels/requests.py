"""Requests for labels: the client of ``LabelService`` for reviewers."""

from dataclasses import dataclass, field
from typing import Any

from demur._connection import Reconnecting
from demur._labels.labels import Outcome, outcome_name
from demur._labels.values import encode_value
from demur._messages import from_message
from demur._sync.calls import Calls
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub


@dataclass(frozen=True, slots=True)
class InputColumn:
    """One column of the input that was predicted for."""

    name: str
    value: float | None
    """None: missing."""
    unit: str
    description: str
    text: str = ""
    """Text of a categorical column, of which ``value`` is the code; empty for numbers."""


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Request for a label. It shows neither the prediction nor whether the unit was deferred or audited."""

    id: str
    """Opaque identifier; not the id of the unit."""
    lease: str = field(repr=False)
    lease_until: float
    """End of the lease, seconds since 1970; extend it before."""
    due: float | None
    """Time at which the request expires, seconds since 1970; None: it does not."""
    must_complete: bool
    """True if it represents others that were skipped or expired, and cannot be skipped."""
    head: str
    label: str
    """Description of a label, with its unit."""
    media_type: str
    """Media type of the input; empty where the service keeps no inputs."""
    columns: tuple[InputColumn, ...]
    """The input, if it is a row."""
    input: bytes = field(repr=False)
    """The input, if it is not a row."""


class Requests(Reconnecting):
    """Blocking client that claims requests and labels them, for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def claim(
        self, count: int = 1, *, seconds: float = 900.0, head: str = "", timeout: float | None = None
    ) -> list[LabelRequest]:
        """Claim up to ``count`` open requests for a number of seconds; nobody else gets them meanwhile.

        Args:
            count: 1 to 100; fewer are returned if no more are open.
            seconds: 1 to 86,400.
            head: name of the head; empty: any.
            timeout: seconds for the call; None for the client's own.

        Raises:
            DemurError: see :mod:`demur`.
        """
        message = labels_pb2.ClaimRequest(count=count, seconds=seconds, head=head)
        return [_request(request) for request in self._call(self._stub.Claim, message, timeout).requests]

    def extend(self, request: LabelRequest, *, seconds: float = 900.0, timeout: float | None = None) -> float:
        """Extend the lease to a number of seconds from now; return its end, seconds since 1970.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.ExtendRequest(request=request.id, lease=request.lease, seconds=seconds)
        until: float = self._call(self._stub.Extend, message, timeout).lease_until
        return until

    def release(self, request: LabelRequest, *, timeout: float | None = None) -> None:
        """Return a request to the queue.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.ReleaseRequest(request=request.id, lease=request.lease)
        self._call(self._stub.Release, message, timeout)

    def skip(
        self, request: LabelRequest, reason: str, *, unlabelable: bool = False, timeout: float | None = None
    ) -> None:
        """Skip a request, with a reason.

        Args:
            unlabelable: no label can exist; otherwise the request counts as not answered, and may be issued again.

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
            observed: time of measurement or judgement, seconds since 1970.

        Raises:
            Conflict: the lease is lost.
            InvalidInput: the value is not a valid label of the head.
        """
        message = labels_pb2.SubmitClaimedRequest(
            request=request.id, lease=request.lease, value=encode_value(value), observed=observed
        )
        return outcome_name(self._call(self._stub.SubmitClaimed, message, timeout).outcome)

    def counts(self, *, timeout: float | None = None) -> dict[str, dict[str, int]]:
        """Return the number of requests by head and state."""
        counts: dict[str, dict[str, int]] = {}
        for entry in self._call(self._stub.CountRequests, labels_pb2.CountRequestsRequest(), timeout).counts:
            counts.setdefault(entry.head, {})[entry.state] = entry.count
        return counts

    def _call(self, method: Any, message: Any, timeout: float | None) -> Any:
        return self._calls.unary(method, message, self._calls.deadline(timeout))


def _request(message: labels_pb2.LabelRequest) -> LabelRequest:
    columns = tuple(from_message(InputColumn, column) for column in message.columns)
    return from_message(LabelRequest, message, id=message.request, columns=columns)

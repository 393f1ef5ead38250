# Generated from demur/_async/requests.py by tests/regenerate_blocking_client.py. Edit that file instead.
"""The client of ``LabelService`` for reviewers: claims requests for labels, and answers them."""

from collections.abc import Generator, Iterable
from typing import Any

from demur._connection import Reconnecting
from demur._labels.labels import Outcome, outcome_name
from demur._labels.requests import (
    LabelRequest,
    Neighbours,
    Queue,
    QueueState,
    RequestInput,
    RevealedPrediction,
    WaitingRequest,
    label_request,
    queue_number,
    queue_state,
    request_neighbours,
    revealed_prediction,
    waiting_request,
)
from demur._labels.values import encode_value
from demur._messages import from_message
from demur._sync.calls import Calls
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub


class Requests(Reconnecting):
    """Blocking client that claims requests and labels them, for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def claim(
        self,
        count: int = 1,
        *,
        seconds: float = 900.0,
        head: str = "",
        queue: Queue = "blind",
        requests: Iterable[WaitingRequest | str] | None = None,
        inputs: bool = True,
        timeout: float | None = None,
    ) -> list[LabelRequest]:
        """Claim up to ``count`` open requests for a number of seconds; nobody else gets them meanwhile.

        Args:
            count: 1 to 100; fewer are returned if no more are open.
            seconds: 1 to 86,400.
            head: name of the head; empty: any.
            queue: ``drafts`` has deferred units with their predictions, to be edited, where the service allows it;
                ``adjudication`` units on which two labels differ.
            requests: requests of :meth:`waiting`, or their ids; those that are open are claimed. None: the next ones.
            inputs: False leaves out inputs that are neither rows nor texts; :meth:`input` returns them.
            timeout: seconds for the call; None for the client's own.

        Raises:
            InvalidInput: a number is out of its range, or there is no such head or queue.
            DemurError: see :mod:`demur`.
        """
        message = labels_pb2.ClaimRequest(
            count=count, seconds=seconds, head=head, queue=queue_number(queue), without_inputs=not inputs
        )
        if requests is not None:
            ids = [request if isinstance(request, str) else request.id for request in requests]
            message.requests.CopyFrom(labels_pb2.RequestIds(requests=ids))
        return [label_request(request) for request in (self._call(self._stub.Claim, message, timeout)).requests]

    def waiting(self, *, head: str = "", timeout: float | None = None) -> Generator[WaitingRequest, None, None]:
        """Yield the requests that wait or are claimed, in the order of the queue; a thousand come with each call.

        Args:
            head: name of the head; empty: any.
            timeout: seconds for each call; None for the client's own.

        Raises:
            DemurError: see :mod:`demur`.
        """
        after = ""
        while True:
            message = labels_pb2.ListWaitingRequest(head=head, after=after)
            page = self._call(self._stub.ListWaiting, message, timeout)
            for request in page.requests:
                yield waiting_request(request)
            after = page.next
            if not after:
                break

    def input(self, request: LabelRequest, *, timeout: float | None = None) -> RequestInput:
        """Return the input of a claimed request, also one that :meth:`claim` left out.

        Raises:
            NotFound: it is not kept.
            Conflict: the lease is lost.
        """
        message = labels_pb2.GetInputRequest(request=request.id, lease=request.lease)
        return from_message(RequestInput, self._call(self._stub.GetInput, message, timeout))

    def neighbours(self, request: LabelRequest, *, timeout: float | None = None) -> Neighbours:
        """Return the rows just before and just after the unit of a claimed request, up to 12 on each side.

        Empty where the input is no row or not kept, and once the request is labelled.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.GetNeighboursRequest(request=request.id, lease=request.lease)
        return request_neighbours(self._call(self._stub.GetNeighbours, message, timeout))

    def extend(self, request: LabelRequest, *, seconds: float = 900.0, timeout: float | None = None) -> float:
        """Extend the lease to a number of seconds from now; return its end, seconds since 1970.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.ExtendRequest(request=request.id, lease=request.lease, seconds=seconds)
        until: float = (self._call(self._stub.Extend, message, timeout)).lease_until
        return until

    def release(self, request: LabelRequest, reason: str = "", *, timeout: float | None = None) -> None:
        """Return a request to the queue; a reason of up to 255 characters is kept.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.ReleaseRequest(request=request.id, lease=request.lease, reason=reason)
        self._call(self._stub.Release, message, timeout)

    def skip(
        self, request: LabelRequest, reason: str, *, unlabelable: bool = False, timeout: float | None = None
    ) -> None:
        """Skip a request, with a reason of up to 255 characters.

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
        self,
        request: LabelRequest,
        value: Any,
        *,
        observed: float | None = None,
        seconds: float | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Label a request; see :class:`demur.Label` for values.

        Args:
            observed: time of measurement or judgement, seconds since 1970.
            seconds: time that the reviewer took, s, up to 86,400; None: not known.

        Raises:
            Conflict: the lease is lost.
            InvalidInput: the value is not a valid label of the head.
        """
        return self._label(self._stub.SubmitClaimed, request, value, observed, seconds, timeout)

    def correct(
        self,
        request: LabelRequest,
        value: Any,
        *,
        observed: float | None = None,
        seconds: float | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Replace the label of a request that this lease has labelled; after :meth:`reveal` it counts as assisted.

        Args:
            observed: as for :meth:`submit`.
            seconds: as for :meth:`submit`.

        Raises:
            Conflict: the lease has given no label, or another label counts now.
            InvalidInput: the value is not a valid label of the head.
        """
        return self._label(self._stub.Correct, request, value, observed, seconds, timeout)

    def reveal(self, request: LabelRequest, *, timeout: float | None = None) -> RevealedPrediction:
        """Return the prediction of a request that this lease has labelled.

        Raises:
            Conflict: the lease has given no label.
        """
        message = labels_pb2.RevealRequest(request=request.id, lease=request.lease)
        return revealed_prediction(self._call(self._stub.Reveal, message, timeout))

    def flag(self, request: LabelRequest, note: str, *, timeout: float | None = None) -> None:
        """Keep a note of up to 2,000 characters about a claimed or labelled request, for operators.

        Raises:
            Conflict: the lease is lost.
        """
        message = labels_pb2.FlagRequest(request=request.id, lease=request.lease, note=note)
        self._call(self._stub.Flag, message, timeout)

    def counts(self, *, timeout: float | None = None) -> dict[str, dict[str, int]]:
        """Return the number of requests by head and state."""
        return (self.state(timeout=timeout)).counts

    def state(self, *, timeout: float | None = None) -> QueueState:
        """Return the state of the queue: numbers of requests, and what may be claimed."""
        return queue_state(self._call(self._stub.CountRequests, labels_pb2.CountRequestsRequest(), timeout))

    def _label(
        self,
        method: Any,
        request: LabelRequest,
        value: Any,
        observed: float | None,
        seconds: float | None,
        timeout: float | None,
    ) -> Outcome:
        message = labels_pb2.SubmitClaimedRequest(
            request=request.id, lease=request.lease, value=encode_value(value), observed=observed, seconds=seconds
        )
        return outcome_name((self._call(method, message, timeout)).outcome)

    def _call(self, method: Any, message: Any, timeout: float | None) -> Any:
        return self._calls.unary(method, message, self._calls.deadline(timeout))

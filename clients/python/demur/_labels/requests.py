"""Requests for labels as reviewers see them, and predictions that are shown to them; built from messages."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from demur._errors import wrong_argument
from demur._labels.values import decode_value
from demur._messages import from_message
from demur.v1 import labels_pb2

Queue: TypeAlias = Literal["blind", "drafts", "adjudication"]

_QUEUES: dict[str, Any] = {
    name.removeprefix("REVIEW_QUEUE_").lower(): number for name, number in labels_pb2.ReviewQueue.items() if number
}


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
class PredictedTexts:
    """Texts that a model predicted, the most confident first."""

    texts: tuple[str, ...]
    confidences: tuple[float, ...]
    """Confidence of each text, 0 to 1; NaN: not known."""


@dataclass(frozen=True, eq=False, slots=True)
class PredictedPlans:
    """Plans of positions that a model predicted, the one of the greatest weight first."""

    plans: tuple[NDArray[np.float64], ...]
    """Positions [T, 2] in m; NaN for a step that is not finite."""
    weights: tuple[float, ...]
    """Weight of each plan, 0 to 1; NaN: not known."""


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Request for a label. It does not show the prediction, except in the queue of drafts, nor whether the unit was
    deferred or audited."""

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
    """The input, if it is not a row; empty if it was left out."""
    queue: Queue = "blind"
    draft: Any = field(default=None, compare=False)
    """Prediction to be edited, only in the queue of drafts: as a label (see :class:`demur.Label`), or
    :class:`demur.PredictedTexts` or :class:`demur.PredictedPlans`."""
    answers: tuple[Any, ...] = field(default=(), compare=False)
    """Labels that differ, in random order; only in the queue of adjudications."""


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """Request that waits for a label, or is claimed."""

    id: str
    """Id in the list, which names it in a claim; the claimed request has another one."""
    head: str
    time: float
    """Time of the decision, seconds since 1970."""
    due: float | None
    """Time at which the request expires, seconds since 1970; None: it does not."""
    state: Literal["requested", "claimed"]
    mine: bool
    """True: this client's actor has claimed it."""
    must_complete: bool
    """True if it represents others that were skipped or expired, and cannot be skipped."""


@dataclass(frozen=True, slots=True)
class RequestInput:
    """Input of a claimed request."""

    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Row of a unit that was decided shortly before or after another one."""

    seconds: float
    """Time from the unit to this one, s, with two significant digits; negative before it."""
    values: tuple[float | None, ...]
    """Values by column, in the column's unit; None: missing."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Rows just before and just after the unit of a request, both in the order of time."""

    names: tuple[str, ...]
    """Numeric columns, in the order of ``Neighbour.values``."""
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class RevealedPrediction:
    """Prediction of a unit that this client has labelled."""

    prediction: Any
    """As :attr:`demur.LabelRequest.draft`; None: not kept, or not finite."""
    error: float | None
    """Error of the prediction by the label, in ``error_unit``; None: there is none."""
    error_unit: str
    uncertainty: float | None
    """In the unit of the measure; None: not finite."""
    measure: str
    threshold: float | None
    """In the unit of the measure; None: not finite, or not known any more."""
    deferred: bool


@dataclass(frozen=True, slots=True)
class QueueState:
    """State of the review queue of a service."""

    counts: dict[str, dict[str, int]]
    """Number of requests by head and state."""
    keeps_inputs: bool
    """True: requests come with the input of their unit."""
    drafts: bool
    """True: the queue of drafts may be claimed."""
    adjudications: int
    """Number of adjudications that this client's actor could make."""


def queue_number(queue: str) -> Any:
    """Encode the name of a queue.

    Raises:
        InvalidInput: there is no such queue.
    """
    if queue not in _QUEUES:
        raise wrong_argument("queue", queue, ", ".join(_QUEUES))
    return _QUEUES[queue]


def label_request(message: labels_pb2.LabelRequest) -> LabelRequest:
    """Decode a claimed request. A service that knows only the blind queue does not name it."""
    names = {number: name for name, number in _QUEUES.items()}
    return from_message(
        LabelRequest,
        message,
        id=message.request,
        columns=tuple(from_message(InputColumn, column) for column in message.columns),
        queue=names.get(message.queue, "blind"),
        draft=_prediction(message.draft),
        answers=tuple(map(decode_value, message.answers)),
    )


def waiting_request(message: labels_pb2.WaitingRequest) -> WaitingRequest:
    """Decode a request that waits."""
    return from_message(WaitingRequest, message, id=message.request)


def request_neighbours(message: labels_pb2.Neighbours) -> Neighbours:
    """Decode the rows around a unit."""

    def rows(messages: Iterable[labels_pb2.Neighbour]) -> tuple[Neighbour, ...]:
        return tuple(
            Neighbour(row.seconds, tuple(None if math.isnan(value) else value for value in row.values))
            for row in messages
        )

    return Neighbours(tuple(message.names), rows(message.before), rows(message.after))


def revealed_prediction(message: labels_pb2.RevealedPrediction) -> RevealedPrediction:
    """Decode a prediction that is shown after its label was given."""
    return from_message(RevealedPrediction, message, prediction=_prediction(message.prediction))


def queue_state(message: labels_pb2.CountRequestsResponse) -> QueueState:
    """Decode the state of the queue."""
    counts: dict[str, dict[str, int]] = {}
    for entry in message.counts:
        counts.setdefault(entry.head, {})[entry.state] = entry.count
    return from_message(QueueState, message, counts=counts)


def _prediction(message: Any) -> Any:
    form = message.WhichOneof("form")
    if form == "texts":
        return from_message(PredictedTexts, message.texts)
    if form == "plans":
        plans = tuple(map(decode_value, message.plans.plans))
        return PredictedPlans(plans, tuple(message.plans.weights))
    return decode_value(message.value)

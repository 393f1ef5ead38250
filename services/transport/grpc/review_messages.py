"""Conversion between the messages of ``LabelService`` for reviewers and the types of ``services.labels``."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from demur.v1 import labels_pb2
from services.labels.label_types import Request, RevealedPrediction
from services.labels.neighbours import Neighbour, Neighbours
from services.labels.queue_entries import Lease, Queue
from services.labels.waiting_requests import WaitingPage
from services.runtime.errors import InvalidInput
from services.transport.grpc.codec import of_attributes
from services.transport.grpc.label_messages import value_message

_QUEUES: Mapping[int, Queue] = {
    labels_pb2.REVIEW_QUEUE_UNSPECIFIED: "blind",
    labels_pb2.REVIEW_QUEUE_BLIND: "blind",
    labels_pb2.REVIEW_QUEUE_DRAFTS: "drafts",
    labels_pb2.REVIEW_QUEUE_ADJUDICATION: "adjudication",
}
_NUMBERS: Mapping[Queue, Any] = {queue: number for number, queue in _QUEUES.items()}


def queue(number: int) -> Queue:
    """Return the queue of a claim.

    Raises:
        InvalidInput: a number that is not in the contract.
    """
    if number not in _QUEUES:
        raise InvalidInput.about(
            "queue", number, "must be a ReviewQueue", code="unknown_queue", allowed="blind, drafts, adjudication"
        )
    return _QUEUES[number]


def request_message(request: Request) -> Any:
    """Return the message of a claimed label request."""
    claimed, shown_input = request.claimed, request.input or {}
    is_row = "columns" in shown_input
    return labels_pb2.LabelRequest(
        request=claimed.request,
        lease=claimed.lease,
        lease_until=claimed.lease_until,
        due=claimed.due,
        must_complete=claimed.must_complete,
        head=claimed.head,
        label=request.head.label,
        media_type=shown_input.get("media_type", ""),
        columns=[labels_pb2.InputColumn(**column) for column in shown_input.get("columns", ())],
        input=(None if is_row else request.payload) or b"",
        queue=_NUMBERS[claimed.queue],
        draft=prediction_message(request.draft),
        answers=map(value_message, request.answers),
    )


def lease_message(lease: Lease) -> Any:
    return of_attributes(labels_pb2.Lease, lease)


def neighbours_message(neighbours: Neighbours) -> Any:
    """Return the message of the rows around a unit."""

    def side(rows: Iterable[Neighbour]) -> list[Any]:
        return [labels_pb2.Neighbour(seconds=row.seconds, values=_numbers(row.values)) for row in rows]

    return labels_pb2.Neighbours(names=neighbours.names, before=side(neighbours.before), after=side(neighbours.after))


def waiting_message(page: WaitingPage) -> Any:
    """Return the message of a part of the list of requests that wait."""
    requests = [of_attributes(labels_pb2.WaitingRequest, request) for request in page.requests]
    return labels_pb2.ListWaitingResponse(requests=requests, next=page.next or "")


def revealed_message(revealed: RevealedPrediction) -> Any:
    """Return the message of a prediction as its reviewer sees it after submitting."""
    return of_attributes(
        labels_pb2.RevealedPrediction,
        revealed,
        prediction=prediction_message(revealed.prediction),
        error_unit=revealed.head.error_unit,
    )


def prediction_message(prediction: Any) -> Any:
    """Return the message of a prediction of ``models.label_errors``; None if there is none."""
    if prediction is None:
        return None
    if not isinstance(prediction, dict):
        return labels_pb2.ShownPrediction(value=value_message(prediction))
    if "texts" in prediction:
        confidences = _numbers(prediction["confidences"])
        return labels_pb2.ShownPrediction(
            texts=labels_pb2.PredictedTexts(texts=prediction["texts"], confidences=confidences)
        )
    plans = labels_pb2.PredictedPlans(
        plans=map(value_message, prediction["plans"]), weights=_numbers(prediction["weights"])
    )
    return labels_pb2.ShownPrediction(plans=plans)


def _numbers(values: Iterable[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]

"""Conversion between messages of ``LabelService`` and the types of ``services.labels``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur.v1 import labels_pb2
from services.labels.intake import Outcome
from services.labels.label_types import Batch
from services.labels.label_validation import PackedLabels, SubmittedLabel
from services.labels.resolution_view import ResolutionView
from services.ledger.contract import Committed
from services.ledger.unit_ids import checked_unit, unit_text
from services.runtime.errors import InvalidInput
from services.transport.grpc.status import detail

_SOURCES: dict[Any, str] = {
    labels_pb2.LABEL_SOURCE_REQUESTED: "requested",
    labels_pb2.LABEL_SOURCE_CENSUS: "census",
    labels_pb2.LABEL_SOURCE_VOLUNTEERED: "volunteered",
}
_NUMBERS = {word: number for number, word in _SOURCES.items()}


def labels(message: Any) -> list[SubmittedLabel | InvalidInput]:
    """Return the labels of a batch as a list; packed ones last.

    Raises:
        InvalidInput: packed arrays that do not fit each other.
    """
    batch: list[SubmittedLabel | InvalidInput] = [_label(label) for label in message.labels]
    if message.HasField("packed"):
        batch += _packed(message.packed).labels()
    return batch


def count(message: Any) -> int:
    """Return the number of labels of a batch."""
    return len(message.labels) + len(message.packed.sequences) // 8


def value(message: Any) -> object:
    """Return a label's value; None if the message has none."""
    form = message.WhichOneof("form")
    if form is None:
        return None
    content = getattr(message, form)
    return content if form != "doubles" else _array("value.doubles", content, "<f8").tolist()


def value_message(label: object) -> Any:
    """Return the message of a value of ``models.label_errors``."""
    if isinstance(label, bytes):
        return labels_pb2.LabelValue(file=label)
    if isinstance(label, str):
        return labels_pb2.LabelValue(text=label)
    if isinstance(label, int | float):
        return labels_pb2.LabelValue(number=label)
    assert isinstance(label, list)
    steps = [(float("nan"), float("nan")) if step is None else step for step in label]
    return labels_pb2.LabelValue(doubles=np.array(steps, "<f8").tobytes())


def outcome_number(outcome: Outcome) -> Any:
    """Return the number of an outcome on the wire."""
    return labels_pb2.LabelOutcome.Value(f"LABEL_OUTCOME_{outcome.name}")


def batch_message(batch: Batch) -> Any:
    rejected = [
        labels_pb2.RejectedLabel(index=rejection.at, error=detail(rejection.error)) for rejection in batch.rejected
    ]
    return labels_pb2.SubmitLabelsResponse(outcomes=batch.outcomes, rejected=rejected)


def resolution_message(view: ResolutionView) -> Any:
    """Return the message of a unit's resolution."""
    message = labels_pb2.Resolution(unit=unit_text(view.unit), status=view.status, state=view.state, head=view.head)
    if view.source is not None:
        message.value.CopyFrom(value_message(view.value))
        message.source = _NUMBERS[view.source]
        message.version = view.version
        message.received = view.received
        if view.observed is not None:
            message.observed = view.observed
    return message


def units(runs: Any, most: int) -> list[tuple[int, int]]:
    """Return the units of ``UnitIds`` messages as a list.

    Raises:
        InvalidInput: no units, more than one call may have, or impossible ids.
    """
    count = sum(run.count for run in runs)
    if not 1 <= count <= most:
        raise InvalidInput.about(
            "units", count, code="out_of_range", unit="units", allowed=f"[1, {most}]", advice="send several calls"
        )
    for run in runs:
        checked_unit(run.epoch, run.first + max(run.count, 1) - 1)
    return [(run.epoch, run.first + index) for run in runs for index in range(run.count)]


def committed_message(committed: Committed) -> Any:
    return labels_pb2.CommitResponse(units=committed.units, unknown=map(unit_text, committed.unknown))


def _label(message: Any) -> SubmittedLabel | InvalidInput:
    try:
        return SubmittedLabel(
            unit=message.unit,
            value=value(message.value),
            source=_source(message.source, "requested"),
            head=message.head,
            key=message.key,
            version=message.version or 1,
            observed=message.observed if message.HasField("observed") else None,
        )
    except InvalidInput as error:
        return error


def _packed(message: Any) -> PackedLabels:
    sequences = _array("packed.sequences", message.sequences, "<u8")
    epochs = _array("packed.epochs", message.epochs, "<u8")
    return PackedLabels(
        epochs=epochs if message.epochs else np.array([message.epoch], np.uint64),
        sequences=sequences,
        values=_array("packed.values", message.values, "<f8"),
        observed=_array("packed.observed", message.observed, "<f8") if message.observed else None,
        source=_source(message.source, "census"),
        head=message.head,
        version=message.version or 1,
    )


def _source(number: int, default: str) -> str:
    return default if number == labels_pb2.LABEL_SOURCE_UNSPECIFIED else _SOURCES.get(number, str(number))


def _array(field: str, packed: bytes, kind: str) -> NDArray[Any]:
    if len(packed) % 8:
        raise InvalidInput.about(
            field,
            len(packed),
            code="wrong_length",
            unit="bytes",
            allowed="a multiple of 8",
            advice="pack 8-byte numbers",
        )
    return np.frombuffer(packed, kind)

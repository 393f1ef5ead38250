"""Labels: the client's part of ``LabelService`` that gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from demur._calls import Calls
from demur._connection import Reconnecting
from demur._errors import wrong_argument
from demur._ids import PredictionIds
from demur._label import (
    Ids,
    Label,
    LabelsTaken,
    label_message,
    listed,
    parsed,
    refuse_quantity,
    runs,
    source_number,
    taken,
)
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub

BATCH = 50_000
"""Labels of one call; more go in several."""
_BATCH_BYTES = 8 << 20


class Labels(Reconnecting):
    """Gives labels, blocking; for any number of threads. Whatever is sent twice is taken once."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def submit(self, labels: Label | Iterable[Label], *, timeout: float | None = None) -> LabelsTaken:
        """Give labels, one or any number; one that is rejected never loses its neighbours.

        Args:
            labels: what units turned out to be.
            timeout: seconds for all of them; None for the client's own.

        Raises:
            DemurError: the call failed. What was acknowledged is durable; send all again, nothing is taken twice.
        """
        deadline = self._calls.deadline(timeout)
        messages = map(label_message, (labels,) if isinstance(labels, Label) else labels)
        parts = (labels_pb2.SubmitLabelsRequest(labels=part) for part in _parts(messages))
        return taken([self._calls.unary(self._stub.Submit, part, deadline) for part in parts])

    def census(
        self,
        units: Ids,
        values: ArrayLike,
        *,
        observed: ArrayLike | None = None,
        source: Literal["census", "requested", "volunteered"] = "census",
        head: str = "",
        version: int = 1,
        timeout: float | None = None,
    ) -> LabelsTaken:
        """Give numbers for many units at once, as telemetry does.

        Args:
            units: ids, best the ``prediction_ids`` of an answer.
            values: one number each, in the unit of the head's label [N].
            observed: when each was measured, seconds since 1970 [N] or one for all; None: not known.
            source: who asked; a census is taken where the service declares it.
            head: needed where the model has several.
            version: a correction has a greater one.
            timeout: as for :meth:`submit`.

        Raises:
            InvalidInput: other numbers of values than of units, what is no id, or values that carry a unit.
            DemurError: as :meth:`submit`.
        """
        deadline = self._calls.deadline(timeout)
        refuse_quantity(values)
        epochs, sequences = _arrays(units)
        numbers = np.ascontiguousarray(values, "<f8").reshape(-1)
        if len(numbers) != len(sequences):
            raise wrong_argument("values", f"{len(numbers)} numbers", f"{len(sequences)}, one for each unit")
        times = None if observed is None else np.broadcast_to(np.asarray(observed, "<f8"), len(sequences))
        responses = []
        for start in range(0, len(sequences), BATCH):
            part = slice(start, start + BATCH)
            packed = labels_pb2.PackedLabels(
                epochs=epochs[part].tobytes(),
                sequences=sequences[part].tobytes(),
                values=numbers[part].tobytes(),
                observed=b"" if times is None else times[part].tobytes(),
                source=source_number(source),
                head=head,
                version=version,
            )
            request = labels_pb2.SubmitLabelsRequest(packed=packed)
            responses.append(self._calls.unary(self._stub.Submit, request, deadline))
        return taken(responses)

    def erase(self, units: Ids, reason: str, *, timeout: float | None = None) -> int:
        """Have inputs, evidence and labels of units forgotten; the numbers stay, and the units take no more labels.

        Args:
            units: ids, best the ``prediction_ids`` of an answer; at most 10,000.
            reason: kept, with who asked.
            timeout: seconds; None for the client's own.

        Returns:
            Of how many units something was forgotten now.

        Raises:
            InvalidInput: no reason, no units or too many, or what is no id.
            DemurError: the call failed; repeat it.
        """
        request = labels_pb2.EraseRequest(units=runs(units), reason=reason)
        return int(self._calls.unary(self._stub.Erase, request, self._calls.deadline(timeout)).erased)


def _parts(messages: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches of bounded number and size."""
    part: list[Any] = []
    size = 0
    for message in messages:
        length = message.ByteSize()
        if part and (len(part) == BATCH or size + length > _BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(message)
        size += length
    if part:
        yield part


def _arrays(units: Ids) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Epochs and sequences [N]."""
    if isinstance(units, PredictionIds):
        parts = [(epoch, np.asarray(numbers, "<u8")) for epoch, numbers in units.runs]
        epochs = [np.full(len(numbers), epoch, "<u8") for epoch, numbers in parts]
        empty = np.zeros(0, "<u8")
        return np.concatenate([empty, *epochs]), np.concatenate([empty, *(numbers for _, numbers in parts)])
    pairs: Sequence[tuple[int, int]] = [parsed(text) for text in listed(units)]
    both = np.array(pairs, "<u8").reshape(-1, 2)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])

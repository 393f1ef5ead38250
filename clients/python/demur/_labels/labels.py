"""Labels and the client of ``LabelService`` that submits them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from demur._connection import Reconnecting
from demur._errors import DemurError, from_detail, wrong_argument
from demur._ids import Ids, PredictionIds, listed, parsed, runs
from demur._labels.values import encode_value, refuse_quantity
from demur._messages import UINT8, malformed
from demur._sync.calls import Calls
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub

Source: TypeAlias = Literal["requested", "census", "volunteered"]
Outcome: TypeAlias = Literal["accepted", "duplicate", "corrected", "superseded", "orphan", "rejected"]

_SOURCES: dict[str, Any] = {
    name.removeprefix("LABEL_SOURCE_").lower(): value for name, value in labels_pb2.LabelSource.items() if value
}
_OUTCOMES: dict[int, Any] = {
    value: name.removeprefix("LABEL_OUTCOME_").lower() for name, value in labels_pb2.LabelOutcome.items() if value
}


@dataclass(frozen=True, slots=True)
class Label:
    """True value of a unit, measured or judged after the prediction."""

    unit: str
    """Id of the unit, one of an answer's ``prediction_ids``."""
    value: Any
    """A number (in the unit of the head's label) or class, a text, positions [T, 2] in m with NaN or None where
    they are not known (of a vehicle in its own frame: ``answer.to_agent_frame``), or a mask: of 0 and 1, [x, y, z],
    as an array, a NIfTI image (nibabel's), a ``pathlib.Path`` of a file (.nii, .nii.gz, .npy) or the bytes of one,
    on the grid of the image of the request."""
    source: Source = "requested"
    """``requested`` by the service, ``census`` of a population that is labelled as a whole, or ``volunteered``."""
    head: str = ""
    """Needed where the model has several."""
    key: str = ""
    """Your own identifier of this label, which makes submitting it idempotent. Empty: derived from its content."""
    version: int = 1
    """A correction has a greater version."""
    observed: float | None = None
    """Time of measurement or judgement, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class RejectedLabel:
    """Label that the service rejected; others of the same call were stored."""

    index: int
    error: DemurError


@dataclass(frozen=True, eq=False, repr=False)
class LabelsTaken:
    """Outcomes of submitted labels, in their order; labels that are not rejected are durable."""

    codes: NDArray[np.uint8]
    """Outcomes as ``demur.v1.LabelOutcome``, uint8 [N]."""
    rejected: tuple[RejectedLabel, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """``accepted``, ``duplicate``, ``corrected``, ``superseded``, ``orphan`` or ``rejected``, of each label."""
        return tuple(_OUTCOMES[code] for code in self.codes.tolist())

    def check(self) -> LabelsTaken:
        """Return itself if nothing was rejected.

        Raises:
            DemurError: of the first label that was rejected.
        """
        for label in self.rejected:
            raise label.error
        return self

    def __repr__(self) -> str:
        counts = np.bincount(self.codes, minlength=len(_OUTCOMES) + 1)
        text = ", ".join(f"{counts[code]} {outcome}" for code, outcome in _OUTCOMES.items() if counts[code])
        return f"<LabelsTaken: {text or 'none'}>"


def source_number(source: str) -> Any:
    """Encode a source.

    Raises:
        InvalidInput: there is no such source.
    """
    if source not in _SOURCES:
        raise wrong_argument("source", source, ", ".join(_SOURCES))
    return _SOURCES[source]


def source_name(number: int) -> Any:
    """Decode a source; None if it is not specified."""
    return {value: name for name, value in _SOURCES.items()}.get(number)


def outcome_name(number: int) -> Outcome:
    """Decode an outcome.

    Raises:
        ServiceFailure: the contract has no such outcome.
    """
    if number not in _OUTCOMES:
        raise malformed(f"the label's outcome is {number}")
    outcome: Outcome = _OUTCOMES[number]
    return outcome


def label_message(label: Label) -> labels_pb2.Label:
    """Encode a label."""
    return labels_pb2.Label(
        unit=label.unit,
        value=encode_value(label.value),
        source=source_number(label.source),
        head=label.head,
        key=label.key,
        version=label.version,
        observed=label.observed,
    )


def labels_taken(responses: Sequence[labels_pb2.SubmitLabelsResponse]) -> LabelsTaken:
    """Join the responses to the parts of one batch."""
    codes = [np.frombuffer(response.outcomes, UINT8) for response in responses]
    rejected = []
    start = 0
    for response, part in zip(responses, codes, strict=True):
        for label in response.rejected:
            error = from_detail(label.error)
            if getattr(error, "index", None) is not None:
                error.index = start + label.index  # type: ignore[attr-defined]
            rejected.append(RejectedLabel(start + label.index, error))
        start += len(part)
    return LabelsTaken(np.concatenate(codes) if codes else np.zeros(0, np.uint8), tuple(rejected))


BATCH = 50_000
"""Labels of one call; more are sent in several."""
_BATCH_BYTES = 8 << 20


class Labels(Reconnecting):
    """Blocking client that submits labels, for any number of threads. Submitting is idempotent."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def submit(self, labels: Label | Iterable[Label], *, timeout: float | None = None) -> LabelsTaken:
        """Submit labels, one or any number; a rejected label does not affect the others.

        Args:
            labels: a label, or several.
            timeout: seconds for all of them; None for the client's own.

        Raises:
            DemurError: the call failed. Acknowledged labels are durable; it is safe to submit all of them again.
        """
        deadline = self._calls.deadline(timeout)
        messages = map(label_message, (labels,) if isinstance(labels, Label) else labels)
        parts = (labels_pb2.SubmitLabelsRequest(labels=part) for part in _parts(messages))
        return labels_taken([self._calls.unary(self._stub.Submit, part, deadline) for part in parts])

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
        """Submit numbers for many units at once, as telemetry does.

        Args:
            units: ids, best the ``prediction_ids`` of an answer.
            values: a number for each, in the unit of the head's label [N].
            observed: time of each measurement, seconds since 1970 [N] or one for all; None: not known.
            source: origin of the labels; a census is accepted where the service declares it.
            head: needed where the model has several.
            version: a correction has a greater one.
            timeout: as for :meth:`submit`.

        Raises:
            InvalidInput: the numbers of values and units differ, an id is invalid, or values carry a unit.
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
        return labels_taken(responses)

    def erase(self, units: Ids, reason: str, *, timeout: float | None = None) -> int:
        """Erase inputs, evidence and labels of units; their scores stay, and they accept no more labels.

        Args:
            units: ids, best the ``prediction_ids`` of an answer; at most 10,000.
            reason: stored with the name of the caller.
            timeout: seconds; None for the client's own.

        Returns:
            Number of units of which something was erased now.

        Raises:
            InvalidInput: no reason, no units or too many, or an invalid id.
            DemurError: the call failed; repeat it.
        """
        request = labels_pb2.EraseRequest(units=runs(units), reason=reason)
        return int(self._calls.unary(self._stub.Erase, request, self._calls.deadline(timeout)).erased)


def _parts(messages: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield batches of bounded number and size."""
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
    """Return epochs and sequences [N]."""
    if isinstance(units, PredictionIds):
        parts = [(epoch, np.asarray(numbers, "<u8")) for epoch, numbers in units.runs]
        epochs = [np.full(len(numbers), epoch, "<u8") for epoch, numbers in parts]
        empty = np.zeros(0, "<u8")
        return np.concatenate([empty, *epochs]), np.concatenate([empty, *(numbers for _, numbers in parts)])
    pairs: Sequence[tuple[int, int]] = [parsed(text) for text in listed(units)]
    both = np.array(pairs, "<u8").reshape(-1, 2)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])

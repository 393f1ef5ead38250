"""Labels and their values: to the wire, and what the service says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from demur._errors import DemurError, InvalidInput, ServiceFailure, from_detail, wrong_argument
from demur._ids import PredictionIds
from demur._mask_file import mask_file
from demur._positions import positions
from demur._quantities import carries_unit
from demur.v1 import labels_pb2
from demur.v1.common_pb2 import UnitIds

Source: TypeAlias = Literal["requested", "census", "volunteered"]
Outcome: TypeAlias = Literal["accepted", "duplicate", "corrected", "superseded", "orphan", "rejected"]
Ids: TypeAlias = str | Sequence[str]

_SOURCES: dict[str, Any] = {
    name.removeprefix("LABEL_SOURCE_").lower(): value for name, value in labels_pb2.LabelSource.items() if value
}
_OUTCOMES: dict[int, Any] = {
    value: name.removeprefix("LABEL_OUTCOME_").lower() for name, value in labels_pb2.LabelOutcome.items() if value
}


@dataclass(frozen=True, slots=True)
class Label:
    """What a unit turned out to be."""

    unit: str
    """Id of the unit, one of an answer's ``prediction_ids``."""
    value: Any
    """A number (in the unit of the head's label) or class, a text, positions [T, 2] in m with NaN or None where
    they are not known (of a vehicle in its own frame: ``answer.to_agent_frame``), or a mask: of 0 and 1, [x, y, z],
    as an array, a NIfTI image (nibabel's), a ``pathlib.Path`` of a file (.nii, .nii.gz, .npy) or the bytes of one,
    on the grid of the image that was asked about."""
    source: Source = "requested"
    """``requested`` by the service, ``census`` of a population that is labelled as a whole, or ``volunteered``."""
    head: str = ""
    """Needed where the model has several."""
    key: str = ""
    """Your own name of this label: given again, it is the same label. Empty: its content names it."""
    version: int = 1
    """A correction has a greater one."""
    observed: float | None = None
    """When it was measured or judged, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class RejectedLabel:
    """A label that was not taken; its neighbours were."""

    index: int
    error: DemurError


@dataclass(frozen=True, eq=False, repr=False)
class LabelsTaken:
    """What became of labels, in their order; all that is not rejected is durable."""

    codes: NDArray[np.uint8]
    """Outcomes as ``demur.v1.LabelOutcome``, uint8 [N]."""
    rejected: tuple[RejectedLabel, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """In words: ``accepted``, ``duplicate``, ``corrected``, ``superseded``, ``orphan`` or ``rejected``."""
        return tuple(_OUTCOMES[code] for code in self.codes.tolist())

    def check(self) -> LabelsTaken:
        """Itself, if nothing was rejected.

        Raises:
            DemurError: of the first label that was.
        """
        for one in self.rejected:
            raise one.error
        return self

    def __repr__(self) -> str:
        counts = np.bincount(self.codes, minlength=len(_OUTCOMES) + 1)
        said = ", ".join(f"{counts[code]} {word}" for code, word in _OUTCOMES.items() if counts[code])
        return f"<LabelsTaken: {said or 'none'}>"


def source_number(source: str) -> Any:
    """
    Raises:
        InvalidInput: there is no such source.
    """
    if source not in _SOURCES:
        raise wrong_argument("source", source, ", ".join(_SOURCES))
    return _SOURCES[source]


def source_word(number: int) -> Any:
    return {value: word for word, value in _SOURCES.items()}.get(number)


def outcome_word(number: int) -> Outcome:
    """
    Raises:
        ServiceFailure: the contract has no such outcome.
    """
    if number not in _OUTCOMES:
        raise ServiceFailure(f"the label's outcome is {number}", code="malformed")
    word: Outcome = _OUTCOMES[number]
    return word


def label_message(label: Label) -> labels_pb2.Label:
    return labels_pb2.Label(
        unit=label.unit,
        value=value_message(label.value),
        source=source_number(label.source),
        head=label.head,
        key=label.key,
        version=label.version,
        observed=label.observed,
    )


def refuse_quantity(value: Any) -> None:
    """Check that a label is not a quantity of astropy or pint, whose unit would be lost.

    Raises:
        InvalidInput: it is one.
    """
    if carries_unit(type(value)):
        unit = str(getattr(value, "unit", None) or getattr(value, "units", ""))
        raise InvalidInput(
            f"value is a quantity in {unit!r}; labels are plain numbers in the unit of the head (describe().heads): "
            "convert it and pass its numbers",
            code="wrong_unit",
            field="value",
            value=unit,
            allowed="plain numbers in the unit of the head",
        )


def value_message(value: Any) -> labels_pb2.LabelValue:
    """
    Raises:
        InvalidInput: it is neither a number, a text, a mask nor positions; it carries a unit; or its file cannot be
            read.
    """
    if isinstance(value, str):
        return labels_pb2.LabelValue(text=value)
    if (file := mask_file(value)) is not None:
        return labels_pb2.LabelValue(file=file)
    refuse_quantity(value)
    try:
        array = positions(value, "value") if isinstance(value, (list, tuple)) else np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.zeros((0, 0, 0))
    if value is None or array.ndim not in (0, 2):
        raise wrong_argument("value", value, "a number, a text, a mask [x, y, z] or its file, or positions [T, 2]")
    if array.ndim == 0:
        return labels_pb2.LabelValue(number=float(array))
    return labels_pb2.LabelValue(doubles=np.ascontiguousarray(array, "<f8").tobytes())


def value_of(message: Any) -> Any:
    """The inverse; positions are float64 [T, 2]."""
    form = message.WhichOneof("form")
    if form is None:
        return None
    found = getattr(message, form)
    return np.frombuffer(found, "<f8").reshape(-1, 2) if form == "doubles" else found


def taken(responses: Sequence[labels_pb2.SubmitLabelsResponse]) -> LabelsTaken:
    """The answers to the parts of one batch."""
    codes = [np.frombuffer(response.outcomes, np.uint8) for response in responses]
    rejected = []
    start = 0
    for response, part in zip(responses, codes, strict=True):
        for one in response.rejected:
            error = from_detail(one.error)
            if getattr(error, "index", None) is not None:
                error.index = start + one.index  # type: ignore[attr-defined]
            rejected.append(RejectedLabel(start + one.index, error))
        start += len(part)
    return LabelsTaken(np.concatenate(codes) if codes else np.zeros(0, np.uint8), tuple(rejected))


def listed(ids: Ids) -> tuple[str, ...]:
    """One id, or all of several."""
    return (ids,) if isinstance(ids, str) else tuple(ids)


def runs(ids: Ids) -> Iterator[UnitIds]:
    """Ids as runs of consecutive numbers.

    Raises:
        InvalidInput: one is no id.
    """
    if isinstance(ids, PredictionIds):
        for epoch, numbers in ids.runs:
            if numbers.step == 1:
                yield UnitIds(epoch=epoch, first=numbers.start, count=len(numbers))
            else:
                yield from (UnitIds(epoch=epoch, first=number, count=1) for number in numbers)
        return
    for text in listed(ids):
        epoch, number = parsed(text)
        yield UnitIds(epoch=epoch, first=number, count=1)


def parsed(text: str) -> tuple[int, int]:
    """Epoch and number of an id.

    Raises:
        InvalidInput: it is none.
    """
    epoch, hyphen, number = text.partition("-")
    if not hyphen or len(epoch) != 16 or not number.isdecimal() or not set(epoch) <= set("0123456789abcdef"):
        raise wrong_argument("unit", text, "an id of an answer's prediction_ids")
    return int(epoch, 16), int(number)

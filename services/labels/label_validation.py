"""Validation of submitted labels, one by one: an invalid label does not affect the others of its batch."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from models.label_errors import BadLabel, LabelRule
from models.label_errors.values import shown
from services.ledger.unit_ids import Unit, checked_unit, parse_unit
from services.runtime.errors import InvalidInput

Source = Literal["requested", "census", "volunteered"]
"""``requested``: the service requested it, so that the propensity is known; ``census``: every unit of a declared
population is labelled; ``volunteered``: sent unprompted, which is shown and never counted."""
SOURCES: tuple[Source, ...] = get_args(Source)
AHEAD_SECONDS = 60.0
"""Largest lead of a caller's clock; a later time would take precedence over every later correction."""
_KEY = re.compile(r"[\x21-\x7e]{1,48}", re.ASCII)
MOST_VERSION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SubmittedLabel:
    """Label as a caller submits it."""

    unit: str | Unit
    value: object
    """Value that ``models.label_errors`` accepts for the head: number, text, positions, bytes of a file."""
    source: str = "requested"
    head: str = ""
    """Empty: the only head of the task."""
    key: str = ""
    """Idempotency key of the caller: a label with the same key is the same label. Empty: derived from the content."""
    version: int = 1
    """A correction has a greater one."""
    observed: float | None = None
    """Time at which the quantity was measured or judged, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class PackedLabels:
    """Arrays of numeric labels of one head and one source."""

    epochs: NDArray[np.uint64]
    """[N], or [1] for all."""
    sequences: NDArray[np.uint64]
    """[N]."""
    values: NDArray[np.float64]
    """[N], in the unit of the head's label."""
    observed: NDArray[np.float64] | None = None
    """[N], seconds since 1970; None: unknown."""
    source: str = "census"
    head: str = ""
    version: int = 1

    def labels(self) -> list[SubmittedLabel]:
        """Return the labels one by one.

        Raises:
            InvalidInput: arrays of different lengths.
        """
        count = len(self.sequences)
        epochs = np.broadcast_to(self.epochs, count) if len(self.epochs) == 1 else self.epochs
        observed = [None] * count if self.observed is None else self.observed.tolist()
        for name, array in (("epochs", epochs), ("values", self.values), ("observed", observed)):
            if len(array) != count:
                raise InvalidInput.about(
                    name,
                    len(array),
                    f"must be {count} values, as many as sequences",
                    code="unequal_lengths",
                    allowed=str(count),
                )
        units = zip(epochs.tolist(), self.sequences.tolist(), strict=True)
        return [
            SubmittedLabel(unit, value, self.source, self.head, "", self.version, time)
            for unit, value, time in zip(units, self.values.tolist(), observed, strict=True)
        ]


def sources(labels: Sequence[SubmittedLabel | InvalidInput]) -> Iterator[str]:
    """Yield the sources of the labels that could be decoded."""
    return (label.source for label in labels if isinstance(label, SubmittedLabel))


class Row(NamedTuple):
    """Validated label."""

    at: int
    """Index in the batch."""
    unit: Unit
    head: str
    source: Source
    key: str
    """Idempotency key, at most 64 characters; see ``stored_key``."""
    version: int
    observed: float | None
    value: bytes
    digest: str


class Rejection(NamedTuple):
    """Rejected label of a batch, with the reason."""

    at: int
    error: InvalidInput


@dataclass(frozen=True)
class LabelRules:
    """Rules that labels of this service must satisfy."""

    judgings: Mapping[str, LabelRule]
    """Judging by head."""
    census: frozenset[str]
    """Heads with a declared census: their whole population is labelled."""

    def check(self, labels: Sequence[SubmittedLabel | InvalidInput], now: float) -> tuple[list[Row], list[Rejection]]:
        """Return valid labels and rejected ones; labels that could not be decoded are errors already."""
        rows: list[Row] = []
        rejected: list[Rejection] = []
        for index, label in enumerate(labels):
            try:
                if isinstance(label, InvalidInput):
                    raise label
                rows.append(self._row(index, label, now))
            except InvalidInput as error:
                error.index = index
                rejected.append(Rejection(index, error))
        return rows, rejected

    def _row(self, index: int, label: SubmittedLabel, now: float) -> Row:
        unit = parse_unit(label.unit) if isinstance(label.unit, str) else checked_unit(*label.unit)
        head = self._head(label.head)
        source = self._source(label.source, head)
        if isinstance(label.version, bool) or not 1 <= label.version <= MOST_VERSION:
            raise _invalid("version", label.version, "bad_version", f"1 to {MOST_VERSION}", "a whole number")
        if label.observed is not None and not 0 <= label.observed <= now + AHEAD_SECONDS:
            raise _invalid("observed", label.observed, "bad_time", "0 to now", "seconds since 1970, not in the future")
        if label.key and not _KEY.fullmatch(label.key):
            raise _invalid("key", label.key[:60], "bad_key", "1 to 48", "printable ASCII characters without blanks")
        try:
            value = self.judgings[head].label(label.value)
        except BadLabel as error:
            raise InvalidInput(str(error), code="bad_label", field="value", value=shown(label.value, 60)) from error
        digest = hashlib.sha256(value).hexdigest()
        key = stored_key(label.key, label.version, label.observed, digest)
        return Row(index, unit, head, source, key, label.version, label.observed, value, digest)

    def _head(self, name: str) -> str:
        if name in self.judgings:
            return name
        heads = ", ".join(self.judgings)
        if name:
            raise _invalid("head", name, "unknown_head", heads, "a head of this model")
        if len(self.judgings) > 1:
            raise _invalid("head", "", "head_needed", heads, "the head that is labelled")
        return next(iter(self.judgings))

    def _source(self, name: str, head: str) -> Source:
        for source in SOURCES:
            if name == source:
                break
        else:
            raise _invalid("source", name, "unknown_source", ", ".join(SOURCES), "the origin of the label")
        if source == "census" and head not in self.census:
            raise InvalidInput.about(
                "source",
                "census",
                f"must be requested or volunteered, as no census of {head} is declared",
                code="census_not_declared",
                allowed="requested, volunteered",
                advice=f"set DEMUR_CENSUS={head} where every unit gets its label",
            )
        return source


def stored_key(key: str, version: int, observed: float | None, digest: str) -> str:
    """Return the key of a label among those of its unit, head and source: the caller's key and version, or a digest."""
    if key:
        return f"{key}#{version}"
    return hashlib.sha256(f"{version}\n{observed!r}\n{digest}".encode()).hexdigest()


def _invalid(field: str, value: object, code: str, allowed: str, needed: str) -> InvalidInput:
    return InvalidInput.about(field, shown(value, 60), f"must be {needed}, {allowed}", code=code, allowed=allowed)

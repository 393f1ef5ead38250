"""Labels as callers give them, checked one by one before the ledger is asked: a bad one never loses its neighbours."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from models.label_errors import BadLabel, LabelRule
from models.label_errors.bad_label import shown
from services.labels.identity import Unit, checked_unit, parse_unit
from services.runtime.errors import InvalidInput

Source = Literal["requested", "census", "volunteered"]
"""``requested``: the service asked, so that the propensity is known; ``census``: of a declared population every unit is
labelled; ``volunteered``: somebody felt like it, which is shown and never counted."""
SOURCES: tuple[Source, ...] = get_args(Source)
AHEAD_SECONDS = 60.0
"""How far a caller's clock may be ahead; a time beyond would win over every later correction."""
_KEY = re.compile(r"[\x21-\x7e]{1,48}", re.ASCII)
MOST_VERSION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """One label as it came."""

    unit: str | Unit
    value: object
    """What ``models.label_errors`` takes for the head: number, text, positions, bytes of a file."""
    source: str = "requested"
    head: str = ""
    """Empty: the only head of the task."""
    key: str = ""
    """The caller's own name of this label: given again, it is the same label. Empty: its content names it."""
    version: int = 1
    """A correction has a greater one."""
    observed: float | None = None
    """When the quantity was measured or judged, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class PackedLabels:
    """Labels by the thousand: numbers of one head and one source."""

    epochs: NDArray[np.uint64]
    """[N], or [1] for all."""
    sequences: NDArray[np.uint64]
    """[N]."""
    values: NDArray[np.float64]
    """[N], in the unit of the head's label."""
    observed: NDArray[np.float64] | None = None
    """[N], seconds since 1970; None: not known."""
    source: str = "census"
    head: str = ""
    version: int = 1

    def labels(self) -> list[GivenLabel]:
        """One by one.

        Raises:
            InvalidInput: arrays of different lengths.
        """
        count = len(self.sequences)
        epochs = np.broadcast_to(self.epochs, count) if len(self.epochs) == 1 else self.epochs
        observed = [None] * count if self.observed is None else self.observed.tolist()
        for name, array in (("epochs", epochs), ("values", self.values), ("observed", observed)):
            if len(array) != count:
                raise InvalidInput(
                    f"{name} holds {len(array)} numbers, sequences {count}; give one for each label",
                    code="unequal_lengths",
                    field=name,
                    value=str(len(array)),
                    allowed=str(count),
                )
        units = zip(epochs.tolist(), self.sequences.tolist(), strict=True)
        return [
            GivenLabel(unit, value, self.source, self.head, "", self.version, time)
            for unit, value, time in zip(units, self.values.tolist(), observed, strict=True)
        ]


def sources(labels: Sequence[GivenLabel | InvalidInput]) -> Iterator[str]:
    """Those of labels that could be read."""
    return (one.source for one in labels if isinstance(one, GivenLabel))


class Row(NamedTuple):
    """A label that can go into the ledger."""

    at: int
    """In the batch."""
    unit: Unit
    head: str
    source: Source
    key: str
    """64 characters at most; what makes it idempotent, see ``stored_key``."""
    version: int
    observed: float | None
    value: bytes
    digest: str


class Rejection(NamedTuple):
    """A label of a batch that was not taken, and why."""

    at: int
    error: InvalidInput


@dataclass(frozen=True)
class Rules:
    """What labels of this service may be."""

    judgings: Mapping[str, LabelRule]
    """By head."""
    census: frozenset[str]
    """Heads whose population is declared to be labelled as a whole."""

    def check(self, labels: Sequence[GivenLabel | InvalidInput], now: float) -> tuple[list[Row], list[Rejection]]:
        """Those that can go into the ledger, and the others; what could not even be read is a refusal already."""
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

    def _row(self, index: int, label: GivenLabel, now: float) -> Row:
        unit = parse_unit(label.unit) if isinstance(label.unit, str) else checked_unit(*label.unit)
        head = self._head(label.head)
        source = self._source(label.source, head)
        if isinstance(label.version, bool) or not 1 <= label.version <= MOST_VERSION:
            raise _refusal("version", label.version, "bad_version", f"1 to {MOST_VERSION}", "a whole number")
        if label.observed is not None and not 0 <= label.observed <= now + AHEAD_SECONDS:
            raise _refusal("observed", label.observed, "bad_time", "0 to now", "seconds since 1970, not in the future")
        if label.key and not _KEY.fullmatch(label.key):
            raise _refusal("key", label.key[:60], "bad_key", "1 to 48", "printable ASCII characters without blanks")
        try:
            value = self.judgings[head].label(label.value)
        except BadLabel as error:
            raise InvalidInput(str(error), code="bad_label", field="value", value=shown(label.value, 60)) from error
        digest = hashlib.sha256(value).hexdigest()
        key = stored_key(label.key, label.version, label.observed, digest)
        return Row(index, unit, head, source, key, label.version, label.observed, value, digest)

    def _head(self, given: str) -> str:
        if given in self.judgings:
            return given
        heads = ", ".join(self.judgings)
        if given:
            raise _refusal("head", given, "unknown_head", heads, "a head of this model")
        if len(self.judgings) > 1:
            raise _refusal("head", "", "head_needed", heads, "the head that is labelled")
        return next(iter(self.judgings))

    def _source(self, given: str, head: str) -> Source:
        for source in SOURCES:
            if given == source:
                break
        else:
            raise _refusal("source", given, "unknown_source", ", ".join(SOURCES), "who asked for the label")
        if source == "census" and head not in self.census:
            raise InvalidInput(
                f"no census of {head} is declared: set DEMUR_CENSUS={head} where every unit gets its label; a label "
                "that somebody volunteers is of the source volunteered",
                code="census_not_declared",
                field="source",
                value="census",
                allowed="requested, volunteered",
            )
        return source


def stored_key(key: str, version: int, observed: float | None, digest: str) -> str:
    """What names a label among those of its unit, head and source: the caller's key and version, or the content."""
    if key:
        return f"{key}#{version}"
    return hashlib.sha256(f"{version}\n{observed!r}\n{digest}".encode()).hexdigest()


def _refusal(field: str, value: object, code: str, allowed: str, needed: str) -> InvalidInput:
    return InvalidInput(
        f"{field} = {shown(value, 60)}: {needed} is needed, {allowed}",
        code=code,
        field=field,
        value=shown(value, 60),
        allowed=allowed,
    )

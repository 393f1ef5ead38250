"""Identities of predictions, and the requests that refer to them by runs of consecutive numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeAlias, overload

from demur._errors import wrong_argument
from demur.v1 import labels_pb2
from demur.v1.common_pb2 import UnitIds

Ids: TypeAlias = str | Sequence[str]
"""One id, or several."""
Run = tuple[int, range]
"""Epoch of the process that decided, and the sequence numbers that it gave."""


class PredictionIds(Sequence[str]):
    """Ids ``{epoch:016x}-{sequence}``, one a row, kept as runs of consecutive numbers.

    Slices are again such sequences. It equals any other sequence of the same text.
    """

    __slots__ = ("_runs",)

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = tuple((epoch, numbers) for epoch, numbers in runs if numbers)

    @property
    def runs(self) -> tuple[Run, ...]:
        """Epoch and sequence numbers, in order."""
        return self._runs

    @classmethod
    def joined(cls, parts: Iterable[PredictionIds]) -> PredictionIds:
        """Return the ids of several sequences, in order."""
        return cls(chain.from_iterable(part._runs for part in parts))

    def __len__(self) -> int:
        return sum(len(numbers) for _, numbers in self._runs)

    def __iter__(self) -> Iterator[str]:
        for epoch, numbers in self._runs:
            prefix = f"{epoch:016x}-"
            for number in numbers:
                yield f"{prefix}{number}"

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> PredictionIds: ...
    def __getitem__(self, index: int | slice) -> str | PredictionIds:
        positions = range(len(self))[index]
        if isinstance(positions, range):
            return PredictionIds(self._select(positions))
        epoch, (number,) = next(self._select(range(positions, positions + 1)))
        return f"{epoch:016x}-{number}"

    def _select(self, positions: range) -> Iterator[Run]:
        """Yield the runs at these positions, in their order."""
        if positions.step < 0:
            for epoch, numbers in reversed([*self._select(positions[::-1])]):
                yield epoch, numbers[::-1]
            return
        start = 0
        for epoch, numbers in self._runs:
            inside = positions[_at_least(positions, start) : _at_least(positions, start + len(numbers))]
            if inside:
                yield epoch, numbers[inside[0] - start : inside[-1] - start + 1 : positions.step]
            start += len(numbers)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PredictionIds) and self._runs == other._runs:
            return True
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        size = len(self)
        if size <= 3:
            return f"PredictionIds({list(self)})"
        return f"PredictionIds([{self[0]!r}, … {size - 2} more …, {self[-1]!r}])"


def _at_least(positions: range, bound: int) -> int:
    """Return the index of the first of ascending positions that is not below the bound."""
    return min(len(positions), max(0, -((positions.start - bound) // positions.step)))


def listed(ids: Ids) -> tuple[str, ...]:
    """Return one id, or several, as a tuple."""
    return (ids,) if isinstance(ids, str) else tuple(ids)


def runs(ids: Ids) -> Iterator[UnitIds]:
    """Yield ids as runs of consecutive numbers.

    Raises:
        InvalidInput: one of them is not an id.
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
    """Return epoch and number of an id.

    Raises:
        InvalidInput: the text is not an id.
    """
    epoch, hyphen, number = text.partition("-")
    if not hyphen or len(epoch) != 16 or not number.isdecimal() or not set(epoch) <= set("0123456789abcdef"):
        raise wrong_argument("unit", text, "an id of an answer's prediction_ids")
    return int(epoch, 16), int(number)


class Identified(Protocol):
    """An answer, or the answer of one head."""

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each of its units."""
        ...


@dataclass(frozen=True, slots=True)
class Committed:
    """Result of committing to explored units."""

    units: int
    """Number of units that are now decided, durably; with those of earlier, equal calls."""
    unknown: tuple[str, ...]
    """Ids that are not held any more, or were never explored: ask again with the purpose ``decide``."""


def commit_request(units: Identified | Ids) -> Any:
    """Return the request that commits to units.

    Raises:
        InvalidInput: one of them is not an id.
    """
    ids: Ids = getattr(units, "prediction_ids", units)  # type: ignore[arg-type]
    return labels_pb2.CommitRequest(units=runs(ids))


def committed(response: labels_pb2.CommitResponse) -> Committed:
    """Decode the response to a commit."""
    return Committed(response.units, tuple(response.unknown))

"""Identities of predictions: a sequence of text that is never written out unless asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

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
        """All of several, in order."""
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
        """The runs at these positions, in their order."""
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
    """Index of the first of ascending positions that is not below the bound."""
    return min(len(positions), max(0, -((positions.start - bound) // positions.step)))

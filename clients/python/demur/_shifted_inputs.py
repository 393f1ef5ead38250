"""Inputs that make rows shifted, as answers name them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from demur._errors import ServiceFailure
from demur.v1 import common_pb2 as common


@dataclass(frozen=True, slots=True)
class ShiftedInput:
    """One input of one row that is unlike training."""

    column: str
    value: float
    """Value in the request, in ``unit``."""
    unit: str
    trained_lower: float
    """Range seen in training, in ``unit``; NaN if unknown."""
    trained_upper: float
    deviations: float
    """How far the value lies beyond the range, in standard deviations of training, negative below it. For a value
    within the range: distance from ``expected``, in conditional standard deviations. NaN if unknown."""
    expected: float
    """Value that the row's other inputs predict, in ``unit``; NaN for a value outside the range."""

    def __str__(self) -> str:
        unit = "" if self.unit == "1" else f" {self.unit}"
        text = f"{self.column} = {self.value:.6g}{unit}"
        if not np.isnan(self.expected):
            return f"{text}: {abs(self.deviations):.1f} sd from {self.expected:.6g}, which the other inputs suggest"
        if np.isnan(self.trained_lower):
            return text
        text += f": training had {self.trained_lower:.6g} to {self.trained_upper:.6g}"
        return text if np.isnan(self.deviations) else f"{text}, {abs(self.deviations):.1f} sd beyond"


class ShiftedInputs(Sequence[tuple[ShiftedInput, ...]]):
    """Inputs that make each of N rows unlike training: at most three a row, worst first; empty for most rows."""

    def __init__(self, rows: int, entries: Iterable[tuple[int, ShiftedInput]]) -> None:
        """
        Args:
            rows: N.
            entries: row and input, ascending by row.
        """
        self._rows = rows
        self._by_row: dict[int, list[ShiftedInput]] = {}
        for row, entry in entries:
            self._by_row.setdefault(row, []).append(entry)

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, index: int) -> tuple[ShiftedInput, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[ShiftedInput, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[ShiftedInput, ...] | Sequence[tuple[ShiftedInput, ...]]:
        if isinstance(index, slice):
            return tuple(self[row] for row in range(self._rows)[index])
        return tuple(self._by_row.get(range(self._rows)[index], ()))

    def entries(self) -> Iterator[tuple[int, ShiftedInput]]:
        """Yield row and input of all shifted inputs, ascending by row."""
        for row, entries in self._by_row.items():
            for entry in entries:
                yield row, entry

    def __repr__(self) -> str:
        return f"<ShiftedInputs: {len(self._by_row)} of {self._rows} rows>"


def shifted_inputs(message: common.ShiftedInputs, n: int) -> ShiftedInputs:
    """Read a message about N rows.

    Raises:
        ServiceFailure: its arrays differ in length, or name rows or columns that do not exist.
    """
    if not message.rows:
        return ShiftedInputs(n, ())
    rows, columns = np.frombuffer(message.rows, "<u4"), np.frombuffer(message.columns, "<u4")
    numbers = [np.frombuffer(packed, "<f4") for packed in (message.values, message.deviations, message.expected)]
    if {len(one) for one in (columns, *numbers)} != {len(rows)}:
        raise ServiceFailure("arrays of shifted inputs differ in length", code="malformed")
    if len(rows) and (int(rows.max()) >= n or int(columns.max()) >= len(message.inputs)):
        raise ServiceFailure("shifted inputs name rows or columns that do not exist", code="malformed")
    return ShiftedInputs(n, _entries(message, rows, columns, numbers))


def joined(parts: Sequence[ShiftedInputs]) -> ShiftedInputs:
    """Join the shifted inputs of consecutive parts of a batch."""
    entries: list[tuple[int, ShiftedInput]] = []
    before = 0
    for part in parts:
        entries += [(before + row, entry) for row, entry in part.entries()]
        before += len(part)
    return ShiftedInputs(before, entries)


def _entries(
    message: common.ShiftedInputs,
    rows: NDArray[np.uint32],
    columns: NDArray[np.uint32],
    numbers: Sequence[NDArray[np.float32]],
) -> Iterator[tuple[int, ShiftedInput]]:
    inputs = message.inputs
    for row, column, value, deviations, expected in zip(
        rows.tolist(), columns.tolist(), *(one.tolist() for one in numbers), strict=True
    ):
        about = inputs[column]
        yield (
            row,
            ShiftedInput(about.name, value, about.unit, about.trained_lower, about.trained_upper, deviations, expected),
        )

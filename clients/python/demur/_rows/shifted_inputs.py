"""Inputs that make rows shifted, with their training ranges."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from demur._messages import UINT32, PackedArray, malformed, packed_arrays
from demur.v1 import common_pb2 as common

_ARRAYS = (
    PackedArray("rows", ("entries",), UINT32),
    PackedArray("columns", ("entries",), UINT32),
    PackedArray("values", ("entries",)),
    PackedArray("deviations", ("entries",)),
    PackedArray("expected", ("entries",)),
)


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


@dataclass(frozen=True, eq=False, repr=False)
class ShiftedInputs(Sequence[tuple[ShiftedInput, ...]]):
    """Inputs that make each of N rows unlike training: at most three a row, worst first; empty for most rows."""

    length: int
    """N."""
    rows: NDArray[np.integer[Any]]
    """Row of each entry, ascending [S]."""
    columns: NDArray[np.integer[Any]]
    """Position of each entry in ``inputs`` [S]."""
    numbers: NDArray[np.float32]
    """Values, deviations and expected values, as in :class:`ShiftedInput` [3, S]."""
    inputs: tuple[common.ShiftedInput, ...]
    """Columns of the entries, with unit and range."""

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> tuple[ShiftedInput, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[ShiftedInput, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[ShiftedInput, ...] | Sequence[tuple[ShiftedInput, ...]]:
        if isinstance(index, slice):
            return tuple(self[row] for row in range(self.length)[index])
        first, last = np.searchsorted(self.rows, (row := range(self.length)[index], row + 1))
        return tuple(map(self._entry, range(first, last)))

    def _entry(self, place: int) -> ShiftedInput:
        column = self.inputs[self.columns[place]]
        value, deviations, expected = self.numbers[:, place].tolist()
        return ShiftedInput(
            column.name, value, column.unit, column.trained_lower, column.trained_upper, deviations, expected
        )

    def __repr__(self) -> str:
        return f"<ShiftedInputs: {len(np.unique(self.rows))} of {self.length} rows>"


def shifted_inputs(message: common.ShiftedInputs, n: int) -> ShiftedInputs:
    """Decode a message about N rows.

    Raises:
        ServiceFailure: its arrays differ in length, or name rows or columns that do not exist.
    """
    arrays = packed_arrays(message, _ARRAYS, entries=len(message.rows) // UINT32.itemsize)
    rows, columns = arrays["rows"], arrays["columns"]
    if len(rows) and (int(rows.max()) >= n or int(columns.max()) >= len(message.inputs)):
        raise malformed("shifted inputs name rows or columns that do not exist")
    numbers = np.stack([arrays["values"], arrays["deviations"], arrays["expected"]])
    return ShiftedInputs(n, rows, columns, numbers, tuple(message.inputs))


def join_shifted_inputs(parts: Sequence[ShiftedInputs]) -> ShiftedInputs:
    """Join the shifted inputs of consecutive parts of a batch."""
    rows_before = np.cumsum([0, *(part.length for part in parts)])
    inputs_before = np.cumsum([0, *(len(part.inputs) for part in parts)])
    return ShiftedInputs(
        int(rows_before[-1]),
        np.concatenate([part.rows + before for part, before in zip(parts, rows_before[:-1], strict=True)]),
        np.concatenate([part.columns + before for part, before in zip(parts, inputs_before[:-1], strict=True)]),
        np.concatenate([part.numbers for part in parts], axis=1),
        tuple(chain.from_iterable(part.inputs for part in parts)),
    )

"""Loader and caller of the compiled check of rows. It is optional; without it, NumPy does the same, slower."""

import ctypes
import logging
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import compiled
from models.familiarity import NO_DEPARTURES, Departures, Familiarity
from models.inputs.check import MOST_DEPARTURES, CheckResult, InputCheck, PlainCheck, Rows
from models.schema import Schema

MOST_COLUMNS = 512  # as in kernel.c
_VERSION = 2  # as in kernel.c
_ADVICE = "rows are checked with NumPy, which takes several times as long; compile it with `python -m models.compiled`"
_log = logging.getLogger(__name__)
_LANES = 16  # as in kernel.c
_REFUSED, _OUTSIDE = 1, np.uint8(2)  # as in kernel.c
_FOLDER = Path(__file__).parent
_NAMES: dict[str, Any] = {
    "columns": ctypes.c_int64,
    "lower": ctypes.c_void_p,
    "upper": ctypes.c_void_p,
    "nullable": ctypes.c_void_p,
    "sentinels": ctypes.c_int64,
    "sentinel_columns": ctypes.c_void_p,
    "sentinel_values": ctypes.c_void_p,
    "choices": ctypes.c_int64,
    "choice_columns": ctypes.c_void_p,
    "choice_values": ctypes.c_void_p,
    "trained_lower": ctypes.c_void_p,
    "trained_upper": ctypes.c_void_p,
    "directions": ctypes.c_int64,
    "components": ctypes.c_int64,
    "mean": ctypes.c_void_p,
    "deviation": ctypes.c_void_p,
    "scale": ctypes.c_void_p,
    "projection": ctypes.c_void_p,
    "rest": ctypes.c_float,
    "weights": ctypes.c_void_p,
    "precisions": ctypes.c_void_p,
    "shifts": ctypes.c_void_p,
    "roots": ctypes.c_void_p,
}


class _Inputs(ctypes.Structure):
    _fields_ = list(_NAMES.items())


def input_check(
    schema: Schema, lower: NDArray[np.float32], upper: NDArray[np.float32], known: Familiarity | None
) -> InputCheck:
    """Return the compiled check where there is a kernel for so many columns, else that of NumPy.

    Args:
        lower, upper: training range of each column [F]; infinite where it is not known.
        known: density of the training inputs; None if the artefact does not have it.
    """
    library = load() if len(schema) <= MOST_COLUMNS else None
    if library is None:
        return PlainCheck(schema, lower, upper, known)
    return CompiledCheck(library, schema, lower, upper, known)


class CompiledCheck:
    """Check by the kernel. Safe to call from several threads at once."""

    def __init__(
        self,
        library: ctypes.CDLL,
        schema: Schema,
        lower: NDArray[np.float32],
        upper: NDArray[np.float32],
        known: Familiarity | None,
    ) -> None:
        """Arguments as for ``input_check``."""
        self._library, self._columns, self._known = library, len(schema), known
        choices = [(column, value) for column, values in schema.enumerated for value in values.tolist()]
        self._kept: list[NDArray[Any]] = []  # the kernel has their addresses
        fields: dict[str, Any] = {
            "columns": self._columns,
            "lower": self._keep(schema.lower),
            "upper": self._keep(schema.upper),
            "nullable": self._keep(schema.nullable, np.int32),
            "sentinels": len(schema.sentinels),
            "sentinel_columns": self._keep([column for column, _ in schema.sentinels], np.int32),
            "sentinel_values": self._keep([value for _, value in schema.sentinels]),
            "choices": len(choices),
            "choice_columns": self._keep([column for column, _ in choices], np.int32),
            "choice_values": self._keep([value for _, value in choices]),
            "trained_lower": self._keep(lower),
            "trained_upper": self._keep(upper),
        }
        self._table = _Inputs(**fields, **({} if known is None else self._density(known)))
        self._pointer = ctypes.byref(self._table)

    def run(self, rows: Rows) -> CheckResult:
        count, rows = len(rows), self._checked(rows)
        room = np.empty(5 * count, np.uint8)  # one array for both results: each address takes a microsecond
        address = room.ctypes.data
        everything = self._library.demur_inputs_judge(
            self._pointer, rows.ctypes.data, count, address + 4 * count, address
        )
        outside = (room[4 * count :] & _OUTSIDE) != 0 if everything & _OUTSIDE else None
        scores = None if self._known is None else room[: 4 * count].view(np.float32)
        return CheckResult(bool(everything & _REFUSED), outside, scores)

    def departures(self, rows: Rows, flagged: NDArray[np.intp]) -> Departures:
        if not len(flagged):
            return NO_DEPARTURES
        rows, flagged = self._checked(rows), np.ascontiguousarray(flagged, np.int64)
        if flagged.min() < 0 or flagged.max() >= len(rows):
            raise IndexError(f"flagged rows {flagged.min()} to {flagged.max()}: there are {len(rows)}")
        most = len(flagged) * MOST_DEPARTURES
        places, columns = np.empty(most, np.int64), np.empty(most, np.int64)
        deviations, expected = np.empty(most, np.float32), np.empty(most, np.float32)
        arrays = (places, columns, deviations, expected)
        count = self._library.demur_inputs_departures(
            self._with_conditionals,
            rows.ctypes.data,
            flagged.ctypes.data,
            len(flagged),
            MOST_DEPARTURES,
            *(array.ctypes.data for array in arrays),
        )
        chosen, columns = flagged[places[:count]], columns[:count]
        return Departures(chosen, columns, rows[chosen, columns], deviations[:count], expected[:count])

    def _checked(self, rows: Rows) -> Rows:
        rows = np.ascontiguousarray(rows, np.float32)
        if not rows.flags.aligned:
            rows = rows.copy()
        if rows.ndim != 2 or rows.shape[1] != self._columns:
            raise ValueError(f"rows are {rows.shape}, {self._columns} columns are needed")
        return rows

    def _keep(self, values: Any, kind: Any = np.float32) -> int:
        """Keep values as an array, and return its address."""
        array = np.ascontiguousarray(values, kind)
        self._kept.append(array)
        return array.ctypes.data

    def _density(self, known: Familiarity) -> dict[str, Any]:
        weights = known.quadratic.weights.T  # [products, components]
        padding = -len(weights[0]) % _LANES
        weights = np.concatenate([weights, np.repeat(weights[:, :1], padding, axis=1)], axis=1)  # the first, again
        directions = known.projection.shape[1]
        projection = np.pad(known.projection, ((0, 0), (0, -directions % _LANES)))
        return {
            "directions": directions,
            "components": weights.shape[1],
            "mean": self._keep(known.mean),
            "deviation": self._keep(known.deviation),
            "scale": self._keep(1.0 / known.deviation),
            "projection": self._keep(projection) if known.left_out else None,
            "rest": 0.5 / known.left_out if known.left_out else 0.0,
            "weights": self._keep(weights),
        }

    @cached_property
    def _with_conditionals(self) -> Any:
        """Pointer to the table, with the conditional distributions, which few processes need."""
        if self._known is not None:
            parts = self._known.conditionals
            precisions, shifts, diagonals = (np.stack(part) for part in zip(*parts, strict=True))
            addresses = self._keep(precisions), self._keep(shifts), self._keep(np.sqrt(diagonals))
            self._table.precisions, self._table.shifts, self._table.roots = addresses
        return self._pointer


def load() -> ctypes.CDLL | None:
    """Return the compiled kernel; None if none was built, or only for another version of this module."""
    library = compiled.library(_FOLDER)
    if library is None:
        if (path := compiled.path(_FOLDER)) is not None:
            _log.warning("%s cannot be loaded: %s", path, _ADVICE)
        return None
    try:
        layout, judge, departing = (
            library.demur_inputs_layout,
            library.demur_inputs_judge,
            library.demur_inputs_departures,
        )
    except AttributeError:
        return None
    layout.restype = ctypes.c_int64
    if layout() != _VERSION * 1_000_000 + ctypes.sizeof(_Inputs):
        _log.warning("%s is not of version %d: %s", compiled.path(_FOLDER), _VERSION, _ADVICE)
        return None
    integer, address, table = ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(_Inputs)
    judge.argtypes, judge.restype = [table, address, integer, address, address], ctypes.c_int
    departing.argtypes = [table, address, address, integer, integer, address, address, address, address]
    departing.restype = integer
    return library

"""Check of rows before a model runs: which are possible, outside the training range, and how familiar each is."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from models.familiarity import Departures, Familiarity, departures
from models.schema import Schema

Rows = NDArray[np.float32]
MOST_DEPARTURES = 3
"""Columns that are named per row."""


class CheckResult(NamedTuple):
    """Result of checking rows [N, F]."""

    refused: bool
    """True if a value is neither possible nor a documented missing one."""
    outside: NDArray[np.bool_] | None
    """True for rows with a value outside the training range [N]; None if there are none."""
    scores: NDArray[np.float32] | None
    """Score of each row under the density of the training inputs [N]; None without a density."""


class InputCheck(Protocol):
    """Check of rows [N, F] of one schema."""

    def run(self, rows: Rows) -> CheckResult:
        """Return the result for rows."""
        ...

    def departures(self, rows: Rows, flagged: NDArray[np.intp]) -> Departures:
        """Return the columns in which flagged rows [k] depart from training; see ``models.familiarity.departures``."""
        ...


class PlainCheck:
    """Check by NumPy, where no kernel was compiled."""

    def __init__(
        self, schema: Schema, lower: NDArray[np.float32], upper: NDArray[np.float32], known: Familiarity | None
    ) -> None:
        """
        Args:
            lower, upper: training range of each column [F]; infinite where it is not known.
            known: density of the training inputs; None if the artefact does not have it.
        """
        self._schema, self._lower, self._upper, self._known = schema, lower, upper, known
        self._has_missing = bool(schema.nullable.any() or schema.sentinels)

    def run(self, rows: Rows) -> CheckResult:
        unseen = outside(rows, self._lower, self._upper, self._schema)
        scores = None
        if self._known is not None:
            scores = self._known.score(rows, self._schema.missing(rows) if self._has_missing else None)
        return CheckResult(possible(self._schema, rows) is not None, unseen if unseen.any() else None, scores)

    def departures(self, rows: Rows, flagged: NDArray[np.intp]) -> Departures:
        return departures(rows, flagged, self._schema, self._lower, self._upper, self._known, MOST_DEPARTURES)


def possible(schema: Schema, rows: Rows) -> NDArray[np.bool_] | None:
    """Return which values of rows [N, F] are possible or a documented missing value, bool [N, F]; None if all are."""
    fine = (rows >= schema.lower) & (rows <= schema.upper)
    for position, values in schema.enumerated:
        fine[:, position] &= np.isin(rows[:, position], values)
    if fine.all():
        return None
    fine |= np.isnan(rows) & schema.nullable
    for position, sentinel in schema.sentinels:
        fine[:, position] |= rows[:, position] == sentinel
    return None if fine.all() else fine


def outside(rows: Rows, lower: NDArray[np.float32], upper: NDArray[np.float32], schema: Schema) -> NDArray[np.bool_]:
    """Return whether rows [N] have a value outside the range [F] seen in training; missing values are never outside."""
    beyond = (rows < lower) | (rows > upper)
    for position, value in schema.sentinels:
        beyond[:, position] &= rows[:, position] != value
    return np.asarray(beyond.any(axis=1))

"""Units that labels were asked for, how their requests stand, and the errors that were found for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.labels.requests import STATES
from services.ledger.tables import OPEN, UNASKED
from services.monitor.units import Columns, Doubles, Labels, Longs, Units, names, no_units, ordered

CODES = {state: code for code, state in enumerate((*STATES, UNASKED))}
OPEN_CODES = tuple(CODES[state] for state in OPEN)


class Requested(NamedTuple):
    """Units [n] that a label is asked for, or that a census will tell of."""

    units: Units
    state: NDArray[np.uint8]
    """Of the request, as its code in ``CODES``."""
    census: NDArray[np.bool_]
    """Whether a census was declared."""

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Whether there is a request."""
        asked: NDArray[np.bool_] = self.state != CODES[UNASKED]
        return asked


@dataclass(frozen=True, slots=True)
class States(Columns):
    """What has become of requests [n], in the order in which it happened."""

    state: NDArray[np.uint8]
    """Index in ``STATES``."""
    time: Doubles
    second: Doubles
    """Probability of the second-phase draw that asked again; NaN for other changes."""


class Requests:
    """The newest units whose labels can be judged, at most ``capacity``, in whatever order they and their labels were
    added: those with a request, and all under a census."""

    def __init__(self, capacity: int, sources: Sequence[str]) -> None:
        self._capacity = capacity
        self._sources = tuple(sources)
        self._units = no_units()
        self._state = np.empty(0, np.uint8)
        self._second = np.empty(0)
        self._census = np.empty(0, bool)
        self._error = {source: np.empty(0) for source in sources}
        self._received = {source: np.empty(0) for source in sources}
        self._index: tuple[NDArray[np.uint64], NDArray[np.intp]] | None = None

    def __len__(self) -> int:
        return len(self._units)

    @property
    def units(self) -> Units:
        return self._units

    @property
    def state(self) -> NDArray[np.uint8]:
        """Index in ``STATES`` [n]."""
        return self._state

    @property
    def second(self) -> Doubles:
        """Probability of the second-phase draw [n]; NaN where there was none."""
        return self._second

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Whether there is a request; otherwise only a census tells of the unit [n]."""
        asked: NDArray[np.bool_] = self._state != CODES[UNASKED]
        return asked

    @property
    def census(self) -> NDArray[np.bool_]:
        """Whether a census was declared when the unit was decided [n]."""
        return self._census

    def error(self, source: str) -> Doubles:
        """Error by the labels of a source [n], NaN where there is none."""
        return self._error[source]

    def received(self, source: str) -> Doubles:
        """When that label was received [n], seconds since 1970."""
        return self._received[source]

    def add(self, units: Units, state: NDArray[np.uint8], census: NDArray[np.bool_]) -> None:
        """More units, each once, with the states of their requests; see ``census``."""
        if not len(units):
            return
        blank = np.full(len(units), np.nan)
        self._units = Units.join([self._units, units])
        self._state = np.concatenate([self._state, state])
        self._second = np.concatenate([self._second, blank])
        self._census = np.concatenate([self._census, census])
        for columns in (self._error, self._received):
            for source in self._sources:
                columns[source] = np.concatenate([columns[source], blank])
        self._index = None
        if len(self) > self._capacity:
            newest = np.arange(len(self)) if ordered(self._units) else self._units.order
            self._keep(np.sort(newest[-self._capacity :]))

    def advance(self, states: States) -> None:
        """Requests that changed; of units that are not held nothing is kept."""
        rows, found = self._find(states.epoch, states.sequence)
        changed = states.take(found)
        self._state[rows] = changed.state  # the last of several of one unit is written last
        drawn = np.isfinite(changed.second)
        self._second[rows[drawn]] = changed.second[drawn]

    def label(self, source: str, labels: Labels) -> None:
        """Errors that count now."""
        rows, found = self._find(labels.epoch, labels.sequence)
        self._error[source][rows] = labels.error[found]
        self._received[source][rows] = labels.received[found]

    def unlabel(self, source: str, labels: Labels) -> None:
        """Errors that count no more."""
        rows, _ = self._find(labels.epoch, labels.sequence)
        self._error[source][rows] = np.nan
        self._received[source][rows] = np.nan

    def forget(self, before: float) -> None:
        """Drops units decided before this moment."""
        if len(self) and self._units.time.min() < before:
            self._keep(np.flatnonzero(self._units.time >= before))

    def rows_of(self, units: Units) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Row here of those units [m] that have a request, and which of the units [n] they are."""
        return self._find(units.epoch, units.sequence)

    def _keep(self, rows: NDArray[np.intp]) -> None:
        self._units = self._units.take(rows)
        self._state, self._second = self._state[rows], self._second[rows]
        self._census = self._census[rows]
        for columns in (self._error, self._received):
            for source in self._sources:
                columns[source] = columns[source][rows]
        self._index = None

    def _find(self, epoch: Longs, sequence: Longs) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        if self._index is None:
            held = names(self._units.epoch, self._units.sequence)
            order = np.argsort(held, kind="stable")
            self._index = held[order], order
        held, order = self._index
        if not len(held):
            return np.empty(0, np.intp), np.zeros(len(epoch), bool)
        wanted = names(epoch, sequence)
        place = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
        found = held[place] == wanted
        return order[place[found]], found

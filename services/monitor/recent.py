"""The last units of a stream, held exactly."""

from __future__ import annotations

import numpy as np

from services.monitor.units import Units, no_units, ordered


class Recent:
    """The newest units of all that were added, at most ``capacity``, by time; in whatever order they were added."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = no_units()
        self._added: list[Units] = []
        self._pending = 0

    def __len__(self) -> int:
        return len(self.units)

    def add(self, units: Units) -> None:
        """More units, each once."""
        if not len(units):
            return
        self._added.append(units)
        self._pending += len(units)
        if self._pending > self._capacity:  # a long history is read: keep no more of it than needed
            self._settle()

    @property
    def units(self) -> Units:
        """In the order of ``Units.order``."""
        self._settle()
        return self._held

    def since(self, start: float) -> Units | None:
        """The units decided from this moment on; None where some of them may not be held any more."""
        units = self.units
        first = int(np.searchsorted(units.time, start))
        return None if first == 0 and len(units) >= self._capacity else units.take(slice(first, None))

    def newest(self, count: int) -> Units:
        """The last units, at most so many."""
        units = self.units
        return units.take(slice(max(0, len(units) - count), None))

    def _settle(self) -> None:
        if not self._added:
            return
        units = Units.join([self._held, *self._added])
        self._added, self._pending = [], 0
        if not ordered(units):
            units = units.take(units.order)
        self._held = units.take(slice(max(0, len(units) - self._capacity), None))
        if len(units) > len(self._held):  # the slice would keep what was cut off
            self._held = Units.join([self._held])

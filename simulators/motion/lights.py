"""Traffic lights: one programme per junction, with a vehicle light and a pedestrian light for each axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.protocol import motion_pb2

GREEN, BLINKING, YELLOW, RED, RED_YELLOW = (
    int(motion_pb2.TrafficLightState.Value(f"STATE_{name}"))
    for name in ("GREEN", "BLINKING_GREEN", "YELLOW", "RED", "RED_YELLOW")
)
SIGNALS = 4
"""Number of lights of a junction: vehicles of both axes, then walkers across both axes."""
_YELLOW = 3.0
_CLEARING = 2.0
_BLINKING = 3.0
_READY = 1.0
_DISCHARGE = 0.45
"""Rate of vehicles of one lane that pass a green light, 1/s."""


@dataclass(frozen=True, slots=True)
class Programme:
    """Signal cycle: green along one axis, then along the other, with yellow and all-red phases between."""

    number: int
    """Number of the junction among those with lights."""
    green: tuple[float, float]
    """Green time of each axis, s."""
    phase: float
    """Position in the cycle at time 0, s."""
    blinking: bool
    """True if green blinks before its end and red-yellow precedes green."""

    @classmethod
    def draw(cls, rng: np.random.Generator, first: int) -> Programme:
        green = (float(rng.uniform(18, 45)), float(rng.uniform(18, 45)))
        return cls(first, green, float(rng.uniform(0, sum(green) + 2 * (_YELLOW + _CLEARING))), True)

    @property
    def cycle(self) -> float:
        """Length of the cycle, s."""
        return sum(self.green) + 2 * (_YELLOW + _CLEARING)

    def vehicles(self, axis: int) -> int:
        """Return the number of the light of vehicles that come along an axis."""
        return SIGNALS * self.number + axis

    def walkers(self, axis: int) -> int:
        """Return the number of the light of pedestrians who cross the arms of an axis."""
        return SIGNALS * self.number + 2 + axis

    def states(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the states of the programme's lights in the order of their numbers, [T, 4]."""
        vehicles = [self._vehicles(axis, times) for axis in (0, 1)]
        # walkers cross an arm while the other axis has green, and stop early enough to get over
        walkers = [self._walkers(1 - axis, times) for axis in (0, 1)]
        return np.stack([*vehicles, *walkers], axis=1)

    def queue(self, axis: int, flow: float) -> float:
        """Return the expected queue before the light of an axis at time 0 if ``flow`` vehicles arrive per second."""
        into, green = self._into(axis, np.zeros(1))
        red = float(into[0]) - green
        if red > 0:
            return flow * red
        return max(0.0, flow * (self.cycle - green) - (_DISCHARGE - flow) * float(into[0]))

    def _into(self, axis: int, times: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the seconds since the axis' green began, and the length of its green."""
        start = 0.0 if axis == 0 else self.green[0] + _YELLOW + _CLEARING
        return (times + self.phase - start) % self.cycle, self.green[axis]

    def _vehicles(self, axis: int, times: NDArray[np.float64]) -> NDArray[np.int64]:
        into, green = self._into(axis, times)
        state = np.where(into < green, GREEN, np.where(into < green + _YELLOW, YELLOW, RED))
        if self.blinking:
            state = np.where((into >= green - _BLINKING) & (into < green), BLINKING, state)
            state = np.where(into >= self.cycle - _READY, RED_YELLOW, state)
        return np.asarray(state)

    def _walkers(self, axis: int, times: NDArray[np.float64]) -> NDArray[np.int64]:
        into, green = self._into(axis, times)
        return np.asarray(np.where(into < green - _YELLOW, GREEN, RED))

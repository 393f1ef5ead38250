"""Spontaneous actions of drivers: stops on the road, hard braking, lane changes, leaving the kerb."""

from dataclasses import dataclass

import numpy as np

from simulators.motion.city import Habits
from simulators.motion.curves import Floats
from simulators.motion.drivers import Drivers
from simulators.motion.places import Places

_HALT = (2.0, 9.0)
"""Range of the duration of a stop on the road, s."""
_HARD = (0.35, 0.75)
"""Range of hard braking relative to the hardest braking that the road allows."""
_HARD_FOR = (0.6, 1.6)
"""Range of the duration of hard braking, s."""


@dataclass(slots=True)
class Whims:
    """Spontaneous actions of N cars, [N] each."""

    halt_time: Floats
    """Time at which the driver decides to stop, s."""
    halt_for: Floats
    """Duration of the stop, s."""
    halt_at: Floats
    """Place of the stop along the route, m; infinite if none."""
    halt_until: Floats
    """End of the stop, s."""
    brake_time: Floats
    """Time at which the driver brakes hard, s."""
    brake_for: Floats
    """Duration of hard braking, s."""
    brake_by: Floats
    """Deceleration of hard braking, m/s²."""
    change_time: Floats
    """Time from which the driver wants to be on another lane, s."""
    go_time: Floats
    """Earliest time at which a car leaves the kerb, s; minus infinite for cars that do not stand there."""
    terminal: Floats
    """Place along the route at which the car stops for good, m; infinite if none."""

    def reset(self, car: int, begin: float) -> None:
        """Shift the places of a car whose route begins ``begin`` metres later than before."""
        self.halt_at[car] -= begin
        self.terminal[car] -= begin


def draw(rng: np.random.Generator, habits: Habits, who: Drivers) -> Whims:
    """Draw events by the rates of a city's habits."""
    count = len(who)

    def times(rate: float) -> Floats:
        """Draw times until the first of events that occur ``rate`` times a minute, s."""
        return np.asarray(rng.exponential(60 / max(rate, 1e-6), count))

    return Whims(
        times(habits.halts),
        rng.uniform(*_HALT, count),
        np.full(count, np.inf),
        np.full(count, -np.inf),
        times(0.5 * habits.halts),
        rng.uniform(*_HARD_FOR, count),
        rng.uniform(*_HARD, count) * who.hardest,
        times(habits.weaving),
        np.full(count, -np.inf),
        np.full(count, np.inf),
    )


def holds(whims: Whims, who: Drivers, here: Places, speed: Floats, to_junction: Floats, time: float) -> Floats:
    """Return the place along the route at which each driver chooses to stop, m; infinite if none.

    Args:
        to_junction: distance from the front to the next stop line, m; drivers do not stop on a junction by choice.
    """
    way = speed**2 / (2 * 0.8 * who.braking) + 1.0
    starts = (time >= whims.halt_time) & (to_junction > way + 4) & np.isinf(whims.terminal)
    if starts.any():
        whims.halt_at = np.where(starts, here.front + way, whims.halt_at)
        whims.halt_until = np.where(starts, time + speed / who.braking + whims.halt_for, whims.halt_until)
        whims.halt_time = np.where(starts, np.inf, whims.halt_time)
    halted = np.where(time < whims.halt_until, whims.halt_at, np.inf)
    return np.minimum(halted, whims.terminal)


def braking(whims: Whims, speed: Floats, time: float) -> Floats:
    """Return the present hard braking, m/s², [N]; 0 for most cars."""
    active = (time >= whims.brake_time) & (time < whims.brake_time + whims.brake_for) & (speed > 2)
    return np.where(active, whims.brake_by, 0.0)

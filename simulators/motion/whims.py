"""What drivers do of their own accord: stop on the road for a while, brake hard, change lanes, leave the kerb."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulators.motion.city import Habits
from simulators.motion.curves import Floats
from simulators.motion.drivers import Drivers
from simulators.motion.places import Places

_HALT = (2.0, 9.0)
"""How long a stop on the road lasts, s."""
_HARD = (0.35, 0.75)
"""Hard braking over the hardest that the road allows."""
_HARD_FOR = (0.6, 1.6)
"""How long it lasts, s."""


@dataclass(slots=True)
class Whims:
    """Of N cars, [N] each."""

    halt_time: Floats
    """When the driver decides to stop, s."""
    halt_for: Floats
    """How long, s."""
    halt_at: Floats
    """Where on the route, m; infinite where not."""
    halt_until: Floats
    """s."""
    brake_time: Floats
    """When the driver brakes hard, s."""
    brake_for: Floats
    """How long, s."""
    brake_by: Floats
    """m/s²."""
    change_time: Floats
    """When the driver would like to be on another lane, s."""
    go_time: Floats
    """When a car leaves the kerb at the earliest, s; minus infinite for cars that do not stand there."""
    terminal: Floats
    """Where on the route the car stops for good, m; infinite where not."""

    def reset(self, car: int, begin: float) -> None:
        """The route of a car begins ``begin`` metres later than before."""
        self.halt_at[car] -= begin
        self.terminal[car] -= begin


def draw(rng: np.random.Generator, habits: Habits, who: Drivers) -> Whims:
    """Events by the rates of a city's habits."""
    count = len(who)

    def times(rate: float) -> Floats:
        """Until the first of events that come ``rate`` times a minute, s."""
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
    """Where each car stops because its driver wants to, m along the route; infinite where nowhere.

    Args:
        to_junction: from the front to the next stop line, m; nobody stops on a junction by choice.
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
    """Hard braking now, m/s², [N]; 0 for most."""
    active = (time >= whims.brake_time) & (time < whims.brake_time + whims.brake_for) & (speed > 2)
    return np.where(active, whims.brake_by, 0.0)

"""Traffic of a quarter over some seconds: one loop over time, arrays over cars."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion import (
    bicycle,
    claims,
    crosswalks,
    drivers,
    lane_changes,
    places,
    right_of_way,
    routes,
    whims,
)
from simulators.motion.bicycle import Bodies
from simulators.motion.claims import Coming
from simulators.motion.curves import Floats
from simulators.motion.ground import Ground
from simulators.motion.lanes import NONE
from simulators.motion.pedestrians import Walkers
from simulators.motion.places import Leaving, Places
from simulators.motion.population import Cast
from simulators.motion.right_of_way import Patience

DT = 0.1
"""Time step, s."""
_STOP_LINE = 0.5
"""Smallest distance between stop line and bumper, m."""
_JERK = (12.0, 3.0)
"""Largest jerk of braking and of accelerating, m/s³."""
_SETTLED = 14.0
"""Distance before the end of the lane at which a lane change must be over, m."""
_SET_OFF = 1.5
"""Speed above which a car leaving the kerb no longer waits, m/s."""
_RESTLESS = 0.12
"""Standard deviation of random pedal movements, m/s²."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Observable state at one time."""

    x: Floats
    """Position of each car's middle along x, m, [N]."""
    y: Floats
    yaw: Floats
    """Heading, rad."""
    speed: Floats
    """Speed, m/s."""
    acceleration: Floats
    """Acceleration along the car, m/s²."""
    turning: Floats
    """Yaw rate, rad/s."""
    there: NDArray[np.bool_]
    """Mask of the cars that have not left the quarter."""
    people: Floats
    """Positions of people, m, [M, 2]."""


class Traffic:
    """Cars and people of a quarter; ``step`` moves them by ``DT``."""

    def __init__(self, rng: np.random.Generator, ground: Ground, cast: Cast, walkers: Walkers) -> None:
        self.ground, self.drivers, self.walkers = ground, cast.drivers, walkers
        self._rng, self._cast, self._routes, self._whims = rng, cast, cast.routes, cast.whims
        count = len(cast.drivers)
        self._along = np.zeros(count)  # rear axle, from the start of the route, m
        line = routes.at(cast.routes, self._along)
        ahead = routes.at(cast.routes, self._along + 1.0) - line
        heading = np.arctan2(ahead[:, 1], ahead[:, 0])
        self._bodies = Bodies(line[:, 0], line[:, 1], heading, cast.speed, np.zeros(count), cast.drivers.wheelbase)
        self._acceleration = np.zeros(count)
        self._turning = np.zeros(count)
        self._there = np.ones(count, bool)
        memory = np.full(cast.routes.lanes.shape, np.inf)
        self._patience = Patience(memory, np.zeros(count), np.zeros(count, bool))
        self._leaving = Leaving(np.full(count, NONE, np.intp), np.zeros(count), np.zeros(count))
        self._wander = rng.standard_normal(count)
        self._restless = rng.standard_normal(count)
        self._tick = 0

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._tick * DT

    def moment(self) -> Moment:
        """Return the present observable state."""
        body, middle = self._bodies, self.drivers.wheelbase / 2
        return Moment(
            body.x + middle * np.cos(body.yaw),
            body.y + middle * np.sin(body.yaw),
            body.yaw,
            body.speed,
            self._acceleration,
            self._turning,
            self._there.copy(),
            self.walkers.places(),
        )

    def states(self) -> NDArray[np.int64]:
        """Return the present states of all lights."""
        return np.asarray(self.ground.lights[self._tick])

    def step(self) -> None:
        """Advance the traffic by ``DT``."""
        who, ways, speed = self.drivers, self._routes, self._bodies.speed
        here = places.locate(ways, self._along, who.wheelbase, who.length)
        rear, pace = places.leaders(ways, here, who.length, speed, self._there, self._leaving, self.ground.across)
        coming, hold = self._junctions(here, rear, pace)
        hold = np.minimum(hold, crosswalks.holds(self.ground, self.walkers, ways, here, speed, who.hardest))
        hold = np.minimum(hold, whims.holds(self._whims, who, here, speed, coming.distance, self.time))
        hold = np.minimum(hold, self._kerb(here))
        self._drive(here, rear, pace, hold)
        may = crosswalks.may_cross(
            self.ground, self.walkers, ways, here, speed, self._there, who.hardest, self.states()
        )
        self.walkers.step(may, DT)
        if self._tick % 5 == 0:
            self._change_lanes(here)
        self._there &= self._along < ways.length
        self._tick += 1

    def _junctions(self, here: Places, rear: Floats, pace: Floats) -> tuple[Coming, Floats]:
        """Return the next junctions, and the place along its route at which each car has to wait for a junction, m."""
        ground, ways, memory = self.ground, self._routes, self._patience
        conflicts = ground.network.conflicts
        held, coming = claims.look(ways, here, memory.since, ground.length, self._there)
        if self._tick % 2 == 0:
            changed = right_of_way.update(
                memory,
                ground,
                self.drivers,
                held,
                coming,
                front=here.front,
                speed=self._bodies.speed,
                leader=(rear, pace),
                states=self.states(),
                time=self.time,
                step=2 * DT,
            )
            if changed:
                held, coming = claims.look(ways, here, memory.since, ground.length, self._there)
        unclaimed = coming.some & np.isinf(memory.since[np.arange(len(rear)), coming.slot])
        line = np.where(unclaimed, coming.begin - _STOP_LINE, np.inf)
        return coming, np.minimum(line, claims.holds(held, conflicts, here))

    def _kerb(self, here: Places) -> Floats:
        """Return the places that hold cars at the kerb until they want to go and the lane is clear, m along routes."""
        mood, speed, length = self._whims, self._bodies.speed, self.drivers.length
        hold = np.full(len(speed), np.inf)
        waiting = np.isfinite(mood.go_time)
        mood.go_time[waiting & (places.aside(self._routes, here.middle) < places.ASIDE)] = -np.inf
        for car in np.flatnonzero(waiting & (speed < _SET_OFF)):
            apart = self._routes.start[:, here.lane[car]] + here.inside[car] - here.middle
            follower = np.isfinite(apart) & (apart > -8) & self._there
            follower[car] = False
            clear = apart[follower] - (length[follower] + length[car]) / 2
            if self.time < mood.go_time[car] or (clear < 3 + 3.5 * speed[follower]).any():
                hold[car] = here.front[car] + 0.1
        return hold

    def _drive(self, here: Places, rear: Floats, pace: Floats, hold: Floats) -> None:
        """Accelerate and steer, given the rear and the pace of the car ahead and the place to stop."""
        who, ways, body = self.drivers, self._routes, self._bodies
        rows, speed = np.arange(len(rear)), body.speed
        aim = np.clip((self._along + 0.5 * speed).astype(np.intp), 0, ways.allowed.shape[1] - 1)
        wish = drivers.wish(who, speed, ways.allowed[rows, aim])
        care = np.maximum(
            drivers.follow(who, speed, rear - here.front, pace), drivers.halt(who, speed, hold - here.front)
        )
        self._restless = 0.95 * self._restless + 0.31 * self._rng.standard_normal(len(rows))
        wish = wish - care + _RESTLESS * self._restless * np.minimum(speed / 4, 1)
        hard = whims.braking(self._whims, speed, self.time)
        wish = np.where(hard > 0, np.minimum(wish, -hard), wish)
        change = np.clip(wish - self._acceleration, -_JERK[0] * DT, _JERK[1] * DT)
        power = np.clip(self._acceleration + change, -who.hardest, 1.2 * who.acceleration)
        standing = (speed < 0.05) & (power < 0.15)
        power = np.where(standing, 0.0, power)

        target = routes.at(ways, self._along + bicycle.lookahead(speed, body.wheelbase))
        self._wander = 0.98 * self._wander + 0.2 * self._rng.standard_normal(len(rows))
        dx, dy = target[:, 0] - body.x, target[:, 1] - body.y
        aside = who.wander * self._wander * np.minimum(speed / 5, 1) / np.maximum(np.hypot(dx, dy), 1e-6)
        before, steering = body.yaw, body.steering
        bicycle.steer(body, target + np.stack([-dy, dx], axis=1) * aside[:, None], DT)
        body.steering = np.where(standing, steering, body.steering)
        bicycle.advance(body, power, DT)
        self._turning = (body.yaw - before) / DT
        self._acceleration = np.where(body.speed > 0, power, np.maximum((body.speed - speed) / DT, power))
        line = routes.at(ways, self._along)
        ahead = routes.at(ways, self._along + 0.5) - line
        ahead /= np.maximum(np.hypot(*ahead.T), 1e-9)[:, None]
        gone = (body.x - line[:, 0]) * ahead[:, 0] + (body.y - line[:, 1]) * ahead[:, 1]
        self._along = self._along + np.maximum(gone, 0.0)

    def _change_lanes(self, here: Places) -> None:
        """Begin lane changes of cars that want one and find a gap, and end changes that are over."""
        network, mood, speed = self.ground.network, self._whims, self._bodies.speed
        over = (self._leaving.lane != NONE) & (here.rear > self._leaving.until)
        for car in np.flatnonzero(over):
            self._routes.start[car, self._leaving.lane[car]] = np.inf
        self._leaving.lane[over] = NONE
        wanting = (
            self._there
            & (mood.change_time <= self.time)
            & (self._leaving.lane == NONE)
            & np.isinf(mood.terminal)
            & ~np.isfinite(mood.go_time)
            & (speed > 3)
        )
        for car in np.flatnonzero(wanting):
            lane = int(here.lane[car])
            beside = network.beside[lane]
            style = self._cast.style(int(car))
            length = lane_changes.glide(float(speed[car]), style.cornering)
            inside = float(here.inside[car])
            behind = here.middle[car] - here.rear[car] + 2
            if not beside or not behind < inside < network.lengths[lane] - length - _SETTLED:
                continue
            other = beside[int(self._rng.integers(len(beside)))]
            moved = inside * float(network.lengths[other] / network.lengths[lane])
            if not lane_changes.has_gap(int(car), other, moved, here, self.drivers, speed, self._there):
                continue
            self._begin_change(int(car), lane, other, moved, length, here)

    def _begin_change(self, car: int, lane: int, other: int, inside: float, length: float, here: Places) -> None:
        begun = float(self._along[car])
        behind = float(here.middle[car]) - begun  # distance of the rear axle behind the middle
        lane_changes.change(
            self._rng,
            self._routes,
            self.ground.network,
            car,
            other,
            inside - behind,
            rear=begun,
            length=length,
            distance=self._cast.reach(car, self.time),
            turns=self._cast.turns,
            style=self._cast.style(car),
        )
        here_before = float(here.inside[car]) - behind
        self._routes.start[car, lane] = -here_before
        self._leaving.lane[car], self._leaving.begun[car] = lane, here_before
        self._leaving.until[car] = 0.6 * length
        self._patience.since[car] = np.inf
        self._whims.reset(car, begun)
        self._whims.change_time[car] = self.time + self._rng.exponential(60 / max(self._cast.weaving, 1e-6))
        self._along[car] = 0.0

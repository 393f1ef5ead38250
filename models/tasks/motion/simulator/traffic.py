"""The traffic of a quarter for some seconds: one loop over time, arrays over cars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.simulator import bicycle, drivers, lights, pedestrians, population, right_of_way, routes
from models.tasks.motion.simulator.bicycle import Bodies
from models.tasks.motion.simulator.cities import City
from models.tasks.motion.simulator.curves import Floats
from models.tasks.motion.simulator.drivers import Drivers
from models.tasks.motion.simulator.lanes import NONE
from models.tasks.motion.simulator.network import Network
from models.tasks.motion.simulator.pedestrians import Walkers
from models.tasks.motion.simulator.population import Start
from models.tasks.motion.simulator.right_of_way import Claims, Coming
from models.tasks.motion.simulator.routes import Routes

DT = 0.1
"""Step, s."""
_GO = (lights.GREEN, lights.BLINKING)
_STOP_LINE = 0.5
"""Between stop line and bumper at least, m."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What can be seen at one time."""

    x: Floats
    """Middle of each car, m, [N]."""
    y: Floats
    yaw: Floats
    """rad."""
    speed: Floats
    """m/s."""
    acceleration: Floats
    """Along the car, m/s²."""
    turning: Floats
    """rad/s."""
    there: NDArray[np.bool_]
    """Whether the car has not left the quarter."""
    people: Floats
    """Places, m, [M, 2]."""
    paces: Floats
    """Their speeds, m/s, [M]."""


class Traffic:
    """Cars and people of a quarter; ``step`` moves them by ``DT``."""

    def __init__(
        self,
        rng: np.random.Generator,
        city: City,
        network: Network,
        who: Drivers,
        start: Start,
        ways: Routes,
        walkers: Walkers,
        seconds: float,
    ) -> None:
        """Args: ``seconds`` is how long at most the traffic will go on."""
        self.rng, self.network, self.drivers, self.routes, self.walkers = rng, network, who, ways, walkers
        count = len(who)
        self.time = 0.0
        self.along = np.zeros(count)
        """Rear axle, from the start of the route, m."""
        line = routes.at(ways, self.along)
        ahead = routes.at(ways, self.along + 1.0) - line
        self.bodies = Bodies(
            line[:, 0], line[:, 1], np.arctan2(ahead[:, 1], ahead[:, 0]), start.speed, np.zeros(count), who.wheelbase
        )
        self.acceleration = np.zeros(count)
        self.turning = np.zeros(count)
        self.there = np.ones(count, bool)
        self.since = np.full(ways.lanes.shape, np.inf)
        """When a car's claim on each lane of its route was granted, s."""
        self.last = ways.lanes.shape[1] - 1
        self.waited = np.zeros(count)
        """How long a car has stood at its stop line, s."""
        self.stopped = np.zeros(count, bool)
        """Whether a car has stopped before its stop sign."""
        self.paces = np.zeros(len(walkers))
        self.drift = rng.standard_normal(count)
        self.wavering = rng.standard_normal(count)
        lanes = network.lanes
        found = network.conflicts.ways
        self.rank = np.array([lanes[way].rank for way in found], np.intp)
        self.limit = np.array(
            [min(lanes[way].limit, 9.0) if lanes[way].movement != 1 else lanes[way].limit for way in found]
        )
        self.stop_sign = np.array([lanes[way].stop for way in found], bool)
        self.way_length = network.lengths[found]
        self.way_signal = network.signals[found]
        times = np.arange(0, seconds + 2 * DT, DT)
        states = [programme.states(times) for programme in network.lights]
        self.lights = np.concatenate(states, axis=1) if states else np.empty((len(times), 0), np.int64)
        """[T, lights]."""
        self.programmes = network.lights
        spans = [(number, *span) for number, one in enumerate(network.crossings) for span in one.spans]
        self.span_crossing = np.array([span[0] for span in spans], np.intp)
        self.span_lane = np.array([span[1] for span in spans], np.intp)
        self.span_from = np.array([span[2] for span in spans])
        self.span_to = np.array([span[3] for span in spans])
        self.crossing_signal = np.array([one.signal for one in network.crossings], np.intp)
        self.tick = 0

    def moment(self) -> Moment:
        """What can be seen now."""
        body, middle = self.bodies, self.drivers.wheelbase / 2
        return Moment(
            body.x + middle * np.cos(body.yaw),
            body.y + middle * np.sin(body.yaw),
            body.yaw.copy(),
            body.speed.copy(),
            self.acceleration.copy(),
            self.turning.copy(),
            self.there.copy(),
            self.walkers.places(),
            self.paces.copy(),
        )

    def states(self) -> NDArray[np.int64]:
        """Of all lights now."""
        return np.asarray(self.lights[self.tick])

    def step(self) -> None:
        """``DT`` later."""
        who, ways, body = self.drivers, self.routes, self.bodies
        count = len(who)
        rows = np.arange(count)
        middle = self.along + who.wheelbase / 2
        front, rear = middle + who.length / 2, middle - who.length / 2
        speed = body.speed
        place = (ways.starts <= middle[:, None]).sum(axis=1) - 1
        lane = ways.lanes[rows, place]
        inside_lane = middle - ways.starts[rows, place]

        leader_rear, leader_speed = self._leaders(lane, inside_lane, middle)
        claims, coming, slot = self._ways(front, rear)
        if self.tick % 2 == 0:
            self._admit(claims, coming, slot, front, leader_rear, leader_speed)
            claims, coming, slot = self._ways(front, rear)

        hold = right_of_way.holds(claims, self.network.conflicts, front, rear, count)
        unclaimed = (coming.way != NONE) & ~np.isfinite(self.since[rows, np.minimum(slot, self.last)])
        hold = np.minimum(hold, np.where(unclaimed, coming.begin - _STOP_LINE, np.inf))
        hold = np.minimum(hold, self._people_ahead(front, speed))

        aim = np.clip((self.along + 0.5 * speed).astype(np.intp), 0, ways.allowed.shape[1] - 1)
        wanted = ways.allowed[rows, aim]
        wish = drivers.wish(who, speed, wanted)
        behind = drivers.follow(who, speed, leader_rear - front, leader_speed)
        before = drivers.halt(who, speed, hold - front)
        self.wavering += -0.05 * self.wavering + np.sqrt(0.1) * self.rng.standard_normal(count)
        wanted_acceleration = wish - np.maximum(behind, before) + 0.12 * self.wavering * np.minimum(speed / 4, 1)
        change = np.clip(wanted_acceleration - self.acceleration, -1.2, 0.35)
        self.acceleration = np.clip(self.acceleration + change, -who.hardest, who.acceleration * 1.2)
        standing = (speed < 0.05) & (self.acceleration < 0.15)
        self.acceleration = np.where(standing, 0.0, self.acceleration)
        self._move(standing)
        self._walk(front, rear, speed)
        self.there &= self.along < ways.length
        self.tick += 1
        self.time = self.tick * DT

    def _leaders(self, lane: NDArray[np.intp], inside: Floats, middle: Floats) -> tuple[Floats, Floats]:
        """Rear of the next car on each car's route, m, and its speed, m/s."""
        ways, length = self.routes, self.drivers.length
        place = ways.start[:, lane] + inside
        parted = np.where(inside - length / 2 < ways.parted_until[:, lane], ways.parted[:, lane] + inside, np.inf)
        joined = np.where(inside + length / 2 > ways.joined_from[:, lane], ways.joined[:, lane] + inside, np.inf)
        place = np.minimum(np.minimum(place, parted), joined)
        ahead = (place > middle[:, None]) & self.there[None]
        np.fill_diagonal(ahead, False)
        rear = np.where(ahead, place - length / 2, np.inf)
        nearest = rear.argmin(axis=1)
        rows = np.arange(len(lane))
        found = rear[rows, nearest]
        return found, np.where(np.isfinite(found), self.bodies.speed[nearest], 0.0)

    def _ways(self, front: Floats, rear: Floats) -> tuple[Claims, Coming, NDArray[np.intp]]:
        """Claims, ways to come, and which lane of each route that is."""
        ways = self.routes
        rows = np.arange(len(front))
        is_way = ways.ways != NONE
        entered = ways.starts <= front[:, None]
        to_come = is_way & ~entered & np.isfinite(ways.starts)
        slot = np.where(to_come.any(axis=1), to_come.argmax(axis=1), ways.ways.shape[1])
        safe = np.minimum(slot, ways.ways.shape[1] - 1)
        some = slot < ways.ways.shape[1]
        way = np.where(some & self.there, ways.ways[rows, safe], NONE)
        begin = np.where(some, ways.starts[rows, safe], np.inf)
        coming = Coming(way, begin, begin - front)
        length = np.where(is_way, self.way_length[ways.ways], 0)
        on = is_way & entered & (rear[:, None] < ways.starts + length) & self.there[:, None]
        with_claim = on | (np.isfinite(self.since) & to_come & self.there[:, None])
        car, lane = np.nonzero(with_claim)
        since = np.where(np.isfinite(self.since[car, lane]), self.since[car, lane], 0.0)
        return Claims(car, ways.ways[car, lane], ways.starts[car, lane], since), coming, slot

    def _admit(
        self,
        claims: Claims,
        coming: Coming,
        slot: NDArray[np.intp],
        front: Floats,
        leader_rear: Floats,
        leader_speed: Floats,
    ) -> None:
        """Grants claims, and takes back those of cars before a light that is not green any more."""
        who, speed = self.drivers, self.bodies.speed
        rows = np.arange(len(who))
        safe = np.minimum(slot, self.last)
        state = np.full(len(who), lights.GREEN)
        signal = np.where(coming.way != NONE, self.way_signal[coming.way], NONE)
        lit = signal != NONE
        state[lit] = self.states()[signal[lit]]
        go = np.isin(state, _GO)
        claimed = (coming.way != NONE) & np.isfinite(self.since[rows, safe])
        revoked = claimed & ~go & right_of_way.stops_for_yellow(coming.distance, speed)
        self.since[rows[revoked], safe[revoked]] = np.inf
        claimed &= ~revoked

        near = coming.distance < 6 + speed + speed**2 / (2 * 1.8)
        at_line = (coming.distance < 4) & (speed < 0.3) & (coming.way != NONE)
        self.waited = np.where(at_line, self.waited + 2 * DT, np.where(speed > 1, 0.0, self.waited))
        self.stopped = (self.stopped & (coming.distance < 6)) | at_line
        sign = np.where(coming.way != NONE, self.stop_sign[coming.way], False)
        begin = np.where(coming.way != NONE, coming.begin, 0.0)
        end = begin + self.way_length[coming.way]
        room = (leader_rear - end > who.length + 2) | (leader_speed > 3)
        first = leader_rear > coming.begin
        ready = (coming.way != NONE) & ~claimed & near & go & (~sign | self.stopped) & room
        # a car behind another follows its claim: it asks when the other has passed the line or is about to
        ready &= first | (leader_speed > 2)
        candidates = np.flatnonzero(ready)
        if not len(candidates):
            return
        kept = ~(revoked[claims.car] & (claims.begin == coming.begin[claims.car]))
        current = Claims(claims.car[kept], claims.way[kept], claims.begin[kept], claims.since[kept])
        rivals = (coming.way != NONE) & ~claimed & go & ~right_of_way.tired(self.waited)
        admitted = right_of_way.admit(
            current,
            coming,
            candidates,
            self.network.conflicts,
            self.rank,
            self.limit,
            front=front,
            speed=speed,
            length=who.length,
            patience=who.patience,
            rivals=rivals & (coming.distance < 90),
        )
        for order, car in enumerate(admitted):
            self.since[car, slot[car]] = self.time + 1e-4 * order

    def _people_ahead(self, front: Floats, speed: Floats) -> Floats:
        """Where each car has to wait for people on a crossing, m."""
        busy = np.zeros(len(self.crossing_signal), bool)
        walkers = self.walkers
        there = walkers.on_road() | (walkers.waiting() & (walkers.crossing != NONE))
        zebra = self.crossing_signal[walkers.crossing] == NONE if len(self.crossing_signal) else there
        busy[walkers.crossing[walkers.on_road() | (there & zebra)]] = True
        blocked = busy[self.span_crossing]
        if not blocked.any():
            return np.full(len(front), np.inf)
        begin = self.routes.start[:, self.span_lane[blocked]] + self.span_from[blocked] - 0.8
        gap = begin - front[:, None]
        can_stop = gap > speed[:, None] ** 2 / (2 * 0.6 * self.drivers.hardest)
        return np.asarray(np.where(can_stop & (gap > -0.3), begin, np.inf).min(axis=1))

    def _move(self, standing: NDArray[np.bool_]) -> None:
        body, ways, who = self.bodies, self.routes, self.drivers
        ahead = bicycle.lookahead(body.speed, body.wheelbase)
        target = routes.at(ways, self.along + ahead)
        self.drift += -0.02 * self.drift + 0.2 * self.rng.standard_normal(len(who))
        dx, dy = target[:, 0] - body.x, target[:, 1] - body.y
        distance = np.maximum(np.hypot(dx, dy), 1e-6)
        aside = who.wander * self.drift * np.minimum(body.speed / 5, 1)
        target = target + np.stack([-dy, dx], axis=1) * (aside / distance)[:, None]
        before = body.yaw
        moving = np.where(standing, 0.0, self.acceleration)
        steering = body.steering
        bicycle.steer(body, target, DT)
        body.steering = np.where(standing, steering, body.steering)
        bicycle.advance(body, moving, DT)
        self.turning = (body.yaw - before) / DT
        line = routes.at(ways, self.along)
        tangent = routes.at(ways, self.along + 0.5) - line
        tangent /= np.maximum(np.hypot(*tangent.T), 1e-9)[:, None]
        self.along = self.along + np.maximum(
            (body.x - line[:, 0]) * tangent[:, 0] + (body.y - line[:, 1]) * tangent[:, 1], 0.0
        )

    def _walk(self, front: Floats, rear: Floats, speed: Floats) -> None:
        walkers = self.walkers
        if not len(walkers):
            return
        may = np.ones(len(walkers), bool)
        if len(self.crossing_signal):
            begin = self.routes.start[:, self.span_lane] + self.span_from
            gap = begin - front[:, None]
            passing = (gap < 0.5) & (rear[:, None] < begin + (self.span_to - self.span_from) + 0.3)
            coming = (gap >= 0.5) & (
                gap < speed[:, None] ** 2 / (2 * 0.35 * self.drivers.hardest) + 1 + 0.3 * speed[:, None]
            )
            danger = ((passing | (coming & (speed[:, None] > 0.7))) & self.there[:, None]).any(axis=0)
            unsafe = np.zeros(len(self.crossing_signal), bool)
            np.logical_or.at(unsafe, self.span_crossing, danger)
            red = np.zeros(len(self.crossing_signal), bool)
            lit = self.crossing_signal != NONE
            red[lit] = self.states()[self.crossing_signal[lit]] != lights.GREEN
            closed = unsafe | red
            crossing = walkers.crossing != NONE
            may[crossing] = ~closed[walkers.crossing[crossing]]
        self.paces = walkers.step(may, DT)


def start(rng: np.random.Generator, city: City, network: Network, precipitation: int, seconds: float) -> Traffic:
    """The traffic of a quarter at its start, for ``seconds`` at most."""
    placed = population.place(rng, city, network)
    who = drivers.draw(rng, city, len(placed.lane), precipitation)
    ways = routes.empty(len(placed.lane), network, 20 * seconds + 70)
    for car, (lane, along) in enumerate(zip(placed.lane, placed.along, strict=True)):
        reach = min(20.0, network.lanes[lane].limit * 1.3 + 2) * seconds + 40
        chain = routes.choose(rng, network, int(lane), along + reach, city.habits.turns)
        routes.set_route(ways, car, network, chain, along, who.eagerness[car], who.cornering[car], who.braking[car])
    speed = np.minimum(placed.speed, 0.9 * ways.allowed[:, 0])
    people = pedestrians.draw(
        rng, network.crossings, network.pavements, rng.poisson(placed.street * city.pedestrians / 100), seconds, 120.0
    )
    start = Start(placed.lane, placed.along, speed, placed.street)
    return Traffic(rng, city, network, who, start, ways, people, seconds)

"""Initial traffic: cars on lanes and at kerbs, with drivers, routes and spontaneous actions."""

import math
from dataclasses import dataclass

import numpy as np

from simulators.motion import curves, drivers, kerbside, lights, routes, whims
from simulators.motion.city import City
from simulators.motion.curves import Floats, Points
from simulators.motion.drivers import Drivers
from simulators.motion.kerbside import Place
from simulators.motion.lanes import NONE
from simulators.motion.network import Network
from simulators.motion.routes import Routes, Style
from simulators.motion.whims import Whims

_RADIUS = 260.0
"""Distance from the middle beyond which cars do not come into sight, m."""
_LEAVING = 150.0
"""Same limit for lanes on which cars only drive away, m."""
_SPACE = 14.0
"""Smallest distance between middles of cars, m; leaves room for trucks."""
_QUEUED = 12.5
"""Distance between middles of waiting cars, m; leaves room for trucks."""
_FLOWING = 0.7
"""Ratio of the speed of moving cars to the limit."""
_YIELDING = 3.0
"""Time that a car waits that has to give way, s."""
_FASTEST = 21.0
"""Upper bound of the speed of any car, m/s."""
_SLOWING = 0.9
"""Braking before a junction, m/s²."""
_KERB_APART = 6.0
"""Distance that two cars need between them at a kerb, m."""
_INTO = (-kerbside.IN, 5.0)
"""Space before and behind a place at the kerb that a car pulling in needs, m."""
_TRUCK_RADIUS = 16.0
"""Smallest radius of street bends that long vehicles drive, m."""
_LONG = 6.0
"""Length above which vehicles avoid turns and do not park at kerbs, m."""


@dataclass(frozen=True, slots=True)
class Cast:
    """N cars at the start of the traffic."""

    drivers: Drivers
    routes: Routes
    whims: Whims
    speed: Floats
    """Speed, m/s, [N]."""
    kept_free: Points
    """Places at kerbs that cars come from or go to, [n, 2], m."""
    turns: tuple[float, float, float]
    weaving: float
    """Rate of lane changes that a driver wants, per minute."""
    seconds: float
    """Duration of the traffic, s."""

    def style(self, car: int) -> Style:
        """Return the driving style of a car."""
        who = self.drivers
        return Style(float(who.eagerness[car]), float(who.cornering[car]), float(who.braking[car]))

    def reach(self, car: int, time: float) -> float:
        """Return the largest distance that a car can drive from a time on, m."""
        return _FASTEST * (self.seconds - time) + 40


@dataclass(frozen=True, slots=True)
class _Spot:
    """Starting position of a car."""

    lane: int
    along: float
    """Position of the rear axle along the lane, m."""
    speed: float
    place: Place | None = None
    """Place at the kerb, if the car starts there."""


def draw(rng: np.random.Generator, city: City, network: Network, precipitation: int, seconds: float) -> Cast:
    """Draw cars spread over the lanes; some wait before red lights, some leave the kerb or pull in to it."""
    spots = [*_at_kerbs(rng, city, network), *_on_lanes(rng, city, network)]
    count = len(spots)
    who = drivers.draw(rng, city, count, precipitation)
    who.shorten(np.array([spot.place is not None for spot in spots], bool))
    mood = whims.draw(rng, city.habits, who)
    ways = routes.empty(count, network, _FASTEST * seconds + 70)
    cast = Cast(who, ways, mood, np.zeros(count), np.empty((0, 2)), city.habits.turns, city.habits.weaving, seconds)
    free: list[Points] = []
    for car, spot in enumerate(spots):
        free += _send(rng, city, network, cast, car, spot, free)
    speed = np.minimum(np.array([spot.speed for spot in spots]), 0.9 * ways.allowed[:, 0])
    kept = np.array(free).reshape(-1, 2)
    return Cast(who, ways, mood, speed, kept, city.habits.turns, city.habits.weaving, seconds)


def _on_lanes(rng: np.random.Generator, city: City, network: Network) -> list[_Spot]:
    spots: list[_Spot] = []
    busy = rng.gamma(5.0, 0.2)
    for number, lane in enumerate(network.lanes):
        if lane.road == NONE:
            continue
        distance = np.hypot(*lane.points.T)
        radius = _RADIUS if network.successors[number] else _LEAVING
        density = city.density * busy * (1.0 if lane.main else 0.6)
        position, ahead = lane.length - 10.0, (np.inf, 0.0)  # position and speed of the car ahead
        for _ in range(_queue(rng, network, number, density / 1000 * _FLOWING * lane.limit)):
            if position > 8:
                spots.append(_Spot(number, position, 0.0))
                ahead = position, 0.0
                position -= _QUEUED
        while True:
            position -= rng.exponential(max(1000 / density - _SPACE, 4.0))
            if position < 8:
                break
            if distance[min(int(position), len(distance) - 1)] < radius:
                speed = _speed(rng, lane.limit, lane.length - position)
                room = max(0.0, ahead[0] - position - _SPACE)
                speed = min(speed, math.sqrt(ahead[1] ** 2 + 2 * _SLOWING * room))
                spots.append(_Spot(number, position, speed))
                ahead = position, speed
            position -= _SPACE
    return spots


def _queue(rng: np.random.Generator, network: Network, lane: int, flow: float) -> int:
    """Draw the number of cars that stand at the end of a lane to which ``flow`` cars come per second."""
    following = [network.lanes[way] for way in network.successors[lane]]
    signals = [lane_ahead.signal for lane_ahead in following if lane_ahead.signal != NONE]
    if signals:
        programme, light = divmod(signals[0], lights.SIGNALS)
        return int(rng.poisson(network.lights[programme].queue(light, flow)))
    return (
        int(rng.poisson(_YIELDING * flow)) if all(lane_ahead.gives_way for lane_ahead in following) and following else 0
    )


def _speed(rng: np.random.Generator, limit: float, left: float) -> float:
    """Draw the speed of a car before a junction, m/s; most will have to slow down for it."""
    slowed = math.sqrt(2 * _SLOWING * left) if rng.random() < 0.7 else limit
    return min(float(rng.uniform(0.65, 1.0)) * limit, slowed)


def _at_kerbs(rng: np.random.Generator, city: City, network: Network) -> list[_Spot]:
    """Draw cars that will leave the kerb."""
    spots = []
    for number, lane in enumerate(network.lanes):
        if lane.road == NONE or rng.random() >= city.habits.kerb * lane.length / 100:
            continue
        place = kerbside.draw(rng, network, number)
        if place is not None and np.hypot(*place.point(network)) < 120:
            spots.append(_Spot(number, place.along, 0.0, place))
    return spots


def _send(
    rng: np.random.Generator, city: City, network: Network, cast: Cast, car: int, spot: _Spot, taken: list[Points]
) -> list[Points]:
    """Give a car its route and return the points at kerbs to keep free for it, apart from those in ``taken``."""
    mood, style = cast.whims, cast.style(car)
    long = cast.drivers.length[car] > _LONG
    turns = (0.01, 1.0, 0.01) if long else city.habits.turns
    chain = routes.choose(rng, network, spot.lane, spot.along + cast.reach(car, 0.0), turns)
    if spot.place is not None:
        aside = spot.place.aside
        mood.go_time[car] = rng.uniform(2, cast.seconds)
        routes.set_route(
            cast.routes, car, network, chain, spot.along, style, lambda line, s: kerbside.leaving(line, s, aside)
        )
        return _free(network, spot.place, -4, kerbside.OUT)
    stop = None if long or rng.random() >= city.habits.kerb else _stop(rng, network, chain, spot, taken)
    if stop is None:
        routes.set_route(cast.routes, car, network, chain, spot.along, style)
        if long and curves.curvature(cast.routes.points[car], 1.0).max() > 1 / _TRUCK_RADIUS:
            cast.drivers.shorten(np.arange(len(cast.drivers)) == car)
        return []
    place, along = stop
    mood.terminal[car] = along + cast.drivers.wheelbase[car] / 2 + cast.drivers.length[car] / 2
    routes.set_route(
        cast.routes,
        car,
        network,
        chain,
        spot.along,
        style,
        lambda line, s: kerbside.entering(line, s, place.aside, along),
    )
    return _free(network, place, *_INTO)


def _stop(
    rng: np.random.Generator, network: Network, chain: list[int], spot: _Spot, taken: list[Points]
) -> tuple[Place, float] | None:
    """Draw a place at the kerb on a car's route; return it with the rear axle's distance along the route, m."""
    start = -spot.along
    for lane in chain:
        place = kerbside.draw(rng, network, lane, max(0.0, 40.0 - start))
        if place is not None and rng.random() < 0.5:
            needed = np.stack(_free(network, place, *_INTO))
            apart = [float(np.hypot(*(needed - other).T).min()) for other in taken]
            if min(apart, default=np.inf) > _KERB_APART:
                return place, start + place.along
        start += float(network.lengths[lane])
    return None


def _free(network: Network, place: Place, before: float, after: float) -> list[Points]:
    """Return points at the kerb, a few metres apart, from ``before`` to ``after`` metres from a place."""
    return [
        Place(place.lane, place.along + shift, place.aside).point(network)
        for shift in np.arange(before, after + 3, 3.0)
    ]

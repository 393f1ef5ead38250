"""Routes, who is ahead on them, and lines that leave the middle of the lane."""

from itertools import pairwise

import numpy as np
import pytest

from simulators.motion import curves, drivers, kerbside, lane_changes, places, routes
from simulators.motion.cities import CITIES
from simulators.motion.conflicts import JOIN, PART
from simulators.motion.drivers import Drivers
from simulators.motion.lanes import NONE
from simulators.motion.network import Network
from simulators.motion.places import Leaving, Places
from simulators.motion.routes import Routes, Style
from tests.models.motion.simulator.quarters import drawn

STYLE = Style(1.0, 2.3, 1.5)
TURNS = (0.2, 0.6, 0.2)


@pytest.fixture
def quarter() -> Network:
    return drawn("Moscow")


def who(count: int) -> Drivers:
    drawn_drivers = drivers.draw(np.random.default_rng(0), CITIES["Moscow"], count, drivers.NONE)
    drawn_drivers.shorten(np.ones(count, bool))
    return drawn_drivers


def sent(quarter: Network, chains: list[list[int]], begun: list[float]) -> Routes:
    ways = routes.empty(len(chains), quarter, 300)
    for car, (chain, along) in enumerate(zip(chains, begun, strict=True)):
        routes.set_route(ways, car, quarter, chain, along, STYLE)
    return ways


def ahead(quarter: Network, ways: Routes, leaving: Leaving | None = None) -> np.ndarray:
    """Rear of whoever is ahead of each car, from its middle, m; all cars are 4 m long and stand where they began."""
    count = len(ways.length)
    here = places.locate(ways, np.zeros(count), np.zeros(count), np.full(count, 4.0))
    leaving = leaving or Leaving(np.full(count, NONE, np.intp), np.zeros(count), np.zeros(count))
    across = quarter.conflicts.number != NONE
    rear, _ = places.leaders(ways, here, np.full(count, 4.0), np.zeros(count), np.ones(count, bool), leaving, across)
    return rear - here.middle


def long_lane(quarter: Network) -> int:
    """A lane of a road with a junction behind it."""
    numbers = [
        number
        for number, lane in enumerate(quarter.lanes)
        if lane.road != NONE and quarter.successors[number] and quarter.lengths[number] > 60
    ]
    return numbers[0]


def chain(quarter: Network, first: int, seed: int = 0, distance: float = 250) -> list[int]:
    return routes.choose(np.random.default_rng(seed), quarter, first, distance, TURNS)


def test_a_route_goes_from_lane_to_lane_and_is_as_long_as_asked(quarter: Network) -> None:
    for seed in range(20):
        for first in range(0, len(quarter.lanes), 5):
            route = chain(quarter, first, seed)
            for before, after in pairwise(route):
                assert after in quarter.successors[before]
            assert quarter.lengths[route].sum() >= 250 or not quarter.successors[route[-1]]


def test_turns_are_chosen_by_their_weights(quarter: Network) -> None:
    first = next(
        number
        for number, following in enumerate(quarter.successors)
        if {quarter.lanes[lane].movement for lane in following} >= {1, 2}
    )
    straight = [
        quarter.lanes[routes.choose(np.random.default_rng(seed), quarter, first, 1e3, (0.0, 1.0, 0.0))[1]].movement
        for seed in range(10)
    ]
    assert set(straight) == {1}


def test_the_speed_allowed_leaves_time_to_brake(quarter: Network) -> None:
    ways = sent(
        quarter,
        [chain(quarter, lane, lane) for lane in range(0, len(quarter.lanes), 4)],
        [0.0] * len(range(0, len(quarter.lanes), 4)),
    )
    energy = ways.allowed**2
    assert (energy[:, :-1] - energy[:, 1:] <= 2 * STYLE.braking + 1e-6).all()
    assert (ways.allowed > 0).all()
    assert ways.allowed.max() <= max(lane.limit for lane in quarter.lanes) + 1e-9


def test_the_next_car_on_the_lane_and_on_the_lanes_after_it_is_ahead(quarter: Network) -> None:
    first = long_lane(quarter)
    way = chain(quarter, first, distance=1e3)
    rest = float(quarter.lengths[first])
    on_one = ahead(quarter, sent(quarter, [way, way], [5.0, 30.0]))
    assert on_one[0] == pytest.approx(23.0)
    assert np.isinf(on_one[1])
    after = ahead(quarter, sent(quarter, [way, way[1:]], [rest - 10, 6.0]))
    assert after[0] == pytest.approx(14.0)


def test_cars_that_part_are_ahead_until_their_rear_is_out_of_the_way(quarter: Network) -> None:
    conflicts = quarter.conflicts
    a, b = np.argwhere(conflicts.kind == PART)[0]
    own, other = int(conflicts.ways[a]), int(conflicts.ways[b])
    before = next(number for number, following in enumerate(quarter.successors) if own in following)
    near = conflicts.end[b, a] - 1.0
    chains = [[before, own], [other, quarter.successors[other][0]]]
    rest = float(quarter.lengths[before])
    assert ahead(quarter, sent(quarter, chains, [rest - 10, near]))[0] == pytest.approx(10 + near - 2)
    far = conflicts.end[b, a] + 3.0
    if far < quarter.lengths[other]:
        assert np.isinf(ahead(quarter, sent(quarter, chains, [rest - 10, far]))[0])


def test_of_cars_that_join_the_one_nearer_to_the_end_is_ahead(quarter: Network) -> None:
    conflicts = quarter.conflicts
    a, b = np.argwhere(conflicts.kind == JOIN)[0]
    own, other = int(conflicts.ways[a]), int(conflicts.ways[b])
    after = quarter.successors[own][0]
    ends = [float(quarter.lengths[own]) - 9.0, float(quarter.lengths[other]) - 3.0]
    gaps = ahead(quarter, sent(quarter, [[own, after], [other, after]], ends))
    assert gaps[0] == pytest.approx(9.0 - 3.0 - 2.0)
    assert np.isinf(gaps[1])


def test_a_car_that_changes_lanes_is_still_seen_from_the_lane_it_leaves(quarter: Network) -> None:
    lane, beside = next((number, neighbours[0]) for number, neighbours in enumerate(quarter.beside) if neighbours)
    ways = sent(quarter, [[lane], [beside]], [5.0, 25.0])
    assert np.isinf(ahead(quarter, ways)[0])
    leaving = Leaving(np.array([NONE, lane]), np.array([0.0, 25.0]), np.array([0.0, 9.0]))
    assert ahead(quarter, ways, leaving)[0] == pytest.approx(18.0)


def test_cars_at_the_kerb_are_in_nobodys_way(quarter: Network) -> None:
    lane = long_lane(quarter)
    ways = sent(quarter, [[lane], [lane]], [5.0, 25.0])
    routes.set_route(ways, 1, quarter, [lane], 25.0, STYLE, lambda line, along: kerbside.leaving(line, along, 2.6))
    assert np.isinf(ahead(quarter, ways)[0])


def test_a_gap_beside_is_one_for_both(quarter: Network) -> None:
    count = 3
    drivers_here = who(count)
    there = np.ones(count, bool)

    def free(inside: list[float], speed: list[float]) -> bool:
        middle = np.array([0.0, *inside])
        here = Places(middle, middle + 2, middle - 2, np.array([0, 7, 7]), middle)
        return lane_changes.has_gap(0, 7, 50.0, here, drivers_here, np.array(speed), there)

    assert free([10.0, 95.0], [10.0, 10.0, 10.0])
    assert not free([10.0, 53.0], [10.0, 10.0, 10.0])  # beside
    assert not free([10.0, 62.0], [10.0, 10.0, 2.0])  # too slow ahead
    assert not free([30.0, 95.0], [8.0, 14.0, 10.0])  # comes quickly from behind
    assert free([30.0, 95.0], [8.0, 0.0, 10.0])


def test_a_change_of_lanes_glides_from_one_line_to_the_other(quarter: Network) -> None:
    lane, beside = next(
        (number, neighbours[0])
        for number, neighbours in enumerate(quarter.beside)
        if neighbours and quarter.lengths[number] > 80
    )
    ways = sent(quarter, [[lane]], [10.0])
    before = ways.points[0].copy()
    length = lane_changes.glide(10.0, 2.4)
    lane_changes.change(
        np.random.default_rng(0),
        ways,
        quarter,
        0,
        beside,
        14.0,
        rear=4.0,
        length=length,
        distance=100,
        turns=TURNS,
        style=STYLE,
    )
    line = ways.points[0]
    np.testing.assert_allclose(line[0], before[4], atol=1e-6)
    finely = curves.resampled(quarter.lanes[beside].points, 0.1)
    away = np.hypot(*np.moveaxis(line[:, None] - finely[None], 2, 0)).min(axis=1)
    assert away[0] > 2.5
    assert away[int(length) + 2 : 60].max() < 0.08
    steps = np.hypot(*np.diff(line[:60], axis=0).T)
    assert 0.9 < steps.min() <= steps.max() < 1.1
    sideways = 100 * curves.curvature(line[None, :60], 1.0).max()  # at 10 m/s
    assert sideways < 3.0


def test_lines_from_and_to_the_kerb_begin_and_end_there() -> None:
    along = np.arange(80.0)
    line = np.stack([along, np.zeros(80)], axis=1)
    out, shift = kerbside.leaving(line, along, 2.6)
    assert out[0] == pytest.approx([0.0, -2.6])
    assert np.abs(out[17:, 1]).max() < 1e-6
    np.testing.assert_allclose(-out[:, 1], shift, atol=0.05)
    into, _ = kerbside.entering(line, along, 2.6, 50.0)
    assert np.abs(into[:33, 1]).max() < 1e-6
    assert into[50:, 1] == pytest.approx(np.full(30, -2.6))


def test_places_at_kerbs_are_beside_lanes_with_parked_cars() -> None:
    count = 0
    for city in CITIES:
        quarter = drawn(city)
        for number, lane in enumerate(quarter.lanes):
            place = kerbside.draw(np.random.default_rng(number), quarter, number)
            if place is not None:
                count += 1
                assert lane.rightmost
                assert lane.kerb > 3
                apart = np.hypot(*(lane.points - place.point(quarter)).T).min()
                assert apart == pytest.approx(place.aside, abs=0.3)
    assert count > 5

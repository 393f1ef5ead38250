"""Claims and gaps, on the ways of a drawn junction."""

import numpy as np
import pytest

from simulators.motion import claims, drivers, ground, right_of_way
from simulators.motion.cities import CITIES
from simulators.motion.claims import Claims, Coming
from simulators.motion.conflicts import CROSS
from simulators.motion.ground import Ground
from simulators.motion.lanes import NONE
from simulators.motion.places import Places
from simulators.motion.right_of_way import Patience
from tests.models.motion.simulator.quarters import drawn


@pytest.fixture
def crossing() -> tuple[Ground, int, int]:
    """Of a quarter, a way that gives way and one that it crosses and that goes first, without lights."""
    for seed in range(10):
        quarter = drawn("Moscow", seed)
        prepared = ground.prepare(quarter, 1.0, 0.1)
        kind = quarter.conflicts.kind
        for a, b in np.argwhere(kind == CROSS):
            if prepared.rank[a] < prepared.rank[b] and prepared.signal[a] == NONE:
                return prepared, int(a), int(b)
    raise AssertionError("no junction without lights in ten quarters")


def coming(ways: list[int], distance: list[float]) -> Coming:
    return Coming(np.array(ways), np.zeros(len(ways), np.intp), np.zeros(len(ways)), np.array(distance))


def asked(
    prepared: Ground,
    ways: list[int],
    distance: list[float],
    speed: list[float],
    *,
    claimed: tuple[int, ...] = (),
    light: int | None = None,
    waited: tuple[float, ...] = (0.0, 0.0),
    stopped: bool = False,
    leader: float = np.inf,
) -> list[bool]:
    """Who has a claim after an update; those in ``claimed`` had one before."""
    count = len(ways)
    who = drivers.draw(np.random.default_rng(0), CITIES["Moscow"], count, drivers.NONE)
    memory = Patience(np.full((count, 1), np.inf), np.array(waited[:count]), np.full(count, stopped))
    before = coming(ways, distance)
    front = -np.array(distance)
    for car in claimed:
        memory.since[car] = 0.0
    held = Claims(
        np.array(claimed, np.intp),
        before.way[list(claimed)],
        before.begin[list(claimed)],
        np.zeros(len(claimed)),
    )
    states = np.full(max(prepared.lights.shape[1], 1), 1 if light is None else light)
    right_of_way.update(
        memory,
        prepared,
        who,
        held,
        before,
        front=front,
        speed=np.array(speed),
        leader=(np.full(count, leader), np.zeros(count)),
        states=states,
        time=1.0,
        step=0.2,
    )
    return np.isfinite(memory.since[:, 0]).tolist()


def test_who_gives_way_lets_a_near_car_pass_and_uses_a_gap(crossing: tuple[Ground, int, int]) -> None:
    prepared, low, high = crossing
    assert asked(prepared, [low, high], [3.0, 25.0], [1.0, 12.0]) == [False, True]
    assert asked(prepared, [low, high], [3.0, 88.0], [1.0, 4.0]) == [True, False]  # too far to ask yet
    assert asked(prepared, [low], [3.0], [1.0]) == [True]


def test_who_goes_first_waits_for_a_car_that_is_on_the_junction(crossing: tuple[Ground, int, int]) -> None:
    prepared, low, high = crossing
    assert asked(prepared, [low, high], [-1.0, 12.0], [0.2, 8.0], claimed=(0,)) == [True, False]


def test_a_car_that_does_not_go_is_not_waited_for(crossing: tuple[Ground, int, int]) -> None:
    prepared, low, high = crossing
    assert asked(prepared, [low, high], [2.0, 2.0], [0.0, 0.0], leader=np.inf) == [False, True]
    # its rank would let it go, but there is no room for it behind the junction
    kept = asked(prepared, [low, high], [2.0, 2.0], [0.0, 0.0], waited=(0.0, 10.0), leader=5.0)
    assert kept == [False, False]


def test_red_stops_and_yellow_stops_who_still_can() -> None:
    for seed in range(10):
        quarter = drawn("Moscow", seed)
        prepared = ground.prepare(quarter, 1.0, 0.1)
        lit = np.flatnonzero((prepared.signal != NONE) & (prepared.rank > 0))
        if len(lit):
            break
    way = int(lit[0])
    assert asked(prepared, [way], [20.0], [10.0], light=1) == [True]
    assert asked(prepared, [way], [20.0], [10.0], light=4) == [False]
    assert asked(prepared, [way], [40.0], [10.0], claimed=(0,), light=3) == [False]
    assert asked(prepared, [way], [8.0], [13.0], claimed=(0,), light=3) == [True]


def test_at_a_stop_sign_one_stops_first() -> None:
    quarter = next(
        drawn("AnnArbor", seed) for seed in range(10) if any(lane.stop for lane in drawn("AnnArbor", seed).lanes)
    )
    prepared = ground.prepare(quarter, 1.0, 0.1)
    way = int(np.flatnonzero(prepared.stop_sign)[0])
    assert asked(prepared, [way], [6.0], [4.0]) == [False]
    assert asked(prepared, [way], [2.0], [0.1]) == [True]


def test_later_claims_wait_before_the_place_where_ways_meet(crossing: tuple[Ground, int, int]) -> None:
    prepared, low, high = crossing
    conflicts = prepared.network.conflicts
    held = Claims(np.array([0, 1]), np.array([low, high]), np.array([10.0, 20.0]), np.array([2.0, 1.0]))
    middle = np.array([5.0, 21.0])
    here = Places(middle, middle + 2, middle - 2, np.zeros(2, np.intp), middle)
    place = claims.holds(held, conflicts, here)
    assert place[0] == pytest.approx(10.0 + conflicts.start[low, high])
    assert np.isinf(place[1])
    gone = np.array([5.0, 20.0 + conflicts.end[high, low] + 10])
    assert np.isinf(claims.holds(held, conflicts, Places(gone, gone + 2, gone - 2, np.zeros(2, np.intp), gone))).all()

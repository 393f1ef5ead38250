"""Quarters of all cities: lanes lead on, lie on the road, and yield where they have to; cities differ."""

from itertools import pairwise

import cv2
import numpy as np
import pytest

from simulators.motion import conflicts, curves
from simulators.motion.cities import CITIES
from simulators.motion.conflicts import CROSS, JOIN, PART
from simulators.motion.lanes import NONE
from simulators.motion.network import Network
from simulators.motion.streets import HALF
from tests.models.motion.simulator.quarters import SEEDS, drawn

QUARTERS = [(city, seed) for city in CITIES for seed in SEEDS]
every_quarter = pytest.mark.parametrize(("city", "seed"), QUARTERS)


@every_quarter
def test_lanes_go_on_where_others_end_in_the_same_direction(city: str, seed: int) -> None:
    quarter = drawn(city, seed)
    for before, following in enumerate(quarter.successors):
        end = quarter.lanes[before].points
        for lane in following:
            begin = quarter.lanes[lane].points
            assert np.hypot(*(begin[0] - end[-1])) < 0.01
            out, into = end[-1] - end[-2], begin[1] - begin[0]
            cosine = out @ into / (np.hypot(*out) * np.hypot(*into))
            assert cosine > np.cos(0.25)


@every_quarter
def test_who_comes_to_a_junction_can_leave_it(city: str, seed: int) -> None:
    quarter = drawn(city, seed)
    for lane, following in zip(quarter.lanes, quarter.successors, strict=True):
        if not following:
            assert np.abs(lane.points[-1]).max() > HALF  # the streets end outside


@every_quarter
def test_lanes_lie_on_the_road_with_a_cars_half_width(city: str, seed: int) -> None:
    quarter = drawn(city, seed)
    scale, size = 4, 3400
    image = np.zeros((size, size), np.uint8)
    for polygon in quarter.polygons:
        cv2.fillPoly(image, [np.round((polygon + size / scale / 2) * scale).astype(np.int32)], 1)
    edge = cv2.distanceTransform(image, cv2.DIST_L2, 5) / scale
    points = np.concatenate([lane.points[2:-2] for lane in quarter.lanes])
    points = points[np.abs(points).max(axis=1) < 200]
    cells = np.round((points + size / scale / 2) * scale).astype(int)
    inside = edge[cells[:, 1], cells[:, 0]]
    assert inside.min() > 0.9


@every_quarter
def test_conflicts_are_of_both_and_of_one_kind(city: str, seed: int) -> None:
    crossings = drawn(city, seed).conflicts
    np.testing.assert_array_equal(crossings.kind, crossings.kind.T)
    meets = crossings.kind > 0
    assert (crossings.start[meets] < crossings.end[meets]).all()
    assert np.isinf(crossings.start[~meets]).all()
    assert not np.diag(crossings.kind).any()


def test_the_kind_of_a_conflict_says_how_two_ways_meet() -> None:
    quarter = drawn("Moscow")
    crossings = quarter.conflicts
    before = {way: lane for lane, following in enumerate(quarter.successors) for way in following}
    for a, b in np.argwhere(crossings.kind):
        first, second = int(crossings.ways[a]), int(crossings.ways[b])
        kind = crossings.kind[a, b]
        assert (kind == PART) == (before[first] == before[second])
        assert (kind == JOIN) == (
            before[first] != before[second] and quarter.successors[first] == quarter.successors[second]
        )
        if kind == CROSS:
            apart = quarter.lanes[first].points[:, None] - quarter.lanes[second].points[None]
            assert np.hypot(*np.moveaxis(apart, 2, 0)).min() < conflicts.APART + 0.3


def test_ways_that_cross_have_different_ranks_unless_lights_or_signs_part_them() -> None:
    for city, seed in QUARTERS:
        quarter = drawn(city, seed)
        crossings = quarter.conflicts
        for a, b in np.argwhere(crossings.kind == CROSS):
            first, second = quarter.lanes[crossings.ways[a]], quarter.lanes[crossings.ways[b]]
            if first.rank < second.rank and first.signal == NONE:
                assert first.gives_way
            if first.signal != NONE and first.signal == second.signal and first.rank == second.rank:
                assert first.movement == second.movement or first.movement != 1 != second.movement


@every_quarter
def test_crossings_lie_where_they_say_along_lanes(city: str, seed: int) -> None:
    quarter = drawn(city, seed)
    for crossing in quarter.crossings:
        across = crossing.line[1] - crossing.line[0]
        length = np.hypot(*across)
        for lane, begin, end in crossing.spans:
            assert 0 <= begin < end <= quarter.lengths[lane] + 0.01
            middle = curves.at(quarter.lanes[lane].points, np.array([(begin + end) / 2]))[0]
            x, y = middle - crossing.line[0]
            along, aside = (x * across[0] + y * across[1]) / length, (x * across[1] - y * across[0]) / length
            assert 0 < along < length
            assert abs(aside) < 1.5


@every_quarter
def test_pavements_keep_off_the_lanes(city: str, seed: int) -> None:
    quarter = drawn(city, seed)
    lanes = np.concatenate([lane.points for lane in quarter.lanes])
    for pavement in quarter.pavements:
        near = pavement[np.abs(pavement).max(axis=1) < 120]
        if len(near):
            apart = np.hypot(*np.moveaxis(near[:, None] - lanes[None], 2, 0)).min(axis=1)
            assert apart.min() > 2.0


def test_equal_seeds_draw_equal_quarters() -> None:
    drawn.cache_clear()
    first = drawn("TelAviv", 3)
    drawn.cache_clear()
    second = drawn("TelAviv", 3)
    for a, b in zip(first.lanes, second.lanes, strict=True):
        np.testing.assert_array_equal(a.points, b.points)


def bend(quarter: Network) -> float:
    """Mean absolute curvature of lanes of roads near the middle, 1/m."""
    curvatures = [
        curves.curvature(lane.points, 1.0)
        for lane in quarter.lanes
        if lane.road != NONE and np.abs(lane.points).max() < 150
    ]
    return float(np.concatenate([[0.0], *curvatures]).mean())


def test_cities_differ_in_geometry() -> None:
    many = {city: [drawn(city, seed) for seed in range(6)] for city in CITIES}
    junctions = {
        city: np.mean([len({lane.junction for lane in network.lanes} - {NONE}) for network in several])
        for city, several in many.items()
    }
    width = {
        city: np.median(
            [np.hypot(*(a.points[0] - b.points[0])) for network in several for a, b in neighbours(network)] or [0]
        )
        for city, several in many.items()
    }
    bends = {city: np.mean([bend(network) for network in several]) for city, several in many.items()}
    rounds = {
        city: sum(lane.junction < NONE for network in several for lane in network.lanes)
        for city, several in many.items()
    }
    signs = {city: sum(lane.stop for network in several for lane in network.lanes) for city, several in many.items()}
    assert junctions["TelAviv"] > 1.4 * junctions["Moscow"]
    assert bends["Modiin"] > 2 * bends["AnnArbor"]
    assert min(rounds["Skolkovo"], rounds["Modiin"]) > 3 * max(rounds["Moscow"], rounds["AnnArbor"], 1)
    assert signs["AnnArbor"] > 0
    assert not signs["Moscow"]
    assert width["Moscow"] > 3.2


def neighbours(quarter: Network) -> list[tuple]:
    return [
        (quarter.lanes[lane], quarter.lanes[other])
        for lane, beside in enumerate(quarter.beside)
        for other in beside
        if other > lane
    ]


def test_the_middle_of_a_quarter_is_on_a_street() -> None:
    for city, seed in QUARTERS:
        points = np.concatenate([lane.points for lane in drawn(city, seed).lanes])
        nearest = np.hypot(*points.T).min()
        assert nearest < 130  # the street there may be one that was not built


def test_every_light_rules_ways_of_both_axes() -> None:
    quarter = drawn("Moscow")
    for number, _ in enumerate(quarter.lights):
        ruled = {int(signal) for signal in quarter.signals if signal != NONE and signal // 4 == number}
        assert {4 * number, 4 * number + 1} == ruled


def test_neighbouring_lanes_run_side_by_side() -> None:
    for a, b in neighbours(drawn("Moscow")):
        apart = [np.hypot(*(b.points - point).T).min() for point in a.points[:: max(1, len(a.points) // 5)]]
        assert max(apart) < 4.0
        assert min(apart) > 2.5


def test_chains_of_lanes_are_joined_without_gaps_between_their_points() -> None:
    for lane in drawn("Modiin").lanes:
        steps = np.hypot(*np.diff(lane.points, axis=0).T)
        assert steps.max() <= 1.01
        assert all(step > 0 for step in steps)
        assert all(np.isfinite(a).all() and np.isfinite(b).all() for a, b in pairwise(lane.points))

"""Channels of the map by hand: crosswalks, pedestrians, lanes that cross, lights."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.render import CHANNEL_NAMES, Renderer
from models.tasks.motion.protocol.motion_pb2 import Scene
from models.tasks.motion.protocol.motion_pb2 import TrafficLightState as State
from tests.models.motion import towns

SMALL = Grid(64, 1.0)
FORBIDDEN, ALLOWED, PRIORITY = 0, 1, 2


def around_a_car() -> Scene:
    """A car at the origin that looks along x: row and column of a cell are y and x plus 32."""
    scene = towns.empty()
    towns.drive(scene, 1, (0.0, 0.0))
    return scene


def channels(scene: Scene, *names: str) -> list[np.ndarray]:
    read = scenes.parse(scene.SerializeToString())
    image = Renderer(read, SMALL).draw(scenes.agent(read, 1))
    return [image[CHANNEL_NAMES.index(name)] for name in names]


def test_a_pedestrian_is_a_box_along_its_way() -> None:
    scene = around_a_car()
    towns.walk(scene, 5, (10.5, -7.5), (0.0, -1.5), size=(6.0, 2.0))
    occupancy, vx, vy, vehicles = channels(
        scene, "pedestrian_occupancy", "pedestrian_velocity_x", "pedestrian_velocity_y", "vehicle_occupancy"
    )
    rows, columns = np.nonzero(occupancy)
    assert (columns.min(), columns.max()) == (41, 43), "2 m wide across its way, rounded outwards"
    assert (rows.min(), rows.max()) == (21, 27), "6 m long along its way"
    assert set(np.unique(vy)) == {0, -1.5}
    assert not vx.any()
    assert np.array_equal(vy != 0, occupancy != 0)
    assert not vehicles[rows, columns].any()


def test_pedestrians_turn_with_the_agent() -> None:
    scene = towns.empty()
    towns.drive(scene, 1, (200.0, 100.0), math.pi / 2, 3.0)
    towns.walk(scene, 5, (200.0, 110.0), (1.0, 0.0))
    occupancy, vx, vy = channels(scene, "pedestrian_occupancy", "pedestrian_velocity_x", "pedestrian_velocity_y")
    rows, columns = np.nonzero(occupancy)
    assert columns.mean() == pytest.approx(41.5, abs=1), "10 m ahead"
    assert rows.mean() == pytest.approx(31.5, abs=1)
    np.testing.assert_allclose(vx[rows, columns], 0, atol=1e-5)
    np.testing.assert_allclose(vy[rows, columns], -1, atol=1e-5)


GREEN_FOR_WALKERS = [(ALLOWED, [(4, State.STATE_GREEN), (5, State.STATE_RED)])]


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        ([], 2),
        (GREEN_FOR_WALKERS, -1),
        ([(FORBIDDEN, [(4, State.STATE_GREEN)]), *GREEN_FOR_WALKERS], -1),
        ([(PRIORITY, [(5, State.STATE_RED)])], -1),
        ([(PRIORITY, [])], -1),
        ([(FORBIDDEN, [(4, State.STATE_GREEN)])], 1),
        ([(ALLOWED, [(4, State.STATE_GREEN), (5, State.STATE_GREEN)])], 1),
        ([(ALLOWED, [(6, State.STATE_UNKNOWN)])], 1),
    ],
)
def test_crosswalks_say_whether_they_are_walked_on(
    rules: Sequence[tuple[int, Sequence[tuple[int, int]]]], value: float
) -> None:
    scene = around_a_car()
    towns.light(scene, 4, State.STATE_GREEN)
    towns.light(scene, 5, State.STATE_RED)
    towns.crosswalk(scene, towns.square((10.0, 5.0), 3.2), rules)
    occupancy, availability = channels(scene, "crosswalk_occupancy", "crosswalk_availability")
    assert np.count_nonzero(occupancy) == 64
    assert occupancy[33:41, 38:46].all()
    assert np.array_equal(availability, value * occupancy)


def test_what_two_crosswalks_share_is_in_neither_and_their_availabilities_lie_over_each_other() -> None:
    scene = around_a_car()
    towns.crosswalk(scene, towns.square((0.0, 0.0), 8.2))
    towns.crosswalk(scene, towns.square((2.0, 0.0), 4.2), [(FORBIDDEN, [])])
    occupancy, availability = channels(scene, "crosswalk_occupancy", "crosswalk_availability")
    assert occupancy[32, 34] == 0
    assert occupancy[32, 26] == 1
    assert availability[32, 34] == 1
    assert availability[32, 26] == 2


def test_what_two_road_polygons_share_is_no_road() -> None:
    scene = around_a_car()
    towns.road(scene, towns.square((0.0, 0.0), 20.0))
    towns.road(scene, towns.square((0.0, 0.0), 5.0))
    (roads,) = channels(scene, "road_polygons")
    assert roads[32, 32] == 0
    assert roads[32, 20] == 1


def test_lights_of_the_last_step_count() -> None:
    scene = around_a_car()
    scene.traffic_lights[0].sections.add(id=1, state=State.STATE_RED)
    towns.light(scene, 1, State.STATE_GREEN)
    towns.lane(scene, [(-10, 0), (10, 0)], lights=(0, 1, 0))
    (availability,) = channels(scene, "lane_availability")
    assert set(np.unique(availability)) == {0, 1}
    del scene.traffic_lights[:]
    (availability,) = channels(scene, "lane_availability")
    assert set(np.unique(availability)) == {0, 2}, "nothing is known of the light"


def test_lanes_have_directions_limits_and_priorities() -> None:
    scene = around_a_car()
    towns.lane(scene, [(-10, 4), (0, 4), (0, 14)], limit=7.5, gives_way=True)
    towns.lane(scene, [(10, -4), (-10, -4)], limit=15)
    towns.lane(scene, [(20, 20)])
    towns.lane(scene, [])
    direction, occupancy, priority, limit = channels(
        scene, "lane_direction", "lane_occupancy", "lane_priority", "lane_speed_limit"
    )
    first, other = np.zeros((64, 64), bool), np.zeros((64, 64), bool)
    first[36, 22:33] = first[36:47, 32] = True
    other[28, 22:43] = True
    assert np.array_equal(occupancy, first | other), "a lane of one point is none"
    assert np.array_equal(priority, first)
    np.testing.assert_allclose(limit, 0.5 * first + 1.0 * other)
    assert direction[36, 25] == 0
    np.testing.assert_allclose(direction[37:47, 32], math.pi / 2)
    np.testing.assert_allclose(direction[28, 22:43], math.pi)


def test_later_lanes_are_on_top_but_equal_values_lie_together() -> None:
    scene = around_a_car()
    towns.lane(scene, [(-10, 0), (10, 0)], limit=15)
    towns.lane(scene, [(0, -10), (0, 10)], limit=30)
    towns.lane(scene, [(-10, -10), (10, 10)], limit=15)
    direction, limit = channels(scene, "lane_direction", "lane_speed_limit")
    assert direction[32, 32] == pytest.approx(math.pi / 4)
    assert limit[32, 32] == 2, "the group of 30 m/s comes after that of 15"


def test_a_lane_that_only_passes_by_is_drawn_where_it_passes() -> None:
    scene = around_a_car()
    towns.lane(scene, [(-5000, 3), (5000, 3)])
    towns.lane(scene, [(-5000, 33), (5000, 33)])
    (occupancy,) = channels(scene, "lane_occupancy")
    assert occupancy[34].all(), "34.5 is rounded to an even number"
    assert np.count_nonzero(occupancy) == 64

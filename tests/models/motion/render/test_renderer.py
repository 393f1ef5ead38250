"""Feature maps: the released ones of a real scene, made-up towns drawn plainly, and turns that change nothing."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tasks.motion.data import truth
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.tasks.motion.inference.render import CHANNEL_NAMES, Renderer
from tests.models.motion import towns
from tests.models.motion.render import plain

ORACLE = json.loads((Path(__file__).parents[3] / "fixtures" / "motion_scene_features.json").read_text())
FINE = Grid(400, 0.25)
YAW = CHANNEL_NAMES.index("vehicle_yaw")


def drawn(message: towns.Scene, track: int = 1, grid: Grid = OFFICIAL) -> np.ndarray:
    scene = scenes.parse(message.SerializeToString())
    return Renderer(scene, grid).draw(scenes.agent(scene, track))


def test_a_real_scene_is_read_as_the_released_code_reads_it(real_scene: Path) -> None:
    scene = scenes.parse(real_scene.read_bytes())
    expected, lanes, roads = ORACLE["scene"], scene.graph.lanes, scene.graph.road_polygons
    assert (scene.id, scene.steps, len(scene.ego)) == (expected["id"], expected["past"], 1)
    assert (len(lanes), len(roads), len(scene.graph.crosswalks)) == (59, 3, 0)
    assert (len(scene.vehicles), len(scene.pedestrians)) == (expected["veh_last"], expected["ped_last"])
    assert len(scenes.requested(scene)) == expected["requests"]
    (request,) = ORACLE["requests"]
    agent = scenes.agent(scene, request["track_id"])
    assert [agent.x, agent.y] == request["position"]
    assert agent.yaw == request["yaw"], "not turned"
    assert agent.speed == pytest.approx(math.hypot(*request["velocity"]))
    assert np.array_equal(agent.to_agent_frame, np.array(request["to_track_frame"], np.float32))
    actual = truth.read(real_scene)
    trajectory = actual.trajectories[actual.rows[scene.id, agent.track_id]]
    np.testing.assert_allclose(trajectory, request["gt_agent_frame"], atol=2e-3)


@pytest.mark.parametrize(("grid", "key"), [(OFFICIAL, "channel_stats_128_1m"), (FINE, "channel_stats_400_0.25m")])
def test_a_real_scene_gives_the_channels_of_the_released_code(real_scene: Path, grid: Grid, key: str) -> None:
    scene = scenes.parse(real_scene.read_bytes())
    (request,) = ORACLE["requests"]
    image = Renderer(scene, grid).draw(scenes.agent(scene, request["track_id"]))
    assert image.dtype == np.float32
    assert image.shape == (17, grid.size, grid.size)
    for expected in request[key]:
        channel = image[expected["c"]].astype(np.float64)
        assert np.count_nonzero(channel) == expected["nonzero"], expected
        assert len(np.unique(channel)) == expected["unique"], expected
        assert [channel.sum(), channel.min(), channel.max()] == pytest.approx(
            [expected["sum"], expected["min"], expected["max"]], rel=1e-6, abs=1e-6
        )


def test_a_real_scene_marks_the_cells_of_the_released_code(real_scene: Path) -> None:
    scene = scenes.parse(real_scene.read_bytes())
    (request,) = ORACLE["requests"]
    image = Renderer(scene, OFFICIAL).draw(scenes.agent(scene, request["track_id"]))
    assert np.argwhere(image[0]).tolist() == request["vehicle_occupancy_128_nonzero_rc"]
    assert np.flatnonzero(image[13]).tolist() == request["lane_occupancy_128_nonzero_flat"]
    assert (image[16] != 0).sum(axis=1).tolist() == request["road_polygon_128_row_counts"]
    assert image[0, 64, 64] == image[16, 64, 64] == 1
    assert request["pixel_under_agent_centre"] == [1.0, 1.0]
    assert [name.replace("vehicle", "veh").replace("pedestrian", "ped") for name in CHANNEL_NAMES] == [
        name.replace("_vx", "_velocity_x")
        .replace("_vy", "_velocity_y")
        .replace("_ax", "_acceleration_x")
        .replace("_ay", "_acceleration_y")
        for name in ORACLE["channel_order"]
    ]


@pytest.mark.parametrize("grid", [OFFICIAL, FINE, Grid(64, 0.7)], ids=["official", "fine", "odd"])
@pytest.mark.parametrize("seed", range(6))
def test_towns_look_as_drawn_plainly(seed: int, grid: Grid) -> None:
    town = towns.town(seed, lanes=60, cars=20, walkers=20)
    scene = scenes.parse(town.SerializeToString())
    renderer = Renderer(scene, grid)
    seen = np.zeros(17, bool)
    for track in (1, 2, 3):
        actual, expected = (
            renderer.draw(scenes.agent(scene, track)),
            plain.draw(town, track, grid.size, grid.resolution),
        )
        for name, here, there in zip(CHANNEL_NAMES, actual, expected, strict=True):
            np.testing.assert_allclose(here, there, atol=1e-5, err_msg=name)
        seen |= (actual != 0).any(axis=(1, 2))
    if grid is FINE:
        assert seen.all(), "the towns have something for each channel"


def test_a_map_does_not_depend_on_what_else_is_drawn() -> None:
    scene = scenes.parse(towns.town(3).SerializeToString())
    renderer = Renderer(scene, OFFICIAL)
    first = renderer.draw(scenes.agent(scene, 1))
    for track in (2, 3):
        renderer.draw(scenes.agent(scene, track))
    assert np.array_equal(renderer.draw(scenes.agent(scene, 1)), first)
    assert np.array_equal(Renderer(scene, OFFICIAL).draw(scenes.agent(scene, 1)), first)


@settings(max_examples=25, deadline=None)
@given(
    angle=st.floats(-math.pi, math.pi),
    shift=st.tuples(st.floats(-5e3, 5e3), st.floats(-5e3, 5e3)),
    seed=st.integers(0, 5),
)
def test_a_town_that_is_turned_and_moved_looks_the_same(angle: float, shift: towns.Place, seed: int) -> None:
    """But for the yaw, which is that of the scene, and for cells at edges, which rounding moves."""
    town = towns.town(seed)
    here, there = drawn(town), drawn(towns.moved(town, angle, shift))
    for channel, name in enumerate(CHANNEL_NAMES):
        values, other = here[channel], there[channel]
        if channel == YAW:
            other = np.where(other != 0, other - np.float32(angle), 0)
        moved = np.count_nonzero(~np.isclose(values, other, atol=5e-3))
        assert moved <= 0.01 * values.size, name
        marked = np.count_nonzero(values), np.count_nonzero(there[channel])
        assert abs(marked[0] - marked[1]) <= 0.1 * max(marked) + 8, name


@pytest.mark.parametrize("shift", [(3e5, 5.2e6), (-9e6, 9e6)])
def test_scenes_far_from_their_origin_keep_their_cells(shift: towns.Place) -> None:
    """Coordinates of a projection of the Earth would lose half a metre in float32, as the released code does."""
    town = towns.town(4)
    here, there = drawn(town), drawn(towns.moved(town, 0.0, shift))
    assert np.count_nonzero(~np.isclose(here, there, atol=1e-2)) < 0.001 * here.size


def test_a_vehicle_that_is_missing_now_is_drawn_where_it_was_moved_on_to() -> None:
    seen, unseen = towns.empty(), towns.empty()
    towns.drive(seen, 7, (100.0, 50.0), 0.4, 10.0)
    towns.drive(unseen, 7, (100.0, 50.0), 0.4, 10.0, unseen=5)
    for scene in (seen, unseen):
        towns.drive(scene, 8, (110.0, 50.0), 2.0, 5.0)
        scene.past_ego_track.extend(towns.vehicle(0, (90.0, 50.0)) for _ in range(25))
    np.testing.assert_allclose(drawn(unseen, 7)[0], drawn(seen, 7)[0])
    assert np.count_nonzero(drawn(unseen, 8)[0]) < np.count_nonzero(drawn(seen, 8)[0]), "it is nobody's neighbour"


def test_a_neighbour_with_impossible_numbers_is_left_out() -> None:
    without, with_it = towns.town(2), towns.town(2)
    with_it.past_vehicle_tracks[-1].tracks.append(towns.vehicle(99, (math.nan, 0.0)))
    with_it.past_pedestrian_tracks[-1].tracks.add(track_id=98).linear_velocity.x = math.inf
    assert np.array_equal(drawn(without), drawn(with_it))
    scene = scenes.parse(with_it.SerializeToString())
    assert scene.left_out == ("past_vehicle_tracks[24].tracks[12]", "past_pedestrian_tracks[24].tracks[6]")


def test_the_ego_vehicle_is_drawn_over_others_and_later_vehicles_over_earlier_ones() -> None:
    town = towns.empty()
    for track, at in enumerate([(0.0, 0.0), (20.0, 0.0), (21.0, 0.0), (40.0, 0.0)], 1):
        towns.drive(town, track, at, 0.0, float(track))
    town.past_ego_track.extend(towns.vehicle(0, (41.0, 0.0), 0.0, 9.0) for _ in range(25))
    ahead = drawn(town)[1, 64]
    assert [ahead[64 + x] for x in (0, 17, 18, 22, 37, 38, 42)] == pytest.approx([1, 2, 3, 3, 4, 9, 9])

"""What a map looks like in numbers, and what is said of it."""

import math
from pathlib import Path

import numpy as np
import pytest

from models.tasks.motion.inference import appearance, scenes
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.tasks.motion.inference.render import Renderer
from tests.models.motion import towns


def town_map(grid: Grid = OFFICIAL) -> np.ndarray:
    """An agent at 10 m/s that brakes, two cars apart, two that touch, and two walkers."""
    town = towns.empty()
    towns.drive(town, 1, (0.0, 0.0), 0.7, 10.0, ax=-1.2, ay=-1.6)
    for track, at in enumerate([(30.0, 0.0), (0.0, 30.0), (-30.0, 0.0), (-30.0, 1.0)], 2):
        towns.drive(town, track, at, 0.0, 3.0 * track)
    towns.walk(town, 50, (10.0, 10.0), (1.0, 0.0))
    towns.walk(town, 51, (15.0, 10.0), (0.0, 0.0))
    towns.lane(town, [(-60.0, 0.0), (60.0, 0.0)], limit=12.5)
    towns.road(town, towns.square((0.0, 0.0), 16.0))
    towns.crosswalk(town, towns.square((10.0, 10.0), 8.0))
    scene = scenes.parse(town.SerializeToString())
    return Renderer(scene, grid).draw(scenes.agent(scene, 1))


@pytest.mark.parametrize("grid", [OFFICIAL, Grid(256, 0.5), Grid(130, 1.0)], ids=["official", "fine", "odd half"])
def test_the_numbers_are_those_of_the_scene(grid: Grid) -> None:
    features = appearance.measured(town_map(grid))
    assert list(features) == list(appearance.FEATURES)
    assert all(type(value) is float for value in features.values())
    assert (features["agent_present"], features["vehicles"], features["pedestrians"]) == (1, 4, 2)
    assert features["speed"] == pytest.approx(10, abs=1e-3)
    assert features["acceleration"] == pytest.approx(2, abs=1e-3)
    assert features["fastest"] == pytest.approx(15, abs=1e-3)
    assert features["speed_limit"] == pytest.approx(12.5)
    edge = grid.size * grid.resolution
    assert features["road_share"] == pytest.approx(32**2 / edge**2, rel=0.1)
    assert features["crosswalk_share"] == pytest.approx(16**2 / edge**2, rel=0.15)
    assert 0 < features["lane_share"] < 2 / grid.size


def test_an_empty_street_has_no_numbers_but_zero() -> None:
    features = appearance.measured(np.zeros(OFFICIAL.shape, np.float32))
    assert set(features.values()) == {0.0}


def test_the_numbers_do_not_depend_on_where_the_scene_is(real_scene: Path) -> None:
    scene = scenes.parse(real_scene.read_bytes())
    features = appearance.measured(Renderer(scene, OFFICIAL).draw(scenes.agent(scene, 4176)))
    assert features["speed"] == pytest.approx(math.hypot(-4.954967, 16.169602), abs=2e-3)
    assert features["speed_limit"] == pytest.approx(15 * 1.0370370)


def test_what_lies_outside_the_usual_is_said() -> None:
    features = appearance.measured(town_map())
    typical = {name: (value, value) for name, value in features.items()}
    assert appearance.remarks(features, typical) == ()
    assert appearance.remarks(features, {}) == ()
    fast, few = appearance.remarks(features, typical | {"speed": (0.0, 6.0), "vehicles": (6.0, 9.0)})
    assert (fast.code, fast.value, fast.unit, fast.lower, fast.upper) == ("speed_high", features["speed"], "m/s", 0, 6)
    assert fast.message == (
        "speed of the agent: 10 m/s, where training requests had 0 to 6 m/s; look at the answer with care"
    )
    assert few.code == "vehicles_low"


def test_a_number_may_pass_its_range_by_half_of_it() -> None:
    features = appearance.measured(town_map())
    assert appearance.remarks(features, {"speed": (0.0, 6.67)}) == ()
    assert appearance.remarks(features, {"speed": (0.0, 6.66)})


def test_a_map_without_a_vehicle_in_its_middle_is_remarkable_to_everybody() -> None:
    features = appearance.measured(town_map()) | {"agent_present": 0.0}
    (remark,) = appearance.remarks(features, {})
    assert (remark.code, remark.value, remark.lower, remark.upper) == ("agent_present_low", 0, 1, 1)

"""The figure of a request: left is left, ahead is up, in metres, whatever frame the scene has."""

import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("matplotlib")
from matplotlib import image
from scipy import ndimage

from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.pictures import picture
from models.tasks.motion.pictures.ground import VEHICLE
from models.tasks.motion.pictures.picture import Picture, draw, ellipse
from models.tasks.motion.pictures.surroundings import Cells, future, surroundings
from models.tasks.motion.protocol.motion_pb2 import Scene
from tests.models.motion import towns

STEPS = 25
TRACK = 7
TIMES = 0.2 * np.arange(1, STEPS + 1)
BOX = [(30, 2), (34, 2), (34, 5), (30, 5)]
"""Of a crosswalk ahead and to the left, m in the agent's frame."""


def a_scene(
    x: float = 1000.0,
    y: float = -500.0,
    yaw: float = 0.7,
    *,
    speed: float = 8.0,
    turn: float = 0.0,
    futures: int = STEPS,
    unseen: int = 0,
) -> Scene:
    """A car on a road, one ahead on its left, a crosswalk, a pedestrian; in its future it turns at ``turn`` rad/s."""
    cos, sin = math.cos(yaw), math.sin(yaw)

    def placed(ahead: float, left: float) -> tuple[float, float]:
        return x + cos * ahead - sin * left, y + sin * ahead + cos * left

    scene = towns.empty("s")
    towns.drive(scene, TRACK, placed(0, 0), yaw, speed, unseen=unseen, length=4.4)
    towns.drive(scene, 8, placed(12, 3.5), yaw, speed, length=4.4)
    towns.walk(scene, 9, placed(32, 2), (-sin, cos), (0.6, 0.6))
    towns.lane(scene, [placed(-80, 0), placed(0, 0), placed(80, 0)])
    towns.road(scene, [placed(*point) for point in ((-80, -5), (80, -5), (80, 6), (-80, 6))])
    towns.crosswalk(scene, [placed(*point) for point in BOX])
    for place in arc(speed, turn)[:futures]:
        scene.future_vehicle_tracks.add().tracks.append(towns.vehicle(TRACK, placed(*place), yaw, speed))
    scene.prediction_requests.add(track_id=TRACK)
    return scene


def arc(speed: float, turn: float) -> np.ndarray:
    """Positions of constant speed and turn rate in the agent's frame, [T, 2], m."""
    angle = turn * TIMES
    straight = np.abs(angle) < 1e-9
    safe = np.where(straight, 1.0, angle)
    ahead = np.where(straight, TIMES, TIMES * np.sin(safe) / safe)
    left = np.where(straight, 0.0, TIMES * (1 - np.cos(safe)) / safe)
    return speed * np.stack([ahead, left], axis=1)


def a_picture(message: Scene | None = None, *, cells: bool = False, turn: float = 0.0, **more: object) -> Picture:
    scene = scenes.parse((message or a_scene(turn=turn)).SerializeToString())
    agent = scenes.agent(scene, TRACK)
    around = Cells(Renderer(scene, OFFICIAL).draw(agent), OFFICIAL.resolution) if cells else surroundings(scene, agent)
    plans = np.stack([arc(8, turn + extra) for extra in (0, 0.02, -0.02, 0.05, -0.05)])
    total = 0.1 * TIMES**2
    given_ = {
        "around": around,
        "plans": plans,
        "confidences": np.array([0.5, 0.2, 0.15, 0.1, 0.05]),
        "total": total,
        "data": 0.7 * total,
        "knowledge": 0.3 * total,
        "title": "a",
        "truth": None if cells else future(scene, agent),
    }
    return Picture(**given_ | more)


def pixels(drawn: Picture) -> np.ndarray:
    pixel_values = np.asarray(image.imread(io.BytesIO(draw(drawn))))
    return pixel_values[: int(0.93 * len(pixel_values)), : int(0.7 * pixel_values.shape[1]), :3]  # the map


def near(drawn: np.ndarray, colour: str) -> np.ndarray:
    target = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return np.abs(drawn - target).max(axis=-1) < 0.12


def middle(marked: np.ndarray) -> tuple[float, float]:
    """Row and column."""
    rows, columns = np.nonzero(marked)
    assert len(rows)
    return float(rows.mean()), float(columns.mean())


@pytest.mark.parametrize("where", [(-6690, 7836, 1.9), (2e5, -3e5, -3.0)])
def test_the_picture_does_not_depend_on_the_frame_of_the_scene(where: tuple[float, float, float]) -> None:
    apart = np.abs(pixels(a_picture(a_scene(*where))) - pixels(a_picture())).max(axis=-1)
    assert (apart > 0.2).mean() < 1e-3, "but for edges"


def test_left_is_left_and_ahead_is_up() -> None:
    for turn, side in ((0.3, -1), (-0.3, 1)):
        drawn = pixels(a_picture(turn=turn, truth=None))
        agent, plans = middle(near(drawn, picture.AGENT)), middle(near(drawn, picture.PLAN))
        assert plans[0] < agent[0] - 50
        assert side * (plans[1] - agent[1]) > 50


def test_a_metre_is_as_long_across_as_along() -> None:
    """The crosswalk is 4 m along the road and 3 m across it."""
    scene = scenes.parse(a_scene().SerializeToString())
    around = surroundings(scene, scenes.agent(scene, TRACK))
    np.testing.assert_allclose(around.crosswalks[0], BOX, atol=1e-6)
    np.testing.assert_allclose(around.vehicles[0].past[-1], (12, 3.5), atol=1e-6)
    np.testing.assert_allclose(around.agent.past[0], (-24 * 0.2 * 8, 0), atol=1e-6)
    drawn = near(pixels(a_picture()), "#1f5fbf")
    rows, columns = np.nonzero(drawn)
    box = columns.max() - columns.min() + 1
    beside = rows[columns == columns.min() + 2]  # only the box is so wide, its trail is not
    assert (beside.max() - beside.min() + 1) / box == pytest.approx(4.4 / 1.9, rel=0.08)


def test_maps_are_drawn_where_scenes_are() -> None:
    """Of one scene, drawn from its lines and from its feature map."""
    places = []
    for drawn in (pixels(a_picture(truth=None)), pixels(a_picture(cells=True))):
        row, column = middle(near(drawn, picture.AGENT))
        left = near(drawn, VEHICLE)[: int(row) - 60, : int(column) - 30]  # without the agent's own cells
        places.append(middle(ndimage.binary_opening(left, np.ones((15, 15)))))
    assert np.abs(np.subtract(*places)).max() < 12, "a cell has some 15 pixels"


@pytest.mark.parametrize(
    "more",
    [
        {"truth": None},
        {"data": None, "knowledge": None},
        {"confidences": np.array([1.0, 0, 0, 0, 0])},
        {"total": np.zeros(STEPS)},
        {"plans": np.zeros((5, STEPS, 2))},
        {"plans": np.full((5, STEPS, 2), 3e4)},
        {"plans": arc(8, 0)[None], "confidences": np.ones(1)},
        {"plans": np.zeros((5, 3, 2)), "total": np.ones(3), "data": None, "knowledge": None},
        {"title": "$x_1$ and \\frac", "details": ("$", "a_b^c")},
    ],
)
def test_what_is_missing_or_odd_is_drawn_all_the_same(more: dict[str, object]) -> None:
    assert draw(a_picture(**more)).startswith(b"\x89PNG")


def test_a_map_of_a_standing_vehicle_is_drawn() -> None:
    assert draw(a_picture(cells=True, plans=np.zeros((5, STEPS, 2)))).startswith(b"\x89PNG")


def test_what_happened_is_drawn_as_far_as_it_is_known() -> None:
    whole = near(pixels(a_picture()), picture.TRUTH).sum()
    part = near(pixels(a_picture(a_scene(futures=10))), picture.TRUTH).sum()
    none = near(pixels(a_picture(a_scene(futures=0))), picture.TRUTH).sum()
    assert none < part < whole
    message = a_scene()
    del message.future_vehicle_tracks[3].tracks[:]
    scene = scenes.parse(message.SerializeToString())
    truth = future(scene, scenes.agent(scene, TRACK))
    assert truth is not None
    assert np.flatnonzero(np.isnan(truth).any(axis=1)).tolist() == [3]
    np.testing.assert_allclose(np.delete(truth, 3, 0), np.delete(arc(8, 0), 3, 0), atol=1e-6)
    assert draw(a_picture(message)).startswith(b"\x89PNG")


def test_a_vehicle_that_is_missing_now_is_drawn_where_it_was_moved_on_to() -> None:
    scene = scenes.parse(a_scene(unseen=5).SerializeToString())
    agent = scenes.agent(scene, TRACK)
    around = surroundings(scene, agent)
    np.testing.assert_allclose(around.agent.outline.mean(axis=0), (0, 0), atol=1e-6)
    assert np.isnan(around.agent.past[-5:]).all()
    assert len(around.vehicles) == 1
    assert draw(a_picture(a_scene(unseen=5))).startswith(b"\x89PNG")


def test_a_bare_scene_is_drawn() -> None:
    message = a_scene(futures=0)
    message.ClearField("path_graph")
    for name in ("past_vehicle_tracks", "past_pedestrian_tracks", "traffic_lights"):
        del getattr(message, name)[:-1]
    assert draw(a_picture(message)).startswith(b"\x89PNG")


def test_what_has_impossible_numbers_is_left_out() -> None:
    message = a_scene()
    message.past_vehicle_tracks[-1].tracks[1].position.x = math.nan
    scene = scenes.parse(message.SerializeToString())
    assert surroundings(scene, scenes.agent(scene, TRACK)).vehicles == ()


metres = st.floats(-100, 100)


@settings(max_examples=50)
@given(points=st.lists(st.tuples(metres, metres), min_size=1, max_size=6), variance=st.floats(0, 1e4))
def test_ellipses_have_the_spread_of_all_and_the_shape_of_the_plans(
    points: list[tuple[float, float]], variance: float
) -> None:
    (along, across), axis = ellipse(np.array(points), variance)
    assert along**2 + across**2 == pytest.approx(variance)
    assert along >= across >= 0
    assert np.linalg.norm(axis) == pytest.approx(1)


def test_ellipses_lie_along_the_line_of_the_plans() -> None:
    line = np.outer(np.arange(5), (3, 4)) / 5
    (along, across), axis = ellipse(line, 1.0)
    assert abs(axis @ (0.6, 0.8)) == pytest.approx(1)
    assert along / across == pytest.approx(math.sqrt(50))


def test_it_draws_a_real_scene(real_scene: Path) -> None:
    scene = scenes.parse(real_scene.read_bytes())
    for track in scene.requests:
        agent = scenes.agent(scene, track)
        truth = future(scene, agent)
        assert truth is not None
        assert len(draw(a_picture(around=surroundings(scene, agent), truth=truth))) > 50_000

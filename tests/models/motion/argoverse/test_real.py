"""Real logs and a real scenario: known numbers of windows, and vehicles that drive on the roads of the map."""

from pathlib import Path

import numpy as np
import pytest

from models.tasks.motion.data import folders, official, rendering
from models.tasks.motion.data.argoverse import convert, logs
from models.tasks.motion.data.argoverse.recording import Recording
from models.tasks.motion.data.official import Request
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.maps import read_rendered_file
from models.tasks.motion.inference.render import CHANNEL_NAMES
from models.tasks.motion.protocol.motion_pb2 import Scene, TrajectoryTag


@pytest.fixture(scope="module")
def raw(test_data: Path) -> Path:
    path = test_data / "motion" / "argoverse2"
    if not path.is_dir():
        pytest.skip(f"no Argoverse 2 at {path}")
    pytest.importorskip("pyarrow")
    return path


@pytest.fixture(scope="module")
def converted(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> folders.Split:
    out = tmp_path_factory.mktemp("argoverse")
    convert.convert([raw], out, "eval")
    return folders.split(out, "eval")


def windows_of_tracks(recording: Recording) -> tuple[int, int]:
    """Windows of 100 frames of single vehicles, a second apart; of these, those that move more than 2 m after now."""
    count = moving = 0
    for actor in recording.actors:
        seen = actor.position[np.isfinite(actor.yaw), :2]
        for start in range(0, len(seen) - 99, 10) if actor.kind == "requested" else ():
            count += 1
            moving += bool(np.linalg.norm(seen[start + 99] - seen[start + 50]) > 2)
    return count, moving


@pytest.mark.parametrize(
    ("name", "expected", "city"),
    [
        ("log_3b3570b4_MIA", (273, 108), "Miami"),
        ("log_3bffdcff_PIT", (321, 97), "Pittsburgh"),
        ("log_7fab2350_PIT", (207, 93), "Pittsburgh"),
        ("log_adcf7d18_PIT", (130, 34), "Pittsburgh"),
    ],
)
def test_logs_have_the_vehicles_that_others_counted(name: str, expected: tuple[int, int], city: str, raw: Path) -> None:
    """Each vehicle in windows of its own, which needs no scene around it."""
    recording = logs.read(raw / name, 11.0)
    assert recording.city == city
    assert windows_of_tracks(recording) == expected


def test_scenes_and_requests_of_each_recording(converted: folders.Split) -> None:
    """In scenes all windows begin together, so the numbers are others; requests need no full past, but two steps."""
    by_log: dict[str, list[Request]] = {}
    for request in official.all_requests(converted):
        by_log.setdefault(request.scene.rsplit("-", 1)[0][:16], []).append(request)
    counts = {
        name: (len({unit.scene for unit in requests}), len(requests), sum(map(moves, requests)))
        for name, requests in by_log.items()
    }
    assert counts == {
        "0a1e6f0a-1817-4a": (2, 16, 4),
        "log_3b3570b4_MIA": (6, 316, 134),
        "log_3bffdcff_PIT": (6, 373, 117),
        "log_7fab2350_PIT": (6, 237, 104),
        "log_adcf7d18_PIT": (6, 163, 42),
    }
    agree = [
        (TrajectoryTag.kStationary in unit.maneuvers) != moves(unit)
        for requests in by_log.values()
        for unit in requests
    ]
    assert np.mean(agree) > 0.95, "the rule of the tags and the 2 m nearly say the same"


def moves(request: Request) -> bool:
    assert request.truth is not None
    return bool(np.linalg.norm(request.truth[-1]) > 2)


def test_vehicles_drive_on_the_roads_of_the_map_at_the_speeds_that_they_carry(converted: folders.Split) -> None:
    """Frames, poses and steps would each show here if they were wrong."""
    on_road: list[bool] = []
    errors: list[float] = []
    for file in official.scene_files(converted):
        scene = scenes.parse(file.path.read_bytes())
        assert scene.left_out == ()
        areas = [
            np.array([(p.x, p.y) for p in polygon.geometry.points])
            for polygon in scene.message.path_graph.road_polygons
        ]
        for request in official.requests(file):
            if not moves(request):
                continue
            assert request.truth is not None
            agent = scenes.agent(scene, request.track)
            on_road.append(any(inside(area, agent.x, agent.y) for area in areas))
            straight = np.arange(1, 26)[:, None] * 0.2 * np.array([agent.speed, 0.0])
            errors.append(float(np.linalg.norm(request.truth - straight, axis=1)[4]))
    assert np.mean(on_road) > 0.93, "the rest comes out of yards, or drives beyond the map"
    assert np.median(errors) < 0.5, "a second ahead at constant velocity, m"


def inside(outline: np.ndarray, x: float, y: float) -> bool:
    """By the number of edges that a ray to the right crosses."""
    (ax, ay), (bx, by) = outline.T, np.roll(outline, -1, axis=0).T
    crossed = (ay > y) != (by > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return bool((crossed & (x < ax + (y - ay) / (by - ay) * (bx - ax))).sum() % 2)


def test_no_ego_is_doubled(converted: folders.Split) -> None:
    """Two of the logs annotate it as an actor."""
    for path in folders.scene_files(converted):
        scene = Scene.FromString(path.read_bytes())
        own = scene.past_ego_track[-1].position
        others = [track.position for track in scene.past_vehicle_tracks[-1].tracks]
        assert min(np.hypot(position.x - own.x, position.y - own.y) for position in others) > 1.0


def test_maps_of_a_real_window_show_the_agent_on_a_lane(converted: folders.Split) -> None:
    file = next(candidate for candidate in official.scene_files(converted) if "adcf7d18_PIT" in candidate.path.name)
    split = folders.Split("eval", converted.root, converted.scenes, converted.tags, converted.root / "drawn")
    written = rendering.render_scene(file.path, split, Grid())
    scene = scenes.parse(file.path.read_bytes())
    assert len(written) == len(scenes.requested(scene))
    requests = list(official.requests(official.SceneFile(file.path, split, file.tags, None)))
    drawn = {unit.track: read_rendered_file(unit.map, Grid()) for unit in requests if unit.map is not None}
    vehicles, roads, lanes = (
        CHANNEL_NAMES.index(name) for name in ("vehicle_occupancy", "road_polygons", "lane_occupancy")
    )
    assert all(image[vehicles, 62:66, 62:66].any() for image in drawn.values())
    moving = [drawn[request.track] for request in requests if moves(request)]
    assert all(image[roads, 63:65, 63:65].any() for image in moving)
    assert np.mean([image[lanes, 61:67, 61:67].any() for image in moving]) > 0.8

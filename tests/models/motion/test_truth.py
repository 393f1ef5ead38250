"""Ground truth from scenes: frames checked by hand, requests that cannot be judged, and a real scene."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.motion.data import futures, messages, truth
from models.tasks.motion.data.predictions import read
from tests.models.motion.wire import nested, prediction, scene, vehicle


def drive(track: int, start: tuple[float, float], yaw: float, speed: float, turned: bool = False) -> tuple[Any, Any]:
    """A vehicle now and in five steps, straight ahead along ``yaw``; ``turned`` stores the opposite yaw."""
    heading = np.array([math.cos(yaw), math.sin(yaw)])
    stored = yaw + math.pi * turned
    now = vehicle(1, track, start, tuple(speed * heading), stored)
    steps = [vehicle(1, track, tuple(start + 0.2 * k * speed * heading), (), stored) for k in range(1, 6)]
    return now, steps


def crossing(name: str = "scene-a", tags: Any = ()) -> bytes:
    """Track 1 can be judged, 2 vanishes, 3 is not there now, 4 is no request."""
    (one, ones), (two, twos), (_, threes), (four, fours) = (
        drive(1, (10.0, 5.0), 0.5, 8.0),
        drive(2, (0.0, 0.0), 1.0, 4.0),
        drive(3, (3.0, 0.0), 1.0, 4.0),
        drive(4, (9.0, 9.0), -2.0, 1.0),
    )
    future = [[ones[k], threes[k], fours[k], *([twos[k]] if k < 3 else [])] for k in range(5)]
    return scene(name, [one, two, four], future, requests=[1, 2, 3], tags=tags)


def written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def ahead(speed: float) -> list[tuple[float, float]]:
    return [(0.2 * k * speed, 0.0) for k in range(1, 6)]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("yaw", [0.0, 0.5, 2.0, -1.0, 3.1])
def test_a_vehicle_that_drives_straight_goes_along_x(yaw: float, turned: bool, tmp_path: Path) -> None:
    """Also where its yaw is stored the wrong way round: velocity decides."""
    now, future = drive(7, (100.0, -50.0), yaw, 10.0, turned)
    path = written(tmp_path / "s.pb", scene("s", [now], [[step] for step in future], [7]))
    truths = truth.read(path)
    assert truths.rows == {("s", 7): 0}
    np.testing.assert_allclose(truths.trajectories, [ahead(10.0)], atol=1e-4)


def test_coordinates_of_a_country_lose_nothing(tmp_path: Path) -> None:
    """Of a projection of the Earth, say: float32 has half metres there."""
    now, future = drive(7, (412345.67, 5654321.89), 0.5, 10.0)
    path = written(tmp_path / "s.pb", scene("s", [now], [[step] for step in future], [7]))
    np.testing.assert_allclose(truth.read(path).trajectories, [ahead(10.0)], atol=1e-4)


def test_left_of_the_agent_is_positive_y(tmp_path: Path) -> None:
    now = vehicle(1, 7, (1.0, 2.0), (0.0, 3.0), math.pi / 2)
    path = written(tmp_path / "s.pb", scene("s", [now], [[vehicle(1, 7, (-1.0, 2.0))]], [7]))
    np.testing.assert_allclose(truth.read(path).trajectories, [[(0.0, 2.0)]], atol=1e-6)


def test_requests_that_cannot_be_judged_are_told_by_their_reason(tmp_path: Path) -> None:
    written(tmp_path / "000" / "a.pb", crossing())
    written(tmp_path / "001" / "b.pb", scene("scene-b", [vehicle(1, 5, (0, 1))], [], [5]))
    truths = truth.read(tmp_path)
    assert list(truths.rows) == [("scene-a", 1)]
    assert truths.left_out == {
        ("scene-a", 2): futures.NOT_OBSERVED,
        ("scene-a", 3): futures.NOT_NOW,
        ("scene-b", 5): futures.NO_FUTURE,
    }


def test_predictions_of_such_requests_are_left_out_and_counted(tmp_path: Path) -> None:
    scenes = written(tmp_path / "scenes" / "000" / "a.pb", crossing())
    rows = [prediction("scene-a", track, [(ahead(8.0), 1.0)], uncertainty=track) for track in (3, 1, 2)]
    path = written(tmp_path / "submission.pb", b"".join(rows))
    for where in (scenes, tmp_path / "scenes"):
        judged = read(path, ErrorOptions(companions={"scenes": where}))
        assert judged.errors["weightedade"].values == pytest.approx([0.0], abs=1e-4)
        assert judged.uncertainty.tolist() == [1.0]
        assert judged.notes == (
            "requests left out because they are not observed in all future steps: 1 (1 of them predicted)",
            "requests left out because they are not observed now, so have no frame: 1 (1 of them predicted)",
        )
    path.write_bytes(rows[1])
    assert "(0 of them predicted)" in read(path, ErrorOptions(companions={"scenes": scenes})).notes[0]


def test_figures_can_be_broken_down_by_the_tags_of_scenes(tmp_path: Path) -> None:
    for number, (location, weather) in enumerate([(1, 1), (6, 2), (6, 0), (9, 4)]):
        tags = ((3, location), (5, weather))
        written(tmp_path / "scenes" / "000" / f"{number}.pb", crossing(f"s{number}", tags))
    rows = [prediction(f"s{number}", 1, [(ahead(8.0), 1.0)]) for number in range(4)]
    path = written(tmp_path / "submission.pb", b"".join(rows))
    judged = read(path, ErrorOptions(companions={"scenes": tmp_path / "scenes"}, by=("location",)))
    assert judged.groups["location"].tolist() == ["Moscow", "TelAviv", "TelAviv", "9"]
    assert judged.groups["precipitation"].tolist() == ["NoPrecipitation", "Rain", "UnknownPrecipitation", "Snow"]
    assert evaluate(judged, ("location",)).document()["by"]["location"]["TelAviv"]["n"] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (scene("", [vehicle(1, 1, (0, 0))], [[vehicle(1, 1, (1, 1))]], [1]), "the scene has no id"),
        (nested(1, b"s") + nested(6, b"\x08\x01"), "past_vehicle_tracks are missing"),
        (scene("s", [vehicle(1, 1, (math.nan, 0))], [[vehicle(1, 1, (1, 1))]], [1]), "scene 's', track 1 has a pos"),
        (scene("s", [vehicle(1, 1, (0, 0))], [[vehicle(1, 1, (1e300, 1))]], [1]), "scene 's', track 1 has a position"),
        (scene("s", [vehicle(1, 1, (0, 0), yaw=math.inf)], [[vehicle(1, 1, (1, 1))]], [1]), "or yaw that is not fin"),
        (scene("s", [vehicle(1, 1, (0, 0))], [[vehicle(1, 1, (1, 1))]], [1, 1]), "track 1 is there twice"),
        (scene("s", [vehicle(1, 1, (0, 0))], [[]], [1]), "no request whose future is known in full"),
        (nested(1, b"s") + nested(2, b"\xff\xff"), "the scene cannot be decoded"),
        (nested(1, b"s") + nested(12, b""), "no scene: it has the field 12"),
        (scene("s", [vehicle(1, 1, (0, 0))], [[vehicle(1, 1, (1, 1))]], [1])[:-4], "cut off"),
    ],
)
def test_wrong_scenes_are_refused_by_file(content: bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "wrong.pb", content)
    with pytest.raises(BadFile, match=message) as refusal:
        truth.read(path)
    assert str(path) in str(refusal.value)


def test_folders_of_scenes_hold_each_scene_once(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="has no scenes"):
        truth.read(tmp_path)
    written(tmp_path / "0" / "a.pb", crossing())
    written(tmp_path / "1" / "b.pb", crossing())
    with pytest.raises(BadFile, match="scene 'scene-a', track 1 is there twice"):
        truth.read(tmp_path)
    written(tmp_path / "1" / "b.pb", prediction("s", 1, [(ahead(1.0), 1.0)]))
    with pytest.raises(BadFile, match=r"b.pb is no scene"):
        truth.read(tmp_path)


def test_a_real_scene_gives_the_trajectories_of_the_released_code(real_scene: Path) -> None:
    """Numbers printed by the released loader, whose float32 leaves about a millimetre."""
    truths = truth.read(real_scene)
    name = "3dbc73d6508860ff871de24441635eb8"
    row = truths.rows[name, 4176]
    assert truths.trajectories.shape[1:] == (25, 2)
    np.testing.assert_allclose(truths.trajectories[row, [0, -1]], [(3.30273, 0.9043), (79.79883, 11.33667)], atol=2e-3)
    assert {column: values[row] for column, values in truths.tags.items()} == {
        "day_time": "Night",
        "season": "Summer",
        "location": "Moscow",
        "sun_phase": "UnknownSunPhase",
        "precipitation": "NoPrecipitation",
        "direction": "MoveLeft",
        "speed": "Uniform",
        "rest": "none",
    }


def test_a_real_scene_can_be_answered(real_scene: Path, tmp_path: Path) -> None:
    requests = messages.scene(real_scene).prediction_requests
    truths = truth.read(real_scene)
    rows = b""
    for request in requests:
        key = "3dbc73d6508860ff871de24441635eb8", request.track_id
        points = truths.trajectories[truths.rows[key]] if key in truths.rows else np.ones((25, 2))
        beside = points + np.array([0.3, 0.4])
        rows += prediction(*key, [(points.tolist(), 0.75), (beside.tolist(), 0.25)], uncertainty=1.0, ood=True)
    path = written(tmp_path / "submission.pb", rows)
    judged = read(path, ErrorOptions(companions={"scenes": real_scene}))
    assert len(judged) + len(truths.left_out) == len(requests) == 2
    assert judged.errors["minade"].values == pytest.approx(0.0, abs=1e-6)
    assert judged.errors["weightedfde"].values == pytest.approx(0.125, abs=1e-5)
    expected = -math.log(0.75 + 0.25 * math.exp(-25 * 0.25 / 2))
    assert judged.errors["cnll"].values == pytest.approx(expected, rel=1e-5)
    with pytest.raises(BadFile, match="shifts_test_scene.pb is no submission"):
        read(real_scene, ErrorOptions(companions={"scenes": real_scene}))

"""Recordings as official scenes: windows, who is asked for, what the model may know, and the tags file."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import folders, official, truth
from models.tasks.motion.data.argoverse import convert, logs, windows
from models.tasks.motion.data.argoverse.recording import Recording
from models.tasks.motion.inference import scenes
from models.tasks.motion.protocol.motion_pb2 import Scene, TrajectoryTag
from tests.models.motion.argoverse.recordings import EGO, Path2, attitude, straight, write_log, write_scenario


def turning(t: float) -> tuple[float, float, float]:
    yaw = 0.2 + 0.2 * t
    return 100 + 40 * math.sin(yaw), 90 - 40 * math.cos(yaw), yaw


CAR: Path2 = straight((120.0, 50.0), -0.3, 8.0)
ACTORS: dict[str, tuple[str, Path2]] = {
    "car": ("REGULAR_VEHICLE", CAR),
    "parked": ("REGULAR_VEHICLE", straight((105.0, 45.0), 1.0, 0.0)),
    "gone": ("REGULAR_VEHICLE", straight((95.0, 55.0), 0.0, 4.0)),
    "turning": ("BUS", turning),
    "rider": ("MOTORCYCLIST", straight((95.0, 48.0), 0.1, 6.0)),
    "walker": ("PEDESTRIAN", straight((110.0, 40.0), 1.5, 1.2)),
    "ego": ("EGO_VEHICLE", EGO),
}


def recorded(tmp_path: Path, frames: int = 110) -> Recording:
    folder = write_log(tmp_path / "log", ACTORS, frames=frames, unseen={"gone": range(60, 999)})
    return logs.read(folder, 11.0)


def first(recording: Recording) -> Scene:
    return next(windows.scenes(recording.every_second()))


def tracks_of(recording: Recording) -> dict[str, int]:
    """Track of each kind of actor, told by where it is in the first frame."""
    places = {name: path(0.0)[:2] for name, (_, path) in ACTORS.items() if name != "ego"}
    return {
        name: next(actor.track for actor in recording.actors if np.allclose(actor.position[0, :2], place))
        for name, place in places.items()
    }


def test_a_window_has_25_steps_of_either_kind_and_now_is_the_last_of_the_past(tmp_path: Path) -> None:
    recording = recorded(tmp_path)
    scene, car = first(recording), tracks_of(recording)["car"]
    lengths = {
        name: len(getattr(scene, f"{when}_{name}"))
        for when in ("past", "future")
        for name in ("vehicle_tracks", "pedestrian_tracks", "ego_track")
    }
    assert set(lengths.values()) == {25}
    steps = [*scene.past_vehicle_tracks, *scene.future_vehicle_tracks]
    for number, step in enumerate(steps):
        (state,) = (track for track in step.tracks if track.track_id == car)
        np.testing.assert_allclose((state.position.x, state.position.y), CAR(0.2 * number)[:2], atol=1e-6)
        assert (state.dimensions.x, state.dimensions.y) == (4.5, 1.9)
    assert math.hypot(state.linear_velocity.x, state.linear_velocity.y) == pytest.approx(8.0)
    ahead = attitude(0.4).apply([1.4, 0.0, 0.0])[0]
    assert scene.past_ego_track[-1].position.x == pytest.approx(EGO(4.8)[0] + ahead)


def test_vehicles_seen_now_are_asked_for_and_tagged(tmp_path: Path) -> None:
    recording = recorded(tmp_path)
    scene, track = first(recording), tracks_of(recording)
    requested = {request.track_id: set(request.trajectory_tags) for request in scene.prediction_requests}
    assert requested == {
        track["car"]: {TrajectoryTag.kMoveForward, TrajectoryTag.kUniform},
        track["parked"]: {TrajectoryTag.kStationary, TrajectoryTag.kUniform},
        track["gone"]: {TrajectoryTag.kMoveForward, TrajectoryTag.kUniform},
        track["turning"]: {TrajectoryTag.kMoveLeft, TrajectoryTag.kUniform},
    }, "neither motorcyclists nor pedestrians nor the ego"
    drawn = {state.track_id for state in scene.past_vehicle_tracks[-1].tracks}
    assert drawn == {*requested, track["rider"]}, "the ego is in its own tracks only"
    assert [state.track_id for state in scene.past_pedestrian_tracks[-1].tracks] == [track["walker"]]
    assert track["gone"] not in {state.track_id for state in scene.future_vehicle_tracks[-1].tracks}


def test_what_a_model_sees_does_not_change_with_the_future(tmp_path: Path) -> None:
    """The same log with everybody somewhere else after now has the same past, to the last bit."""
    late = {name: (kind, lambda t, path=path: path(min(t, 4.8))) for name, (kind, path) in ACTORS.items()}
    original = first(recorded(tmp_path))
    other = first(logs.read(write_log(tmp_path / "other" / "log", late), 11.0))
    assert original.future_vehicle_tracks != other.future_vehicle_tracks
    for scene in (original, other):
        for name in ("future_vehicle_tracks", "future_pedestrian_tracks", "future_ego_track", "prediction_requests"):
            scene.ClearField(name)  # type: ignore[arg-type]
    gone = {track.track_id for step in original.past_vehicle_tracks for track in step.tracks}
    assert {track.track_id for step in other.past_vehicle_tracks for track in step.tracks} == gone
    assert original.past_vehicle_tracks == other.past_vehicle_tracks
    assert original.past_pedestrian_tracks == other.past_pedestrian_tracks


def test_windows_come_at_the_stride_and_only_where_steps_are_even(tmp_path: Path) -> None:
    recording = recorded(tmp_path, frames=156).every_second()
    assert [scene.id for scene in windows.scenes(recording)] == [f"log-{now:03d}" for now in (24, 29, 34, 39, 44, 49)]
    assert len(list(windows.scenes(recording, 1))) == 78 - 49
    gap = Recording(
        recording.name,
        recording.city,
        recording.time + (np.arange(78) > 60),
        recording.actors,
        recording.ego,
        recording.roads,
    )
    assert [scene.id for scene in windows.scenes(gap)] == ["log-024", "log-029", "log-034"]


def test_a_log_and_a_scenario_become_one_official_folder(tmp_path: Path) -> None:
    write_log(tmp_path / "raw" / "log", ACTORS)
    write_scenario(tmp_path / "raw" / "scenario" / "s-1", {"17": ("vehicle", CAR)})
    shares: list[float] = []
    out = tmp_path / "out"
    files = convert.convert([tmp_path / "raw"], out, "eval", progress=lambda share, what: shares.append(share))
    assert shares == [0.0, 0.5, 1.0]
    split = folders.split(out, "eval")
    assert sorted(folders.scene_files(split)) == sorted(files)
    by_name = {file.path.stem: file for file in official.scene_files(split)}
    assert {name: (file.tags["city"], file.tags["track"], file.shifted) for name, file in by_name.items()} == {
        "log-024": ("Pittsburgh", "UnknownLocation", None),
        "log-029": ("Pittsburgh", "UnknownLocation", None),
        "s-1-024": ("PaloAlto", "UnknownLocation", None),
        "s-1-029": ("PaloAlto", "UnknownLocation", None),
    }
    for file in files:
        scene = scenes.parse(file.read_bytes())
        assert scenes.requested(scene)
        assert scene.left_out == ()
    known = truth.read(out)
    speed = np.linalg.norm(np.diff(known.trajectories, axis=1), axis=2) / 0.2
    np.testing.assert_allclose(speed[known.tags["direction"] == "MoveForward"][0], 8.0, atol=0.05)
    assert json.loads((out / "PROVENANCE.json").read_text())["licence"].startswith("CC BY-NC-SA 4.0")


def test_what_cannot_be_converted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="holds nothing of Argoverse 2"):
        convert.convert([tmp_path], tmp_path / "out", "eval")
    short = write_log(tmp_path / "short", ACTORS, frames=90)
    with pytest.raises(ValueError, match="no recording below .* has the 10 s of a scene"):
        convert.convert([short], tmp_path / "out", "eval")
    for stride in (0.0, 0.3, -1.0):
        with pytest.raises(ValueError, match="stride is .* s; a multiple of 0.2 s is needed"):
            convert.convert([short], tmp_path / "out", "eval", stride=stride)
    with pytest.raises(ValueError, match="speed limit is 0 m/s"):
        convert.convert([short], tmp_path / "out", "eval", speed_limit=0)

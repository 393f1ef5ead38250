"""Logs and scenarios: frames of the city, who becomes what, and files that are refused."""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.argoverse import logs, scenarios
from models.tasks.motion.data.argoverse.actors import EGO_CENTRE
from tests.models.motion.argoverse.recordings import EGO, attitude, straight, write_log, write_scenario

CAR, WALKER = straight((120.0, 50.0), -0.3, 8.0), straight((110.0, 40.0), 1.5, 1.2)
ACTORS = {
    "b-car": ("REGULAR_VEHICLE", CAR),
    "a-late": ("BUS", straight((90.0, 52.0), 0.0, 3.0)),
    "walker": ("PEDESTRIAN", WALKER),
    "rider": ("MOTORCYCLIST", straight((95.0, 48.0), 0.1, 6.0)),
    "cone": ("CONSTRUCTION_CONE", straight((1.0, 2.0), 0.0, 0.0)),
    "ego": ("EGO_VEHICLE", EGO),
}


def log(tmp_path: Path, **more: Any) -> Path:
    return write_log(tmp_path / "0123-abc", ACTORS, unseen={"a-late": range(30)}, **more)


def test_a_log_is_read_into_the_frame_of_the_city(tmp_path: Path) -> None:
    recording = logs.read(log(tmp_path), 11.0)
    assert (recording.name, recording.city, len(recording.time)) == ("0123-abc", "Pittsburgh", 110)
    np.testing.assert_allclose(recording.time, np.arange(110) / 10)
    kinds = {actor.track: actor.kind for actor in recording.actors}
    assert sorted(kinds.values()) == ["pedestrian", "requested", "requested", "vehicle"], "no cone, no ego"
    late = recording.actors[-1]
    assert late.track == max(kinds), "numbers go by the first frame"
    assert np.isnan(late.position[:30]).all()
    assert np.isfinite(late.position[30:]).all()
    (car,) = (candidate for candidate in recording.actors if candidate.kind == "requested" and candidate is not late)
    np.testing.assert_allclose(car.position[:, :2], [CAR(t)[:2] for t in recording.time], atol=1e-9)
    np.testing.assert_allclose(car.position[:, 2], 1.5)
    np.testing.assert_allclose(car.yaw, -0.3)
    assert car.size == (4.5, 1.9, 1.6)


def test_the_ego_is_there_once_with_its_centre_ahead_of_its_axle(tmp_path: Path) -> None:
    ego = logs.read(log(tmp_path), 11.0).ego
    assert ego is not None
    assert ego.track == 0
    ahead = attitude(0.4).apply([EGO_CENTRE, 0.0, 0.0])[:2]
    np.testing.assert_allclose(ego.position[:, :2], [EGO(t / 10)[:2] + ahead for t in range(110)])
    np.testing.assert_allclose(ego.yaw, 0.4)


def test_a_scenario_is_read_with_usual_sizes(tmp_path: Path) -> None:
    actors = {
        "17": ("vehicle", CAR),
        "4": ("pedestrian", WALKER),
        "5": ("static", CAR),
        "6": ("riderless_bicycle", CAR),
    }
    recording = scenarios.read(write_scenario(tmp_path / "s-1", actors), 11.0)
    assert (recording.name, recording.city, len(recording.time)) == ("s-1", "PaloAlto", 110)
    assert sorted(actor.kind for actor in recording.actors) == ["pedestrian", "requested"]
    (car,) = (actor for actor in recording.actors if actor.kind == "requested")
    np.testing.assert_allclose(car.position[:, :2], [CAR(t)[:2] for t in recording.time])
    assert car.size == (4.7, 1.9, 1.6)
    assert recording.ego is not None
    np.testing.assert_allclose(recording.ego.position[:, :2], [EGO(t)[:2] for t in recording.time])


def doubled(rows: list[dict[str, Any]]) -> None:
    rows.append(rows[0])


def without_pose(rows: list[dict[str, Any]]) -> None:
    rows[7]["timestamp_ns"] += 1


def without_number(rows: list[dict[str, Any]]) -> None:
    rows[7]["tx_m"] = math.nan


def without_value(rows: list[dict[str, Any]]) -> None:
    rows[7]["tx_m"] = None


def without_column(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        del row["height_m"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (doubled, r"annotations.feather: track b-car has two boxes in frame 0"),
        (without_pose, r"city_SE3_egovehicle.feather has no pose at \d+ ns"),
        (without_number, r"annotations.feather: tx_m\[7\] is nan"),
        (without_value, r"annotations.feather: column 'tx_m' has missing values"),
        (without_column, r"annotations.feather .*height_m"),
        (list.clear, r"annotations.feather"),
    ],
)
def test_wrong_logs_are_refused_by_file(
    spoil: Callable[[list[dict[str, Any]]], None], message: str, tmp_path: Path
) -> None:
    folder = log(tmp_path, more=spoil)
    with pytest.raises(BadFile, match=message):
        logs.read(folder, 11.0)


def test_files_that_are_missing_or_something_else_are_refused(tmp_path: Path) -> None:
    folder = log(tmp_path)
    (folder / logs.POSES).write_bytes(b"nothing of the kind")
    with pytest.raises(BadFile, match=r"city_SE3_egovehicle.feather cannot be read"):
        logs.read(folder, 11.0)
    (folder / logs.ANNOTATIONS).unlink()
    with pytest.raises(BadFile, match=r"annotations.feather cannot be read"):
        logs.read(folder, 11.0)
    other = write_log(tmp_path / "other", ACTORS)
    next((other / "map").iterdir()).unlink()
    with pytest.raises(BadFile, match=r"other has no map: map/log_map_archive"):
        logs.read(other, 11.0)


ROTATIONS = arrays(np.float64, (3, 4), elements=st.floats(0.1, 1)).map(
    lambda q: q / np.linalg.norm(q, axis=1, keepdims=True)
)


@settings(max_examples=50)
@given(ROTATIONS, ROTATIONS, arrays(np.float64, (3, 3), elements=st.floats(-9, 9)))
def test_quaternions_turn_as_matrices_do(one: np.ndarray, other: np.ndarray, points: np.ndarray) -> None:
    turned = logs.rotated(one, logs.rotated(other, points))
    np.testing.assert_allclose(logs.rotated(logs.product(one, other), points), turned, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(points, axis=1), atol=1e-9)
    ahead = logs.rotated(one, np.tile([1.0, 0.0, 0.0], (3, 1)))
    np.testing.assert_allclose(logs.yaw(one), np.arctan2(ahead[:, 1], ahead[:, 0]), atol=1e-9)


def test_without_pyarrow_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = log(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadFile, match=r"reading Argoverse 2 needs pyarrow: pip install 'demur\[evaluate\]'"):
        logs.read(folder, 11.0)

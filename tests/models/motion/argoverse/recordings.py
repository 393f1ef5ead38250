"""Small files of Argoverse 2, made up: a street along x with a crossing, and a few who move on it."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy.spatial.transform import Rotation

FRAMES = 110
START_NS = 315_966_000_000_000_000

State = tuple[float, float, float]
"""x, y in the city, m, and yaw, rad."""
Path2 = Callable[[float], State]
"""Of a time, s."""


def straight(at: tuple[float, float], yaw: float, speed: float) -> Path2:
    return lambda t: (at[0] + speed * t * math.cos(yaw), at[1] + speed * t * math.sin(yaw), yaw)


EGO = straight((100.0, 50.0), 0.4, 5.0)


def attitude(yaw: float) -> Rotation:
    """Of the recording car, which leans on a hill."""
    return Rotation.from_euler("ZYX", [yaw, 0.3, 0.2])


def quaternion(rotation: Rotation) -> dict[str, float]:
    qx, qy, qz, qw = rotation.as_quat().tolist()
    return {"qw": qw, "qx": qx, "qy": qy, "qz": qz}


def map_document() -> dict[str, Any]:
    def points(*places: tuple[float, float]) -> list[dict[str, float]]:
        return [{"x": x, "y": y, "z": 1.0} for x, y in places]

    def lane(kind: str, y: float) -> dict[str, Any]:
        return {
            "id": int(y),
            "lane_type": kind,
            "is_intersection": False,
            "left_lane_boundary": points((90, y + 2), (130, y + 2)),
            "right_lane_boundary": points((90, y - 2), (100, y - 2), (130, y - 2)),
        }

    return {
        "lane_segments": {"7": lane("VEHICLE", 50), "8": lane("BIKE", 60), "9": lane("BUS", 40)},
        "pedestrian_crossings": {
            "3": {"id": 3, "edge1": points((110, 40), (110, 60)), "edge2": points((114, 40), (114, 60))}
        },
        "drivable_areas": {"5": {"id": 5, "area_boundary": points((80, 35), (140, 35), (140, 65), (80, 65))}},
    }


def write_log(
    folder: Path,
    actors: Mapping[str, tuple[str, Path2]],
    *,
    frames: int = FRAMES,
    unseen: Mapping[str, range] | None = None,
    more: Callable[[list[dict[str, Any]]], None] = lambda rows: None,
) -> Path:
    """A log in the layout of the data set; ``actors`` are category and path by name, ``more`` may spoil the boxes."""
    arrow, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    stamps = [START_NS + 100_000_000 * frame for frame in range(frames)]
    poses, boxes = [], []
    for frame, stamp in enumerate(stamps):
        x, y, yaw = EGO(frame / 10)
        for offset in (-30_000_000, 0):  # poses come more often than boxes
            place = {"tx_m": x, "ty_m": y, "tz_m": 1.0}
            poses.append({"timestamp_ns": stamp + offset, **quaternion(attitude(yaw)), **place})
        for name, (category, path) in actors.items():
            if frame in (unseen or {}).get(name, range(0)):
                continue
            there_x, there_y, there_yaw = path(frame / 10)
            seen = attitude(yaw).inv().apply([there_x - x, there_y - y, 0.5]).tolist()
            turned = attitude(yaw).inv() * Rotation.from_euler("Z", there_yaw)
            box = {"length_m": 4.5, "width_m": 1.9, "height_m": 1.6, "num_interior_pts": 9}
            place = dict(zip(("tx_m", "ty_m", "tz_m"), seen, strict=True))
            boxes.append(
                {"timestamp_ns": stamp, "track_uuid": name, "category": category} | box | place | quaternion(turned)
            )
    more(boxes)
    folder.mkdir(parents=True)
    feather.write_feather(arrow.Table.from_pylist(boxes), folder / "annotations.feather")
    feather.write_feather(arrow.Table.from_pylist(poses), folder / "city_SE3_egovehicle.feather")
    (folder / "map").mkdir()
    name = f"log_map_archive_{folder.name}____PIT_city_123.json"
    (folder / "map" / name).write_text(json.dumps(map_document()))
    return folder


def write_scenario(folder: Path, actors: Mapping[str, tuple[str, Path2]], frames: int = FRAMES) -> Path:
    """A forecasting scenario; the ego is the track ``AV``."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "observed": frame < 50,
            "track_id": name,
            "object_type": kind,
            "object_category": 1,
            "timestep": frame,
            "position_x": x,
            "position_y": y,
            "heading": yaw,
            "velocity_x": 1e6,  # what another tracker thought is not read
            "velocity_y": 1e6,
            "scenario_id": folder.name,
            "city": "palo-alto",
        }
        for name, (kind, path) in ({"AV": ("vehicle", EGO)} | dict(actors)).items()
        for frame in range(frames)
        for x, y, yaw in [path(frame / 10)]
    ]
    folder.mkdir(parents=True)
    path = folder / f"scenario_{folder.name}.parquet"
    parquet.write_table(arrow.Table.from_pylist(rows), path)
    (folder / f"log_map_archive_{folder.name}.json").write_text(json.dumps(map_document()))
    return path

"""Vector maps: centre lines between boundaries, outlines of crossings, and what is no map."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.argoverse.roads import centre_line, path_graph, ring
from models.tasks.motion.protocol.motion_pb2 import Polygon
from tests.models.motion.argoverse.recordings import map_document


def saved(tmp_path: Path, document: object) -> Path:
    path = tmp_path / "map.json"
    path.write_text(json.dumps(document))
    return path


def area(outline: np.ndarray) -> float:
    """By the shoelace formula; an outline that crosses itself has less."""
    x, y = outline[:, 0], outline[:, 1]
    return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2


def corners(polygon: Polygon) -> list[tuple[float, float]]:
    return [(point.x, point.y) for point in polygon.points]


def test_lanes_of_vehicles_crossings_and_areas_become_a_path_graph(tmp_path: Path) -> None:
    graph = path_graph(saved(tmp_path, map_document()), 9.0)
    assert len(graph.lanes) == 2, "not that of bicycles"
    lane = graph.lanes[0]
    np.testing.assert_allclose([point.y for point in lane.centers], 50.0)
    assert (lane.centers[0].x, lane.centers[-1].x) == (90.0, 130.0)
    assert max(b.x - a.x for a, b in zip(lane.centers, lane.centers[1:], strict=False)) <= 2.0 + 1e-9
    assert (lane.max_velocity, lane.gives_way_to_some_lane, lane.HasField("traffic_light_section_ids")) == (
        9,
        False,
        False,
    )
    (crosswalk,) = graph.crosswalks
    assert not crosswalk.control_rules
    assert area(np.array(corners(crosswalk.geometry))) == pytest.approx(4 * 20)
    assert corners(graph.road_polygons[0].geometry) == [(80, 35), (140, 35), (140, 65), (80, 65)]


def test_a_centre_line_follows_a_bend() -> None:
    angle = np.linspace(0, math.pi / 2, 40)
    arc = np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    inner = np.array([[0.0, 30, 0], [0, 30, 0]]) + arc[[0, -1]] * [20, -20, 0]
    left, right = arc * 20 + [0, 5, 0], arc[::3] * 24 + [0, 1, 0]
    middle = centre_line(left, right)
    radius = np.linalg.norm(middle[:, :2] - [0, 25], axis=1)
    np.testing.assert_allclose(radius, 22, atol=0.1)
    assert len(centre_line(inner, inner)) > 2


@pytest.mark.parametrize("backward", [False, True])
def test_an_outline_does_not_cross_itself(backward: bool) -> None:
    edge, other = np.array([[0.0, 0, 0], [0, 9, 0]]), np.array([[4.0, 1, 0], [4, 5, 0], [4, 10, 0]])
    assert area(ring(edge, other[::-1] if backward else other)) == pytest.approx(36)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"lane_segments": {}},
        map_document() | {"lane_segments": {"1": {"lane_type": "VEHICLE"}}},
        map_document() | {"drivable_areas": {"1": {"area_boundary": [{"x": 1, "y": 1, "z": 1}]}}},
        map_document() | {"drivable_areas": {"1": {"area_boundary": [{"x": 1, "y": 1, "z": float("nan")}] * 3}}},
    ],
)
def test_what_is_no_map_is_refused_by_name(document: object, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"map.json is no map of Argoverse 2"):
        path_graph(saved(tmp_path, document))


def test_a_map_without_crossings_or_areas_is_one(tmp_path: Path) -> None:
    graph = path_graph(saved(tmp_path, map_document() | {"pedestrian_crossings": {}, "drivable_areas": {}}))
    assert (len(graph.crosswalks), len(graph.road_polygons)) == (0, 0)
    with pytest.raises(BadFile, match=r"other.json is no map"):
        path_graph(tmp_path / "other.json")

"""The vector map of Argoverse 2 as a path graph: lanes, crossings, drivable areas.

Lanes for bicycles are left out: the released maps have those of vehicles only. Other attributes are not in the files:
no lane gives way, none has lights, crosswalks have no rules, and all lanes have one speed limit.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.protocol.motion_pb2 import Lane, PathGraph, Polygon, Vector3

Points = NDArray[np.float64]

SPEED_LIMIT = 11.2
"""Speed limit of all lanes, m/s: 25 mph, usual in towns of the United States. The files have no limits."""
_SPACING = 2.0
"""Largest distance between points of a centre line, m."""
_BICYCLES = "BIKE"


def map_file(folder: Path, *patterns: str) -> Path:
    """Return the path of the vector map in a folder: the first file of the first pattern that has one.

    Raises:
        BadFile: there is none.
    """
    for pattern in patterns:
        if paths := sorted(folder.glob(pattern)):
            return paths[0]
    raise BadFile(f"{folder} has no map: {' or '.join(patterns)} is needed")


def path_graph(path: Path, speed_limit: float = SPEED_LIMIT) -> PathGraph:
    """Return the roads of a map file, m in the frame of the city.

    Raises:
        BadFile: the file does not exist, or is not a map of Argoverse 2.
    """
    try:
        document: Any = json.loads(path.read_bytes())
        lanes = [lane for lane in _values(document, "lane_segments") if lane["lane_type"] != _BICYCLES]
        graph = PathGraph(lanes=[_lane(lane, speed_limit) for lane in lanes])
        for area in _values(document, "pedestrian_crossings"):
            outline = ring(_points(area["edge1"]), _points(area["edge2"]))
            graph.crosswalks.add(geometry=_polygon(outline))
        for area in _values(document, "drivable_areas"):
            graph.road_polygons.add(geometry=_polygon(_points(area["area_boundary"])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadFile(f"{path} is no map of Argoverse 2: {error!r}") from error
    return graph


def centre_line(left: Points, right: Points) -> Points:
    """Return the line midway between two boundaries [points, 3], each parametrised by its own length, m."""
    longest = max(float(_along(edge)[-1]) for edge in (left, right))
    share = np.linspace(0.0, 1.0, max(2, int(np.ceil(longest / _SPACING)) + 1))
    return np.asarray((_at(left, share) + _at(right, share)) / 2)


def ring(edge: Points, other: Points) -> Points:
    """Return the outline between two edges, whatever the direction of the second."""
    straight = np.linalg.norm(edge[-1] - other[0]) + np.linalg.norm(edge[0] - other[-1])
    crossed = np.linalg.norm(edge[-1] - other[-1]) + np.linalg.norm(edge[0] - other[0])
    return np.concatenate([edge, other if straight <= crossed else other[::-1]])


def _lane(segment: dict[str, Any], speed_limit: float) -> Lane:
    line = centre_line(_points(segment["left_lane_boundary"]), _points(segment["right_lane_boundary"]))
    return Lane(centers=_vectors(line), max_velocity=speed_limit)


def _values(document: Any, name: str) -> list[Any]:
    return [value for _, value in sorted(document[name].items())]


def _points(listed: Sequence[dict[str, float]]) -> Points:
    points = np.array([(point["x"], point["y"], point["z"]) for point in listed], np.float64).reshape(-1, 3)
    if len(points) < 2 or not np.isfinite(points).all():
        raise ValueError(f"{len(points)} points; two and more of finite metres are needed")
    return points


def _along(edge: Points) -> Points:
    """Return the path length from the first point to each, m."""
    return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(edge, axis=0), axis=1)))


def _at(edge: Points, share: Points) -> Points:
    way = _along(edge)
    return np.stack([np.interp(share * way[-1], way, axis) for axis in edge.T], axis=1)


def _vectors(points: Points) -> list[Vector3]:
    return [Vector3(x=x, y=y, z=z) for x, y, z in points.tolist()]


def _polygon(points: Points) -> Polygon:
    return Polygon(points=_vectors(points))

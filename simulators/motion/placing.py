"""Map of a scene as the official message, in the coordinates of a city."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.protocol import motion_pb2
from simulators.motion import lights
from simulators.motion.curves import STEP, Floats, Points, curvature
from simulators.motion.lanes import NONE
from simulators.motion.network import Network

_MAPPED = 165.0
"""Distance from the ego vehicle up to which the map reaches, m."""
_TOLERANCE = 0.05
"""Tolerance within which points of lines are left out, m."""
_FEW = 5
"""Number of points, 1 m apart, up to which a line keeps all of them: its curvature is not known."""
_FIRST_SECTION = 101


@dataclass(frozen=True, slots=True)
class Frame:
    """Rotation and translation of a quarter to its place in the city."""

    turn: float
    """Angle of rotation, rad."""
    origin: tuple[float, float]
    """Translation, m."""

    @classmethod
    def draw(cls, rng: np.random.Generator, around: tuple[float, float]) -> Frame:
        """Draw a frame within two kilometres of the city's origin."""
        x, y = rng.uniform(-2000, 2000, 2)
        return cls(float(rng.uniform(-np.pi, np.pi)), (around[0] + float(x), around[1] + float(y)))

    def vectors(self, values: Floats) -> Floats:
        """Return directions [..., 2] in the frame of the city."""
        cos, sin = np.cos(self.turn), np.sin(self.turn)
        x, y = values[..., 0], values[..., 1]
        return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)

    def points(self, values: Floats) -> Floats:
        """Return positions [..., 2] in the frame of the city, m."""
        return np.asarray(self.vectors(values) + self.origin)


def map_message(
    message: motion_pb2.Scene,
    frame: Frame,
    network: Network,
    lots: tuple[Points, ...],
    states: NDArray[np.int64],
    middle: Points,
) -> None:
    """Add the map around ``middle`` and the states [T, lights] of its traffic lights."""
    graph = message.path_graph
    used: set[int] = set()
    for lane in network.lanes:
        piece = _near(lane.points, middle)
        if len(piece) < 2:
            continue
        to = graph.lanes.add(max_velocity=lane.limit, gives_way_to_some_lane=lane.gives_way)
        to.centers.extend(_vectors(frame.points(thinned(piece))))
        to.traffic_light_section_ids.main_section_id = 0
        if lane.signal != NONE:
            to.traffic_light_section_ids.main_section_id = _FIRST_SECTION + lane.signal
            used.add(lane.signal)
    for crossing in network.crossings:
        if not len(crossing.outline) or np.hypot(*(crossing.outline[0] - middle)) > _MAPPED:
            continue
        crosswalk = graph.crosswalks.add()
        crosswalk.geometry.points.extend(_vectors(frame.points(crossing.outline)))
        if crossing.signal != NONE:
            used.add(crossing.signal)
            for movement, state in ((2, lights.GREEN), (0, lights.RED)):
                rule = crosswalk.control_rules.add(movement_type=movement)
                rule.sections.add(id=_FIRST_SECTION + crossing.signal, state=state)
    for polygon in (*network.polygons, *lots):
        if np.hypot(*(polygon - middle).T).min() < _MAPPED:
            graph.road_polygons.add().geometry.points.extend(_vectors(frame.points(simplified(polygon))))
    for step in states:
        sections = message.traffic_lights.add().sections
        for signal in sorted(used):
            sections.add(id=_FIRST_SECTION + signal, state=int(step[signal]))


def thinned(points: Points) -> Points:
    """Return a smooth curve with points as dense as its curvature needs to stay within about twice the tolerance."""
    if len(points) <= _FEW:
        return points
    need = np.sqrt(curvature(points, STEP) / (8 * _TOLERANCE)) * STEP
    count = np.cumsum(need) - need[0]
    keep = np.append(True, np.diff(np.floor(count)) > 0)
    keep[-1] = True
    return np.asarray(points[keep])


def simplified(points: Points, tolerance: float = 2 * _TOLERANCE) -> Points:
    """Return the curve with the fewest points that keep it within the tolerance (Douglas and Peucker 1973)."""
    keep = np.zeros(len(points), bool)
    keep[[0, -1]] = True
    open_parts = [(0, len(points) - 1)]
    while open_parts:
        first, last = open_parts.pop()
        if last - first < 2:
            continue
        ahead = points[last] - points[first]
        inner = points[first + 1 : last] - points[first]
        norm = np.hypot(*ahead)
        away = np.abs(inner[:, 0] * ahead[1] - inner[:, 1] * ahead[0]) / norm if norm > 1e-9 else np.hypot(*inner.T)
        farthest = int(np.argmax(away))
        if away[farthest] > tolerance:
            middle = first + 1 + farthest
            keep[middle] = True
            open_parts += [(first, middle), (middle, last)]
    return points[keep]


def _near(points: Points, middle: Points) -> Points:
    """Return the part of a lane that is on the map."""
    inside = np.flatnonzero(np.hypot(*(points - middle).T) < _MAPPED)
    return points[inside[0] : inside[-1] + 1] if len(inside) else points[:0]


def _vectors(points: Points) -> list[motion_pb2.Vector3]:
    return [motion_pb2.Vector3(x=x, y=y) for x, y in points.tolist()]

"""Feature maps of the agents of a scene; work that does not depend on the agent is done once."""

import cv2
import numpy as np

from models.tasks.motion.inference.grid import Float32, Grid, to_frame
from models.tasks.motion.inference.objects import Objects
from models.tasks.motion.inference.render.map_layers import MapLayers, draw_road
from models.tasks.motion.inference.render.raster import Cells, cells, to_map, touching
from models.tasks.motion.inference.scenes import Agent, Scene

CORNERS = 4
"""Number of corners of an object seen from above."""


def draw_vehicles(out: Float32, objects: Objects, corners: Cells, frame: Float32) -> None:
    """Draw occupancy, velocity x and y, acceleration x and y, and yaw as measured in the scene.

    Args:
        out: six channels [6, y, x], zero.
        objects: objects; later ones are drawn over earlier ones.
        corners: corners of the objects, [4 N, 2].
        frame: frame of the agent, [4, 4].
    """
    ones = np.ones((len(objects), 1), np.float32)
    yaw = objects.yaw[:, None].astype(np.float32)
    velocity, acceleration = _turned(objects.velocity, frame), _turned(objects.acceleration, frame)
    _paint(out, corners, np.concatenate([ones, velocity, acceleration, yaw], axis=1))


def draw_pedestrians(out: Float32, objects: Objects, corners: Cells, frame: Float32) -> None:
    """Draw occupancy, velocity x and y into three channels [3, y, x]; see ``draw_vehicles``."""
    ones = np.ones((len(objects), 1), np.float32)
    _paint(out, corners, np.concatenate([ones, _turned(objects.velocity, frame)], axis=1))


def _turned(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]], frame: Float32) -> Float32:
    """Return vectors [N, 2] in the agent's frame, float32.

    As released, the translation of the frame is added and subtracted again: far from the scene's origin this causes
    steps of a thousandth, which the training data contain.
    """
    x, y = vectors.T.astype(np.float32)
    turned = [x * frame[axis, 0] + y * frame[axis, 1] + frame[axis, 3] - frame[axis, 3] for axis in (0, 1)]
    return np.stack(turned, axis=1)


def _paint(out: Float32, corners: Cells, values: Float32) -> None:
    """Write the values [N, channels] of objects into their cells, which are drawn once for all channels."""
    size = out.shape[-1]
    near = touching(corners, np.arange(0, len(corners) + 1, CORNERS), size)
    if not near:
        return
    labels = np.zeros((size, size), np.int32)
    for label, box in near:
        cv2.fillPoly(labels, [box], label + 1)
    flat = labels.reshape(-1)
    covered = np.flatnonzero(flat)
    out.reshape(len(out), -1)[:, covered] = values[flat[covered] - 1].T


_FAR = 1e5
"""Distance from the scene's origin above which float32 loses centimetres, m."""


class Renderer:
    """Renderer of the feature maps of a scene's agents.

    Numbers are float32 in the frame of the scene, as released. Scenes far from their origin (such as map projections of
    the Earth) are moved near it first, unlike in the released code.
    """

    def __init__(self, scene: Scene, grid: Grid) -> None:
        graph = scene.graph
        self._grid, self._graph, self._layers = grid, graph, MapLayers(graph)
        self._origin = _origin(scene)
        boxes = (scene.vehicles, scene.ego, scene.pedestrians)
        parts = [box.corners.reshape(-1, 2) for box in boxes]
        parts += [lines.points for lines in (graph.lanes, graph.crosswalks, graph.road_polygons)]
        self._ends = np.cumsum([len(part) for part in parts])
        self._points = self._near_origin(np.concatenate(parts))
        self._vehicles, self._ego, self._pedestrians = boxes

    def draw(self, agent: Agent) -> Float32:
        """Return the map around an agent of the scene, [17, y, x] by ``CHANNEL_NAMES``.

        An agent that is missing now is drawn at its extrapolated position; the released code does not draw it.

        Raises:
            BadScene: ``too_complex``: outlines of the map would take too long.
        """
        x, y = self._origin
        frame = to_frame(agent.x - x, agent.y - y, agent.yaw)
        transform = to_map(frame, self._grid)
        vehicles, ego, pedestrians, lanes, crosswalks, road = np.split(cells(self._points, transform), self._ends[:-1])
        out = np.zeros(self._grid.shape, np.float32)
        objects, corners = self._vehicles, [vehicles]
        if agent.unseen_steps:
            objects = objects.joined(agent.state)
            corners.append(cells(self._near_origin(agent.state.corners.reshape(-1, 2)), transform))
        draw_vehicles(out[:6], objects.joined(self._ego), np.concatenate([*corners, ego]), frame)
        draw_pedestrians(out[6:9], self._pedestrians, pedestrians, frame)
        size, graph = self._grid.size, self._graph
        self._layers.draw_crosswalks(out[9:11], touching(crosswalks, graph.crosswalks.bounds, size))
        self._layers.draw_lanes(out[11:16], touching(lanes, graph.lanes.bounds, size))
        draw_road(out[16:], touching(road, graph.road_polygons.bounds, size))
        return out

    def _near_origin(self, points: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Float32:
        return np.ascontiguousarray((points - self._origin).T, np.float32)


def _origin(scene: Scene) -> tuple[float, float]:
    """Return the origin of coordinates, m: the scene's own, or a whole metre near a scene that is far from it."""
    graph = scene.graph
    for places in (scene.vehicles.position, scene.ego.position, graph.lanes.points, graph.road_polygons.points):
        if len(places):
            x, y = np.median(places, axis=0).round()
            return (float(x), float(y)) if max(abs(x), abs(y)) > _FAR else (0.0, 0.0)
    return 0.0, 0.0

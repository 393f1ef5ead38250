"""Feature maps of the agents of a scene; work that does not depend on the agent is done once."""

import numpy as np

from models.tasks.motion.inference.frame import Float32, to_frame
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.render.agents import draw_pedestrians, draw_vehicles
from models.tasks.motion.inference.render.map_layers import MapLayers, draw_road
from models.tasks.motion.inference.render.raster import cells, to_map
from models.tasks.motion.inference.render.shapes import touching
from models.tasks.motion.inference.scenes import Agent, Scene

CHANNEL_NAMES = (
    "vehicle_occupancy",
    "vehicle_velocity_x",
    "vehicle_velocity_y",
    "vehicle_acceleration_x",
    "vehicle_acceleration_y",
    "vehicle_yaw",
    "pedestrian_occupancy",
    "pedestrian_velocity_x",
    "pedestrian_velocity_y",
    "crosswalk_occupancy",
    "crosswalk_availability",
    "lane_availability",
    "lane_direction",
    "lane_occupancy",
    "lane_priority",
    "lane_speed_limit",
    "road_polygons",
)
"""Names of the channels of a feature map, in the released order."""
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
        parts = [one.corners.reshape(-1, 2) for one in boxes]
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

"""The released feature maps drawn once more, as plainly as possible: a call of OpenCV for each object and channel."""

import math
from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.protocol.motion_pb2 import Scene, Vector3, VehicleTrack
from models.tasks.motion.protocol.motion_pb2 import TrafficLightState as State

Float32 = NDArray[np.float32]


def draw(scene: Scene, track: int, size: int, resolution: float) -> Float32:
    """Channels [17, y, x] of a vehicle that is seen now."""
    return _Plain(scene, track, size, resolution).out


class _Plain:
    def __init__(self, scene: Scene, track: int, size: int, resolution: float) -> None:
        self.out = np.zeros((17, size, size), np.float32)
        self.states = {section.id: section.state for step in scene.traffic_lights[-1:] for section in step.sections}
        self.size, self.resolution = size, resolution
        vehicles = list(scene.past_vehicle_tracks[-1].tracks)
        agent = next(vehicle for vehicle in vehicles if vehicle.track_id == track)
        self.place(agent)
        for actor in (*vehicles, *scene.past_ego_track[-1:]):
            moves = (*self.turned(actor.linear_velocity), *self.turned(actor.linear_acceleration))
            self.box(actor.position, actor.dimensions, actor.yaw, 0, (1.0, *moves, actor.yaw))
        for actor in scene.past_pedestrian_tracks[-1].tracks if scene.past_pedestrian_tracks else ():
            heading = math.atan2(actor.linear_velocity.y, actor.linear_velocity.x)
            self.box(actor.position, actor.dimensions, heading, 6, (1.0, *self.turned(actor.linear_velocity)))
        self.crosswalks(scene)
        self.lanes(scene)
        roads = [self.line(polygon.geometry.points) for polygon in scene.path_graph.road_polygons]
        if roads:
            cv2.fillPoly(self.out[16], roads, 1.0, cv2.LINE_AA)

    def place(self, agent: VehicleTrack) -> None:
        yaw, velocity = agent.yaw, agent.linear_velocity
        if velocity.x * math.cos(yaw) + velocity.y * math.sin(yaw) < 0:
            yaw += math.pi
        inverse = np.linalg.inv(
            [
                [math.cos(yaw), -math.sin(yaw), agent.position.x],
                [math.sin(yaw), math.cos(yaw), agent.position.y],
                [0, 0, 1],
            ]
        )
        self.frame = inverse.astype(np.float32)
        half = self.size / 2
        scaled = np.array([[1 / self.resolution, 0, half], [0, 1 / self.resolution, half], [0, 0, 1]], np.float32)
        self.to_map = scaled @ self.frame

    def turned(self, vector: Vector3) -> tuple[float, float]:
        at = self.frame @ np.array([vector.x, vector.y, 1], np.float32) - self.frame[:, 2]
        return float(at[0]), float(at[1])

    def cells(self, points: Iterable[tuple[float, float]]) -> NDArray[np.int32]:
        homogeneous = np.array([(x, y, 1) for x, y in points], np.float32).reshape(-1, 3)
        return np.around((homogeneous @ self.to_map.T)[:, :2] - 0.5).astype(np.int32)

    def line(self, points: Iterable[Vector3]) -> NDArray[np.int32]:
        return self.cells((point.x, point.y) for point in points)

    def box(self, at: Vector3, size: Vector3, yaw: float, first: int, values: tuple[float, ...]) -> None:
        cos, sin = math.cos(yaw), math.sin(yaw)
        corners = [(size.x * x / 2, size.y * y / 2) for x, y in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
        cells = self.cells((at.x + cos * x - sin * y, at.y + sin * x + cos * y) for x, y in corners)
        for channel, value in enumerate(values, first):
            cv2.fillPoly(self.out[channel], [cells], value, cv2.LINE_AA)

    def crosswalks(self, scene: Scene) -> None:
        groups: dict[float, list[NDArray[np.int32]]] = {}
        lit = {(section.id, section.state) for step in scene.traffic_lights[-1:] for section in step.sections}
        for crosswalk in scene.path_graph.crosswalks:
            rules = [rule for rule in crosswalk.control_rules if rule.movement_type]
            walk = any({(s.id, s.state) for s in rule.sections} <= lit for rule in rules)
            value = (-1.0 if walk else 1.0) if crosswalk.control_rules else 2.0
            groups.setdefault(value, []).append(self.line(crosswalk.geometry.points))
        if groups:
            everything = [self.line(crosswalk.geometry.points) for crosswalk in scene.path_graph.crosswalks]
            cv2.fillPoly(self.out[9], everything, 1.0, cv2.LINE_AA)
        for value, outlines in groups.items():
            cv2.fillPoly(self.out[10], outlines, value, cv2.LINE_AA)

    def lanes(self, scene: Scene) -> None:
        by_light: dict[float, list[NDArray[np.int32]]] = {}
        by_limit: dict[float, list[NDArray[np.int32]]] = {}
        for lane in scene.path_graph.lanes:
            line = self.line(lane.centers)
            ids = lane.traffic_light_section_ids
            value = self.availability(ids.left_section_id, ids.main_section_id, ids.right_section_id)
            by_light.setdefault(value, []).append(line)
            by_limit.setdefault(lane.max_velocity, []).append(line)
            for (x0, y0), (x1, y1) in zip(line[:-1].tolist(), line[1:].tolist(), strict=True):
                cv2.line(self.out[12], (x0, y0), (x1, y1), math.atan2(y1 - y0, x1 - x0), 1, cv2.LINE_AA)
            cv2.polylines(self.out[13], [line], False, 1.0, 1, cv2.LINE_AA)
            if lane.gives_way_to_some_lane:
                cv2.polylines(self.out[14], [line], False, 1.0, 1, cv2.LINE_AA)
        for value, lines in by_light.items():
            cv2.polylines(self.out[11], lines, False, value, 1, cv2.LINE_AA)
        for limit, lines in by_limit.items():
            cv2.polylines(self.out[15], lines, False, limit / 15, 1, cv2.LINE_AA)

    def availability(self, left: int, main: int, right: int) -> float:
        state = self.states.get(main)
        if not (left or main or right):
            return 2.0
        if left or right:
            arrow = self.states.get(left or right)
            if state in (State.STATE_NOT_WORKING, State.STATE_DISABLED):
                return 2.0
            if arrow in (State.STATE_UNKNOWN, State.STATE_INVISIBLE):
                return -2.0
            if arrow == State.STATE_DISABLED:
                return -1.0
            return 1.0 if arrow in (State.STATE_ENABLED, State.STATE_BLINKING_ENABLED) else 0.0
        if state in (None, State.STATE_NOT_WORKING, State.STATE_DISABLED):
            return 2.0
        if state in (State.STATE_RED, State.STATE_RED_YELLOW, State.STATE_YELLOW):
            return -1.0
        if state in (State.STATE_GREEN, State.STATE_BLINKING_GREEN, State.STATE_BLINKING_RED):
            return 1.0
        return -2.0 if state in (State.STATE_UNKNOWN, State.STATE_INVISIBLE) else 0.0

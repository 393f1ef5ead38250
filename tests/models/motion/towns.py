"""Made-up scenes: streets, crosswalks, lights, vehicles and pedestrians around an agent, as messages."""

import math
from collections.abc import Sequence

import numpy as np

from models.tasks.motion.protocol.motion_pb2 import Scene, Vector3, VehicleTrack

Place = tuple[float, float]
STEPS = 25


def vehicle(track: int, at: Place, yaw: float = 0.0, speed: float = 0.0, **changes: float) -> VehicleTrack:
    """A car of 4.3 x 1.9 m, so that no corner lies between two cells, that drives along ``yaw``.

    ``changes`` are its acceleration (ax, ay) and size (length, width).
    """
    made = VehicleTrack(track_id=track, yaw=yaw)
    made.position.x, made.position.y = at
    made.dimensions.x, made.dimensions.y = changes.get("length", 4.3), changes.get("width", 1.9)
    made.linear_velocity.x, made.linear_velocity.y = speed * math.cos(yaw), speed * math.sin(yaw)
    made.linear_acceleration.x, made.linear_acceleration.y = changes.get("ax", 0.0), changes.get("ay", 0.0)
    return made


def empty(name: str = "town", steps: int = STEPS) -> Scene:
    """A scene of nothing but its id and its past steps."""
    scene = Scene(id=name)
    for _ in range(steps):
        scene.past_vehicle_tracks.add()
        scene.past_pedestrian_tracks.add()
        scene.traffic_lights.add()
    return scene


def drive(
    scene: Scene, track: int, at: Place, yaw: float = 0.0, speed: float = 0.0, *, unseen: int = 0, **changes: float
) -> None:
    """Adds a vehicle that came straight to where it is now, and was not seen in the last steps."""
    steps = len(scene.past_vehicle_tracks)
    for step in range(steps - unseen):
        back = 0.2 * (steps - 1 - step) * speed
        place = at[0] - back * math.cos(yaw), at[1] - back * math.sin(yaw)
        scene.past_vehicle_tracks[step].tracks.append(vehicle(track, place, yaw, speed, **changes))


def walk(scene: Scene, track: int, at: Place, velocity: Place, size: Place = (2.0, 1.0)) -> None:
    """Adds a pedestrian of now."""
    made = scene.past_pedestrian_tracks[-1].tracks.add(track_id=track)
    made.position.x, made.position.y = at
    made.linear_velocity.x, made.linear_velocity.y = velocity
    made.dimensions.x, made.dimensions.y = size


def lane(
    scene: Scene,
    points: Sequence[Place],
    *,
    limit: float = 15.0,
    gives_way: bool = False,
    lights: tuple[int, int, int] = (0, 0, 0),
) -> None:
    """Adds a lane with the ids of its left, main and right lights."""
    made = scene.path_graph.lanes.add(max_velocity=limit, gives_way_to_some_lane=gives_way)
    made.centers.extend(Vector3(x=x, y=y) for x, y in points)
    sections = made.traffic_light_section_ids
    sections.left_section_id, sections.main_section_id, sections.right_section_id = lights


def crosswalk(
    scene: Scene, points: Sequence[Place], rules: Sequence[tuple[int, Sequence[tuple[int, int]]]] = ()
) -> None:
    """Adds a crosswalk; a rule is a type of movement and the ids and states of the lights that it needs."""
    made = scene.path_graph.crosswalks.add()
    made.geometry.points.extend(Vector3(x=x, y=y) for x, y in points)
    for movement, sections in rules:
        rule = made.control_rules.add(movement_type=movement)
        for number, state in sections:
            rule.sections.add(id=number, state=state)


def road(scene: Scene, points: Sequence[Place]) -> None:
    """Adds a road polygon."""
    made = scene.path_graph.road_polygons.add()
    made.geometry.points.extend(Vector3(x=x, y=y) for x, y in points)


def light(scene: Scene, number: int, state: int) -> None:
    """Says the state of a light now."""
    scene.traffic_lights[-1].sections.add(id=number, state=state)


def square(at: Place, half: float) -> list[Place]:
    return [(at[0] + x * half, at[1] + y * half) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def town(
    seed: int, *, lanes: int = 40, cars: int = 12, walkers: int = 6, points: int = 12, half: float = 80.0
) -> Scene:
    """A random town around the origin; tracks count from 1 and are all requested."""
    rng = np.random.default_rng(seed)
    scene = empty()
    for track in range(1, cars + 1):
        x, y = rng.uniform(-half, half, 2)
        ax, ay = rng.normal(0, 1, 2).tolist()
        drive(scene, track, (x, y), rng.uniform(-math.pi, math.pi), rng.uniform(0, 15), ax=ax, ay=ay)
        scene.prediction_requests.add(track_id=track)
    for step in range(STEPS):
        scene.past_ego_track.append(vehicle(0, (5.0 + step, 9.0), 0.1, 5.0))
    for track in range(1000, 1000 + walkers):
        x, y, vx, vy = rng.uniform(-half, half, 2).tolist() + rng.normal(0, 1.5, 2).tolist()
        walk(scene, track, (x, y), (vx, vy), (0.8, 0.8))
    for number in range(1, 6):
        light(scene, number, int(rng.integers(0, 12)))
    for _ in range(lanes):
        start, angle = rng.uniform(-half, half, 2), rng.uniform(-math.pi, math.pi)
        turns = angle + np.cumsum(rng.normal(0, 0.1, points))
        path = start + np.cumsum(2.5 * np.stack([np.cos(turns), np.sin(turns)], axis=1), axis=0)
        lights = tuple(int(colour) for colour in rng.integers(0, 6, 3) * (rng.random(3) < 0.5))
        lane(
            scene,
            [(float(x), float(y)) for x, y in path],
            limit=float(rng.choice([5.0, 8.25, 16.5])),
            gives_way=bool(rng.random() < 0.3),
            lights=(lights[0], lights[1], lights[2]),
        )
    for _ in range(max(lanes // 10, 1)):
        x, y = rng.uniform(-half, half, 2)
        rules = [(1, [(int(rng.integers(1, 6)), int(rng.integers(0, 12)))])] if rng.random() < 0.5 else []
        crosswalk(scene, square((float(x), float(y)), 4.0), rules)
        road(scene, square((float(x), float(y)), 30.0))
    return scene


def moved(scene: Scene, angle: float, shift: Place) -> Scene:
    """The same town turned around the origin and then shifted."""
    cos, sin = math.cos(angle), math.sin(angle)
    made = Scene()
    made.CopyFrom(scene)

    def turn(vector: Vector3, by: Place) -> None:
        vector.x, vector.y = cos * vector.x - sin * vector.y + by[0], sin * vector.x + cos * vector.y + by[1]

    steps = (*made.past_vehicle_tracks, *made.future_vehicle_tracks)
    for track in (*(past_track for step in steps for past_track in step.tracks), *made.past_ego_track):
        turn(track.position, shift)
        turn(track.linear_velocity, (0, 0))
        turn(track.linear_acceleration, (0, 0))
        track.yaw += angle
    for step in made.past_pedestrian_tracks:
        for walker in step.tracks:
            turn(walker.position, shift)
            turn(walker.linear_velocity, (0, 0))
    graph = made.path_graph
    for line in (
        *(road_lane.centers for road_lane in graph.lanes),
        *(area.geometry.points for area in (*graph.crosswalks, *graph.road_polygons)),
    ):
        for point in line:
            turn(point, shift)
    return made

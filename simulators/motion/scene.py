"""Simulated scene as the official message: ten seconds of a quarter as measured by one of its cars."""

import math
from collections.abc import Sequence

import numpy as np

from models.tasks.motion.data import maneuvers
from models.tasks.motion.protocol import motion_pb2
from simulators.motion import circumstances, recording, sensing
from simulators.motion.city import City
from simulators.motion.curves import Points
from simulators.motion.placing import Frame, map_message
from simulators.motion.recording import FUTURE, PAST
from simulators.motion.sensing import Seen, World

_REQUESTED = 70.0
"""Largest distance of requested vehicles from the ego vehicle, m."""
_EGO = 60.0
"""Largest present distance of the ego vehicle from the middle, m."""
_FIRST_TRACK, _FIRST_WALKER = 1001, 5001
"""First numbers of the tracks of vehicles and of pedestrians."""


def simulate(
    rng: np.random.Generator, city: City, precipitation: int, name: str, requests: int = 20
) -> motion_pb2.Scene:
    """Simulate a scene; equal generators give equal scenes.

    Args:
        precipitation: kind, as numbered in ``drivers``.
        name: the scene's id.
        requests: largest number of requests; thinned at random if more vehicles are seen.
    """
    recorded = recording.record(rng, city, precipitation)
    world = recorded.world
    ego = _ego(rng, world, recorded.moving)
    seen = sensing.vehicles(rng, world, ego)
    middle = np.stack([world.x[:, ego], world.y[:, ego]], axis=1)
    walking = sensing.people(rng, recorded.people, middle)
    frame = Frame.draw(rng, city.origin)
    message = motion_pb2.Scene(id=name, scene_tags=circumstances.draw(rng, city, precipitation))
    _add_vehicles(message, frame, seen)
    _add_people(message, frame, walking)
    _add_ego(message, frame, world, ego)
    now = PAST - 1
    map_message(message, frame, recorded.network, recorded.lots, recorded.lights[:PAST], middle[now])
    _add_requests(rng, message, seen, middle[now], requests)
    return message


def _ego(rng: np.random.Generator, world: World, moving: int) -> int:
    """Draw one of the cars near the middle, more likely a moving one."""
    now = PAST - 1
    distance = np.hypot(world.x[now, :moving], world.y[now, :moving])
    there = world.there[:, :moving].all(axis=0)
    weight = np.where(there & (distance < _EGO), 0.3 + (world.speed[now, :moving] > 1), 0.0)
    if not weight.any():
        return int(np.argmin(np.where(there, distance, np.inf)))
    return int(rng.choice(moving, p=weight / weight.sum()))


def _vector(plane: Sequence[float], z: float = 0.0) -> motion_pb2.Vector3:
    return motion_pb2.Vector3(x=plane[0], y=plane[1], z=z)


def _add_vehicles(message: motion_pb2.Scene, frame: Frame, seen: Seen) -> None:
    position = frame.points(seen.position)
    velocity, acceleration = frame.vectors(seen.velocity), frame.vectors(seen.acceleration)
    yaw = sensing.wrapped(seen.yaw + frame.turn)
    heights = (seen.size[:, 2] / 2).tolist()
    sizes = [_vector(size, size[2]) for size in seen.size.tolist()]
    for step in range(PAST + FUTURE):
        to = message.past_vehicle_tracks if step < PAST else message.future_vehicle_tracks
        indices = np.flatnonzero(seen.there[step])
        table = zip(
            indices.tolist(),
            position[step, indices].tolist(),
            velocity[step, indices].tolist(),
            acceleration[step, indices].tolist(),
            yaw[step, indices].tolist(),
            strict=True,
        )
        to.add().tracks.extend(
            motion_pb2.VehicleTrack(
                track_id=_FIRST_TRACK + index,
                position=_vector(place, heights[index]),
                dimensions=sizes[index],
                linear_velocity=_vector(speed),
                linear_acceleration=_vector(change),
                yaw=heading,
            )
            for index, place, speed, change, heading in table
        )


def _add_people(message: motion_pb2.Scene, frame: Frame, seen: Seen) -> None:
    position, velocity = frame.points(seen.position), frame.vectors(seen.velocity)
    for step in range(PAST + FUTURE):
        to = message.past_pedestrian_tracks if step < PAST else message.future_pedestrian_tracks
        to.add().tracks.extend(
            motion_pb2.PedestrianTrack(
                track_id=_FIRST_WALKER + int(index),
                position=_vector(position[step, index], seen.size[index, 2] / 2),
                dimensions=_vector(seen.size[index], seen.size[index, 2]),
                linear_velocity=_vector(velocity[step, index]),
            )
            for index in np.flatnonzero(seen.there[step])
        )


def _add_ego(message: motion_pb2.Scene, frame: Frame, world: World, ego: int) -> None:
    """Add the track of the ego vehicle, which is measured without errors."""
    position = frame.points(np.stack([world.x[:, ego], world.y[:, ego]], axis=1))
    yaw = world.yaw[:, ego] + frame.turn
    for step in range(PAST + FUTURE):
        to = message.past_ego_track if step < PAST else message.future_ego_track
        speed, along = world.speed[step, ego], world.acceleration[step, ego]
        sideways = speed * world.turning[step, ego]
        cos, sin = math.cos(yaw[step]), math.sin(yaw[step])
        to.add(
            position=_vector(position[step]),
            dimensions=_vector(world.size[ego], world.size[ego, 2]),
            linear_velocity=_vector((speed * cos, speed * sin)),
            linear_acceleration=_vector((along * cos - sideways * sin, along * sin + sideways * cos)),
            yaw=float(sensing.wrapped(yaw[step])),
        )


def _add_requests(rng: np.random.Generator, message: motion_pb2.Scene, seen: Seen, middle: Points, most: int) -> None:
    now = PAST - 1
    distance = np.hypot(*(seen.position[now] - middle).T)
    possible = np.flatnonzero(seen.there[now] & (distance < _REQUESTED) & seen.there[PAST:].any(axis=0))
    if len(possible) > most:
        possible = np.sort(rng.choice(possible, most, replace=False))
    for index in possible:
        future = slice(now, None)
        position = np.where(seen.there[future, index, None], seen.position[future, index], np.nan)
        tags = maneuvers.of_states(position, seen.yaw[future, index], seen.velocity[future, index])
        message.prediction_requests.add(track_id=_FIRST_TRACK + int(index), trajectory_tags=tags)

"""One simulated scene as the official message: ten seconds of a quarter, as one of its cars measured them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion import maneuvers
from models.tasks.motion.protocol import motion_pb2
from models.tasks.motion.simulator import (
    circumstances,
    ground,
    network,
    parking,
    pedestrians,
    population,
    sensing,
    traffic,
)
from models.tasks.motion.simulator.cities import City
from models.tasks.motion.simulator.curves import Floats, Points
from models.tasks.motion.simulator.network import Network
from models.tasks.motion.simulator.parking import Parked
from models.tasks.motion.simulator.pedestrians import Walkers
from models.tasks.motion.simulator.placing import Frame, map_message
from models.tasks.motion.simulator.sensing import Seen, World
from models.tasks.motion.simulator.traffic import Moment, Traffic

PAST = FUTURE = 25
_TICKS = round(parking.STEP / traffic.DT)
_WARM_UP = 9.0
"""Traffic before the scene begins, s."""
_REQUESTED = 70.0
"""Vehicles are requested up to this distance from the ego vehicle, m."""
_EGO = 60.0
"""The ego vehicle is within this distance of the middle now, m."""
_PEOPLE = 115.0
"""People are within this distance of the middle, m."""


def simulate(
    rng: np.random.Generator, city: City, precipitation: int, name: str, requests: int = 20
) -> motion_pb2.Scene:
    """A scene; equal generators give equal scenes.

    Args:
        precipitation: as numbered in ``drivers``.
        name: the scene's id.
        requests: at most; thinned at random where more vehicles are seen.
    """
    quarter = network.draw(rng, city)
    seconds = _WARM_UP + (PAST + FUTURE) * parking.STEP
    cast = population.draw(rng, city, quarter, precipitation, seconds)
    running = Traffic(rng, ground.prepare(quarter, seconds, traffic.DT), cast, _people(rng, city, quarter, seconds))
    for _ in range(round(_WARM_UP / traffic.DT)):
        running.step()
    moments: list[Moment] = []
    lights: list[NDArray[np.int64]] = []
    for _ in range(PAST + FUTURE):
        moments.append(running.moment())
        lights.append(running.states())
        for _ in range(_TICKS):
            running.step()
    parked = parking.draw(rng, city, quarter, cast.kept_free, PAST + FUTURE)
    world = _world(running, moments, parked)
    ego = _ego(rng, world, len(running.drivers))
    seen = sensing.vehicles(rng, world, ego)
    place = np.stack([moment.people for moment in moments])
    walking = sensing.people(rng, place, np.stack([world.x[:, ego], world.y[:, ego]], axis=1))
    frame = Frame.draw(rng, city.origin)
    message = motion_pb2.Scene(id=name, scene_tags=circumstances.draw(rng, city, precipitation))
    _add_vehicles(message, frame, seen, rng)
    _add_people(message, frame, walking, rng)
    _add_ego(message, frame, world, ego)
    middle = np.array([world.x[PAST - 1, ego], world.y[PAST - 1, ego]])
    map_message(message, frame, quarter, parked.lots, np.stack(lights[:PAST]), middle, rng)
    _add_requests(rng, message, seen, middle, requests)
    return message


def _people(rng: np.random.Generator, city: City, quarter: Network, seconds: float) -> Walkers:
    street = sum(float((np.hypot(*kerb.T) < _PEOPLE).sum()) for kerb, _ in quarter.kerbs) / 2
    count = int(rng.poisson(street * city.pedestrians / 100))
    jaywalking = city.habits.jaywalking
    return pedestrians.draw(rng, quarter.crossings, quarter.pavements, count, seconds, _PEOPLE, jaywalking)


def _world(running: Traffic, moments: list[Moment], parked: Parked) -> World:
    """Cars on the move and parked ones."""

    def joined(name: str, still: Floats) -> Floats:
        return np.concatenate([np.stack([getattr(moment, name) for moment in moments]), still], axis=1)

    who, none = running.drivers, np.zeros(parked.x.shape)
    return World(
        joined("x", parked.x),
        joined("y", parked.y),
        joined("yaw", parked.yaw),
        joined("speed", parked.speed),
        joined("acceleration", none),
        joined("turning", parked.turning),
        joined("there", none == 0).astype(bool),
        np.concatenate(
            [
                np.stack([who.length, who.width, who.height], axis=1),
                np.stack([parked.length, parked.width, parked.height], axis=1),
            ]
        ),
    )


def _ego(rng: np.random.Generator, world: World, moving: int) -> int:
    """One of the cars near the middle, more likely one that moves."""
    now = PAST - 1
    distance = np.hypot(world.x[now, :moving], world.y[now, :moving])
    there = world.there[:, :moving].all(axis=0)
    weight = np.where(there & (distance < _EGO), 0.3 + (world.speed[now, :moving] > 1), 0.0)
    if not weight.any():
        return int(np.argmin(np.where(there, distance, np.inf)))
    return int(rng.choice(moving, p=weight / weight.sum()))


def _vector(plane: Sequence[float], z: float = 0.0) -> motion_pb2.Vector3:
    return motion_pb2.Vector3(x=plane[0], y=plane[1], z=z)


def _add_vehicles(message: motion_pb2.Scene, frame: Frame, seen: Seen, rng: np.random.Generator) -> None:
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


_FIRST_TRACK = 1001
_FIRST_WALKER = 5001


def _add_people(message: motion_pb2.Scene, frame: Frame, seen: Seen, rng: np.random.Generator) -> None:
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
    """The car that measures knows itself well."""
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

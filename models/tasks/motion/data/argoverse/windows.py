"""Scenes from windows of a recording: five seconds of the past, five of the future, requests with their tags.

As in the released scenes the recording car is in the ego tracks only, vehicles that come later are not in the future,
and a vehicle that was not seen in a step is not in that step. Velocity and acceleration are backward differences of
positions: models see no information of the future.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.data import maneuvers
from models.tasks.motion.data.argoverse.actors import Actor
from models.tasks.motion.data.argoverse.recording import Recording
from models.tasks.motion.inference.members import STEPS
from models.tasks.motion.protocol.motion_pb2 import PedestrianTrack, Scene, Vector3, VehicleTrack

Floats = NDArray[np.float64]
STEP = 0.2
"""Time between two steps, s."""
_JITTER = 0.05
"""Largest deviation of a step from 0.2 s, s: sweeps of the sensor come within 4 ms of their time."""


class _Track:
    """Actor with its motion, step by step."""

    def __init__(self, actor: Actor, time: NDArray[np.float64]) -> None:
        plane = actor.position[:, :2]
        self.actor = actor
        self.seen = np.isfinite(actor.position).all(axis=1) & np.isfinite(actor.yaw)
        self._velocity, self._acceleration = velocity(plane, time), acceleration(plane, time)
        self._dimensions = Vector3(**dict(zip("xyz", actor.size, strict=True)))

    def vehicle(self, step: int) -> VehicleTrack:
        return VehicleTrack(
            track_id=self.actor.track,
            position=_vector(self.actor.position[step]),
            dimensions=self._dimensions,
            linear_velocity=_vector(self._velocity[step]),
            linear_acceleration=_vector(self._acceleration[step]),
            yaw=float(self.actor.yaw[step]),
        )

    def pedestrian(self, step: int) -> PedestrianTrack:
        return PedestrianTrack(
            track_id=self.actor.track,
            position=_vector(self.actor.position[step]),
            dimensions=self._dimensions,
            linear_velocity=_vector(self._velocity[step]),
        )


def scenes(recording: Recording, stride: int = 5) -> Iterator[Scene]:
    """Yield the scenes of a recording of 5 Hz, one for each present with 24 steps before it and 25 after it.

    Requests are for vehicles of the kind ``requested`` that are seen now and in the previous step, so that they have a
    velocity. Windows with missing or uneven steps are left out.

    Args:
        stride: steps between two presents.
    """
    tracks = [_Track(actor, recording.time) for actor in recording.actors]
    ego = None if recording.ego is None else _Track(recording.ego, recording.time)
    even = np.abs(np.diff(recording.time) - STEP) < _JITTER
    for now in range(STEPS - 1, len(recording.time) - STEPS, stride):
        if even[now - STEPS + 1 : now + STEPS].all():
            yield _scene(recording, tracks, ego, now)


def _scene(recording: Recording, tracks: list[_Track], ego: _Track | None, now: int) -> Scene:
    past, future = range(now - STEPS + 1, now + 1), range(now + 1, now + 1 + STEPS)
    scene = Scene(id=f"{recording.name}-{now:03d}", path_graph=recording.roads)
    known = [track for track in tracks if track.seen[list(past)].any()]
    walkers = [track for track in known if track.actor.kind == "pedestrian"]
    drivers = [track for track in known if track.actor.kind != "pedestrian"]
    for steps, vehicles, pedestrians, ego_track in (
        (past, scene.past_vehicle_tracks, scene.past_pedestrian_tracks, scene.past_ego_track),
        (future, scene.future_vehicle_tracks, scene.future_pedestrian_tracks, scene.future_ego_track),
    ):
        for step in steps:
            vehicles.add(tracks=[track.vehicle(step) for track in drivers if track.seen[step]])
            pedestrians.add(tracks=[track.pedestrian(step) for track in walkers if track.seen[step]])
        if ego is not None and ego.seen[list(steps)].all():
            ego_track.extend(ego.vehicle(step) for step in steps)
    for track in drivers:
        if track.actor.kind == "requested" and track.seen[now] and track.seen[now - 1]:
            states = [track.vehicle(step) if track.seen[step] else None for step in future]
            tags = maneuvers.of_tracks(track.vehicle(now), states)
            scene.prediction_requests.add(track_id=track.actor.track, trajectory_tags=tags)
    return scene


def _vector(values: NDArray[np.float64]) -> Vector3:
    return Vector3(**dict(zip("xyz", values.tolist(), strict=False)))


def velocity(position: Floats, time: Floats) -> Floats:
    """Return the velocity of each step [F, D], m/s, NaN if the position is NaN.

    It is the slope, at its end, of the parabola through a step and the two before; of the line if only one is seen
    before; zero in the first step.

    Args:
        position: [F, D], m; NaN in steps without a position.
        time: [F], s, rising.
    """
    result = np.where(np.isfinite(position), 0.0, np.nan)
    slope = np.diff(position, axis=0) / np.diff(time)[:, None]
    result[1:] = np.where(np.isfinite(slope), slope, result[1:])
    result[2:] += acceleration(position, time)[2:] * np.diff(time)[1:, None] / 2
    return result


def acceleration(position: Floats, time: Floats) -> Floats:
    """Return the acceleration of each step [F, D], m/s².

    It is that of the same parabola; zero if one of its three steps is not seen.
    """
    result = np.where(np.isfinite(position), 0.0, np.nan)
    slope = np.diff(position, axis=0) / np.diff(time)[:, None]
    bend = 2 * np.diff(slope, axis=0) / (time[2:] - time[:-2])[:, None]
    result[2:] = np.where(np.isfinite(bend), bend, result[2:])
    return result

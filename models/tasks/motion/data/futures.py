"""True trajectories of a scene's requests in the frames of their agents, or the reason why there is none."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.inference.grid import FARTHEST, Float32, driving_yaw, from_scene
from models.tasks.motion.protocol.motion_pb2 import Scene, TrajectoryTag, VehicleTrack

Key = tuple[str, int]
"""Scene and track of a request."""

NOT_OBSERVED = "they are not observed in all future steps"
NOT_NOW = "they are not observed now, so have no frame"
NO_FUTURE = "their scene has no future"


@dataclass(frozen=True, slots=True)
class Future:
    """True future of a request."""

    key: Key
    trajectory: Float32 | None
    """Trajectory [T, 2], m; None if it is unknown."""
    left_out: str | None
    """Reason why it is unknown: one of the three above."""
    maneuvers: tuple[TrajectoryTag, ...]
    """Tags of the request."""


def futures(file: Path, scene: Scene) -> Iterator[Future]:
    """Yield the future of each prediction request of a scene, in order.

    Raises:
        BadFile: the scene has no id or past, or a vehicle's state is not finite; the message names file, scene and
            track.
    """
    if not scene.id:
        raise BadFile(f"{file}: the scene has no id; requests are told by scene and track")
    if not scene.past_vehicle_tracks:
        raise BadFile(f"{file}: past_vehicle_tracks are missing; the frame of an agent is where it is now")
    now = _by_track(scene.past_vehicle_tracks[-1].tracks)
    steps = [_by_track(step.tracks) for step in scene.future_vehicle_tracks]
    for request in scene.prediction_requests:
        track = request.track_id
        key, maneuvers = (scene.id, track), tuple(request.trajectory_tags)
        if steps and not all(track in step for step in steps):
            yield Future(key, None, NOT_OBSERVED, maneuvers)
        elif track not in now:
            # the released code interpolates between the past and the future here, which uses the answer
            yield Future(key, None, NOT_NOW, maneuvers)
        elif not steps:
            yield Future(key, None, NO_FUTURE, maneuvers)
        else:
            yield Future(key, _in_agent_frame(file, key, now[track], [step[track] for step in steps]), None, maneuvers)


def named(key: Key) -> str:
    """Return a description of a request for messages."""
    return f"scene {key[0]!r}, track {key[1]}"


def _in_agent_frame(file: Path, key: Key, now: VehicleTrack, steps: list[VehicleTrack]) -> Float32:
    points = np.array([(step.position.x, step.position.y) for step in (now, *steps)])
    state = [now.yaw, now.linear_velocity.x, now.linear_velocity.y]
    if not (np.isfinite(state).all() and (np.abs(points) < FARTHEST).all()):
        raise BadFile(
            f"{file}: {named(key)} has a position, linear_velocity or yaw that is not finite, or is {FARTHEST:g} m away"
        )
    velocity = now.linear_velocity
    # in float64, unlike the released code: float32 cannot resolve decimetres in coordinates of a whole country
    x, y = points[0]
    return from_scene(points[1:], x, y, driving_yaw(now.yaw, velocity.x, velocity.y)).astype(np.float32)


def _by_track(tracks: Iterable[VehicleTrack]) -> dict[int, VehicleTrack]:
    return {track.track_id: track for track in tracks}

"""The ten tags of a maneuver (Shifts 1.0, E.1) from the states of a vehicle, now and in the future.

The rules of the released tags are not published. The rules here agree with what is published: tags do not exclude each
other, a stationary vehicle also moves uniformly (Table 18 counts more uniform movements than movements), and the
requests of the public test scene get the tags that they carry.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.protocol.motion_pb2 import TrajectoryTag, VehicleTrack

Floats = NDArray[np.floating[Any]]

STEP = 0.2
"""Time between two states, s."""
STATIONARY = 1.0
"""Largest distance from the present position of a stationary vehicle, m."""
TURN = 0.1
"""Change of heading above which a maneuver is a move to the left or right, rad."""
WINDOW = 5
"""Steps over which a change of speed is measured: one second."""
CHANGE = 1.25
"""Change of speed within the window above which a maneuver is an acceleration or deceleration, m/s."""
STANDING, MOVING = 0.5, 1.0
"""Speeds, m/s: a change from below the first to above the second is a start, the opposite is a stop."""


def of_states(position: Floats, yaw: Floats, velocity: Floats) -> tuple[TrajectoryTag, ...]:
    """Return the tags of a vehicle, in the order of their numbers; empty if its future was not seen at all.

    Args:
        position: now and in T future steps [T + 1, 2], m; NaN in steps where the vehicle was not seen.
        yaw: [T + 1], rad, known up to half a turn.
        velocity: [T + 1, 2], m/s; the first one distinguishes forward from backward.

    Raises:
        ValueError: the vehicle is not seen now.
    """
    seen = np.asarray(np.isfinite(position).all(axis=1))
    if not seen[0]:
        raise ValueError("position[0] is nan; a maneuver begins where the vehicle is now")
    if seen.sum() == 1:
        return ()
    if np.linalg.norm(position[seen] - position[0], axis=1).max() <= STATIONARY:
        return TrajectoryTag.kUniform, TrajectoryTag.kStationary
    heading = _headings(yaw[seen], velocity[0])
    speed = np.where(seen, np.linalg.norm(velocity, axis=1), np.nan)
    return (_direction(position[seen], heading), *_changes(speed), *_phases(speed[seen]))


def of_tracks(now: VehicleTrack, future: Sequence[VehicleTrack | None]) -> tuple[TrajectoryTag, ...]:
    """Return the tags of a vehicle from its states of a scene; None in steps where it was not seen."""
    absent = VehicleTrack()
    absent.position.x = math.nan
    states = [track or absent for track in (now, *future)]
    return of_states(
        np.array([(state.position.x, state.position.y) for state in states]),
        np.array([state.yaw for state in states]),
        np.array([(state.linear_velocity.x, state.linear_velocity.y) for state in states]),
    )


def _headings(yaw: Floats, velocity: Floats) -> Floats:
    """Return directions of driving, rad, without jumps: half a turn between two steps is an ambiguity, no movement.

    A noisy velocity does not turn a stationary vehicle: its yaw is taken as its heading.
    """
    backward = velocity @ (math.cos(yaw[0]), math.sin(yaw[0])) < -STANDING
    steps = np.diff(yaw)
    turns = np.append(0.0, np.cumsum(steps - math.pi * np.rint(steps / math.pi)))
    return np.asarray(yaw[0] + math.pi * backward + turns)


def _direction(position: Floats, heading: Floats) -> TrajectoryTag:
    between = (heading[1:] + heading[:-1]) / 2
    driven = np.diff(position, axis=0) * np.stack([np.cos(between), np.sin(between)], axis=1)
    turned = heading[-1] - heading[0]
    if driven.sum() < -STATIONARY:
        return TrajectoryTag.kMoveBack
    if abs(turned) <= TURN:
        return TrajectoryTag.kMoveForward
    return TrajectoryTag.kMoveLeft if turned > 0 else TrajectoryTag.kMoveRight


def _changes(speed: Floats) -> list[TrajectoryTag]:
    """Return the changes of speed in any second of the future, from speeds [T + 1], m/s; none if no second was seen."""
    change = speed[WINDOW:] - speed[:-WINDOW]
    masks = {
        TrajectoryTag.kAcceleration: change > CHANGE,
        TrajectoryTag.kDeceleration: change < -CHANGE,
        TrajectoryTag.kUniform: np.abs(change) <= CHANGE,
    }
    return [tag for tag, where in masks.items() if where.any()]


def _phases(speed: Floats) -> list[TrajectoryTag]:
    stands, moves = np.flatnonzero(speed < STANDING), np.flatnonzero(speed > MOVING)
    if not (len(stands) and len(moves)):
        return []
    phases = {TrajectoryTag.kStopping: moves[0] < stands[-1], TrajectoryTag.kStarting: stands[0] < moves[-1]}
    return [tag for tag, true in phases.items() if true]

"""The ten tags of a maneuver (Shifts 1.0, E.1) from the states of a vehicle, now and in the future.

The rules of the released tags are not published. These are ours, and agree with what is: the tags do not exclude each
other, a standing vehicle moves uniformly as well (Table 18 counts more uniform movements than movements), and the
requests of the public test scene get the tags that they carry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.protocol.motion_pb2 import TrajectoryTag, VehicleTrack

Floats = NDArray[np.floating[Any]]

STEP = 0.2
"""Between two states, s."""
STATIONARY = 1.0
"""A vehicle that gets no farther than this from where it is now, m, is stationary."""
TURN = 0.1
"""A heading that changes by more than this, rad, is a move to the left or to the right."""
WINDOW = 5
"""Steps over which a change of speed is looked at: one second."""
CHANGE = 1.25
"""A speed that changes by more than this within the window, m/s, is an acceleration or a deceleration."""
STANDING, MOVING = 0.5, 1.0
"""Speeds below the first and above the second, m/s, one after the other are a start or a stop."""


def of_states(position: Floats, yaw: Floats, velocity: Floats) -> tuple[TrajectoryTag, ...]:
    """Return the tags of a vehicle, in the order of their numbers; none where its future was not seen at all.

    Args:
        position: now and in T future steps [T + 1, 2], m; NaN in steps where the vehicle was not seen.
        yaw: [T + 1], rad, known up to half a turn.
        velocity: [T + 1, 2], m/s, now to tell forward from backward.

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
    """Directions of driving, rad, without jumps: half a turn between two steps is an ambiguity, no movement.

    A velocity of noise does not turn a vehicle that stands now: it is taken to look where its yaw points.
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
    """Of speeds [T + 1], m/s: whatever some second of the future shows; nothing if no second was seen."""
    change = speed[WINDOW:] - speed[:-WINDOW]
    found = {
        TrajectoryTag.kAcceleration: change > CHANGE,
        TrajectoryTag.kDeceleration: change < -CHANGE,
        TrajectoryTag.kUniform: np.abs(change) <= CHANGE,
    }
    return [tag for tag, where in found.items() if where.any()]


def _phases(speed: Floats) -> list[TrajectoryTag]:
    stands, moves = np.flatnonzero(speed < STANDING), np.flatnonzero(speed > MOVING)
    if not (len(stands) and len(moves)):
        return []
    found = {TrajectoryTag.kStopping: moves[0] < stands[-1], TrajectoryTag.kStarting: stands[0] < moves[-1]}
    return [tag for tag, true in found.items() if true]

"""Vehicles and pedestrians at one moment as arrays, in the frame of the scene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import FARTHEST
from models.tasks.motion.inference.scene_message import impossible
from models.tasks.motion.protocol.motion_pb2 import PedestrianTrack, VehicleTrack

Float64 = NDArray[np.float64]
_LIMITS: tuple[tuple[str, str, float, float], ...] = (
    ("position.x", "m", -FARTHEST, FARTHEST),
    ("position.y", "m", -FARTHEST, FARTHEST),
    ("dimensions.x", "m", 0, 500),
    ("dimensions.y", "m", 0, 500),
    ("linear_velocity.x", "m/s", -1000, 1000),
    ("linear_velocity.y", "m/s", -1000, 1000),
    ("linear_acceleration.x", "m/s²", -1e4, 1e4),
    ("linear_acceleration.y", "m/s²", -1e4, 1e4),
    ("yaw", "rad", -1000, 1000),
)
"""Columns of a state: field of a track, unit, lowest and highest possible value."""
_LOWEST, _HIGHEST = (np.array([limit[side] for limit in _LIMITS]) for side in (2, 3))


@dataclass(frozen=True, eq=False)
class Objects:
    """States of N objects at one moment."""

    states: Float64
    """States [N, 9]: the columns below."""

    @property
    def position(self) -> Float64:
        """Positions [N, 2], m."""
        return self.states[:, :2]

    @property
    def dimensions(self) -> Float64:
        """Length and width, [N, 2], m."""
        return self.states[:, 2:4]

    @property
    def velocity(self) -> Float64:
        """Velocities [N, 2], m/s."""
        return self.states[:, 4:6]

    @property
    def acceleration(self) -> Float64:
        """Accelerations [N, 2], m/s²; zero for pedestrians."""
        return self.states[:, 6:8]

    @property
    def yaw(self) -> Float64:
        """Yaws [N], rad, as measured and so known up to half a turn; for pedestrians, the direction of the velocity."""
        return self.states[:, 8]

    @property
    def corners(self) -> Float64:
        """Corners of the objects' boxes seen from above, in order around each, [N, 4, 2], m."""
        cos, sin = np.cos(self.yaw)[:, None], np.sin(self.yaw)[:, None]
        ahead = np.concatenate([cos, sin], axis=1) * self.dimensions[:, :1] / 2
        left = np.concatenate([-sin, cos], axis=1) * self.dimensions[:, 1:] / 2
        around = (ahead + left, ahead - left, -ahead - left, -ahead + left)
        return np.stack([self.position + corner for corner in around], axis=1)

    def __len__(self) -> int:
        return len(self.states)

    def joined(self, other: Objects) -> Objects:
        """Concatenate these objects and others."""
        return Objects(np.concatenate([self.states, other.states]))


def vehicles(tracks: Sequence[VehicleTrack]) -> Objects:
    """Return the objects of the tracks, in order."""
    return Objects(_table([_vehicle(track) for track in tracks]))


def pedestrians(tracks: Sequence[PedestrianTrack]) -> Objects:
    """Return the objects of the tracks, in order."""
    return Objects(_table([_pedestrian(track) for track in tracks]))


def possible(objects: Objects) -> NDArray[np.bool_]:
    """Return whether all numbers of an object are finite and on Earth, [N]."""
    return np.asarray(((objects.states >= _LOWEST) & (objects.states <= _HIGHEST)).all(axis=1))


def check(objects: Objects, fields: Sequence[str]) -> None:
    """Check that all objects are ``possible``.

    Args:
        objects: N objects.
        fields: path of each object in the message of the scene.

    Raises:
        BadScene: ``not_finite`` or ``out_of_range``.
    """
    for row in np.flatnonzero(~possible(objects)).tolist():
        for (name, unit, least, most), value in zip(_LIMITS, objects.states[row], strict=True):
            if not least <= value <= most:
                raise impossible(f"{fields[row]}.{name}", value, unit, f"{least:g} to {most:g} {unit}")


def _table(rows: list[tuple[float, ...]]) -> Float64:
    return np.array(rows, np.float64).reshape(-1, len(_LIMITS))


def _vehicle(track: VehicleTrack) -> tuple[float, ...]:
    position, size = track.position, track.dimensions
    velocity, acceleration = track.linear_velocity, track.linear_acceleration
    return (
        *(position.x, position.y, size.x, size.y),
        *(velocity.x, velocity.y, acceleration.x, acceleration.y, track.yaw),
    )


def _pedestrian(track: PedestrianTrack) -> tuple[float, ...]:
    position, size, velocity = track.position, track.dimensions, track.linear_velocity
    yaw = math.atan2(velocity.y, velocity.x)
    return (position.x, position.y, size.x, size.y, velocity.x, velocity.y, 0.0, 0.0, yaw)

"""The frame of an agent: origin where it is now, x forward along its heading, metres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.protocol.motion_pb2 import VehicleTrack

Float32 = NDArray[np.float32]

FARTHEST = 1e7
"""No place on Earth is farther from the origin of a scene, m; numbers beyond lose their metres in float32."""


def to_agent_frame(track: VehicleTrack) -> Float32:
    """Transform of homogeneous coordinates of the scene into the track's frame, float32 [4, 4].

    Yaw is known up to half a turn: a vehicle is turned where its velocity points backward. In float32 as released,
    which leaves about a millimetre of noise 10 km away from the scene's origin.
    """
    yaw = track.yaw
    velocity = track.linear_velocity
    if velocity.x * math.cos(yaw) + velocity.y * math.sin(yaw) < 0:
        yaw += math.pi
    cos, sin = math.cos(yaw), math.sin(yaw)
    placed = np.array(
        [
            [cos, -sin, 0, track.position.x],
            [sin, cos, 0, track.position.y],
            [0, 0, 1, 0],
            [0, 0, 0, 1],
        ]
    )
    return np.asarray(np.linalg.inv(placed), np.float32)


def transformed(points: NDArray[np.floating[Any]], transform: Float32) -> Float32:
    """Points [T, 2] after a transform [4, 4], float32 [T, 2]."""
    homogeneous = np.zeros((len(points), 4), np.float32)
    homogeneous[:, :2] = points
    homogeneous[:, 3] = 1
    return np.asarray((transform @ homogeneous.T)[:2].T)

"""The frame of an agent: origin where it is now, x forward along its heading, metres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

FARTHEST = 1e7
"""No place on Earth is farther from the origin of a scene, m; numbers beyond lose their metres in float32."""


def driving_yaw(yaw: float, velocity_x: float, velocity_y: float) -> float:
    """Direction of driving, rad. Yaw is known up to half a turn: it is turned where the velocity points backward."""
    if velocity_x * math.cos(yaw) + velocity_y * math.sin(yaw) < 0:
        yaw += math.pi
    return yaw


def to_frame(x: float, y: float, yaw: float) -> Float32:
    """Transform of homogeneous coordinates of the scene into the frame at (x, y), m, whose x points along ``yaw``, rad.

    float32 [4, 4] as released, which leaves about a millimetre of noise 10 km away from the scene's origin.
    """
    cos, sin = math.cos(yaw), math.sin(yaw)
    placed = np.array([[cos, -sin, 0, x], [sin, cos, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])
    return np.asarray(np.linalg.inv(placed), np.float32)


def to_scene(points: NDArray[np.floating[Any]], x: float, y: float, yaw: float) -> NDArray[np.float64]:
    """Points [..., 2] of the frame at (x, y), m, along ``yaw``, rad, in the frame of the scene, float64 [..., 2]."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.asarray(np.asarray(points, np.float64) @ [[cos, sin], [-sin, cos]] + [x, y])


def from_scene(points: NDArray[np.floating[Any]], x: float, y: float, yaw: float) -> NDArray[np.float64]:
    """Points [..., 2] of the scene in the frame at (x, y), m, along ``yaw``, rad; the inverse of ``to_scene``."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.asarray((np.asarray(points, np.float64) - [x, y]) @ [[cos, -sin], [sin, cos]])

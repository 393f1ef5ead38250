"""Frame of an agent: origin at its present position, x forward along its heading, metres."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

FARTHEST = 1e7
"""Largest distance from a scene's origin, m: no place on Earth is farther, and float32 cannot resolve metres
beyond it.
"""


def driving_yaw(yaw: float, velocity_x: float, velocity_y: float) -> float:
    """Return the direction of driving, rad.

    The yaw is known up to half a turn: it is turned if the velocity points backward.
    """
    if velocity_x * math.cos(yaw) + velocity_y * math.sin(yaw) < 0:
        yaw += math.pi
    return yaw


def to_frame(x: float, y: float, yaw: float) -> Float32:
    """Return the transform of homogeneous scene coordinates to the frame at (x, y), m, with x along ``yaw``, rad.

    It is float32 [4, 4] as released, which causes about a millimetre of noise 10 km away from the scene's origin.
    """
    cos, sin = math.cos(yaw), math.sin(yaw)
    placed = np.array([[cos, -sin, 0, x], [sin, cos, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])
    return np.asarray(np.linalg.inv(placed), np.float32)


def to_scene(points: NDArray[np.floating[Any]], x: float, y: float, yaw: float) -> NDArray[np.float64]:
    """Transform points [..., 2] of the frame at (x, y), m, along ``yaw``, rad, to the frame of the scene, float64."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.asarray(np.asarray(points, np.float64) @ [[cos, sin], [-sin, cos]] + [x, y])


def from_scene(points: NDArray[np.floating[Any]], x: float, y: float, yaw: float) -> NDArray[np.float64]:
    """Transform points [..., 2] of the scene to the frame at (x, y), m, along ``yaw``, rad.

    The inverse of ``to_scene``.
    """
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.asarray((np.asarray(points, np.float64) - [x, y]) @ [[cos, -sin], [sin, cos]])

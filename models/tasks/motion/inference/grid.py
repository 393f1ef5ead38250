"""Feature maps: frame of the agent (origin at its present position, x forward along its heading, m), grid, channels."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
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


_FRAME = "in the frame of the agent"
CHANNEL_MEANINGS: Mapping[str, tuple[str, str]] = {
    "vehicle_occupancy": ("1", "1 where a vehicle is now"),
    "vehicle_velocity_x": ("m/s", f"velocity of that vehicle along x {_FRAME}"),
    "vehicle_velocity_y": ("m/s", f"velocity of that vehicle along y {_FRAME}"),
    "vehicle_acceleration_x": ("m/s²", f"acceleration of that vehicle along x {_FRAME}"),
    "vehicle_acceleration_y": ("m/s²", f"acceleration of that vehicle along y {_FRAME}"),
    "vehicle_yaw": ("rad", "yaw of that vehicle in the frame of the scene, known up to half a turn"),
    "pedestrian_occupancy": ("1", "1 where a pedestrian is now"),
    "pedestrian_velocity_x": ("m/s", f"velocity of that pedestrian along x {_FRAME}"),
    "pedestrian_velocity_y": ("m/s", f"velocity of that pedestrian along y {_FRAME}"),
    "crosswalk_occupancy": ("1", "1 on a crosswalk"),
    "crosswalk_availability": ("1", "2 without lights, -1 where pedestrians may walk now, else 1"),
    "lane_availability": ("1", "2 without lights, 1 enabled, -1 red or yellow, -2 not known"),
    "lane_direction": ("rad", f"direction of the lane {_FRAME}"),
    "lane_occupancy": ("1", "1 on the middle of a lane"),
    "lane_priority": ("1", "1 on a lane that gives way to another"),
    "lane_speed_limit": ("15 m/s", "speed limit of the lane, divided by 15 m/s"),
    "road_polygons": ("1", "1 on a road"),
}
"""Unit and description of the channels of a feature map by name, in the released order."""
CHANNEL_NAMES = tuple(CHANNEL_MEANINGS)
CHANNELS = len(CHANNEL_NAMES)
USUAL_LIMIT = 15.0
"""Divisor of speed limits in a feature map, m/s."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of a feature map.

    Raises:
        ValueError: the number of cells is not even or not in 2 to 1024, or the resolution is outside 0.05 to 10 m.
    """

    size: int = 128
    """Cells per side; rows are y and columns x, as in OpenCV."""
    resolution: float = 1.0
    """Edge of a cell, m."""

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 1024 or self.size % 2:
            raise ValueError(f"a map has {self.size} cells a side; an even number from 2 to 1024 is needed")
        if not 0.05 <= self.resolution <= 10:
            raise ValueError(f"a cell has an edge of {self.resolution} m; 0.05 to 10 m are possible")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a feature map, [channels, y, x]."""
        return CHANNELS, self.size, self.size


OFFICIAL = Grid()
"""Grid of the data set's prerendered maps and of the released baselines."""

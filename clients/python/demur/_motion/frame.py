"""Agents and the two frames in which positions are given: that of the agent and that of the scene."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._numbers import positions


@dataclass(frozen=True, slots=True)
class Pose:
    """Current position and heading of a vehicle, in the frame of the scene.

    The agent's frame has its origin here, x ahead and y to the left, m.
    """

    x: float
    """m."""
    y: float
    """m."""
    yaw: float
    """Direction of driving, rad, counter-clockwise from the scene's x."""

    def to_agent_frame(self, points: Any) -> NDArray[np.float64]:
        """Transform points of the scene's frame to the agent's, m, float64 [..., 2]; NaN where they are None or NaN.

        Raises:
            InvalidInput: they are not positions.
        """
        return (positions(points, "points") - (self.x, self.y)) @ self._axes

    def to_scene(self, points: Any) -> NDArray[np.float64]:
        """Transform points of the agent's frame to the scene's; the inverse of :meth:`to_agent_frame`."""
        scene: NDArray[np.float64] = positions(points, "points") @ self._axes.T + (self.x, self.y)
        return scene

    @property
    def _axes(self) -> NDArray[np.float64]:
        """The agent's axes as columns, in the scene's frame."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return np.array([[cos, -sin], [sin, cos]])


@dataclass(frozen=True, slots=True)
class Agent:
    """The vehicle of a prediction request, as far as it is known."""

    scene_id: str = ""
    track_id: int = 0
    pose: Pose | None = None
    """Current pose; None where it is not known."""

"""Whose future it is, and the two frames in which it is told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._positions import positions


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a vehicle is now and which way it drives, in the frame of the scene.

    The agent's frame has its origin here, x ahead and y to the left, m.
    """

    x: float
    """m."""
    y: float
    """m."""
    yaw: float
    """Direction of driving, rad, counter-clockwise from the scene's x."""

    def to_agent_frame(self, points: Any) -> NDArray[np.float64]:
        """Points of the scene's frame in the agent's, m, float64 [..., 2]; NaN where they are None or NaN.

        Raises:
            InvalidInput: they are no positions.
        """
        away = positions(points, "points") - (self.x, self.y)
        return away @ self._axes

    def to_scene(self, points: Any) -> NDArray[np.float64]:
        """The inverse of :meth:`to_agent_frame`."""
        placed: NDArray[np.float64] = positions(points, "points") @ self._axes.T + (self.x, self.y)
        return placed

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
    """Now; None where it is not known."""

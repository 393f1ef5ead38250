"""Velocity and acceleration from positions, by backward differences only: models see no information of the future."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def velocity(position: Floats, time: Floats) -> Floats:
    """Return the velocity of each step [F, D], m/s, NaN if the position is NaN.

    It is the slope, at its end, of the parabola through a step and the two before; of the line if only one is seen
    before; zero in the first step.

    Args:
        position: [F, D], m; NaN in steps without a position.
        time: [F], s, rising.
    """
    found = np.where(np.isfinite(position), 0.0, np.nan)
    slope = np.diff(position, axis=0) / np.diff(time)[:, None]
    found[1:] = np.where(np.isfinite(slope), slope, found[1:])
    found[2:] += acceleration(position, time)[2:] * np.diff(time)[1:, None] / 2
    return found


def acceleration(position: Floats, time: Floats) -> Floats:
    """Return the acceleration of each step [F, D], m/s².

    It is that of the same parabola; zero if one of its three steps is not seen.
    """
    found = np.where(np.isfinite(position), 0.0, np.nan)
    slope = np.diff(position, axis=0) / np.diff(time)[:, None]
    bend = 2 * np.diff(slope, axis=0) / (time[2:] - time[:-2])[:, None]
    found[2:] = np.where(np.isfinite(bend), bend, found[2:])
    return found

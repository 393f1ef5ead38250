"""Curves in the plane as chains of points, m: parallel curves, turns between two directions, points along a curve."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""Chain of points, [n, 2], m."""
Floats = NDArray[np.float64]

STEP = 1.0
"""Approximate distance of points along a curve, m."""


def lengths(points: Points) -> Floats:
    """Return the distance of each point from the first along the curve, m, [n]."""
    steps = np.hypot(*np.diff(points, axis=0).T)
    return np.concatenate([[0.0], np.cumsum(steps)])


def at(points: Points, along: NDArray[Any]) -> Points:
    """Return points at distances along the curve, m; distances beyond an end give that end."""
    known = lengths(points)
    return np.stack([np.interp(along, known, points[:, axis]) for axis in (0, 1)], axis=-1)


def resampled(points: Points, step: float = STEP) -> Points:
    """Return the same curve in equal steps of ``step`` or a little less."""
    total = float(lengths(points)[-1])
    return at(points, np.linspace(0, total, max(2, math.ceil(total / step) + 1)))


def part(points: Points, start: float, end: float) -> Points:
    """Return the curve between two distances along it, m."""
    total = float(lengths(points)[-1])
    return at(points, np.linspace(start, end, max(2, math.ceil(min(total, end - start) / STEP) + 1)))


def directions(points: Points) -> Points:
    """Return unit vectors of the curve's direction at its points, [n, 2]."""
    ahead = np.gradient(points, axis=0)
    return np.asarray(ahead / np.maximum(np.hypot(*ahead.T), 1e-9)[:, None])


def parallel(points: Points, right: float | Floats) -> Points:
    """Return the curve moved to its right by a distance in metres, given once or for each point."""
    x, y = directions(points).T
    return np.asarray(points + np.stack([y, -x], axis=1) * np.reshape(right, (-1, 1)))


def turn(start: Points, heading: Points, end: Points, exit_heading: Points) -> Points:
    """Return a smooth curve, close to an arc of a circle, between two points with given unit directions."""
    chord = float(np.hypot(*(end - start)))
    cosine = float(np.clip(np.dot(heading, exit_heading), -1, 1))
    angle = math.acos(cosine)
    handle = chord / 3 if angle < 1e-3 else chord * 2 / 3 * math.tan(angle / 4) / math.sin(angle / 2)
    nodes = np.stack([start, start + handle * heading, end - handle * exit_heading, end])
    t = np.linspace(0, 1, max(9, math.ceil(2 * chord)))[:, None]
    powers = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]
    return resampled(np.asarray(sum(weight * node for weight, node in zip(powers, nodes, strict=True))))


def curvature(points: Points, step: float) -> Floats:
    """Return the absolute curvature at points ``step`` metres apart, 1/m, [..., n]; 0 for fewer than five points.

    The curvature is taken over two steps on either side.

    Args:
        points: one curve or many, [..., n, 2].
    """
    heading = np.unwrap(np.arctan2(*np.moveaxis(np.gradient(points, axis=-2), -1, 0)[::-1]), axis=-1)
    change = np.zeros(heading.shape)
    if heading.shape[-1] > 4:
        change[..., 2:-2] = np.abs(heading[..., 4:] - heading[..., :-4]) / (4 * step)
        change[..., :2], change[..., -2:] = change[..., 2:3], change[..., -3:-2]
    return change

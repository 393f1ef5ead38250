"""Motion of cars: a kinematic bicycle that steers towards a point ahead on its route (pure pursuit)."""

from dataclasses import dataclass

import numpy as np

from simulators.motion.curves import Floats, Points

LARGEST_STEERING = 0.62
"""Largest angle of the front wheels, rad."""
_STEERING_RATE = 0.9
"""Largest rate of the steering angle, rad/s."""


@dataclass(slots=True)
class Bodies:
    """State of N cars at the middle of the rear axle."""

    x: Floats
    """Position along x, m, [N]."""
    y: Floats
    yaw: Floats
    """Heading, rad, not wrapped."""
    speed: Floats
    """Speed, m/s, never negative."""
    steering: Floats
    """Angle of the front wheels, rad."""
    wheelbase: Floats
    """Distance between the axles, m."""


def lookahead(speed: Floats, wheelbase: Floats) -> Floats:
    """Return the distance ahead of the rear axle at which a driver aims, m."""
    return np.asarray(np.maximum(wheelbase + 1.0, 2.0 + 0.5 * speed))


def steer(bodies: Bodies, target: Points, dt: float) -> None:
    """Turn the front wheels towards the angle whose arc leads to the target [N, 2], limited by the steering rate."""
    dx, dy = target[:, 0] - bodies.x, target[:, 1] - bodies.y
    sideways = np.cos(bodies.yaw) * dy - np.sin(bodies.yaw) * dx
    angle = np.arctan(2 * bodies.wheelbase * sideways / np.maximum(dx**2 + dy**2, 1.0))
    change = np.clip(angle - bodies.steering, -_STEERING_RATE * dt, _STEERING_RATE * dt)
    bodies.steering = np.clip(bodies.steering + change, -LARGEST_STEERING, LARGEST_STEERING)


def advance(bodies: Bodies, acceleration: Floats, dt: float) -> Floats:
    """Move the cars and return the distance that each rear axle moved, m; cars never move backward."""
    speed = np.maximum(bodies.speed + acceleration * dt, 0.0)
    moved = (bodies.speed + speed) / 2 * dt
    turned = moved / bodies.wheelbase * np.tan(bodies.steering)
    heading = bodies.yaw + turned / 2
    bodies.x = bodies.x + moved * np.cos(heading)
    bodies.y = bodies.y + moved * np.sin(heading)
    bodies.yaw = bodies.yaw + turned
    bodies.speed = speed
    return np.asarray(moved)

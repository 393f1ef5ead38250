"""The agent's frame, there and back."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.tasks.motion.inference.grid import driving_yaw, from_scene, to_frame, to_scene

METRES = st.floats(-1e7, 1e7)


@given(x=METRES, y=METRES, yaw=st.floats(-10, 10), at=st.tuples(st.floats(-200, 200), st.floats(-200, 200)))
def test_there_and_back_loses_nothing(x: float, y: float, yaw: float, at: tuple[float, float]) -> None:
    there = to_scene(np.array([[at, (0.0, 0.0)]]), x, y, yaw)
    assert there.dtype == np.float64
    np.testing.assert_allclose(there[0, 1], (x, y))
    np.testing.assert_allclose(from_scene(there, x, y, yaw)[0, 0], at, atol=1e-7)


@given(x=st.floats(-100, 100), y=st.floats(-100, 100), yaw=st.floats(-10, 10))
def test_both_transforms_agree(x: float, y: float, yaw: float) -> None:
    points = np.array([(1.0, 2.0), (-30.0, 4.0), (x, y)])
    exact = from_scene(points, x, y, yaw)
    homogeneous = np.concatenate([points, np.zeros((3, 1)), np.ones((3, 1))], axis=1)
    np.testing.assert_allclose((homogeneous @ to_frame(x, y, yaw).T)[:, :2], exact, atol=1e-3)
    np.testing.assert_allclose(exact[2], 0, atol=1e-9)


def test_ahead_is_x_and_left_is_y() -> None:
    np.testing.assert_allclose(to_scene(np.array([(2.0, 0.0), (0.0, 1.0)]), 10, 20, math.pi / 2), [(10, 22), (9, 20)])


@given(yaw=st.floats(-7, 7), speed=st.floats(0.1, 50), slip=st.floats(-1.5, 1.5))
def test_yaw_is_turned_to_where_the_vehicle_drives(yaw: float, speed: float, slip: float) -> None:
    velocity = speed * math.cos(yaw + slip), speed * math.sin(yaw + slip)
    for stored in (yaw, yaw + math.pi):
        turned = driving_yaw(stored, *velocity)
        assert math.cos(turned - yaw) > 0.999999
    assert driving_yaw(yaw, 0.0, 0.0) == yaw

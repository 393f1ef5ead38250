"""Velocity and acceleration of positions: exact on parabolas, and never from the future."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tasks.motion.data.argoverse.windows import acceleration, velocity

TIME = np.cumsum(0.2 + 0.004 * np.sin(np.arange(30)))


@given(st.floats(-20, 20), st.floats(-3, 3))
def test_both_are_exact_where_acceleration_is_even_whatever_the_clock(speed: float, push: float) -> None:
    position = np.stack([speed * TIME + push * TIME**2 / 2, 7.0 - TIME], axis=1)
    velocities, bend = velocity(position, TIME), acceleration(position, TIME)
    np.testing.assert_allclose(velocities[2:, 0], speed + push * TIME[2:], atol=1e-8)
    np.testing.assert_allclose(bend[2:], np.tile([push, 0.0], (28, 1)), atol=1e-6)
    np.testing.assert_array_equal(velocities[0], 0.0)
    np.testing.assert_array_equal(bend[:2], 0.0)


@settings(max_examples=30)
@given(st.integers(0, 29), st.integers(0, 1000))
def test_what_comes_later_changes_nothing(now: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    position = rng.normal(size=(30, 2))
    other = position.copy()
    other[now + 1 :] = rng.normal(size=(29 - now, 2))
    for rule in (velocity, acceleration):
        np.testing.assert_array_equal(rule(position, TIME)[: now + 1], rule(other, TIME)[: now + 1])


def test_steps_that_were_not_seen_leave_less_to_go_by() -> None:
    position = np.stack([3.0 * TIME, 0 * TIME], axis=1)
    position[[5, 8]] = np.nan
    velocities, bend = velocity(position, TIME), acceleration(position, TIME)
    assert np.isnan(velocities[[5, 8]]).all()
    assert np.isnan(bend[[5, 8]]).all()
    assert velocities[6, 0] == 0, "nothing is known before it"
    np.testing.assert_allclose(velocities[[7, 10], 0], 3.0)
    np.testing.assert_array_equal(bend[[6, 7, 9, 10], 0], 0.0)

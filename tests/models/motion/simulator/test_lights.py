"""Programmes of traffic lights."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.motion import lights
from simulators.motion.lights import BLINKING, GREEN, RED, RED_YELLOW, YELLOW, Programme

TIMES = np.arange(0, 300, 0.1)
programmes = st.integers(0, 10_000).map(lambda seed: Programme.draw(np.random.default_rng(seed), 0))


@given(programmes)
def test_never_do_both_axes_go_and_red_is_between(programme: Programme) -> None:
    states = programme.states(TIMES)
    going = np.isin(states[:, :2], (GREEN, BLINKING, YELLOW))
    assert not going.all(axis=1).any()
    changes = np.flatnonzero(going[1:, 0] & ~going[:-1, 0])
    for change in changes:
        before = states[max(0, change - 10) : change + 1, 1]
        assert not np.isin(before, (GREEN, BLINKING, YELLOW)).any()  # a second of clearing at least


@given(programmes)
def test_states_follow_each_other_as_on_streets(programme: Programme) -> None:
    order = {GREEN: BLINKING, BLINKING: YELLOW, YELLOW: RED, RED: RED_YELLOW, RED_YELLOW: GREEN}
    for light in programme.states(TIMES)[:, :2].T:
        for before, after in pairwise(light):
            assert after in (before, order[before])


@given(programmes)
def test_people_walk_over_an_arm_only_while_its_cars_have_red(programme: Programme) -> None:
    states = programme.states(TIMES)
    for axis in (0, 1):
        walk = states[:, programme.walkers(axis)] == GREEN
        assert walk.any()
        assert (states[walk, programme.vehicles(axis)] == RED).all()


@given(programmes, st.floats(0.01, 0.3))
def test_more_cars_wait_the_longer_it_was_red_and_the_more_come(programme: Programme, flow: float) -> None:
    for axis in (0, 1):
        assert 0 <= programme.queue(axis, flow) <= flow * programme.cycle
        assert programme.queue(axis, flow) <= programme.queue(axis, 1.5 * flow)


def test_numbers_of_lights_are_those_of_the_junction() -> None:
    programme = Programme(3, (20.0, 30.0), 0.0, True)
    assert {programme.vehicles(0), programme.vehicles(1), programme.walkers(0), programme.walkers(1)} == {
        12,
        13,
        14,
        15,
    }
    assert programme.states(np.zeros(1)).shape == (1, lights.SIGNALS)
    assert programme.cycle == pytest.approx(60.0)

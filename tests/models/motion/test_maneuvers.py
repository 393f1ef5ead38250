"""Tags of maneuvers: what each rule sees, what must not matter, and the tags of the public scene."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tasks.motion.data import maneuvers, messages
from models.tasks.motion.protocol.motion_pb2 import TrajectoryTag

TIME = np.arange(26) * 0.2


def driven(speed: np.ndarray, turn: np.ndarray | float = 0.0, yaw: float = 0.7) -> tuple[np.ndarray, ...]:
    """Positions, yaws and velocities of a vehicle with speeds [26], m/s, and yaw rates, rad/s."""
    heading = yaw + np.append(0.0, np.cumsum(np.broadcast_to(turn, 26)[1:] * 0.2))
    velocity = speed[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    moved = np.cumsum(velocity * np.append(0.0, np.full(25, 0.2))[:, None], axis=0)
    return moved + np.array([5e3, -4e3]), heading, velocity


def names(tags: tuple[int, ...]) -> set[str]:
    return {TrajectoryTag.Name(tag).removeprefix("k") for tag in tags}


EVEN, STANDING = np.full(26, 10.0), np.zeros(26)
CASES = {
    "standing": (driven(STANDING), {"Stationary", "Uniform"}),
    "creeping": (driven(np.full(26, 0.15)), {"Stationary", "Uniform"}),
    "straight": (driven(EVEN), {"MoveForward", "Uniform"}),
    "left": (driven(EVEN, 0.3), {"MoveLeft", "Uniform"}),
    "right": (driven(EVEN, -0.3), {"MoveRight", "Uniform"}),
    "half a turn": (driven(EVEN, 0.7), {"MoveLeft", "Uniform"}),
    "hardly turning": (driven(EVEN, 0.015), {"MoveForward", "Uniform"}),
    "faster": (driven(8 + 2 * TIME), {"MoveForward", "Acceleration"}),
    "slower": (driven(18 - 2 * TIME), {"MoveForward", "Deceleration"}),
    "faster for a second": (driven(8 + 2 * np.clip(TIME - 2, 0, 1)), {"MoveForward", "Acceleration", "Uniform"}),
    "gently faster": (driven(8 + 0.8 * TIME), {"MoveForward", "Uniform"}),
    "stopping": (driven(np.clip(8 - 4 * TIME, 0, None)), {"MoveForward", "Deceleration", "Uniform", "Stopping"}),
    "starting": (driven(np.clip(2 * TIME - 4, 0, None)), {"MoveForward", "Acceleration", "Uniform", "Starting"}),
    "gently starting": (driven(0.5 * TIME), {"MoveForward", "Uniform", "Starting"}),
    "back out of a place": (driven(-0.5 * TIME), {"MoveBack", "Uniform", "Starting"}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_rule_sees_what_it_is_for(name: str) -> None:
    states, expected = CASES[name]
    assert names(maneuvers.of_states(*states)) == expected


@pytest.mark.parametrize("name", [name for name, (states, _) in CASES.items() if np.linalg.norm(states[2][0]) > 1])
@settings(max_examples=20, deadline=None)
@given(flips=st.lists(st.sampled_from([0, -1, 1]), min_size=26, max_size=26), turned=st.floats(-7, 7))
def test_yaw_counts_up_to_half_a_turn_and_the_frame_not_at_all(name: str, flips: list[int], turned: float) -> None:
    (position, yaw, velocity), expected = CASES[name]
    cos, sin = math.cos(turned), math.sin(turned)
    turn = np.array([[cos, sin], [-sin, cos]])
    states = position @ turn, yaw + turned + math.pi * np.array(flips), velocity @ turn
    assert names(maneuvers.of_states(*states)) == expected


def test_a_velocity_of_noise_does_not_turn_a_standing_vehicle() -> None:
    position, yaw, velocity = driven(0.5 * TIME)
    velocity[0] = -0.1 * np.array([np.cos(yaw[0]), np.sin(yaw[0])])
    assert "MoveForward" in names(maneuvers.of_states(position, yaw, velocity))


def test_steps_that_were_not_seen_are_left_out() -> None:
    position, yaw, velocity = driven(np.full(26, 10.0), 0.3)
    position[[3, 9, 10]] = np.nan
    velocity[[3, 9, 10]] = 1e9
    assert names(maneuvers.of_states(position, yaw, velocity)) == {"MoveLeft", "Uniform"}
    position[1:] = np.nan
    assert maneuvers.of_states(position, yaw, velocity) == ()
    position[0] = np.nan
    with pytest.raises(ValueError, match="where the vehicle is now"):
        maneuvers.of_states(position, yaw, velocity)


def test_a_second_has_to_be_seen_to_tell_how_speed_changes() -> None:
    position, yaw, velocity = driven(8 + 2 * TIME)
    position[4:] = np.nan
    assert names(maneuvers.of_states(position, yaw, velocity)) == {"MoveForward"}


def test_the_requests_of_the_public_scene_get_the_tags_that_they_carry(real_scene: Path) -> None:
    scene = messages.scene(real_scene)
    for request in scene.prediction_requests:
        now, *future = (
            next((track for track in step.tracks if track.track_id == request.track_id), None)
            for step in [scene.past_vehicle_tracks[-1], *scene.future_vehicle_tracks]
        )
        assert now is not None
        assert set(maneuvers.of_tracks(now, future)) == set(request.trajectory_tags)

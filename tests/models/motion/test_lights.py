"""What every state of a light says of a lane."""

import pytest

from models.tasks.motion.inference.lights import lane_availability
from models.tasks.motion.protocol.motion_pb2 import TrafficLightSectionIds
from models.tasks.motion.protocol.motion_pb2 import TrafficLightState as State

MAIN = {
    State.STATE_UNKNOWN: -2,
    State.STATE_GREEN: 1,
    State.STATE_BLINKING_GREEN: 1,
    State.STATE_YELLOW: -1,
    State.STATE_RED: -1,
    State.STATE_RED_YELLOW: -1,
    State.STATE_NOT_WORKING: 2,
    State.STATE_ENABLED: 0,
    State.STATE_BLINKING_ENABLED: 0,
    State.STATE_DISABLED: 2,
    State.STATE_INVISIBLE: -2,
    State.STATE_BLINKING_RED: 1,
}
ARROW = {
    **dict.fromkeys(State.values(), 0),
    State.STATE_UNKNOWN: -2,
    State.STATE_INVISIBLE: -2,
    State.STATE_DISABLED: -1,
    State.STATE_ENABLED: 1,
    State.STATE_BLINKING_ENABLED: 1,
}


@pytest.mark.parametrize("state", [*State.values(), 77])
def test_a_light_alone(state: int) -> None:
    lights = TrafficLightSectionIds(main_section_id=3)
    assert lane_availability(lights, {3: state, 4: State.STATE_RED}) == MAIN.get(state, 0)


def test_a_lane_without_lights_or_with_an_unknown_one_is_unregulated() -> None:
    assert lane_availability(TrafficLightSectionIds(), {0: State.STATE_RED}) == 2
    assert lane_availability(TrafficLightSectionIds(main_section_id=3), {}) == 2


@pytest.mark.parametrize("state", State.values())
@pytest.mark.parametrize("side", ["left_section_id", "right_section_id"])
def test_an_arrow_decides_beside_a_light_that_works(side: str, state: int) -> None:
    lights = TrafficLightSectionIds(main_section_id=3, **{side: 4})
    for main in (State.STATE_RED, State.STATE_GREEN):
        assert lane_availability(lights, {3: main, 4: state}) == ARROW[state]
    for main in (State.STATE_NOT_WORKING, State.STATE_DISABLED):
        assert lane_availability(lights, {3: main, 4: state}) == 2


def test_the_left_arrow_goes_before_the_right_and_one_that_is_not_known_says_nothing() -> None:
    lights = TrafficLightSectionIds(left_section_id=4, right_section_id=5)
    assert lane_availability(lights, {4: State.STATE_ENABLED, 5: State.STATE_DISABLED}) == 1
    assert lane_availability(lights, {5: State.STATE_DISABLED}) == 0

"""Availability of lanes and crosswalks by traffic lights, in the values of the released feature maps."""

from collections.abc import Iterable, Mapping

from models.tasks.motion.protocol.motion_pb2 import Crosswalk, TrafficLightSection, TrafficLightSectionIds
from models.tasks.motion.protocol.motion_pb2 import TrafficLightState as State

UNREGULATED, OPEN, CLOSED, UNKNOWN = 2.0, 1.0, -1.0, -2.0
UNLISTED = 0.0
"""Value of a lane with lights in a state that the released code does not know: it draws this 0 over other values."""
WALK, WAIT = -1.0, 1.0
"""Values of a crosswalk with lights: from the view of cars, so the sign is opposite to that of lanes."""
_FORBIDDEN = 0  # movement type of a rule

_DARK = (State.STATE_NOT_WORKING, State.STATE_DISABLED)
_MAIN: Mapping[int | None, float] = {
    None: UNREGULATED,
    **dict.fromkeys(_DARK, UNREGULATED),
    **dict.fromkeys((State.STATE_RED, State.STATE_RED_YELLOW, State.STATE_YELLOW), CLOSED),
    **dict.fromkeys((State.STATE_GREEN, State.STATE_BLINKING_GREEN, State.STATE_BLINKING_RED), OPEN),
    **dict.fromkeys((State.STATE_UNKNOWN, State.STATE_INVISIBLE), UNKNOWN),
}
"""Value of a lane by the state of its only light; None: the state is unknown."""
_ARROW: Mapping[int | None, float] = {
    **dict.fromkeys((State.STATE_UNKNOWN, State.STATE_INVISIBLE), UNKNOWN),
    State.STATE_DISABLED: CLOSED,
    **dict.fromkeys((State.STATE_ENABLED, State.STATE_BLINKING_ENABLED), OPEN),
}
"""Value by the state of an arrow beside a working main light."""


def lane_availability(lights: TrafficLightSectionIds, states: Mapping[int, int]) -> float:
    """Return the present availability of a lane.

    Args:
        lights: ids of its sections, 0 if there is none.
        states: present states of all sections, by id.
    """
    main = states.get(lights.main_section_id)
    if arrow := lights.left_section_id or lights.right_section_id:
        return UNREGULATED if main in _DARK else _ARROW.get(states.get(arrow), UNLISTED)
    return _MAIN.get(main, UNLISTED) if lights.main_section_id else UNREGULATED


def crosswalk_availability(crosswalk: Crosswalk, lit: frozenset[tuple[int, int]]) -> float:
    """Return whether pedestrians may walk now: a rule that allows it requires the states of all its sections.

    Args:
        crosswalk: crosswalk with its rules.
        lit: id and present state of all sections.
    """
    if not crosswalk.control_rules:
        return UNREGULATED
    walk = any(
        rule.movement_type != _FORBIDDEN and all((section.id, section.state) in lit for section in rule.sections)
        for rule in crosswalk.control_rules
    )
    return WALK if walk else WAIT


def lit_now(sections: Iterable[TrafficLightSection]) -> list[tuple[int, int]]:
    """Return id and state of each section, in order."""
    return [(section.id, section.state) for section in sections]

"""What traffic lights say of lanes and crosswalks, in the values of the released feature maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from models.tasks.motion.protocol.motion_pb2 import Crosswalk, TrafficLightSection, TrafficLightSectionIds
from models.tasks.motion.protocol.motion_pb2 import TrafficLightState as State

UNREGULATED, OPEN, CLOSED, UNKNOWN = 2.0, 1.0, -1.0, -2.0
UNLISTED = 0.0
"""Of a lane whose lights are in a state that the released code has no value for: it draws nothing, over what is there.
"""
WALK, WAIT = -1.0, 1.0
"""Of a crosswalk with lights: cars look at it, so the sign is that of lanes turned round."""
_FORBIDDEN = 0  # movement type of a rule

_DARK = (State.STATE_NOT_WORKING, State.STATE_DISABLED)
_MAIN: Mapping[int | None, float] = {
    None: UNREGULATED,
    **dict.fromkeys(_DARK, UNREGULATED),
    **dict.fromkeys((State.STATE_RED, State.STATE_RED_YELLOW, State.STATE_YELLOW), CLOSED),
    **dict.fromkeys((State.STATE_GREEN, State.STATE_BLINKING_GREEN, State.STATE_BLINKING_RED), OPEN),
    **dict.fromkeys((State.STATE_UNKNOWN, State.STATE_INVISIBLE), UNKNOWN),
}
"""State of the only light of a lane (None: nothing is known of it) to the lane's value."""
_ARROW: Mapping[int | None, float] = {
    **dict.fromkeys((State.STATE_UNKNOWN, State.STATE_INVISIBLE), UNKNOWN),
    State.STATE_DISABLED: CLOSED,
    **dict.fromkeys((State.STATE_ENABLED, State.STATE_BLINKING_ENABLED), OPEN),
}
"""State of an arrow beside the main light, while that works."""


def lane_availability(lights: TrafficLightSectionIds, states: Mapping[int, int]) -> float:
    """Return whether a lane is open now.

    Args:
        lights: ids of its sections, 0 where there is none.
        states: of all sections now, by id.
    """
    main = states.get(lights.main_section_id)
    if arrow := lights.left_section_id or lights.right_section_id:
        return UNREGULATED if main in _DARK else _ARROW.get(states.get(arrow), UNLISTED)
    return _MAIN.get(main, UNLISTED) if lights.main_section_id else UNREGULATED


def crosswalk_availability(crosswalk: Crosswalk, lit: frozenset[tuple[int, int]]) -> float:
    """Return whether pedestrians may walk now: a rule that lets them needs all its sections in its states.

    Args:
        crosswalk: with its rules.
        lit: id and state of all sections now.
    """
    if not crosswalk.control_rules:
        return UNREGULATED
    walk = any(
        rule.movement_type != _FORBIDDEN and all((one.id, one.state) in lit for one in rule.sections)
        for rule in crosswalk.control_rules
    )
    return WALK if walk else WAIT


def lit_now(sections: Iterable[TrafficLightSection]) -> list[tuple[int, int]]:
    """Id and state of each section, in their order."""
    return [(section.id, section.state) for section in sections]

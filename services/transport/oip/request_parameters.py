"""Parameters of inference requests: those that every task accepts, and their parsers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from services.request.contract import Priority
from services.runtime.errors import InvalidInput, Unsupported
from services.transport.binding import Options, Parameter, purpose, stricter

DESCRIBED = {
    "purpose": "decide (default), explore or replay",
    "defer_above": "defer above this even where the policy would answer, in the unit of the measure; "
    "defer_above_HEAD where there are several heads",
    "timeout": "deadline from the arrival of the call, µs",
    "priority": "1: before bulk work; 2 and above: bulk work; 0: by purpose",
    "stream_items": "on streams: answer items as they are done, then all; the last answer has triton_final_response",
}
"""Descriptions of the parameters that every task accepts."""

_PASSED_OVER = ("binary_data_output", "content_type", "headers", "triton_enable_empty_final_response")
"""Parameters that are ignored, since clients of other servers send them or the transport has processed them."""
_SEQUENCES = ("sequence_id", "sequence_start", "sequence_end")
_LONGEST_US = 3_600_000_000
_DEFER_ABOVE = "defer_above"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Wishes:
    """Parsed parameters of a request."""

    options: Options
    seconds: float | None
    """Time until the request's deadline, in seconds; None: the transport's own deadline only."""
    priority: Priority | None
    """Priority; None: by purpose."""
    items: bool
    """True if a stream sends items as they finish."""
    own: Mapping[str, Parameter]
    """Values of the task's own parameters."""


_NO_WISHES = Wishes(Options(), None, None, items=False, own={})


def wishes(values: Mapping[str, Any], heads: tuple[str, ...], own: Mapping[str, str]) -> Wishes:
    """Parse the parameters of a request.

    Args:
        own: names of the task's own parameters.

    Raises:
        InvalidInput: a parameter is unknown, of another type, or out of range.
        Unsupported: the parameters are of sequences.
    """
    if not values:
        return _NO_WISHES
    taken: dict[str, Any] = {}
    thresholds: dict[str, float] = {}
    for name, value in values.items():
        head = name.removeprefix(f"{_DEFER_ABOVE}_")
        if name in _SEQUENCES:
            raise Unsupported(
                f"{name} is of models that remember sequences; each request here is answered by itself",
                code="unsupported",
                field=name,
            )
        if name != head and head in heads:
            thresholds[head] = _number(name, value)
        elif name in DESCRIBED or name in own:
            if not isinstance(value, bool | int | float | str):
                raise _bad(name, value, "a number, a text, true or false")
            taken[name] = value
        elif name not in _PASSED_OVER:
            known = ", ".join((*DESCRIBED, *own))
            raise InvalidInput(
                f"the parameter {name[:_SHOWN]!r} is unknown; must be one of {known}",
                code="unknown_parameter",
                field=name[:_SHOWN],
                allowed=known,
            )
    if _DEFER_ABOVE in taken:
        if thresholds:
            raise InvalidInput(
                "defer_above is given twice, for all heads and for one; give one of them",
                code="two_goals",
                field=_DEFER_ABOVE,
            )
        wish = stricter(_number(_DEFER_ABOVE, taken[_DEFER_ABOVE]), heads)
    else:
        wish = stricter(thresholds, heads)
    return Wishes(
        options=Options(_purpose(taken.get("purpose")), wish),
        seconds=_seconds(taken.get("timeout")),
        priority=_priority(taken.get("priority", 0)),
        items=flag("stream_items", taken.get("stream_items", False)),
        own={name: value for name, value in taken.items() if name in own},
    )


def flag(name: str, value: Any) -> bool:
    """Return a boolean parameter.

    Raises:
        InvalidInput: the value is neither true nor false.
    """
    if not isinstance(value, bool):
        raise _bad(name, value, "true or false")
    return value


def text(name: str, value: Any) -> str:
    """Return a text parameter.

    Raises:
        InvalidInput: the value is not a text.
    """
    if not isinstance(value, str):
        raise _bad(name, value, "a text")
    return value


def _purpose(value: Any) -> Any:
    return None if value is None else purpose(text("purpose", value))


def _seconds(value: Any) -> float | None:
    """Return a deadline in seconds from whole microseconds, as clients of Triton send them; 0 means none."""
    value = _whole(value)
    if value is None or (value == 0 and not isinstance(value, bool)):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _LONGEST_US:
        raise InvalidInput.about(
            "timeout",
            str(value)[:_SHOWN],
            f"must be whole microseconds in (0, {_LONGEST_US}]",
            code="bad_timeout",
            unit="µs",
            allowed=f"(0, {_LONGEST_US}]",
        )
    return value / 1e6


def _priority(value: Any) -> Priority | None:
    value = _whole(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _bad("priority", value, "0, 1, 2 or a larger whole number")
    return None if value == 0 else Priority.INTERACTIVE if value == 1 else Priority.BULK


def _whole(value: Any) -> Any:
    """Return a text of digits as a number; any other value unchanged."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


def _number(name: str, value: Any) -> float:
    """Return a number, which may be a text: clients of KServe have no parameters with fractions."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(name, value, "a number in the unit of the measure")
    try:
        return float(value)
    except OverflowError as error:
        raise _bad(name, value, "a number that a float64 holds") from error


def _bad(name: str, value: Any, needed: str) -> InvalidInput:
    return InvalidInput.about(name, str(value)[:_SHOWN], f"must be {needed}", code="bad_parameter", allowed=needed)

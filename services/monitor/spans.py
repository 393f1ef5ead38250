"""Windows by time: their names, and where they begin."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

MINUTE, HOUR, DAY = 60, 3600, 86400
LONGEST = 30 * DAY
"""Seconds that the monitor's panes reach back."""

_TEXT = re.compile(r"([1-9]\d{0,6})([mhd])")
_SECONDS = {"m": MINUTE, "h": HOUR, "d": DAY}


@dataclass(frozen=True, slots=True)
class Span:
    """A window that ends now; it begins with a whole minute, from one hour up with a whole hour, from one day up with
    a day (UTC), so that it is at least as long as its name says and less than one such step longer."""

    name: str
    seconds: int

    @property
    def step(self) -> int:
        """Seconds of the panes it is made of."""
        return MINUTE if self.seconds <= HOUR else HOUR if self.seconds <= DAY else DAY

    def start(self, now: float) -> int:
        """Its first moment, seconds since 1970."""
        return math.floor((now - self.seconds) / self.step) * self.step


def spans(text: str) -> tuple[Span, ...]:
    """Windows as a setting names them, e.g. ``15m,1h,1d``.

    Raises:
        ValueError: a name is no window, or one of more than 30 days.
    """
    found = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        parsed = _TEXT.fullmatch(name)
        seconds = int(parsed[1]) * _SECONDS[parsed[2]] if parsed else 0
        if not MINUTE <= seconds <= LONGEST:
            raise ValueError(f"{name!r} is no window: a number and m, h or d is needed, at most 30d, e.g. 15m,1h,1d")
        found.append(Span(name, seconds))
    return tuple(found)

"""Windows of a stream: their names and starts, and their units with labels in the form of the estimators."""

import math
import re
from dataclasses import dataclass

import numpy as np

from models.estimation.window import Window
from models.live.stream import Stream
from models.live.time_buckets import DAY, HOUR, LONGEST, MINUTE
from models.live.units import CENSUS, Doubles, Units

LAST = "last"
"""Name of the window by count."""
_TEXT = re.compile(r"([1-9]\d{0,6})([mhd])")
_SECONDS = {"m": MINUTE, "h": HOUR, "d": DAY}


@dataclass(frozen=True, slots=True)
class Span:
    """Window by time that ends now.

    It begins with a whole minute, from one hour up with a whole hour, from one day up with a day (UTC), so that it is
    at least as long as its name states, and longer by less than one such step.
    """

    name: str
    seconds: int

    @property
    def step(self) -> int:
        """Length of its buckets, in seconds."""
        return MINUTE if self.seconds <= HOUR else HOUR if self.seconds <= DAY else DAY

    def start(self, now: float) -> int:
        """Return the start of the window, seconds since 1970."""
        return math.floor((now - self.seconds) / self.step) * self.step


def parse_spans(text: str) -> tuple[Span, ...]:
    """Parse names of windows, such as ``15m,1h,1d``.

    Raises:
        ValueError: a name has another form, or is longer than 30 days.
    """
    spans = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        parsed = _TEXT.fullmatch(name)
        seconds = int(parsed[1]) * _SECONDS[parsed[2]] if parsed else 0
        if not MINUTE <= seconds <= LONGEST:
            raise ValueError(f"window = {name!r}: must be a number and m, h or d, at most 30d, such as 15m,1h,1d")
        spans.append(Span(name, seconds))
    return tuple(spans)


def unit_window(stream: Stream, source: str, units: Units, now: float) -> Window:
    """Return units [n] with the labels of one source as of ``now``, seconds since 1970."""
    requests = stream.requests
    rows, held = requests.find(units)
    expected = stream.profile.expected

    def spread(values: Doubles) -> Doubles:
        column = np.full(len(units), np.nan)
        column[held] = values[rows]
        return column

    error, received = spread(requests.error[source]), spread(requests.received[source])
    requested, propensity = held.copy(), units.propensity
    if source == CENSUS:
        propensity = propensity.copy()
        propensity[np.flatnonzero(held)[requests.units.census[rows]]] = 1.0
    else:
        requested[held] = requests.units.has_request[rows]
    return Window(
        uncertainty=units.uncertainty,
        answered=units.answered,
        propensity=propensity,
        labelled=np.isfinite(error),
        error=error,
        expected=None if expected is None else expected(units.uncertainty),
        requested=requested,
        second=spread(requests.second) if source != CENSUS else None,
        age=now - units.time,
        delay=np.maximum(received - units.time, 0.0),
    )


def request_window(stream: Stream, source: str, start: float, end: float, now: float) -> Window:
    """Return only the units between two times for which labels of a source are expected.

    They show how fast and how many labels arrive.
    """
    requests = stream.requests
    chosen = (requests.units.time >= start) & (requests.units.time < end)
    if source != CENSUS:
        chosen &= requests.units.has_request
    units = requests.units.take(chosen)
    error = requests.error[source][chosen]
    return Window(
        uncertainty=units.uncertainty,
        answered=units.answered,
        propensity=np.where(units.census, 1.0, units.propensity) if source == CENSUS else units.propensity,
        labelled=np.isfinite(error),
        error=error,
        requested=np.ones(len(units), bool),
        second=requests.second[chosen] if source != CENSUS else None,
        age=now - units.time,
        delay=np.maximum(requests.received[source][chosen] - units.time, 0.0),
    )

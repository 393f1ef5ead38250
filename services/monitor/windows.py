"""Units and their requests as windows to be judged."""

from __future__ import annotations

import numpy as np

from models.estimation.window import Window
from services.monitor.stream import Stream
from services.monitor.units import CENSUS, Doubles, Units


def unit_window(stream: Stream, source: str, units: Units, now: float) -> Window:
    """These units [n] with the labels of one source, as they stand at a moment (seconds since 1970)."""
    rows, found = stream.requests.rows_of(units)
    expected = stream.profile.expected

    def spread(values: Doubles) -> Doubles:
        columns = np.full(len(units), np.nan)
        columns[found] = values[rows]
        return columns

    error, received = spread(stream.requests.error(source)), spread(stream.requests.received(source))
    requested, propensity = found.copy(), units.propensity
    if source == CENSUS:
        propensity = propensity.copy()
        propensity[np.flatnonzero(found)[stream.requests.census[rows]]] = 1.0
    else:
        requested[found] = stream.requests.asked[rows]
    return Window(
        uncertainty=units.uncertainty,
        answered=units.answered,
        propensity=propensity,
        labelled=np.isfinite(error),
        error=error,
        expected=None if expected is None else expected(units.uncertainty),
        requested=requested,
        second=spread(stream.requests.second) if source == "requested" else None,
        age=now - units.time,
        delay=np.maximum(received - units.time, 0.0),
    )


def request_window(stream: Stream, source: str, start: float, end: float, now: float) -> Window:
    """The units of a stretch of time that labels of a source will come for, alone: how fast they come, and how many."""
    requests = stream.requests
    chosen = (requests.units.time >= start) & (requests.units.time < end)
    if source != CENSUS:
        chosen &= requests.asked
    units = requests.units.take(chosen)
    counted = requests.census[chosen] if source == CENSUS else np.zeros(len(units), bool)
    error = requests.error(source)[chosen]
    return Window(
        uncertainty=units.uncertainty,
        answered=units.answered,
        propensity=np.where(counted, 1.0, units.propensity),
        labelled=np.isfinite(error),
        error=error,
        requested=np.ones(len(units), bool),
        second=requests.second[chosen] if source == "requested" else None,
        age=now - units.time,
        delay=np.maximum(requests.received(source)[chosen] - units.time, 0.0),
    )

"""Window of a logged stream at a time, with counts of late, repeated, corrected and orphan labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.estimation.window import Doubles, Mask, Window


@dataclass(frozen=True)
class Arrivals:
    """Labels in any order, M rows; an event may have several."""

    place: NDArray[np.intp]
    """Index of the event among the N of the stream [M]; -1 if there is no such event."""
    time: Doubles
    """Time, seconds [M]."""
    error: Doubles
    """Error; NaN withdraws the label [M]."""
    version: Doubles
    """Version, which increases with corrections [M]."""
    volunteered: Mask
    """Mask of the labels that were not requested [M]."""
    human_error: Doubles | None = None


@dataclass(frozen=True)
class Counts:
    """Counts of label rows and events by verdict."""

    orphans: int = 0
    """Number of labels without an event."""
    duplicates: int = 0
    """Number of rows that repeat an earlier row."""
    corrected: int = 0
    """Number of labels that were replaced."""
    late: int = 0
    """Number of labels received after the time of the window."""
    volunteered: int = 0
    """Number of labels that were not requested; they are left out because their propensity is unknown."""
    early: int = 0
    """Number of labels received before their event; their delay counts as 0."""
    after: int = 0
    """Number of events after the time of the window."""


@dataclass(frozen=True)
class Stream:
    """Decided units in the order of the log [N]."""

    time: Doubles
    """Time of the decision, seconds [N]."""
    uncertainty: Doubles
    answered: Mask
    propensity: Doubles
    requested: Mask | None = None
    expected: Doubles | None = None


@dataclass(frozen=True)
class Replay:
    """Window of a stream at a time."""

    window: Window
    """Units in the order of the events' times."""
    units: NDArray[np.intp]
    """Index of each unit of the window in the stream [n]."""
    at: float
    """Time, seconds; NaN for an empty stream."""
    counts: Counts


def replay(stream: Stream, arrivals: Arrivals, at: float | None = None) -> Replay:
    """Join labels to their events.

    The state does not depend on the order of rows: of several labels of an event the one of the highest version counts,
    among these the latest, among these the largest error; a row equal to another adds nothing.

    Args:
        at: time of the window, seconds; later rows are ignored. None: the latest time of all rows.
    """
    if at is None:
        at = float(max(stream.time.max(initial=-np.inf), arrivals.time.max(initial=-np.inf)))
    there = stream.time <= at
    units = np.flatnonzero(there)
    units = units[np.argsort(stream.time[units], kind="stable")]
    known = arrivals.place >= 0
    in_time = arrivals.time <= at
    usable = known & in_time & ~arrivals.volunteered
    usable[usable] = there[arrivals.place[usable]]
    rows = np.flatnonzero(usable)
    human = np.full(len(arrivals.time), np.nan) if arrivals.human_error is None else arrivals.human_error
    keys = (human, arrivals.error, arrivals.time, arrivals.version, arrivals.place)
    rows = rows[np.lexsort([key[rows] for key in keys])]
    same = arrivals.place[rows[1:]] == arrivals.place[rows[:-1]]
    equal = same.copy()
    for key in keys[:-1]:
        later, other = key[rows[1:]], key[rows[:-1]]
        equal &= (later == other) | (np.isnan(later) & np.isnan(other))
    last = np.append(~same, True)[: len(rows)]
    kept = rows[last & ~np.isnan(arrivals.error[rows])]
    counts = Counts(
        orphans=int((~known).sum()),
        duplicates=int(equal.sum()),
        corrected=int((same & ~equal).sum()),
        late=int((known & ~in_time).sum()),
        volunteered=int((known & in_time & arrivals.volunteered).sum()),
        early=int((arrivals.time[kept] < stream.time[arrivals.place[kept]]).sum()),
        after=int((~there).sum()),
    )
    return Replay(_window(stream, arrivals, units, kept, at), units, at if len(units) else float("nan"), counts)


def _window(stream: Stream, arrivals: Arrivals, units: NDArray[np.intp], kept: NDArray[np.intp], at: float) -> Window:
    number = len(stream.time)
    place = arrivals.place[kept]

    def spread(values: Doubles) -> Doubles:
        by_event = np.full(number, np.nan)
        by_event[place] = values[kept]
        return by_event[units]

    labelled = np.zeros(number, bool)
    labelled[place] = True
    time = stream.time[units]
    return Window(
        uncertainty=stream.uncertainty[units],
        answered=stream.answered[units],
        propensity=stream.propensity[units],
        labelled=labelled[units],
        error=spread(arrivals.error),
        expected=None if stream.expected is None else stream.expected[units],
        requested=None if stream.requested is None else stream.requested[units],
        human_error=None if arrivals.human_error is None else spread(arrivals.human_error),
        age=at - time,
        delay=np.maximum(spread(arrivals.time) - time, 0.0),
    )

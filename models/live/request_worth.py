"""Worth of the labels that a window still waits for: how much each would narrow a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.agreement.label_worth import Figure, label_worth
from models.estimation.window import Window
from models.live.stream import Stream
from models.live.units import Columns, Doubles, Units

WorthOf = Callable[[Figure], "RequestWorth"]


@dataclass(frozen=True, slots=True)
class WorthStratum:
    """Waiting requests whose labels are worth the same."""

    answered: bool
    """True: audits of answered units; False: deferred units."""
    propensity: tuple[float, float]
    """Smallest and largest probability of a request."""
    waiting: int
    narrowing: float
    """Reduction of the half width of the figure's interval by one more label, in the error's unit; infinite if there
    is no label yet, without which the figure has no estimate."""


@dataclass(frozen=True, slots=True)
class RequestWorth:
    """Worth of waiting labels for one figure."""

    half_width: float
    """Half width of the figure's 95 % interval now, in the error's unit."""
    strata: tuple[WorthStratum, ...]
    """Strata in which requests wait, the most valuable first."""
    units: Columns
    """Units that wait, the most valuable first, then the oldest [n]."""
    time: Doubles
    """Times of their decisions, seconds since 1970 [n]."""
    narrowing: Doubles
    """Worth of each, as of its stratum [n]."""
    of_answered: float
    """Largest reduction by one more label of an answered unit, whether any waits or not; 0 if all are labelled."""
    of_deferred: float
    """The same of a deferred unit."""


def worth_of(stream: Stream, units: Units, window: Window) -> WorthOf:
    """Return a function from a figure to the worth of the labels that are waited for.

    Args:
        units: units of the window [N].
        window: the same units with their labels.
    """
    rows, held = stream.requests.find(units)
    waiting = np.zeros(len(units), bool)
    waiting[held] = stream.requests.units.open[rows]
    waiting &= ~window.labelled

    def worth(figure: Figure) -> RequestWorth:
        with np.errstate(all="ignore"):
            own = label_worth(window, figure, waiting=~window.labelled)  # also of those without a request
        places = np.flatnonzero(waiting)
        places = places[np.lexsort((units.time[places], -own.narrowing[places]))]
        strata = []
        for number in np.unique(own.stratum[places]):
            there = places[own.stratum[places] == number]
            propensity = window.propensity[there]
            ends = float(propensity.min()), float(propensity.max())
            first = there[0]
            strata.append(WorthStratum(bool(window.answered[first]), ends, len(there), float(own.narrowing[first])))
        return RequestWorth(
            half_width=own.half_width,
            strata=tuple(sorted(strata, key=lambda stratum: -stratum.narrowing)),
            units=Columns(units.epoch[places], units.sequence[places]),
            time=units.time[places],
            narrowing=own.narrowing[places],
            of_answered=float(own.narrowing[window.answered].max(initial=0.0)),
            of_deferred=float(own.narrowing[~window.answered].max(initial=0.0)),
        )

    return worth

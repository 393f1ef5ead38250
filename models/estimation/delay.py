"""How long labels take: the probability G that a requested label has arrived at a given age.

Late labels are a second selection: what is uncertain is often labelled later, so that the labels there by now are of
easy units. G is estimated by stratum (answered or deferred, and uncertainty), and a label's probability becomes
propensity times G (inverse probability of censoring weighting; Robins & Rotnitzky 1992).

Where it is known which labels were requested, G is the product-limit estimate (Kaplan & Meier 1958). Where only their
probability is known, the labels of delay d come from the units older than d, whose expected number of requests is the
sum of their propensities: ``G(a) = sum over labels with d <= a of 1 / (sum of propensities of units older than d)``.
That is unbiased and never divides by a small remainder, which counting unlabelled requests as still at risk would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.assessment.ranking import Floats
from models.estimation.window import BadWindow, Doubles, Mask, Window

LEAST = 0.1  # smallest G that is corrected for; younger units are left out of the window
_LABELS = 100  # of a stratum
_STRATA = 20  # of the answered, and of the deferred
_AT_RISK = 20  # requests behind the last step of G
_FLAT = 0.01  # of all labels: fewer in the last two thirds of the ages means that no more are coming


@dataclass(frozen=True)
class Law:
    """Delays of one stratum."""

    ages: Doubles
    """Seconds, ascending [J]; G steps up there."""
    arrived: Doubles
    """G from each of these ages on [J]."""
    requests: float
    """Requests, or their expected number."""
    known: bool
    """Whether it is known which labels were requested."""
    settled: bool
    """Whether labels have stopped coming for the oldest units."""
    completion: float
    """Share of the requests labelled at last; where labels still come, of those labelled so far."""
    completion_se: float
    """Of what is chance in it; 0 where it is known which labels were requested."""
    score: float = 0.0
    """Far below 0 where labels dry up before all have come; 0 where that needs no statistics, or cannot be told."""
    score_variance: float = 0.0

    def at(self, age: Doubles) -> Doubles:
        """G at some ages in seconds [n]."""
        return np.append(0.0, self.arrived)[np.searchsorted(self.ages, age, side="right")]

    @property
    def youngest(self) -> float:
        """Age in seconds at which G reaches ``LEAST``; infinite if it never does."""
        place = int(np.searchsorted(self.arrived, LEAST - 1e-12))
        return float(self.ages[place]) if place < len(self.ages) else np.inf


@dataclass(frozen=True)
class DelayLaw:
    """Delays by stratum of uncertainty, of the answered and of the deferred units."""

    cuts: tuple[NDArray[np.floating], NDArray[np.floating]]
    """Uncertainties between strata: of the answered, of the deferred; the upper end belongs to the stratum below."""
    laws: tuple[tuple[Law, ...], tuple[Law, ...]]

    def observation(self, uncertainty: Floats, answered: Mask, age: Doubles) -> Doubles:
        """Probability that a requested label has arrived by now [N]."""
        found = np.ones(len(age))
        for plane, cuts, laws in zip((answered, ~answered), self.cuts, self.laws, strict=True):
            own = np.flatnonzero(plane)
            stratum = np.searchsorted(cuts, uncertainty[own], side="left")
            for number, law in enumerate(laws):
                units = own[stratum == number]
                found[units] = law.at(age[units])
        return found

    @property
    def youngest(self) -> float:
        """Age in seconds from which on every stratum has a G of at least ``LEAST``."""
        return max((law.youngest for laws in self.laws for law in laws), default=0.0)

    @property
    def settled(self) -> bool:
        return all(law.settled for laws in self.laws for law in laws)


@dataclass(frozen=True)
class Delayed:
    """A window old enough to be judged, with the probability that each requested label has arrived."""

    window: Window
    law: DelayLaw | None
    """None: no label is late."""
    mature: Mask
    """Which of the units given are in the window [N]."""

    @property
    def early(self) -> int:
        """Units too young to be judged."""
        return int((~self.mature).sum())


def corrected(window: Window) -> Delayed:
    """The window with ``observation`` from its own delays; unchanged where no label can be on its way.

    That is so where every unit whose label was certainly requested has it and no other draw is open, where no delay
    is known, or all are 0.

    Raises:
        BadWindow: ages are not known though delays are.
    """
    everything = np.ones(len(window), bool)
    if window.delay is None or window.age is None:
        if window.delay is not None:
            raise BadWindow("age is not known; delays can only be corrected for with the age of every unit in seconds")
        return Delayed(window, None, everything)
    usable = window.usable
    known, requested = window.known_requests
    waiting = ((requested & ~usable) | ~known) & ~window.drawn_again
    if not waiting.any() or not (window.delay[usable] > 0).any():
        return Delayed(window, None, everything)
    law = fit(window)
    observation = law.observation(window.uncertainty, window.answered, window.age)
    mature = window.age >= law.youngest
    old = replace(window, observation=observation)
    return Delayed(old if mature.all() else old.take(mature), law, mature)


def fit(window: Window) -> DelayLaw:
    """Delay laws of a window with ages and delays: as many strata as there are labels for."""
    usable = window.usable
    known, requested = window.known_requests
    cuts, laws = [], []
    for plane in (window.answered, ~window.answered):
        own = np.sort(window.uncertainty[usable & plane & ~window.drawn_again])
        number = min(max(len(own) // _LABELS, 1), _STRATA)
        cut = np.unique(own[np.arange(1, number) * len(own) // number]) if len(own) else own
        cuts.append(cut)
        units = np.flatnonzero(plane & ~window.drawn_again)
        stratum = np.searchsorted(cut, window.uncertainty[units], side="left")
        parts = [units[stratum == number] for number in range(len(cut) + 1)] if len(own) else []
        laws.append(tuple(_law(window, part, usable, known, requested) for part in parts if usable[part].any()))
    return DelayLaw((cuts[0], cuts[1]), (laws[0], laws[1]))


def _law(window: Window, units: NDArray[np.intp], usable: Mask, known: Mask, requested: Mask) -> Law:
    age, delay = window.age, window.delay
    assert age is not None
    assert delay is not None
    sure = bool(known[units].all())
    if sure:
        units = units[requested[units]]
    labelled = units[usable[units]]
    weight = np.ones(len(units)) if sure else np.nan_to_num(np.clip(window.propensity[units], 0.0, 1.0))
    requests = float(weight.sum())
    if sure and len(labelled) == len(units):
        return Law(np.zeros(1), np.ones(1), requests, sure, True, 1.0, 0.0)
    delays = np.sort(np.maximum(delay[labelled], 0.0))
    times, events = np.unique(delays, return_counts=True)
    order = np.argsort(age[units])
    older = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)  # propensities of the units from each age on
    exposed = older[np.searchsorted(age[units][order], times, side="left")]
    enough = exposed >= min(_AT_RISK, requests / 2)
    times, events, exposed = times[enough], events[enough], exposed[enough]
    if not len(times):
        return Law(np.zeros(1), np.ones(1), requests, sure, False, 1.0, 1.0)
    if sure:
        leaves = np.sort(np.where(usable[units], np.maximum(delay[units], 0.0), age[units]))
        at_risk = len(leaves) - np.searchsorted(leaves, times, side="left")
        arrived = 1.0 - np.cumprod(1.0 - events / at_risk)
    else:
        arrived = np.cumsum(events / exposed)
    oldest = float(age[units][order][max(np.searchsorted(-older, -min(_AT_RISK, requests / 2), side="right") - 1, 0)])
    steps = np.append(0.0, arrived)
    settled = bool(arrived[-1] - steps[np.searchsorted(times, oldest / 3)] <= _FLAT * arrived[-1])
    se = 0.0 if sure else float(np.sqrt(np.sum(events / exposed**2)))
    waiting = _waiting(window, units, usable, oldest) if sure and not settled else (0.0, 0.0)
    completion = float(arrived[-1])
    if settled and not sure:
        arrived = arrived / completion  # how many labels were drawn is chance: delays tell the law's shape
    return Law(times, arrived, requests, sure, settled, completion, se, *waiting)


def _waiting(window: Window, units: NDArray[np.intp], usable: Mask, oldest: float) -> tuple[float, float]:
    """Score of the share of requests that will ever be labelled, at 1, in a mixture cure model (Farewell 1982) whose
    delays are exponential; and its variance with the rate estimated.

    Where some requests wait for ever, too many old ones are unlabelled for the rate of the young, and the score is below
    0. So it is for delays of very different length, which look the same as yet. Three mean delays are enough to see.
    """
    age, delay = window.age[units], window.delay[units]  # type: ignore[index]
    there = usable[units]
    left = np.where(there, np.maximum(delay, 0.0), age)
    span = min(oldest, 3 * float(left.sum()) / max(int(there.sum()), 1))
    there = there & (left < span)
    left = np.minimum(left, span)
    events, waited = int(there.sum()), float(left.sum())
    if not events or not waited > 0:
        return 0.0, 0.0
    rate = events / waited
    owed = np.minimum(age, span)
    score = events - float(np.expm1(rate * left[~there]).sum())
    return score, max(float(np.expm1(rate * owed).sum()) - (rate * float(owed.sum())) ** 2 / events, 0.0)

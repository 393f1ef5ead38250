"""Delay of labels: the probability G that a requested label has arrived at a given age.

Late labels are a second selection: uncertain units are often labelled later, so the labels that have arrived are mostly
those of easy units. G is estimated by stratum (answered or deferred, and uncertainty), and a label's probability
becomes propensity times G (inverse probability of censoring weighting; Robins & Rotnitzky 1992).

If it is known which labels were requested, G is the product-limit estimate (Kaplan & Meier 1958). If only their
probability is known, the labels of delay d come from the units older than d, whose expected number of requests is the
sum of their propensities: ``G(a) = sum over labels with d <= a of 1 / (sum of propensities of units older than d)``.
This estimate is unbiased, and never divides by a small remainder, as it would if unlabelled requests counted as at
risk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.assessment.ranking import Floats
from models.estimation.window import BadWindow, Doubles, Mask, Window

LEAST = 0.1  # smallest G that is corrected for; younger units are left out of the window
_LABELS = 100  # labels per stratum
_STRATA = 20  # most strata of the answered units, and of the deferred units
_GAIN = 2.0  # least gain in log likelihood that dependence on age must bring
_AT_RISK = 20  # least number of requests at the last step of G
_FLAT = 0.01  # share of all labels: if fewer come in the last two thirds of the ages, no more are expected


@dataclass(frozen=True)
class Law:
    """Distribution of the delays of one stratum."""

    ages: Doubles
    """Ages in seconds at which G increases, ascending [J]."""
    arrived: Doubles
    """Value of G from each of these ages on [J]."""
    requests: float
    """Number of requests, or its expected value."""
    known: bool
    """True if it is known which labels were requested."""
    settled: bool
    """True if no more labels arrive for the oldest units."""
    completion: float
    """Share of the requests that are labelled in the end; if not ``settled``, share of those labelled so far."""
    completion_se: float
    """Standard error of ``completion``; 0 if it is known which labels were requested."""
    score: float = 0.0
    """Score far below 0 if labels stop coming before all have come; 0 if that is certain, or cannot be tested."""
    score_variance: float = 0.0

    def at(self, age: Doubles) -> Doubles:
        """Return G at ages in seconds [n]."""
        return np.append(0.0, self.arrived)[np.searchsorted(self.ages, age, side="right")]

    @property
    def youngest(self) -> float:
        """Age in seconds at which G reaches ``LEAST``; infinite if it never does."""
        place = int(np.searchsorted(self.arrived, LEAST - 1e-12))
        return float(self.ages[place]) if place < len(self.ages) else np.inf


@dataclass(frozen=True)
class DelayLaw:
    """Delays by stratum of uncertainty, for answered and for deferred units."""

    cuts: tuple[NDArray[np.floating], NDArray[np.floating]]
    """Uncertainties that separate strata, for answered and for deferred units; a stratum includes its upper end."""
    laws: tuple[tuple[Law, ...], tuple[Law, ...]]

    def observation(self, uncertainty: Floats, answered: Mask, age: Doubles) -> Doubles:
        """Return the probability that a requested label has arrived by now [N]."""
        probability = np.ones(len(age))
        for plane, cuts, laws in zip((answered, ~answered), self.cuts, self.laws, strict=True):
            own = np.flatnonzero(plane)
            stratum = np.searchsorted(cuts, uncertainty[own], side="left")
            for number, law in enumerate(laws):
                units = own[stratum == number]
                probability[units] = law.at(age[units])
        return probability

    @property
    def youngest(self) -> float:
        """Smallest age in seconds from which every stratum has a G of at least ``LEAST``."""
        return max((law.youngest for laws in self.laws for law in laws), default=0.0)

    @property
    def settled(self) -> bool:
        return all(law.settled for laws in self.laws for law in laws)


@dataclass(frozen=True)
class Delayed:
    """Window of the mature units, with the probability that each requested label has arrived."""

    window: Window
    law: DelayLaw | None
    """Distribution of the delays; None if no label is late."""
    mature: Mask
    """Mask of the original units that are in the window [N]."""

    @property
    def early(self) -> int:
        """Number of units that are too young for estimates."""
        return int((~self.mature).sum())


def corrected(window: Window) -> Delayed:
    """Return the window with ``observation`` from its own delays; unchanged if no label can be late.

    No label can be late if every unit whose label was certainly requested has it and no other draw is open, if no delay
    is known, or if all delays are 0.

    Raises:
        BadWindow: there are delays but no ages.
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
    """Fit the delay laws of a window with ages and delays, in as many strata as there are labels for.

    If ages do not explain which labels are missing, the cause is not delay (labels came in one batch, or will never
    come): then G does not depend on age, and the missing share is missing for good.
    """
    usable = window.usable
    known, requested = window.known_requests
    cuts, laws = [], []
    for plane in (window.answered, ~window.answered):
        counted = plane & ~window.drawn_again
        own = window.uncertainty[usable & counted]
        cut = _cuts(np.sort(own[~np.isnan(own)]))
        cuts.append(cut)
        units = np.flatnonzero(counted)
        stratum = np.searchsorted(cut, window.uncertainty[units], side="left")
        parts = [units[stratum == number] for number in range(len(cut) + 1)] if len(own) else []
        samples = [_Sample.of(window, part, usable, known, requested) for part in parts]
        fitted = [_delayed(sample) for sample in samples]
        gain = sum(_gain(sample, law) for sample, law in zip(samples, fitted, strict=True))
        laws.append(tuple(fitted) if gain > _GAIN else tuple(_flat(sample) for sample in samples))
    return DelayLaw((cuts[0], cuts[1]), (laws[0], laws[1]))


def _cuts(labelled: Floats) -> Floats:
    """Return the uncertainties between strata of equal numbers of labels; all strata have labels."""
    number = min(max(len(labelled) // _LABELS, 1), _STRATA)
    if number == 1:
        return labelled[:0]
    cuts = np.unique(labelled[np.arange(1, number) * len(labelled) // number])
    return np.asarray(cuts[cuts < labelled[-1]])


@dataclass(frozen=True)
class _Sample:
    """Requests of a stratum, by age."""

    age: Doubles
    """Ages in seconds, ascending [n]."""
    weight: Doubles
    """Weights of requests: 1 if the request is known, else its probability [n]."""
    there: Mask
    """Mask of the labels that have arrived [n]."""
    left: Doubles
    """Seconds from decision to label, or the age of the unit without a label [n]."""
    known: bool
    """True if it is known which labels were requested; the sample then has only these units."""

    @staticmethod
    def of(window: Window, units: NDArray[np.intp], usable: Mask, known: Mask, requested: Mask) -> _Sample:
        age, delay = window.age, window.delay
        assert age is not None
        assert delay is not None
        sure = bool(known[units].all())
        if sure:
            units = units[requested[units]]
        units = units[np.argsort(age[units])]
        there = usable[units]
        weight = np.ones(len(units)) if sure else np.nan_to_num(np.clip(window.propensity[units], 0.0, 1.0))
        left = np.where(there, np.maximum(delay[units], 0.0), age[units])
        return _Sample(age[units], weight, there, left, sure)

    @property
    def requests(self) -> float:
        return float(self.weight.sum())

    @property
    def share(self) -> float:
        """Share of the requests whose labels have arrived."""
        return float(self.there.sum()) / self.requests if self.requests > 0 else 1.0


def _flat(sample: _Sample) -> Law:
    """Return the law without delay, in which missing labels never come.

    If draws are open, the number of labels is random, and G is 1.
    """
    level = sample.share if sample.known else 1.0
    se = 0.0 if sample.known else float(np.sqrt(sample.there.sum())) / max(sample.requests, 1e-300)
    return Law(np.zeros(1), np.array([level]), sample.requests, sample.known, True, sample.share, se)


def _delayed(sample: _Sample) -> Law:
    requests, there = sample.requests, sample.there
    if sample.known and there.all():
        return _flat(sample)
    times, events = np.unique(sample.left[there], return_counts=True)
    older = np.append(np.cumsum(sample.weight[::-1])[::-1], 0.0)  # requests of the units from each age on
    exposed = older[np.searchsorted(sample.age, times, side="left")]
    least = min(_AT_RISK, requests / 2)
    enough = exposed >= least
    times, events, exposed = times[enough], events[enough], exposed[enough]
    if not len(times):
        return _flat(sample)
    if sample.known:
        at_risk = len(there) - np.searchsorted(np.sort(sample.left), times, side="left")
        arrived = np.asarray(1.0 - np.cumprod(1.0 - events / at_risk), np.float64)
    else:
        arrived = np.asarray(np.cumsum(events / exposed), np.float64)
    oldest = float(sample.age[max(int((older >= least).sum()) - 1, 0)])
    steps = np.append(0.0, arrived)
    completion = float(arrived[-1])
    settled = completion - float(steps[np.searchsorted(times, oldest / 3)]) <= _FLAT * completion
    se = 0.0 if sample.known else float(np.sqrt(np.sum(events / exposed**2)))
    if settled and not sample.known:
        arrived = arrived / completion  # the number drawn is random: only the law's shape is known
    waiting = _waiting(sample, oldest) if sample.known and not settled else (0.0, 0.0)
    return Law(times, arrived, requests, sample.known, settled, completion, se, *waiting)


def _gain(sample: _Sample, law: Law) -> float:
    """Return the log likelihood ratio of the law against a share of labels that does not depend on age."""
    g = np.clip(law.at(sample.age), 1e-9, 1.0)
    if not sample.known:  # Poisson: expected counts are sums of propensities
        return float(np.log(g[sample.there]).sum() + ((1 - g) * sample.weight).sum())
    flat = min(max(sample.share, 1e-9), 1 - 1e-9)
    missing = np.log(np.maximum(1 - g[~sample.there], 1e-9)) - np.log(1 - flat)
    return float((np.log(g[sample.there]) - np.log(flat)).sum() + missing.sum())


def _waiting(sample: _Sample, oldest: float) -> tuple[float, float]:
    """Return the score test of complete labelling and its variance, with the rate estimated.

    The score is that of the share of requests that will ever be labelled, at 1, in a mixture cure model (Farewell 1982)
    with exponential delays. If some requests are never labelled, more old ones are unlabelled than the rate of the
    young ones explains, and the score is below 0. Delays of very different length have the same effect, and cannot be
    distinguished yet. A span of three mean delays suffices.
    """
    span = min(oldest, 3 * float(sample.left.sum()) / max(int(sample.there.sum()), 1))
    there = sample.there & (sample.left < span)
    left = np.minimum(sample.left, span)
    events, waited = int(there.sum()), float(left.sum())
    if not events or not waited > 0:
        return 0.0, 0.0
    rate = events / waited
    owed = np.minimum(sample.age, span)
    score = events - float(np.expm1(rate * left[~there]).sum())
    return score, max(float(np.expm1(rate * owed).sum()) - (rate * float(owed.sum())) ** 2 / events, 0.0)

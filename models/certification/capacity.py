"""Thresholds for a team of reviewers with a given capacity, and their waiting time."""

import math
from dataclasses import dataclass, replace

from scipy.special import gammaincc

from models.certification.certificate import Finding, nothing
from models.certification.retention import target_retention
from models.certification.units import Units

MOST_BUSY = 0.85
"""Largest share of busy time of reviewers; above it, waiting times grow steeply."""


@dataclass(frozen=True)
class Desk:
    """Reviewers who share one queue.

    Raises:
        ValueError: no reviewer, or a handling time that is not a positive number.
    """

    reviewers: int
    handling_seconds: float
    """Mean handling time of a deferred unit."""

    def __post_init__(self) -> None:
        if self.reviewers < 1:
            raise ValueError(f"reviewers is {self.reviewers}; at least 1 is needed")
        if not 0 < self.handling_seconds < math.inf:
            raise ValueError(f"handling time is {self.handling_seconds:g} s; more than 0 is needed")

    @property
    def per_hour(self) -> float:
        """Largest number of deferrals per hour, at which the reviewers are busy for the share ``MOST_BUSY``."""
        return MOST_BUSY * self.reviewers * 3600 / self.handling_seconds

    def wait(self, deferrals_per_hour: float) -> float:
        """Return the mean wait in seconds before the review starts, infinite under overload (Erlang C).

        For Poisson arrivals and exponential handling times: C / (c mu - lambda), where C is the probability that all
        c reviewers are busy (Erlang 1917).
        """
        load = deferrals_per_hour * self.handling_seconds / 3600
        c = self.reviewers
        if load >= c:
            return math.inf
        if load <= 0:
            return 0.0
        # Erlang B from the regularised gamma function, then C; sums of factorials overflow from 170 reviewers on
        top = math.exp(c * math.log(load) - load - math.lgamma(c + 1))
        blocked = top / float(gammaincc(c + 1, load))
        busy = blocked / (1 - load / c * (1 - blocked))
        return busy * self.handling_seconds / (c - load)


def within_capacity(units: Units, per_hour: float, arrivals_per_hour: float, delta: float = 0.05) -> Finding:
    """Find the strictest threshold that defers at most ``per_hour`` of ``arrivals_per_hour`` in expectation.

    This is a target retention of 1 - per_hour / arrivals. If everything can be deferred there is no threshold: choose
    it by another goal.

    Raises:
        ValueError: capacity below 0 or not finite, arrivals not above 0, or delta outside (0, 1).
    """
    if not 0 <= per_hour < math.inf:
        raise ValueError(f"capacity is {per_hour:g} per hour; a number of at least 0 is needed")
    if not 0 < arrivals_per_hour < math.inf:
        raise ValueError(f"arrivals are {arrivals_per_hour:g} per hour; a number above 0 is needed")
    retention = 1 - per_hour / arrivals_per_hour
    if retention <= 0:
        finding = nothing("capacity", len(units), "")
        enough = f"{per_hour:g} reviews per hour are enough to defer all {arrivals_per_hour:g} arrivals"
        return replace(finding, reason=f"no threshold is needed: {enough}; choose one by risk or retention")
    finding = target_retention(units, retention, delta)
    if finding.threshold is None:
        return finding
    promise = f"in expectation at most {per_hour:g} of {arrivals_per_hour:g} units per hour are deferred; "
    return replace(finding, statement=promise + finding.statement)

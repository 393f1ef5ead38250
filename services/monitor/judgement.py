"""What is known of one window: figures with intervals, curves, and whether they may be believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from models.estimation.intervals import Band, Estimate
from services.monitor.units import Doubles, Key

FIGURES = ("r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error")
REFERENCES = ("r_auc_random", "r_auc_optimal", "f1_auc_random", "f1_auc_optimal")


@dataclass(frozen=True, slots=True)
class Curve:
    """A retention curve with its 95 % band, and what a ranking that says nothing and a perfect one would give [K]."""

    band: Band
    random: Doubles
    optimal: Doubles


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether scores look as they did when the artefact was made; NaN and False where that is not known."""

    psi: float
    """Population stability index of the window against in-domain data, nats."""
    psi_expected: float
    """What it would be without a shift, on average."""
    log_wealth: float
    """Of bets that scores have changed since the first unit; natural log."""
    alarm: bool
    """The wealth has at some time reached one over the false-alarm probability."""


@dataclass(frozen=True, slots=True)
class Risk:
    """Whether errors have risen above their baseline."""

    log_wealth: float
    alarm: bool
    baseline: str
    """Where the baseline comes from, in words; empty while there is none."""


class Baseline(NamedTuple):
    """The interval of R-AUC that is normal."""

    low: float
    high: float
    origin: str
    """``artefact``, or ``first_day`` of the stream."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One window of one stream, judged by the labels of one source."""

    key: Key
    window: str
    """Its name: ``1h``, or ``last`` for the last units by count."""
    source: str
    start: float
    """First moment that counts, seconds since 1970; so is ``end``, the last one."""
    end: float
    mode: str
    """``exact`` or ``sketch``."""
    estimator: str
    units: int
    """Decided in the window."""
    answered: int
    """Of these units."""
    judged: int
    """Units old enough for their labels to have come, which the figures are of."""
    labels: int
    effective_samples: float
    figures: Mapping[str, Estimate]
    """By the names of ``FIGURES``; those that exist."""
    references: Mapping[str, float]
    """By the names of ``REFERENCES``; those that exist."""
    error_curve: Curve | None
    f1_curve: Curve | None
    completion: float
    """Share of the requests, old enough to be answered, that were; NaN without such."""
    drift: Drift
    risk: Risk
    reasons: tuple[tuple[str, str], ...] = ()
    """Why the figures may not be believed: a stable word and a sentence each."""
    baseline: Baseline | None = None

    @property
    def valid(self) -> bool:
        return not self.reasons

    @property
    def mature(self) -> float:
        """Share of the window's units that are old enough to be judged; 1 without units."""
        return self.judged / self.units if self.units else 1.0

    @property
    def abstained(self) -> float:
        """Share of the units that were deferred; NaN without units."""
        return 1 - self.answered / self.units if self.units else float("nan")

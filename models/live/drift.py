"""Drift of one stream: a martingale over its scores, a test of its risk, and the scores of explored units.

Units are taken in the order of time, and labels in the order of their receipt, so that a restarted monitor gets the
same results. One unit of each portion is taken: rows of one request are not exchangeable.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.drift.bins import Reference
from models.drift.martingale import Exchangeability, Watched
from models.drift.psi import Shift, shift
from models.drift.risk import Labelled, RiskTest, against_calibration
from models.drift.wealth import alarmed, either
from models.live.units import Doubles, Labels, Longs, StreamKey, Units

BASELINE_LABELS = 500
"""Number of first labels of a stratum, with which later ones are compared."""
TOLERANCE = 0.1
"""Relative increase of the risk that does not raise an alarm."""
HOUR_SECONDS = 3600.0
HOURS = 24
"""Hours for which explored units are kept."""


@dataclass(frozen=True, slots=True)
class DriftFigures:
    """Drift of the scores of a window and its stream; NaN and False if unknown."""

    psi: float
    """Population stability index of the window against in-domain data, nats."""
    psi_expected: float
    """Mean of the index without a shift."""
    log_wealth: float
    """Natural log of the wealth of bets that scores have changed since the first unit."""
    alarm: bool
    """True if the wealth has ever reached 1 / (false-alarm probability)."""


@dataclass(frozen=True, slots=True)
class RiskFigures:
    """Rise of the errors of a stream above their baseline."""

    log_wealth: float
    alarm: bool
    baseline: str
    """Source of the baseline, in words; empty while there is none."""


class ScoreDrift:
    """Martingale test of whether a stream's scores have changed since its first unit."""

    def __init__(self, key: StreamKey, reference: Reference) -> None:
        self.reference = reference
        seed = hashlib.sha256("\n".join(key).encode()).digest()[:8]
        self._test = Exchangeability(reference.bins, int.from_bytes(seed, "big") >> 1)
        self._state: Watched = self._test.start()
        self._until = -math.inf

    def add(self, units: Units) -> None:
        """Add units in the order of time; those older than units that were added before are left out."""
        units = units.take(units.time > self._until)
        if not len(units):
            return
        first = np.flatnonzero((np.diff(units.time, prepend=np.nan) != 0) | (np.diff(units.epoch, prepend=-1) != 0))
        self._state = self._test.update(self._state, units.uncertainty[first])
        self._until = float(units.time[-1])

    def figures(self, counts: Longs, alpha: float) -> DriftFigures:
        """Return the figures of a window whose units were counted in the reference's bins [bins]."""
        score_shift = shift(np.array(self.reference.counts), counts)
        alarm = alarmed(self._state.log_peak, alpha)
        return DriftFigures(score_shift.psi, score_shift.expected, self._state.log_wealth, alarm)


class RiskDrift:
    """Test of whether errors have risen, by the labels of one source, among answered and deferred units.

    The loss is 1 if the error is not acceptable; without an acceptable limit it is the error, clipped at a bound. The
    baseline is the loss of the first labels of each stratum.
    """

    def __init__(self, acceptable: float | None, bound: float | None) -> None:
        self._acceptable = acceptable
        self._bound = 1.0 if acceptable is not None else bound
        self._first: tuple[list[Labels], list[Labels]] = ([], [])
        self._tests: list[tuple[RiskTest, Labelled] | None] = [None, None]
        self._log_peak = 0.0

    def add(self, labels: Labels) -> None:
        """Add labels that count for the first time."""
        if self._bound is None:
            return
        labels = labels.take(np.lexsort((labels.sequence, labels.epoch, labels.received)))
        labels = labels.take((labels.propensity > 0) & (labels.propensity <= 1))
        for stratum, rows in enumerate((labels.answered, ~labels.answered)):
            if rows.any():
                self._add(stratum, labels.take(rows), self._bound)
        self._log_peak = max(self._log_peak, self._log_wealth)

    def figures(self, alpha: float) -> RiskFigures:
        """Return wealth, alarm at a false-alarm probability, and the source of the baseline."""
        loss = "share of unacceptable errors" if self._acceptable is not None else "clipped error"
        baseline = f"{loss} of the first {BASELINE_LABELS} labels of this model" if any(self._tests) else ""
        return RiskFigures(self._log_wealth, alarmed(self._log_peak, alpha), baseline)

    @property
    def _log_wealth(self) -> float:
        wealth = [test[1].log_wealth for test in self._tests if test is not None]
        return either(wealth) if wealth else 0.0

    def _add(self, stratum: int, labels: Labels, bound: float) -> None:
        if (held := self._tests[stratum]) is None:
            self._first[stratum].append(labels)
            first = Labels.join(self._first[stratum])
            if len(first) < BASELINE_LABELS:
                return
            self._first[stratum].clear()
            held = self._start(first.take(slice(None, BASELINE_LABELS)), bound)
            labels = first.take(slice(BASELINE_LABELS, None))
        test, state = held
        usable = labels.take(labels.propensity >= test.least_propensity)
        if len(usable):
            state = test.update(state, self._losses(usable), usable.propensity)
        self._tests[stratum] = test, state

    def _start(self, first: Labels, bound: float) -> tuple[RiskTest, Labelled]:
        least = float(first.propensity.min()) / 4  # audits may become rarer later
        test = against_calibration(
            self._losses(first), bound, tolerance=TOLERANCE, propensities=first.propensity, least_propensity=least
        )
        return test, test.start()

    def _losses(self, labels: Labels) -> Doubles:
        if self._acceptable is None:
            return np.maximum(labels.error, 0.0)
        return (labels.error > self._acceptable).astype(np.float64)


class ExploredScores:
    """Explored and replayed units of one stream, counted by purpose, and the scores of their last day."""

    def __init__(self, reference: Reference | None, edges: Sequence[float]) -> None:
        """
        Args:
            reference: in-domain scores; None compares nothing.
            edges: edges of the bins in which ledgers count explored units, in the measure's unit.
        """
        self.units: Counter[str] = Counter()
        self._reference = reference
        scores = np.append(np.asarray(edges, np.float64), np.inf)
        self._places = np.empty(0, np.uint8) if reference is None else reference.bins.index(scores)
        self._hours: defaultdict[str, dict[int, Longs]] = defaultdict(dict)

    def add(self, purpose: str, time: float, units: int, histogram: NDArray[np.uint32] | None) -> None:
        """Add units.

        Args:
            time: decision time of the last unit, seconds since 1970.
            histogram: counts by the ledger's bins, the last for NaN; None if the ledger kept none.
        """
        self.units[purpose] += units
        if histogram is None or self._reference is None or len(histogram) != len(self._places) + 1:
            return
        bins = len(self._reference.bins)
        counts = np.bincount(self._places, weights=histogram[:-1], minlength=bins).astype(np.int64)
        counts[-1] += histogram[-1]
        hours = self._hours[purpose]
        hour = int(time // HOUR_SECONDS)
        hours[hour] = hours.get(hour, 0) + counts
        for old in [number for number in hours if number <= max(hours) - HOURS]:
            del hours[old]

    def shifts(self) -> dict[str, Shift]:
        """Return for each purpose how the scores of its last day differ from in-domain data."""
        if self._reference is None:
            return {}
        reference = np.asarray(self._reference.counts)
        hours = {purpose: list(counts.values()) for purpose, counts in self._hours.items() if counts}
        return {purpose: shift(reference, np.sum(counts, axis=0)) for purpose, counts in hours.items()}

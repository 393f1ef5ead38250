"""Drift of one stream, followed as units and labels come: without labels a martingale, with labels a test of the risk.

Units are taken in the order of time, and labels in the order of their receipt, so that a monitor that starts anew finds
the same. One unit of each portion is taken: rows of one request are not exchangeable.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from models.calibration import REFERENCE_LEVELS, Calibration
from models.drift.bins import Reference, of_quantiles
from models.drift.martingale import Exchangeability, Watched
from models.drift.psi import Shift, shift
from models.drift.risk import Labelled, RiskTest, against_calibration
from models.drift.wealth import alarmed, either
from services.monitor.units import Doubles, Key, Labels, Longs, Units

BASELINE_LABELS = 500
"""First labels of a stratum that later ones are compared with."""
TOLERANCE = 0.1
"""Relative rise of the risk that is no alarm."""


def reference(calibration: Calibration, measure: str) -> Reference | None:
    """In-domain scores of a measure in bins; None where the artefact does not carry them."""
    values = calibration.reference.get(measure)
    return None if values is None else of_quantiles(values, REFERENCE_LEVELS, calibration.retention.units)


class ScoreDrift:
    """Whether a stream's scores have changed since its first unit."""

    def __init__(self, key: Key, known: Reference) -> None:
        self.reference = known
        seed = hashlib.sha256("\n".join(key).encode()).digest()[:8]
        self._test = Exchangeability(known.bins, int.from_bytes(seed, "big") >> 1)
        self._state: Watched = self._test.start()
        self._until = -math.inf

    def add(self, units: Units) -> None:
        """More units, in the order of time; those that turn up after later ones were added are left out."""
        units = units.take(units.time > self._until)
        if not len(units):
            return
        first = np.flatnonzero((np.diff(units.time, prepend=np.nan) != 0) | (np.diff(units.epoch, prepend=-1) != 0))
        self._state = self._test.update(self._state, units.uncertainty[first])
        self._until = float(units.time[-1])

    @property
    def log_wealth(self) -> float:
        return self._state.log_wealth

    def alarm(self, alpha: float) -> bool:
        return alarmed(self._state.log_peak, alpha)

    def shift(self, counts: Longs) -> Shift:
        """Units of a window, counted in the reference's bins, against the reference."""
        return shift(np.array(self.reference.counts), counts)


class RiskDrift:
    """Whether the labels of one source say that errors have risen, among the answered and the deferred units.

    The loss is 1 where the error is not acceptable; without an acceptable limit it is the error, clipped at a bound.
    The baseline is what the first labels of each stratum show.
    """

    def __init__(self, acceptable: float | None, bound: float | None) -> None:
        self._acceptable = acceptable
        self._bound = 1.0 if acceptable is not None else bound
        self._first: tuple[list[Labels], list[Labels]] = ([], [])
        self._tests: list[tuple[RiskTest, Labelled] | None] = [None, None]
        self._log_peak = 0.0

    def add(self, labels: Labels) -> None:
        """Labels that count for the first time."""
        if self._bound is None:
            return
        labels = labels.take(np.lexsort((labels.sequence, labels.epoch, labels.received)))
        labels = labels.take((labels.propensity > 0) & (labels.propensity <= 1))
        for stratum, chosen in enumerate((labels.answered, ~labels.answered)):
            if chosen.any():
                self._add(stratum, labels.take(chosen))
        self._log_peak = max(self._log_peak, self.log_wealth)

    @property
    def baseline(self) -> str:
        """Where the baseline comes from; empty while there is none."""
        if not any(self._tests):
            return ""
        loss = "share of unacceptable errors" if self._acceptable is not None else "clipped error"
        return f"{loss} of the first {BASELINE_LABELS} labels of this model"

    @property
    def log_wealth(self) -> float:
        wealth = [test[1].log_wealth for test in self._tests if test is not None]
        return either(wealth) if wealth else 0.0

    def alarm(self, alpha: float) -> bool:
        return alarmed(self._log_peak, alpha)

    def _add(self, stratum: int, labels: Labels) -> None:
        if self._tests[stratum] is None:
            self._first[stratum].append(labels)
            first = Labels.join(self._first[stratum])
            if len(first) < BASELINE_LABELS:
                return
            self._first[stratum].clear()
            self._tests[stratum] = self._start(first.take(slice(None, BASELINE_LABELS)))
            labels = first.take(slice(BASELINE_LABELS, None))
        test, state = self._tests[stratum]  # type: ignore[misc]
        usable = labels.take(labels.propensity >= test.least_propensity)
        if len(usable):
            self._tests[stratum] = test, test.update(state, self._losses(usable), usable.propensity)

    def _start(self, first: Labels) -> tuple[RiskTest, Labelled]:
        assert self._bound is not None
        least = float(first.propensity.min()) / 4  # audits may become rarer later
        test = against_calibration(
            self._losses(first),
            self._bound,
            tolerance=TOLERANCE,
            propensities=first.propensity,
            least_propensity=least,
        )
        return test, test.start()

    def _losses(self, labels: Labels) -> Doubles:
        if self._acceptable is None:
            return np.maximum(labels.error, 0.0)
        return (labels.error > self._acceptable).astype(np.float64)

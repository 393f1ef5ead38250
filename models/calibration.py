"""Calibration on labelled in-domain data: thresholds by retention, intervals, expected error.

It is computed once, when an artefact is made, and stored in its manifest under the numeric profile (provider,
precision, layout) that produced the scores.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]


class RetentionTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Thresholds of a measure by target retention, from n in-domain units."""

    measure: str
    units: int
    levels: tuple[float, ...]
    thresholds: tuple[float, ...]
    lost: float = 0.0
    """Share of units by which retention may be lower if thresholds were carried from another numeric profile."""

    def threshold(self, retention: float) -> float:
        """Return the threshold that retains at least this share of exchangeable units, in expectation.

        Uses the next higher tabulated level, so that the guarantee also holds between levels.

        Raises:
            ValueError: the level lies outside the table.
        """
        index = int(np.searchsorted(self.levels, retention - 1e-12))
        if not 0 < retention <= 1 or index >= len(self.levels):
            raise ValueError(f"target retention {retention} is outside (0, {self.levels[-1]}] of the calibration table")
        return self.thresholds[index]

    def nearest(self, retention: float) -> float | None:
        """Return the highest level of the table if only a lack of units puts a target above it; else None.

        Fewer units are answered than by the target, in expectation, never more.
        """
        reachable = 0 < retention <= RETENTION_LEVELS[-1] and bool(self.levels)
        return self.levels[-1] if reachable and retention > self.levels[-1] else None

    def band(self, delta: float = 0.05) -> float:
        """Return the half width of the Dvoretzky-Kiefer-Wolfowitz band, which holds with 1 - delta, plus ``lost``."""
        return math.sqrt(math.log(2 / delta) / (2 * self.units)) + self.lost


class IntervalTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Split-conformal multipliers of the predictive standard deviation for central intervals."""

    units: int
    levels: tuple[float, ...]
    multipliers: tuple[float, ...]


class ExpectedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Monotone map from a measure to the expected error (control variate of live estimates)."""

    measure: str
    knots: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, uncertainty: Floats) -> NDArray[np.float64]:
        """Return the expected error by linear interpolation, float64 [N]; constant outside the knots."""
        return np.interp(uncertainty, self.knots, self.values)


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calibration of a measure that a policy may choose instead of the head's own."""

    retention: RetentionTable
    expected_error: ExpectedError | None = None


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calibration of one head under one numeric profile."""

    retention: RetentionTable
    reference: dict[str, tuple[float, ...]]
    """Measure name to its values in-domain at ``REFERENCE_LEVELS``."""
    intervals: IntervalTable | None = None
    expected_error: ExpectedError | None = None
    others: dict[str, Measured] = {}
    """Further measures for deferral, by name."""

    def by(self, measure: str) -> Calibration:
        """Return the calibration with the tables of this measure instead of the head's own; unchanged without any."""
        measured = self.others.get(measure)
        if measured is None:
            return self
        return msgspec.structs.replace(self, retention=measured.retention, expected_error=measured.expected_error)

    def reference_limit(self, measure: str, level: float) -> float | None:
        """Return the in-domain quantile of a measure (next tabulated level up), or None if it was not recorded."""
        values = self.reference.get(measure)
        return None if values is None else values[int(np.searchsorted(REFERENCE_LEVELS, level - 1e-12))]


RETENTION_LEVELS = tuple(
    np.round(np.concatenate([np.arange(0.05, 0.9, 0.05), np.arange(0.9, 0.999, 0.005)]), 3).tolist()
)
REFERENCE_LEVELS = (*tuple(np.round(np.linspace(0, 1, 101), 2).tolist()[:-1]), 0.995, 0.999, 1.0)
INTERVAL_LEVELS = (0.5, 0.6, 0.68, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.98, 0.99)


def retention_table(measure: str, uncertainty: Floats, impossible: NDArray[np.bool_] | None = None) -> RetentionTable:
    """Return order statistics k = ceil((n + 1) r) of in-domain scores [n]; levels that need more data are left out.

    Args:
        impossible: units [n] whose prediction is impossible (``models.plausibility``), None if there are none; they
            rank last, and levels that would need them are left out.

    Raises:
        ValueError: no units, or a score that is not finite.
    """
    n = _check(uncertainty)
    ordered = np.sort(uncertainty.astype(np.float32))
    possible = n
    if impossible is not None:
        ordered = np.sort(uncertainty[~impossible].astype(np.float32))
        possible = len(ordered)
    kept = {level: rank for level, rank in _ranks(n, RETENTION_LEVELS).items() if rank <= possible}
    return RetentionTable(
        measure=measure,
        units=n,
        levels=tuple(kept),
        thresholds=tuple(float(ordered[rank - 1]) for rank in kept.values()),
    )


def reference_quantiles(uncertainty: Floats) -> tuple[float, ...]:
    """Return the quantiles of a measure at ``REFERENCE_LEVELS``."""
    _check(uncertainty)
    return tuple(float(value) for value in np.quantile(uncertainty, REFERENCE_LEVELS, method="higher"))


def interval_table(mean: Floats, variance: Floats, target: Floats) -> IntervalTable:
    """Return multipliers q(level): order statistic ceil((n + 1) level) of |target - mean| / sd, [n].

    Levels that need more data are left out, as for thresholds.

    Raises:
        ValueError: no units, or a ratio that is not finite.
    """
    ratio = np.sort(np.abs(np.asarray(target, np.float64) - mean) / np.sqrt(np.asarray(variance, np.float64)))
    n = _check(ratio)
    kept = _ranks(n, INTERVAL_LEVELS)
    return IntervalTable(n, tuple(kept), tuple(float(ratio[rank - 1]) for rank in kept.values()))


def expected_error(measure: str, uncertainty: Floats, error: Floats, knots: int = 32) -> ExpectedError:
    """Fit the error on uncertainty by isotonic regression (pool adjacent violators over equal-count bins)."""
    _check(uncertainty)
    order = np.argsort(uncertainty, kind="stable")
    bins = np.array_split(order, min(knots, len(order)))
    centre = np.array([np.mean(uncertainty[part], dtype=np.float64) for part in bins])
    value = np.array([np.mean(error[part], dtype=np.float64) for part in bins])
    return ExpectedError(measure, tuple(centre.tolist()), tuple(_isotonic(value).tolist()))


def _ranks(n: int, levels: tuple[float, ...]) -> dict[float, int]:
    """Return the order statistic, from 1, that holds each level for exchangeable units, without levels beyond n."""
    ranks = {level: math.ceil((n + 1) * level - 1e-9) for level in levels}
    return {level: rank for level, rank in ranks.items() if rank <= n}


def _isotonic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values).x)


def _check(values: Floats) -> int:
    if len(values) == 0:
        raise ValueError("calibration needs at least one unit")
    if wrong := int((~np.isfinite(values)).sum()):
        raise ValueError(f"calibration needs finite values, {wrong} of {len(values)} are not")
    return len(values)

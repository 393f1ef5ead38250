"""Histograms of the uncertainty, in classes that are worth telling apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.assessment.retention import acceptable_units
from models.evaluation.unit_errors import Mask, UnitErrors
from services.report.ranges import LARGEST, apart

_BINS = 48
_LOG_SPAN = 50.0  # from here on of the middle 98 %, a linear axis would crowd most units into its first bins
_LOG_TAIL = 0.999
_TAIL = 0.995  # a linear axis ends here; the last bin holds what lies above


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of units by uncertainty; each class sums to 1."""

    edges: NDArray[np.float64]
    """Of the bins [b + 1]."""
    shares: dict[str, NDArray[np.float64]]
    """Name of the class to its share in each bin [b]."""
    counts: dict[str, int]
    """Units of each class."""
    logarithmic: bool
    above: int
    """Units above the axis, counted in the last bin."""
    below: int
    """Units below a logarithmic axis, counted in the first bin."""
    left_out: int
    """Units whose uncertainty is NaN or infinite."""


def uncertainty_histogram(judged: UnitErrors) -> Histogram | None:
    """In-domain against shifted, else acceptable against unacceptable errors, else all; None without finite values."""
    values = judged.uncertainty
    finite = np.isfinite(values)
    if not finite.any():
        return None
    classes = {name: mask & finite for name, mask in _classes(judged).items()}
    known = np.clip(np.asarray(values[finite], np.float64), -LARGEST, LARGEST)
    low, first, last, tail, high = np.quantile(known, [0, 0.01, 0.99, _TAIL, 1])
    logarithmic = bool(first >= 1 / LARGEST and last >= _LOG_SPAN * first)
    if logarithmic:
        low, high = np.maximum(np.quantile(known, [1 - _LOG_TAIL, _LOG_TAIL]), 1 / LARGEST)
    elif high > low + 2 * (tail - low):
        high = tail
    low, high = apart(float(low), float(high))
    edges = np.geomspace(low, high, _BINS + 1) if logarithmic else np.linspace(low, high, _BINS + 1)
    edges[0], edges[-1] = low, high
    above, below = int((known > high).sum()), int((known < low).sum())
    del known
    shares, counts = {}, {}
    for name, mask in classes.items():
        part = np.clip(np.asarray(values[mask], np.float64), low, high)
        if len(part):
            shares[name] = np.histogram(part, edges)[0] / len(part)
            counts[name] = len(part)
    return Histogram(edges, shares, counts, logarithmic, above, below, int((~finite).sum()))


def _classes(judged: UnitErrors) -> dict[str, Mask]:
    if judged.shifted is not None:
        return {"In-domain": ~judged.shifted, "Shifted": judged.shifted}
    error = judged.error
    if error.acceptable is None:
        return {"All units": np.ones(len(judged), bool)}
    good = acceptable_units(error.values, error.acceptable, judged.rules.convention)
    return {"Acceptable error": good, "Unacceptable error": ~good}

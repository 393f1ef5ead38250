"""Calibration of predicted variances against squared errors (note on regression metrics, section 2).

Errors are squared, in the target's unit squared like variances. Rows rank by variance, the smallest first; ties keep
the input order. If a root mean variance is zero, RMSE / RMV is 1 if the errors are zero as well, else infinite.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL, Convention

Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

RELEASED_BINS, RELEASED_BIN_ROWS = 500, 200
CV_LIMIT = 10.0
"""Limit above which variances are left out of the official Cv, squared units of the target."""
FRACTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Retained fractions at which the released code shows the R3 curve."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal groups of rows by ascending variance."""

    rmse: Float64
    """Root mean squared error of each bin [B], the target's unit."""
    rmv: Float64
    """Root mean variance of each bin [B], the target's unit."""
    rows: int
    """Number of rows in each bin."""
    dropped: int
    """Number of rows of the highest variance that fill no bin and are left out."""


def default_bins(rows: int) -> int:
    """Return 500 bins from 100,000 rows on, as released; else bins of 200 rows, but at least ten or one per row."""
    if rows >= RELEASED_BINS * RELEASED_BIN_ROWS:
        return RELEASED_BINS
    return max(rows // RELEASED_BIN_ROWS, min(10, rows))


def bins_by_variance(
    squared_error: Floats, variance: Floats, *, bins: int | None = None, bin_rows: int | None = None
) -> Bins:
    """Return RMSE and RMV of equal bins (note on regression metrics, equations 1 and 2).

    Args:
        squared_error: squared error of each row [N].
        variance: predicted variance of each row [N].
        bins: number of bins, N // bins rows each; ``default_bins`` if neither is given.
        bin_rows: rows per bin instead, N // bin_rows bins.

    Raises:
        ValueError: no rows, different lengths, a value that is negative or not finite, both or too many bins.
    """
    squared_error, variance = _checked(squared_error, variance)
    total = len(variance)
    if bins is not None and bin_rows is not None:
        raise ValueError("bins and bin_rows are both given: one follows from the other, give one")
    for name, value in (("bins", bins), ("bin_rows", bin_rows)):
        if value is not None and not 1 <= value <= total:
            raise ValueError(f"{name} is {value} for {total} rows: allowed is 1 to {total}")
    number = total // bin_rows if bin_rows is not None else bins if bins is not None else default_bins(total)
    rows = bin_rows if bin_rows is not None else total // number
    order = np.argsort(variance, kind="stable")[: number * rows].reshape(number, rows)
    return Bins(
        rmse=np.sqrt(squared_error[order].mean(axis=1)),
        rmv=np.sqrt(variance[order].mean(axis=1)),
        rows=rows,
        dropped=total - number * rows,
    )


def ence(groups: Bins) -> float:
    """Return the expected normalised calibration error, mean of |RMV - RMSE| / RMV over bins (equation 3)."""
    return float(np.mean(np.abs(1 - ratio(groups.rmse, groups.rmv))))


def cv(variance: Floats, *, convention: Convention = OFFICIAL) -> float:
    """Return the coefficient of variation of the standard deviations [N], ddof 1 (equation 4).

    ``Convention.filtered_cv`` leaves out variances above 10. Zero if all are equal; NaN if there are fewer than two.

    Raises:
        ValueError: no rows, or a variance that is negative or not finite.
    """
    _, variance = _checked(np.zeros_like(variance), variance)
    sigma = np.sqrt(variance[variance <= CV_LIMIT] if convention.filtered_cv else variance)
    if len(sigma) < 2:
        return math.nan
    if np.ptp(sigma) == 0:  # rounding would give 1e-17 or so
        return 0.0
    return float(np.std(sigma, ddof=1) / np.mean(sigma))


def lence(calibration_error: float, variation: float, *, convention: Convention = OFFICIAL) -> float:
    """Return the logarithmic ENCE, ln (ENCE + 1 / Cv) (equation 5): infinite for Cv = 0, NaN if Cv is NaN."""
    if variation == 0:
        return math.inf
    inner = calibration_error + 1 / variation
    return math.log(abs(inner) if convention.absolute_lence else inner)


def r3_curve(squared_error: Floats, variance: Floats) -> Float64:
    """Return RMSE / RMV of the k rows of least variance, float64 [N + 1] for k = 0..N; NaN for k = 0 (section 2.1).

    The released code takes predicted means for squared errors and 0 for k = 0; that is not followed.

    Raises:
        ValueError: as ``bins_by_variance``.
    """
    squared_error, variance = _checked(squared_error, variance)
    order = np.argsort(variance, kind="stable")
    errors, variances = np.cumsum(squared_error[order]), np.cumsum(variance[order])
    return np.concatenate([[math.nan], ratio(np.sqrt(errors), np.sqrt(variances))])


def mwse(squared_error: Floats, uncertainty: Floats) -> float:
    """Return the mean of squared error times uncertainty over all rows [N] (equation 7).

    Raises:
        ValueError: no rows, different lengths, a value that is not finite, or a negative squared error.
    """
    squared_error, uncertainty = _checked(squared_error, uncertainty, signed=True)
    return float(np.mean(squared_error * uncertainty))


def mwse_curve(squared_error: Floats, uncertainty: Floats, *, denominator: int | None = None) -> Float64:
    """Return the sum of error times uncertainty of the k most certain rows, divided by N, float64 [N + 1] for k = 0..N.

    The released code divides by 100,000, its N, for all data; see ``denominator``. Errors as ``mwse``.
    """
    squared_error, uncertainty = _checked(squared_error, uncertainty, signed=True)
    if denominator is not None and denominator < 1:
        raise ValueError(f"denominator is {denominator} rows: give at least 1, or none for the rows there are")
    order = np.argsort(uncertainty, kind="stable")
    sums = np.cumsum((squared_error * uncertainty)[order])
    return np.concatenate([[0.0], sums]) / (denominator or len(order))


def at_fractions(curve: Floats, fractions: Floats | tuple[float, ...] = FRACTIONS) -> Float64:
    """Return the values of a curve [N + 1] with int(fraction * N) rows retained, float64 [P].

    Raises:
        ValueError: a fraction outside [0, 1].
    """
    shares = np.asarray(fractions, np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"fractions are {shares.tolist()}: retained shares of the rows lie in [0, 1]")
    return np.asarray(curve[(shares * (len(curve) - 1)).astype(np.int64)], np.float64)


def ll_fu(target: Floats, mean: Floats, variance: Floats, *, convention: Convention = OFFICIAL) -> Float64:
    """Return the LL-Fisher uncertainty max(0, ln(2 pi v) / 2) + (target - mean)^2 / (2 v), float64 [N] (equation 6).

    It is a diagnostic: it needs the label, so decisions cannot use it. An ensemble gives the mean of its means and the
    mean of its variances, without the variance of its means. The released code takes log10 for ln. For v = 0 the value
    is 0 if the target is met and infinite otherwise.

    Raises:
        ValueError: no rows, different lengths, a value that is not finite, or a negative variance.
    """
    if target.shape != mean.shape:
        raise ValueError(f"target and mean need one shape [N], got {target.shape} and {mean.shape}")
    error = np.square(np.asarray(target, np.float64) - np.asarray(mean, np.float64))
    error, variance = _checked(error, variance)
    logarithm = np.log if convention.natural_ll_fu else np.log10
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        width = np.maximum(0.0, 0.5 * logarithm(2 * math.pi * variance))
        misfit = np.where(error == 0, 0.0, error / (2 * variance))
    return np.asarray(width + misfit)


def ratio(rmse: Float64, rmv: Float64) -> Float64:
    """Return RMSE / RMV by element: 1 if both are zero, infinite if only RMV is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((rmse == 0) & (rmv == 0), 1.0, rmse / rmv)


def _checked(squared_error: Floats, variance: Floats, *, signed: bool = False) -> tuple[Float64, Float64]:
    """Return both arrays in float64; the second is an uncertainty that may be negative if ``signed``."""
    if squared_error.shape != variance.shape or variance.ndim != 1 or not len(variance):
        raise ValueError(f"need two arrays of one length, at least 1, got {squared_error.shape} and {variance.shape}")
    second = ("uncertainty", -math.inf) if signed else ("variance", 0.0)
    for (name, least), values in ((("squared error", 0.0), squared_error), (second, variance)):
        fit = np.isfinite(values) & (values >= least)
        if not fit.all():
            row = int(np.argmin(fit))
            raise ValueError(f"the {name} of row {row} is {values[row]}: allowed are finite values from {least:g}")
    return np.asarray(squared_error, np.float64), np.asarray(variance, np.float64)

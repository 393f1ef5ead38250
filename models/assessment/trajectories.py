"""Errors of predicted sets of trajectories (Shifts 1.0, section 5 and appendix E).

A prediction is D weighted modes, each T positions in metres. Requests with fewer modes are padded with modes whose
positions are all NaN and whose weight is zero; they are ignored. A mode of weight zero with positions is treated like
the others, as in the released code: it counts for the least and the average error.
"""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]
Aggregator = Literal["min", "avg", "top1", "weighted"]
"""Reduction of modes: ``min`` and ``avg`` over modes, ``top1`` the first of the largest weight, ``weighted`` by
weight."""

_BLOCK = 1 << 21  # positions per step: differences stay some 50 MB for any number of requests


class WeightsError(ValueError):
    """The weights of a request's modes are not a distribution."""


def mode_ade(truth: Floats, predicted: Floats) -> Float64:
    """Return the average displacement error of each mode, m, float64 [N, D]: mean over steps of the distance.

    Args:
        truth: true positions [N, T, 2], m.
        predicted: positions of each mode [N, D, T, 2], m.

    Raises:
        ValueError: other shapes, or a true position that is not finite.
    """
    return _by_mode(truth, predicted, "mean distance")


def mode_fde(truth: Floats, predicted: Floats) -> Float64:
    """Return the final displacement error of each mode, m, float64 [N, D]: distance at the last step. See
    ``mode_ade``."""
    _check_shapes(truth, predicted)
    return _by_mode(truth[:, -1:], predicted[:, :, -1:], "mean distance")


def mode_squared_distance(truth: Floats, predicted: Floats) -> Float64:
    """Return the sum over steps of squared distances of each mode, m^2, float64 [N, D]. See ``mode_ade``."""
    return _by_mode(truth, predicted, "sum of squares")


def aggregate(errors: Floats, weights: Floats, aggregator: Aggregator) -> Float64:
    """Reduce the errors of each request's modes to one error, float64 [N], in the error's unit.

    Args:
        errors: error of each mode [N, D]; NaN for padding, whose weight is zero.
        weights: weight of each mode [N, D]; each row is not negative and sums to one.

    Raises:
        WeightsError: a row of weights is not a distribution.
        ValueError: different shapes, an unknown aggregator, or the error of a mode that counts is not finite.
    """
    if errors.shape != weights.shape:
        raise ValueError(f"errors and weights need one shape [N, D], got {errors.shape} and {weights.shape}")
    if aggregator not in ("min", "avg", "top1", "weighted"):
        raise ValueError(f"aggregator is {aggregator!r}: use min, avg, top1 or weighted")
    weights = checked_weights(weights)
    exact = np.asarray(errors, np.float64)
    counts = _counted(exact, weights)
    known = _finite(exact, counts)
    if aggregator == "min":
        return np.asarray(np.where(counts, known, np.inf).min(axis=1))
    if aggregator == "avg":
        return np.asarray(known.sum(axis=1) / counts.sum(axis=1))
    if aggregator == "top1":
        return np.asarray(np.take_along_axis(known, weights.argmax(axis=1)[:, None], axis=1)[:, 0])
    return np.asarray((weights * known).sum(axis=1))


def log_likelihood(truth: Floats, predicted: Floats, weights: Floats, *, sigma: float = 1.0) -> Float64:
    """Return the log-likelihood of the truth in a mixture of normals around the modes, nats, float64 [N].

    ln sum_d w_d prod_t N(truth_t; predicted_dt, sigma^2 I), the bracket of Shifts 1.0, equation 15 (sigma 1).

    Args:
        truth, predicted: as ``mode_ade``.
        weights: as ``aggregate``.
        sigma: standard deviation of each coordinate, m.

    Raises:
        WeightsError, ValueError: as ``mode_ade`` and ``aggregate``, or sigma is not positive.
    """
    corrected = cnll(truth, predicted, weights, sigma=sigma)
    return np.asarray(-corrected - truth.shape[1] * math.log(2 * math.pi * sigma**2))


def cnll(truth: Floats, predicted: Floats, weights: Floats, *, sigma: float = 1.0) -> Float64:
    """Return the corrected negative log-likelihood, nats, float64 [N] (Shifts 1.0, equation 15).

    The likelihood's constant T ln(2 pi sigma^2) is subtracted, so that a certain and exact mode has the least value,
    zero: -ln sum_d w_d exp(-d2_d / (2 sigma^2)). Arguments and errors as ``log_likelihood``.
    """
    if not (sigma > 0 and math.isfinite(sigma)):
        raise ValueError(f"sigma is {sigma} m: give a finite standard deviation above 0 m")
    d2 = mode_squared_distance(truth, predicted)
    if weights.shape != d2.shape:
        raise ValueError(f"weights need one value a mode, shape {d2.shape}, got {weights.shape}")
    weights = checked_weights(weights)
    d2 = _finite(d2, _counted(d2, weights))
    with np.errstate(divide="ignore"):
        exponent = np.log(weights) - d2 / (2 * sigma**2)
    largest = exponent.max(axis=1)
    return np.asarray(0.0 - largest - np.log(np.exp(exponent - largest[:, None]).sum(axis=1)))


def checked_weights(weights: Floats) -> Float64:
    """Return weights of modes as float64 [N, D], each row a distribution: its sum is one by numpy.isclose.

    Raises:
        WeightsError: the message names row and sum or value.
        ValueError: another shape.
    """
    if weights.ndim != 2 or not weights.size:
        raise ValueError(f"weights need the shape [N, D] with N and D at least 1, got {weights.shape}")
    exact = np.asarray(weights, np.float64)
    sums = exact.sum(axis=1)
    if not (near := np.isclose(sums, 1)).all():
        row = int(np.argmin(near))
        raise WeightsError(
            f"Weights are expected to sum to 1. Sum: {sums[row]} in row {row}; allowed is 1 within 1.001e-5. "
            "Normalise the weights of the modes that are sent; scores need a softmax."
        )
    if (exact < 0).any():
        row, mode = (int(index[0]) for index in np.nonzero(exact < 0))
        raise WeightsError(
            f"Weights are expected to be non-negative. Weight {exact[row, mode]} of mode {mode} in row {row}; "
            "allowed is 0 to 1."
        )
    return exact


def _by_mode(truth: Floats, predicted: Floats, figure: Literal["mean distance", "sum of squares"]) -> Float64:
    _check_shapes(truth, predicted)
    requests, modes, steps, _ = predicted.shape
    result = np.empty((requests, modes))
    for rows in _blocks(requests, modes * steps):
        difference = np.asarray(predicted[rows], np.float64) - np.asarray(truth[rows, None], np.float64)
        squares = np.einsum("ndtc,ndtc->ndt", difference, difference)
        result[rows] = squares.sum(axis=2) if figure == "sum of squares" else np.sqrt(squares).mean(axis=2)
    return result


def _blocks(requests: int, positions: int) -> Iterator[slice]:
    size = max(1, _BLOCK // positions)
    return (slice(start, start + size) for start in range(0, requests, size))


def _counted(errors: Float64, weights: Float64) -> NDArray[np.bool_]:
    """Return the mask of the modes that are not padding, [N, D]."""
    return np.asarray(~np.isnan(errors) | (weights > 0))


def _finite(errors: Float64, counts: NDArray[np.bool_]) -> Float64:
    """Return the errors with zero at modes that do not count."""
    known = np.where(counts, errors, 0.0)
    if not np.isfinite(known).all():
        row, mode = (int(index[0]) for index in np.nonzero(~np.isfinite(known)))
        raise ValueError(
            f"the error of mode {mode} in row {row} is {known[row, mode]}: positions are finite, in metres; "
            "give a mode that does not exist NaN for all of its positions and the weight 0"
        )
    return known


def _check_shapes(truth: Floats, predicted: Floats) -> None:
    fit = predicted.ndim == 4 and truth.ndim == 3 and predicted.shape[:1] + predicted.shape[2:] == truth.shape
    if not fit or truth.shape[2] != 2 or not predicted.size:
        raise ValueError(
            f"need true positions [N, T, 2] and predicted ones [N, D, T, 2], none empty, "
            f"got {truth.shape} and {predicted.shape}"
        )
    if not np.isfinite(truth).all():
        row, step = (int(index[0]) for index in np.nonzero(~np.isfinite(truth).all(axis=2)))
        raise ValueError(f"the true position of row {row} at step {step} is {truth[row, step].tolist()}, not finite")

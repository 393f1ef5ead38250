"""Errors of predicted means (Shifts 2.0, section 4), in float64 for inputs of any precision."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def squared_error(target: Floats, prediction: Floats) -> NDArray[np.float64]:
    """Return squared differences in the target's unit squared, float64 [N]."""
    return np.square(_difference(target, prediction))


def absolute_error(target: Floats, prediction: Floats) -> NDArray[np.float64]:
    """Return absolute differences in the target's unit, float64 [N]."""
    return np.abs(_difference(target, prediction))


def rmse(target: Floats, prediction: Floats) -> float:
    """Return the root mean squared error in the target's unit."""
    return math.sqrt(float(np.mean(squared_error(target, prediction))))


def mae(target: Floats, prediction: Floats) -> float:
    """Return the mean absolute error in the target's unit."""
    return float(np.mean(absolute_error(target, prediction)))


def mape(target: Floats, prediction: Floats) -> float:
    """Return the mean absolute percentage error, %; for a target of zero infinite if missed, NaN if met."""
    error = absolute_error(target, prediction)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = error / np.abs(np.asarray(target, np.float64))
    return 100 * float(np.mean(share))


def _difference(target: Floats, prediction: Floats) -> NDArray[np.float64]:
    if target.shape != prediction.shape or target.ndim != 1 or not len(target):
        raise ValueError(f"need two arrays of one length, got shapes {target.shape} and {prediction.shape}")
    return np.asarray(target, np.float64) - np.asarray(prediction, np.float64)

"""Nine errors of a request, with the limits of the papers and the released code."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.trajectories import Aggregator, aggregate, cnll, mode_ade, mode_fde

Floats = NDArray[np.floating[Any]]

AGGREGATORS: tuple[Aggregator, ...] = ("min", "avg", "top1", "weighted")
DISPLACEMENTS = tuple(f"{aggregator}{kind}" for kind in ("ade", "fde") for aggregator in AGGREGATORS)
UNITS = {"cnll": "nats", **dict.fromkeys(DISPLACEMENTS, "m")}
"""Unit of each error, the task's own first."""
ACCEPTABLE = {"cnll": 25.0, **dict.fromkeys(DISPLACEMENTS, 1.0)}
"""Limits of acceptable errors. Shifts 1.0 retains by cNLL, with the limit of its table 21; the released code by
displacements only.
"""


def request_errors(truth: Floats, predicted: Floats, weights: Floats) -> dict[str, Floats]:
    """Return all errors by the names of ``UNITS``, float64 [N] each.

    Args:
        truth: true positions [N, T, 2], m.
        predicted: positions of each mode [N, D, T, 2], m; all of them NaN for padding.
        weights: weights of modes [N, D]; each row is not negative and sums to one, and padding has the weight zero.

    Raises:
        ValueError: a shape is wrong, weights are not a distribution, or a position outside padding is not finite.
    """
    ade, fde = mode_ade(truth, predicted), mode_fde(truth, predicted)
    lost = np.argwhere(np.isnan(ade))
    partly = ~np.isnan(predicted[lost[:, 0], lost[:, 1]]).all(axis=(1, 2))
    if partly.any():
        row, mode = (int(index) for index in lost[np.argmax(partly)])
        raise ValueError(f"mode {mode} in row {row} has positions and NaN: all are finite, or all NaN for padding")
    return {
        "cnll": cnll(truth, predicted, weights),
        **{f"{name}ade": aggregate(ade, weights, name) for name in AGGREGATORS},
        **{f"{name}fde": aggregate(fde, weights, name) for name in AGGREGATORS},
    }

"""The nine errors of a request, with the limits that the papers and the released code put on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.trajectories import Aggregator, aggregate, cnll, mode_ade, mode_fde

Floats = NDArray[np.floating[Any]]

AGGREGATORS: tuple[Aggregator, ...] = ("min", "avg", "top1", "weighted")
DISPLACEMENTS = tuple(f"{aggregator}{kind}" for kind in ("ade", "fde") for aggregator in AGGREGATORS)
UNITS = {"cnll": "nats", **dict.fromkeys(DISPLACEMENTS, "m")}
"""Name of each error to its unit, the task's own first."""
ACCEPTABLE = {"cnll": 25.0, **dict.fromkeys(DISPLACEMENTS, 1.0)}
"""Shifts 1.0 retains by cNLL, with the limit of its table 21; the released code by displacements only."""


def request_errors(truth: Floats, predicted: Floats, weights: Floats, *, padded: bool) -> dict[str, Floats]:
    """All errors by the names of ``UNITS``, float64 [N] each.

    Args:
        truth: true positions [N, T, 2], m.
        predicted: positions of each mode [N, D, T, 2], m.
        weights: of each mode [N, D]; each row is not negative and sums to one.
        padded: whether modes of weight zero are padding; otherwise they count among the least and the average.

    Raises:
        ValueError: other shapes, weights that are no distribution, or a position that is not finite.
    """
    ade, fde = mode_ade(truth, predicted), mode_fde(truth, predicted)
    return {
        "cnll": cnll(truth, predicted, weights),
        **{f"{name}ade": aggregate(ade, weights, name, padded=padded) for name in AGGREGATORS},
        **{f"{name}fde": aggregate(fde, weights, name, padded=padded) for name in AGGREGATORS},
    }

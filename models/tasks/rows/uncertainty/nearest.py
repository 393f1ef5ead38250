"""Variance from the errors of the nearest calibration rows, as normalised conformal prediction scales its intervals.

Source: Papadopoulos, Gammerman and Vovk (2008), "Normalized nonconformity measures for regression conformal
prediction"; the distance is Euclidean in standardised columns.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Value
from models.tasks.rows.uncertainty import folds
from models.tasks.rows.uncertainty.spread import Fitted, Inputs, positive

NEIGHBOURS = 25
MOST_ROWS = 2048
"""Most calibration rows that are compared with; the artefact holds them, standardised."""
_SMOOTHING = 0.1
"""Share of the mean absolute error that is added to that of the neighbours."""


@dataclass(frozen=True)
class Scaling:
    """Standardisation of rows to points; categories become columns of their own, each half a unit of distance."""

    mean: NDArray[np.float32]
    factor: NDArray[np.float32]
    """Factor of each column [F]; 0 for categorical columns."""
    categories: tuple[int, ...]

    def points(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return points [n, D] of rows [n, F]; a missing value lies at the mean."""
        numbers = np.nan_to_num((rows - self.mean) * self.factor)
        parts = [numbers]
        for position, count in enumerate(self.categories):
            if count:
                parts.append((rows[:, position, None] == np.arange(count)) / np.sqrt(2))
        return np.concatenate(parts, axis=1).astype(np.float32)

    def add(self, graph: Graph, rows: Value) -> Value:
        """Add the same to a graph."""
        z = (rows - self.mean) * self.factor
        parts = [graph.op("Where", graph.op("IsNaN", z), 0.0, z)]
        for position, count in enumerate(self.categories):
            if count:
                column = graph.column(rows, position)
                same = graph.op("Equal", column, np.arange(count, dtype=np.float32)[None])
                parts.append(graph.op("Cast", same, to=1) * float(np.float32(1 / np.sqrt(2))))
        return parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)


@dataclass(frozen=True)
class Nearest:
    """Variance by the mean absolute error of the nearest calibration rows."""

    scaling: Scaling
    points: NDArray[np.float32]
    """Points of calibration rows [R, D]."""
    error: NDArray[np.float32]
    """Their absolute errors [R]."""
    smoothing: float
    factor: float
    """Factor from the squared sum of mean error and smoothing to a variance."""
    trees = False

    def add(self, graph: Graph, rows: Value, mean: Value) -> Value:
        """Add the search; see ``Spread``."""
        points = self.scaling.add(graph, rows)
        closeness = 2.0 * (points @ self.points.T) - (self.points**2).sum(axis=1)[None]
        count = np.array([min(NEIGHBOURS, len(self.error))])
        _, places = graph.ops("TopK", 2, closeness, count, axis=1, largest=1)
        errors = graph.op("Gather", self.error, places)
        scale = graph.op("ReduceMean", errors, np.array([1]), keepdims=0) + self.smoothing
        return scale * scale * self.factor


def nearest(inputs: Inputs) -> Fitted:
    """Fit the search on at most ``MOST_ROWS`` rows; variances of rows come from rows of other folds."""
    scaling = _scaling(inputs)
    points, error = scaling.points(inputs.rows), np.abs(inputs.error).astype(np.float32)
    smoothing = positive(_SMOOTHING * float(error.mean()))
    scale = np.empty(len(error))
    for fit, evaluate in folds.parts(inputs.fold):
        kept = fit[:: max(1, -(-len(fit) // MOST_ROWS))]
        scale[evaluate] = _mean_error(points[evaluate], points[kept], error[kept]) + smoothing
    factor = positive(float(np.mean(inputs.error**2) / np.mean(scale**2)))
    kept = np.arange(len(error))[:: max(1, -(-len(error) // MOST_ROWS))]
    return Fitted(Nearest(scaling, points[kept], error[kept], smoothing, factor), scale**2 * factor)


def _scaling(inputs: Inputs) -> Scaling:
    numeric = np.array([not count for count in inputs.categories])
    rows = np.where(numeric, inputs.rows, 0.0).astype(np.float64)
    empty = np.isnan(rows).all(axis=0)
    rows[:, empty] = 0.0
    deviation = np.nanstd(rows, axis=0)
    factor = np.where(numeric & (deviation > 0), 1 / np.where(deviation > 0, deviation, 1.0), 0.0)
    return Scaling(np.nanmean(rows, axis=0).astype(np.float32), factor.astype(np.float32), inputs.categories)


def _mean_error(
    points: NDArray[np.float32], known: NDArray[np.float32], error: NDArray[np.float32]
) -> NDArray[np.float64]:
    count = min(NEIGHBOURS, len(error))
    squares = (known**2).sum(axis=1)[None]
    means = []
    for start in range(0, len(points), 1024):
        closeness = 2.0 * (points[start : start + 1024] @ known.T) - squares
        places = np.argpartition(-closeness, count - 1, axis=1)[:, :count]
        means.append(error[places].mean(axis=1))
    return np.concatenate(means).astype(np.float64)

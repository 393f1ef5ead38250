"""Variance of a prediction as a function of a row: what models without uncertainty are completed with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Value

Floats = NDArray[np.float64]


class Spread(Protocol):
    """Fitted function from rows and predictions to variances, in the square of the target's unit."""

    @property
    def trees(self) -> bool:
        """True if it has operators that run on a CPU only."""
        ...

    def add(self, graph: Graph, rows: Value, mean: Value) -> Value:
        """Add the function to a graph; return variances [N].

        Args:
            rows: rows [N, F].
            mean: mean prediction [N].
        """
        ...


@dataclass(frozen=True)
class Fitted:
    """A spread, and its variances of the rows that it was fitted on, each computed without the row's own fold."""

    spread: Spread
    variance: Floats
    """Variances [n]."""


@dataclass(frozen=True)
class Inputs:
    """Rows on which a spread is fitted."""

    rows: NDArray[np.float32]
    """Rows [n, F], missing values NaN, categorical columns as codes."""
    mean: Floats
    """Mean predictions [n]."""
    error: Floats
    """Label less mean prediction [n]."""
    fold: NDArray[np.intp]
    """Number of the fold of each row."""
    categories: tuple[int, ...]
    """Number of categories of each column [F]; 0 for numbers."""


Fit = Callable[[Inputs], Fitted]


@dataclass(frozen=True)
class Constant:
    """The same variance for every row."""

    variance: float
    trees = False

    def add(self, graph: Graph, rows: Value, mean: Value) -> Value:
        """Add the constant, as long as the mean; see ``Spread``."""
        return mean * 0.0 + self.variance


def constant(inputs: Inputs) -> Fitted:
    """Fit the mean squared error, the best constant variance of a normal distribution around the prediction."""
    variance = positive(float(np.mean(inputs.error**2)))
    return Fitted(Constant(variance), np.full(len(inputs.mean), variance))


def positive(variance: float) -> float:
    """Return a variance that is not zero, for models that fit their calibration rows exactly."""
    return max(variance, float(np.finfo(np.float32).tiny) * 1e8)

"""Temperature scaling of class probabilities (Guo et al. 2017): one number that makes confidences honest."""

import math

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Value

_LEAST = 1e-7
"""Smallest probability; smaller ones are raised to it before their logarithm is taken."""
_SIGNIFICANT = 3.84
"""Twice the gain in log-likelihood from which a temperature is used: the 95 % quantile of chi-squared with one degree
of freedom."""


def fitted(probabilities: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Return the temperature of most likelihood; 1 if it gains no more than chance does.

    Args:
        probabilities: of M members, [M, n, C]; those of the ensemble are the mean of the scaled ones.
        labels: classes [n].
    """
    from scipy.optimize import minimize_scalar

    def loss(logarithm: float) -> float:
        mean = scaled(probabilities, math.exp(logarithm)).mean(axis=0)
        return float(-np.log(np.maximum(mean[np.arange(len(labels)), labels], _LEAST)).sum())

    best = minimize_scalar(loss, bounds=(-2.5, 2.5), method="bounded")
    return math.exp(float(best.x)) if 2 * (loss(0.0) - float(best.fun)) > _SIGNIFICANT else 1.0


def scaled(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return probabilities [..., C] after division of their logarithms by the temperature."""
    if temperature == 1:
        return probabilities
    logits = np.log(np.maximum(probabilities, _LEAST)) / temperature
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def add(graph: Graph, probabilities: Value, temperature: float) -> Value:
    """Add the same to a graph."""
    if temperature == 1:
        return probabilities
    logits = graph.op("Log", graph.op("Max", probabilities, _LEAST)) / temperature
    return graph.op("Softmax", logits, axis=-1)

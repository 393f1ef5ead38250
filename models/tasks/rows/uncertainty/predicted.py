"""Predictions of the members of a head in one form, from what models return: by NumPy, and as nodes of a graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Value
from models.tasks.rows.sources.source import Output

Floats = NDArray[np.float64]
_NARROWEST = 1e-12
"""Smallest deviation from quantiles, as a share of the mean's size plus one: quantiles may meet."""


@dataclass(frozen=True)
class Means:
    """Means of M members and, where models have them, variances."""

    mean: Floats
    """[M, n], in the target's unit."""
    variance: Floats | None
    """[M, n], in its square."""


@dataclass(frozen=True)
class Probabilities:
    """Class probabilities of M members, [M, n, C]."""

    values: Floats


Predicted = Means | Probabilities


@dataclass(frozen=True)
class GraphPredicted:
    """The same as values of a graph; either ``mean`` or ``probabilities`` is there."""

    mean: Value | None = None
    variance: Value | None = None
    probabilities: Value | None = None


def predicted(output: Output, raw: Floats) -> Predicted:
    """Return predictions from raw outputs [M, n, K]."""
    if output.meaning == "probabilities":
        return Probabilities(raw)
    if output.meaning == "logits":
        return Probabilities(_softmax(raw))
    if output.meaning == "mean":
        return Means(raw[..., 0], None)
    if output.meaning == "quantiles":
        weights, low, high, distance = _quantiles(output)
        mean = raw @ weights
        deviation = np.abs(raw[..., high] - raw[..., low]) / distance
        return Means(mean, np.maximum(deviation, _NARROWEST * (1 + np.abs(mean))) ** 2)
    second = np.exp(2 * raw[..., 1]) if output.meaning == "mean_and_log_deviation" else raw[..., 1]
    return Means(raw[..., 0], second)


def add(graph: Graph, output: Output, raw: Value) -> GraphPredicted:
    """Add the same to a graph, from raw outputs [M, N, K]."""
    if output.meaning == "probabilities":
        return GraphPredicted(probabilities=raw)
    if output.meaning == "logits":
        return GraphPredicted(probabilities=_graph_softmax(graph, raw, output))
    if output.meaning == "quantiles":
        weights, low, high, distance = _quantiles(output)
        mean = _last(graph, raw @ weights.astype(np.float32)[:, None], 0)
        width = graph.op("Abs", _last(graph, raw, high) - _last(graph, raw, low)) / distance
        narrowest = (graph.op("Abs", mean) + 1.0) * _NARROWEST
        deviation = graph.op("Max", width, narrowest)
        return GraphPredicted(mean=mean, variance=deviation * deviation)
    mean = _last(graph, raw, 0)
    if output.meaning == "mean":
        return GraphPredicted(mean=mean)
    second = _last(graph, raw, 1)
    return GraphPredicted(mean=mean, variance=graph.exp(second * 2.0) if "log" in output.meaning else second)


def _last(graph: Graph, value: Value, index: int) -> Value:
    """Return one element of the last axis, without the axis."""
    return graph.op("Squeeze", graph.column(value, index), np.array([-1]))


def _quantiles(output: Output) -> tuple[Floats, int, int, float]:
    """Return weights of the median, the places of the outermost levels, and their distance in deviations."""
    from scipy.stats import norm

    levels = np.array(output.levels)
    weights = np.array([np.interp(0.5, levels, row) for row in np.eye(len(levels))])
    distance = float(norm.ppf(levels[-1]) - norm.ppf(levels[0]))
    return weights, 0, len(levels) - 1, distance


def _softmax(raw: Floats) -> Floats:
    if raw.shape[-1] == 1:
        second = 1 / (1 + np.exp(-raw))
        return np.concatenate([1 - second, second], axis=-1)
    powers = np.exp(raw - raw.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _graph_softmax(graph: Graph, raw: Value, output: Output) -> Value:
    if output.width > 1:
        return graph.op("Softmax", raw, axis=-1)
    second = graph.sigmoid(raw)
    return graph.op("Concat", 1.0 - second, second, axis=-1)

"""Last part of a graph of rows: from the members' predictions to the statistics of a head."""

import numpy as np

from models.executors.graph import Graph, Value
from models.head import Head
from models.tasks.rows.sources.source import Output
from models.tasks.rows.uncertainty import predicted as predictions
from models.tasks.rows.uncertainty import temperature
from models.tasks.rows.uncertainty.choice import Candidate
from models.uncertainty.categorical import LOG_EPSILON

M, N = "members", "rows"


def add(
    graph: Graph, rows: Value | None, raw: Value, head: Head, output: Output, candidate: Candidate, several: bool
) -> None:
    """Add the statistics of a head to the outputs of a graph.

    Args:
        rows: rows [N, F]; None if the candidate needs none.
        raw: raw outputs of the members [M, N, K].
        several: whether there is more than one member.
    """
    members = predictions.add(graph, output, raw)
    if members.probabilities is not None:
        _classes(graph, head, temperature.add(graph, members.probabilities, candidate.temperature), several)
        return
    assert members.mean is not None
    mean, variance = members.mean, members.variance
    if candidate.spread is not None:
        assert rows is not None
        each = candidate.spread.add(graph, rows, graph.mean_of_members(mean))
        variance = mean * 0.0 + graph.op("Unsqueeze", each, np.array([0]))
    assert variance is not None
    _numbers(graph, head, mean, variance, several)


def _numbers(graph: Graph, head: Head, mean: Value, variance: Value, several: bool) -> None:
    centre = graph.mean_of_members(mean)
    graph.output(f"{head.name}.mean", centre, (N,))
    graph.output(f"{head.name}.mvar", graph.mean_of_members(variance), (N,))
    if several:
        apart = mean - graph.op("Unsqueeze", centre, np.array([0]))
        graph.output(f"{head.name}.varm", graph.mean_of_members(apart * apart), (N,))
    graph.output(f"{head.name}.member_mean", mean, (M, N))
    graph.output(f"{head.name}.member_var", variance, (M, N))


def _classes(graph: Graph, head: Head, probabilities: Value, several: bool) -> None:
    classes = head.classes or 0
    mean = graph.mean_of_members(probabilities)
    graph.output(f"{head.name}.probabilities", graph.op("Transpose", mean, perm=[1, 0]), (classes, N))
    if several:
        logarithm = graph.op("Log", probabilities + float(LOG_EPSILON))
        entropy = graph.op("ReduceSum", probabilities * logarithm, np.array([2]), keepdims=0) * -1.0
        graph.output(f"{head.name}.expected_entropy", graph.mean_of_members(entropy), (N,))
    members = graph.op("Transpose", probabilities, perm=[0, 2, 1])
    graph.output(f"{head.name}.member_probabilities", members, (M, classes, N))

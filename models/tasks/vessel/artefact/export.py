"""One ONNX graph for all members and samples of a vessel ensemble (stacked layout).

Input ``rows`` float32 [N, F] in the schema's units; outputs ``mean`` (kW), ``mvar`` and, for ensembles, ``varm`` (kW²),
float32 [N], and the members' own ``member_mean`` (kW) and ``member_var`` (kW²), float32 [K, N] with K = members x
samples. Scaling is folded into the first layer, its inverse into the last.

``varm`` is the mean of squared deviations from the mean, not E[m²] - E[m]², which loses precision here. Frozen dropout
masks are stored beside the weights and multiplied when a session loads (constant folding), so that a hundred predictors
need the file size of ten and the first layer runs only ten times.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Value
from models.tasks.vessel.artefact.ensemble import Scaling, TrainedEnsemble
from models.tasks.vessel.data.table import NAMES
from models.tasks.vessel.networks import frozen, physics

FLOOR = 1e-6
"""Constant added to every standard deviation, in scaled units (released model)."""

Layers = dict[str, NDArray[np.float64]]


def export(ensemble: TrainedEnsemble, kind: type[Graph] = Graph) -> bytes:
    """Return the ensemble as an ONNX graph; the same weights give the same bytes.

    ``kind`` may build operations differently.
    """
    graph = kind(f"vessel_{ensemble.family}")
    rows = graph.input("rows", ("N", len(NAMES)))
    layers = _scaled_rows(_stacked(ensemble), ensemble.scaling)
    if ensemble.family == "symbolic":
        mean, std = _symbolic(graph, rows, layers, ensemble)
    else:
        layers = _mean_in_kilowatt(layers, ensemble.scaling)
        masked = ensemble.family == "mc_dropout" and ensemble.samples > 1
        raw = _masked(graph, rows, layers, ensemble) if masked else _dense(graph, rows, layers)
        mean = graph.column(raw, 0)
        std = (graph.softplus(graph.column(raw, 1)) + FLOOR) * ensemble.scaling.power_std
    _reduce(graph, _flat(graph, mean), _flat(graph, std), ensemble.size)
    return graph.serialise()


def _stacked(ensemble: TrainedEnsemble) -> Layers:
    """Return kernels [M, S, in, out] and biases [M, S, 1, out]; S is 1 if samples share the weights."""
    if ensemble.family == "variational" and ensemble.samples > 1:
        weights = frozen.weight_samples(ensemble)
    else:
        weights = {name: array[:, None] for name, array in ensemble.weights.items()}
    return {name: weights[name].astype(np.float64) for name in ("w1", "b1", "w2", "b2", "w3", "b3")}


def _scaled_rows(layers: Layers, scaling: Scaling) -> Layers:
    kernel = layers["w1"] / scaling.std[:, None]
    return layers | {"w1": kernel, "b1": layers["b1"] - scaling.mean[None, :] @ kernel}


def _mean_in_kilowatt(layers: Layers, scaling: Scaling) -> Layers:
    kernel, bias = layers["w3"].copy(), layers["b3"].copy()
    kernel[..., 0] *= scaling.power_std
    bias[..., 0] = bias[..., 0] * scaling.power_std + scaling.power_mean
    return layers | {"w3": kernel, "b3": bias}


def _dense(graph: Graph, rows: Value, layers: Layers) -> Value:
    """Return linear outputs [K, N, 2]."""
    w = {name: graph.constant(array.reshape(-1, *array.shape[2:])) for name, array in layers.items()}
    hidden = graph.softplus(rows @ w["w1"] + w["b1"])
    hidden = graph.softplus(hidden @ w["w2"] + w["b2"])
    return hidden @ w["w3"] + w["b3"]


def _masked(graph: Graph, rows: Value, layers: Layers, ensemble: TrainedEnsemble) -> Value:
    """Return linear outputs [M, S, N, 2] under frozen dropout masks of both hidden layers."""
    first, second = frozen.masks(ensemble)
    w = {name: graph.constant(array) for name, array in layers.items()}
    hidden = graph.softplus(rows @ w["w1"] + w["b1"])
    hidden = graph.softplus(hidden @ (w["w2"] * first[..., None]) + w["b2"])
    return hidden @ (w["w3"] * second[..., None]) + w["b3"]


def _symbolic(graph: Graph, rows: Value, layers: Layers, ensemble: TrainedEnsemble) -> tuple[Value, Value]:
    """Return mean and standard deviation, kW, [M, N, 1]."""
    coefficients = {
        name: graph.constant(bound.lower + (bound.upper - bound.lower) * _sigmoid(ensemble.weights[f"c_{name}"]))
        for name, bound in physics.COEFFICIENTS.items()
    }
    correction = _dense(graph, rows, layers)
    mean, std = physics.predict(rows, correction, coefficients, physics.positions(NAMES), graph)
    return mean, std


def _sigmoid(raw: NDArray[Any]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-raw.astype(np.float64)))


def _flat(graph: Graph, value: Value) -> Value:
    """Flatten the member axes: [..., N, 1] to [K, N]."""
    return graph.op("Flatten", graph.op("Squeeze", value, np.array([-1])), axis=-1)


def _reduce(graph: Graph, mean: Value, std: Value, size: int) -> None:
    variance = std * std
    centre = graph.mean_of_members(mean)
    graph.output("mean", centre, ("N",))
    graph.output("mvar", graph.mean_of_members(variance), ("N",))
    if size > 1:
        deviation = mean - centre
        graph.output("varm", graph.mean_of_members(deviation * deviation), ("N",))
    graph.output("member_mean", mean, ("K", "N"))
    graph.output("member_var", variance, ("K", "N"))

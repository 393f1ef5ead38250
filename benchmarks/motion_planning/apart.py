"""Members as separate graphs, as torch's exporter writes them: one session samples, the other scores."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.inputs import opened
from benchmarks.motion_planning.ensembles import Array, noise
from models.executors.graph import Graph, Value
from models.tasks.motion.artefact import export_encoders
from models.tasks.motion.artefact.export_encoders import array
from models.tasks.motion.artefact.export_plans import input_weights
from models.tasks.motion.inference.grid import CHANNELS
from models.tasks.motion.inference.members import STEPS
from models.tasks.motion.networks.decoders import SCALE_FLOOR
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import SAMPLES

Scoring = Literal["cells", "gru"]

_LOG_2PI = math.log(2 * math.pi)


class Loop:
    """Python loop in which every member samples, then every member scores every plan."""

    def __init__(self, networks: Sequence[Network], folder: Path, scoring: Scoring, *, reuse: bool = False) -> None:
        """Open the sessions of all members.

        Args:
            scoring: by unrolled cells, or by the operator GRU over the whole sequence.
            reuse: take the scores of a member's own plans from sampling.
        """
        plans = (len(networks) - reuse) * SAMPLES
        self._samplers = [opened(_sampler(network), folder) for network in networks]
        self._scorers = [opened(_scorer(network, plans, scoring), folder) for network in networks]
        self._reuse = reuse
        self._noise = noise()

    def __call__(self, maps: Array) -> tuple[Array, Array]:
        """Return plans [G, T, 2] and scores [K, G] of one map [1, 17, y, x]."""
        made = [
            sampler.run({"maps": maps, "noise": drawn}, ("plans", "own", "state", "drift"))
            for sampler, drawn in zip(self._samplers, self._noise, strict=True)
        ]
        plans = np.concatenate([plan for plan, _, _, _ in made])
        rows = [self._scored(member, plans, *made[member][1:]) for member in range(len(made))]
        return plans, np.stack(rows)

    def _scored(self, member: int, plans: Array, own: Array, state: Array, drift: Array) -> Array:
        here = slice(member * SAMPLES, (member + 1) * SAMPLES)
        others = np.delete(plans, here, axis=0) if self._reuse else plans
        (scores,) = self._scorers[member].run({"state": state, "drift": drift, "plans": others}, ("scores",))
        return np.insert(scores, [here.start] * SAMPLES, own) if self._reuse else scores


def _sampler(network: Network) -> Graph:
    """Return a graph from maps [1, ..] and noise [Q, T, 2] to plans, their own densities, and the start state."""
    graph = Graph("sampler")
    grid = network.sizes.grid
    maps = graph.input("maps", (1, CHANNELS, grid, grid))
    draws = graph.input("noise", (SAMPLES, STEPS, 2))
    (features,), drift = export_encoders.pooled(graph, maps, [network])
    state = export_encoders.embedded(graph, features, network)
    drift = graph.constant(np.zeros((1, 2))) if drift is None else drift
    plans, own = sampled(graph, network, state, drift, draws)
    graph.output("plans", plans, (SAMPLES, STEPS, 2))
    graph.output("own", own, (SAMPLES,))
    graph.output("state", state, (1, network.sizes.hidden))
    graph.output("drift", drift, (1, 2))
    return graph


def _scorer(network: Network, count: int, scoring: Scoring) -> Graph:
    graph = Graph("scorer")
    state, drift = graph.input("state", (1, network.sizes.hidden)), graph.input("drift", (1, 2))
    plans = graph.input("plans", (count, STEPS, 2))
    graph.output("scores", scored(graph, network, state, drift, plans, count, scoring), (count,))
    return graph


def sampled(graph: Graph, network: Network, state: Value, drift: Value, draws: Value) -> tuple[Value, Value]:
    """Return plans [Q, T, 2] of noise [Q, T, 2] and their densities [Q]."""
    hidden = graph.op("Expand", state, [SAMPLES, 1])
    y = moved = graph.constant(np.zeros((SAMPLES, 2)))
    positions, scales = [], []
    for x in _steps(graph, draws, 1):
        hidden = _cell(graph, network, _seen(graph, network, y, moved), hidden)
        mean, scale = _said(graph, network, hidden)
        moved = mean + scale * x
        y = y + (drift + moved)
        positions.append(graph.op("Unsqueeze", y, [1]))
        scales.append(graph.op("Unsqueeze", scale, [1]))
    terms = draws * draws * -0.5 - graph.op("Log", graph.op("Concat", *scales, axis=1))
    own = graph.op("ReduceSum", terms, [1, 2], keepdims=0) - STEPS * _LOG_2PI
    return graph.op("Concat", *positions, axis=1), own


def scored(
    graph: Graph, network: Network, state: Value, drift: Value, plans: Value, count: int, scoring: Scoring
) -> Value:
    """Return densities [count] of plans [count, T, 2]."""
    hidden = graph.op("Expand", state, [count, 1])
    along = graph.op("Transpose", plans, perm=[1, 0, 2])
    before = _before(graph, along, count)
    moved = along - before - drift
    seen = _seen(graph, network, before, _before(graph, moved, count))
    if scoring == "gru":
        mean, scale = _said(graph, network, _whole(graph, network, seen, hidden))
        return density(graph, graph.op("Unsqueeze", moved, [1]), mean, scale, [0, 1, 3])
    total: Value | None = None
    for inputs, step in zip(_steps(graph, seen, 0), _steps(graph, moved, 0), strict=True):
        hidden = _cell(graph, network, inputs, hidden)
        term = density(graph, step, *_said(graph, network, hidden), [1])
        total = term if total is None else total + term
    assert total is not None
    return total


def density(graph: Graph, moved: Value, mean: Value, scale: Value, axes: list[int]) -> Value:
    x = (moved - mean) / scale
    terms = x * x * -0.5 - graph.op("Log", scale) - _LOG_2PI / 2
    return graph.op("ReduceSum", terms, axes, keepdims=0)


def _steps(graph: Graph, x: Value, axis: int) -> list[Value]:
    return [graph.op("Squeeze", part, [axis]) for part in graph.split(x, [1] * STEPS, axis=axis)]


def _before(graph: Graph, along: Value, count: int) -> Value:
    """Return the predecessor of each of [T, count, 2]: zero before the first."""
    return graph.op("Concat", np.zeros((1, count, 2)), graph.op("Slice", along, [0], [STEPS - 1], [0]), axis=0)


def _seen(graph: Graph, network: Network, y: Value, moved: Value) -> Value:
    return graph.op("Concat", y, moved, axis=-1) if network.sizes.sees_steps else y


def _cell(graph: Graph, network: Network, seen: Value, hidden: Value) -> Value:
    cell, width = network.decoder.cell, network.sizes.hidden
    incoming = graph.op("Gemm", seen, input_weights(network).T, array(cell.bias_ih))
    kept = graph.op("Gemm", hidden, array(cell.weight_hh).T, array(cell.bias_hh))
    given_r, given_z, given_n = graph.split(incoming, [width] * 3, axis=1)
    kept_r, kept_z, kept_n = graph.split(kept, [width] * 3, axis=1)
    n = graph.tanh(given_n + graph.sigmoid(given_r + kept_r) * kept_n)
    return n + graph.sigmoid(given_z + kept_z) * (hidden - n)


def _whole(graph: Graph, network: Network, seen: Value, hidden: Value) -> Value:
    """Return hidden states [T, 1, count, hidden] by the operator GRU, whose gates are in another order."""
    cell = network.decoder.cell
    parts = (input_weights(network), *map(array, (cell.weight_hh, cell.bias_ih, cell.bias_hh)))
    incoming, kept, given_bias, kept_bias = (
        np.concatenate([np.split(weights, 3)[gate] for gate in (1, 0, 2)]) for weights in parts
    )
    return graph.op(
        "GRU",
        seen,
        incoming[None],
        kept[None],
        np.concatenate([given_bias, kept_bias])[None],
        None,
        graph.op("Unsqueeze", hidden, [0]),
        hidden_size=network.sizes.hidden,
        linear_before_reset=1,
    )


def _said(graph: Graph, network: Network, hidden: Value) -> tuple[Value, Value]:
    """Return mean and scale of displacements, [.., 2]."""
    layers = [network._output] if network.sizes.decoder == "bc" else network._flow._locscale._model
    for layer in layers:
        linear = hasattr(layer, "weight")
        hidden = hidden @ array(layer.weight).T + array(layer.bias) if linear else graph.relu(hidden)
    mean, raw = graph.split(hidden, [2, 2], axis=-1)
    return mean, graph.softplus(raw) + SCALE_FLOOR

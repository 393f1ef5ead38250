"""Plans and scores of all members in one ONNX graph: every member follows every plan while it is made.

A member samples its own plans, and scores the plans of the others. Both need the same recurrent state, so all members
advance through the steps together with K Q plans each, and every plan is decoded once. For measurements against
sampling first and scoring with the operator GRU, and against weights of all members stacked into one: see
``benchmarks.motion_planning``. Needs torch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Steps, Value
from models.tasks.motion.artefact.export_encoders import array
from models.tasks.motion.networks.decoders import SCALE_FLOOR
from models.tasks.motion.networks.network import Network

Array = NDArray[np.float32]

_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Start:
    """Initial state of a member's decoder."""

    network: Network
    state: Value
    """State [1 or Q, N, hidden], one for each mask."""
    mask: Array | None = None
    """Mask of the hidden state before mean and scale, [Q, hidden]."""


@dataclass(frozen=True)
class Counts:
    """Numbers of members K, samples Q and steps T."""

    members: int
    samples: int
    steps: int

    @property
    def plans(self) -> int:
        """Number of plans, G = K Q."""
        return self.members * self.samples


def planned(
    graph: Graph, starts: Sequence[Start], drift: Value | None, noise: Value, requests: Value, counts: Counts
) -> tuple[Value, Value]:
    """Return plans [N, K Q, T, 2], m, and their log-densities under each member, nats, [N, K, K Q].

    Rows of the graph are (plan, request): rows of one plan are consecutive.

    Args:
        drift: displacement per step that is added to the decoders' output, m, [N, 2].
        noise: standard normal, [K, Q, T, 2].
        requests: number of requests N, int64 [1].
    """
    plans, sizes = counts.plans, starts[0].network.sizes
    states = [_rows(graph, start, counts) for start in starts]
    nowhere = graph.op("Expand", np.zeros((plans, 1, 2), np.float32), graph.op("Concat", [1], requests, [1], axis=0))
    draws = graph.op("Reshape", graph.op("Transpose", noise, perm=[2, 0, 1, 3]), [counts.steps, plans, 1, 2])

    def step(body: Graph, now: list[Value], drawn: list[Value]) -> Steps:
        *hidden, y, moved = now
        seen = body.op("Concat", y, moved, axis=2) if sizes.sees_steps else y
        flat = body.op("Reshape", seen, [-1, sizes.inputs])
        new = [_cell(body, start.network, flat, state) for start, state in zip(starts, hidden, strict=True)]
        heads = [
            body.op("Unsqueeze", _head(body, start, state, counts), [0])
            for start, state in zip(starts, new, strict=True)
        ]
        every = body.op("Concat", *heads, axis=0)
        mean, raw = body.split(_own(body, every, counts), [2, 2], axis=2)
        moved = mean + _scale(body, raw) * drawn[0]
        placed = y + (moved if drift is None else drift + moved)
        return Steps([*new, placed, moved], [placed, moved, every])

    walked = graph.scan(step, [*states, nowhere, nowhere], [draws])
    positions, moved, every = walked.outputs
    mean, raw = graph.split(every, [2, 2], axis=3)
    scale = _scale(graph, raw)
    x = (graph.op("Reshape", moved, [counts.steps, 1, -1, 2]) - mean) / scale
    terms = x * x * -0.5 - graph.op("Log", scale)
    score = graph.op("ReduceSum", terms, [0, 3], keepdims=0) - counts.steps * _LOG_2PI
    score = graph.op("Reshape", score, [counts.members, plans, -1])
    return graph.op("Transpose", positions, perm=[2, 1, 0, 3]), graph.op("Transpose", score, perm=[2, 0, 1])


def _rows(graph: Graph, start: Start, counts: Counts) -> Value:
    """Return a member's initial states for all plans, [G N, hidden]."""
    repeated = graph.op("Expand", graph.op("Unsqueeze", start.state, [0]), [counts.members, counts.samples, 1, 1])
    return graph.op("Reshape", repeated, [-1, start.network.sizes.hidden])


def _cell(body: Graph, network: Network, seen: Value, state: Value) -> Value:
    """Apply a gated recurrent unit as in torch; sums of two products are one operation."""
    reset, update, new = (_gate(network, number) for number in range(3))
    r, z = (
        body.sigmoid(
            body.op(
                "Gemm", state, gate.recurrent, body.op("Gemm", seen, gate.input, gate.input_bias + gate.recurrent_bias)
            )
        )
        for gate in (reset, update)
    )
    remembered = body.op("Gemm", state, new.recurrent, new.recurrent_bias)
    n = body.tanh(body.op("Gemm", seen, new.input, new.input_bias) + r * remembered)
    return n + z * (state - n)


@dataclass(frozen=True)
class _Gate:
    """Weights of one of the three gates of a cell, as right factors."""

    input: Array
    input_bias: Array
    recurrent: Array
    recurrent_bias: Array


def input_weights(network: Network) -> Array:
    """Return the input weights of the recurrent cell for positions (and steps) in metres, [3 hidden, inputs]."""
    weights = array(network.decoder.cell.weight_ih).copy()
    weights[:, :2] /= network.decoder.unit
    return weights


def _gate(network: Network, number: int) -> _Gate:
    cell, width = network.decoder.cell, network.sizes.hidden
    part = slice(number * width, (number + 1) * width)
    return _Gate(
        input_weights(network)[part].T,
        array(cell.bias_ih)[part],
        array(cell.weight_hh)[part].T,
        array(cell.bias_hh)[part],
    )


def _head(body: Graph, start: Start, state: Value, counts: Counts) -> Value:
    """Return the mean of the next displacement and the raw scale, [G N, 4]."""
    network = start.network
    if start.mask is not None:
        hidden = network.sizes.hidden
        apart = body.op("Reshape", state, [counts.members, counts.samples, -1, hidden])
        state = body.op("Reshape", apart * start.mask[:, None], [-1, hidden])
    if network.sizes.decoder == "bc":
        return _linear(body, state, network._output)
    first, _, second = network._flow._locscale._model
    return _linear(body, body.relu(_linear(body, state, first)), second)


def _linear(body: Graph, x: Value, layer: Any) -> Value:
    return body.op("Gemm", x, array(layer.weight).T, array(layer.bias))


def _own(body: Graph, every: Value, counts: Counts) -> Value:
    """Select the output of each member for its own plans, [G, N, 4], from that for all plans, [K, G N, 4]."""
    members = counts.members
    blocks = body.op("Reshape", every, [members * members, -1, 4])
    mine = body.op("Gather", blocks, np.arange(members) * (members + 1), axis=0)
    return body.op("Reshape", mine, [counts.plans, -1, 4])


def _scale(graph: Graph, raw: Value) -> Value:
    """Return softplus(raw) + the floor, accurate to the last digits also for values far below one.

    log(1 + u) is u log(w) / (w - 1) with w = 1 + u rounded, and u where w is 1 (Goldberg 1991, theorem 4): a stationary
    vehicle has scales of millimetres and less, whose logarithm is its score.
    """
    u = graph.exp(graph.op("Neg", graph.op("Abs", raw)))
    w = u + 1.0
    rest = w - 1.0
    nothing = graph.op("Equal", rest, 0.0)
    quotient = u * graph.op("Log", w) / graph.op("Where", nothing, 1.0, rest)
    return graph.relu(raw) + graph.op("Where", nothing, u, quotient) + SCALE_FLOOR

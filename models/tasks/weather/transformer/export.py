"""One ONNX graph for all members and samples of an FT-Transformer ensemble.

Input ``rows`` float32 [N, F] in the schema's units, NaN and sentinels for missing values; outputs ``temperature``
float32 [K, N, 2] (mean °C, variance °C²) and ``precipitation`` [K, N, C] (probabilities), if the networks have these
heads, with K = members x samples. Each member has its own matrices (``layout = split``): ONNX Runtime packs
two-dimensional constants once, and one member's tokens stay in the core's cache.

The graph computes the same as the torch network, with less work: scalings are folded into weights; the bias of keys
shifts all scores of a query alike and is left out, that of values passes through attention and moves into the next
layer; and the last block's single query is multiplied with the tokens themselves, because q (x W)^T = (q W^T) x^T and a
(x W) = (a x) W. The products of weights for this are computed when a session loads the file, which does not contain
them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from models.executors.graph import Graph, Value
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.tasks.weather.transformer import frozen
from models.tasks.weather.transformer.ensemble import TrainedEnsemble, Weights
from models.tasks.weather.transformer.scaling import LARGEST, LIMIT, Scaling
from models.tasks.weather.transformer.settings import EPSILON, FLOOR, Sizes

Array = NDArray[np.float64]


def export(ensemble: TrainedEnsemble) -> bytes:
    """Return the ensemble as an ONNX graph; the same weights give the same bytes."""
    graph = Graph(f"weather_{ensemble.family}")
    rows = graph.input("rows", ("N", len(ensemble.scaling)))
    values, missing = _prepared(graph, rows, ensemble.scaling)
    masks = frozen.masks(ensemble)
    parts = []
    for member in range(ensemble.members):
        weights = {name: array[member] for name, array in ensemble.weights.items()}
        own = {name: array[member] for name, array in masks.items()}
        parts.append(_Member(graph, ensemble, weights, own).run(values, missing))
    for name in ensemble.heads:
        together = graph.op("Concat", *(part[name] for part in parts), axis=0)
        graph.output(name, together, ("K", "N", ensemble.outputs(name)))
    return graph.serialise()


def _prepared(graph: Graph, rows: Value, scaling: Scaling) -> tuple[Value, Value]:
    """Return values [N, T, 1] and the mask of missing ones; the first token is [CLS], whose value is zero."""
    missing = graph.op("IsNaN", rows)
    for codes in scaling.sentinels:
        missing = graph.op("Or", missing, graph.op("Equal", rows, codes))
    known = graph.op("Where", missing, scaling.mean, rows)
    known = graph.op("Clip", known, np.float32(-LARGEST), np.float32(LARGEST))
    values = graph.op("Clip", (known - scaling.mean) * scaling.inverse, np.float32(-LIMIT), np.float32(LIMIT))
    before, last = np.array([0, 1, 0, 0]), np.array([-1])
    return (
        graph.op("Unsqueeze", graph.op("Pad", values, before), last),
        graph.op("Unsqueeze", graph.op("Pad", missing, before), last),
    )


@dataclass(frozen=True)
class _Member:
    """Builder of one member in the graph.

    Tokens are one long matrix [S N T, width]; S is 1 until a frozen mask makes the samples differ.
    """

    graph: Graph
    ensemble: TrainedEnsemble
    weights: Weights
    masks: frozen.Masks

    @property
    def sizes(self) -> Sizes:
        return self.ensemble.sizes

    def run(self, values: Value, missing: Value) -> dict[str, Value]:
        """Return the outputs of the heads, [S, N, outputs]."""
        graph, sizes = self.graph, self.sizes
        tokens, samples = self._tokens(values, missing), 1
        for number in range(sizes.blocks):
            name = f"blocks.{number}"
            read = self._norm(tokens) if number else tokens
            if number == sizes.blocks - 1:
                attended, tokens = self._pooled(read, name), self._answer(tokens)
            else:
                attended = self._attended(read, name)
            tokens, samples = self._added(tokens, samples, attended, samples, f"attended.{number}")
            fed, after = self._fed(self._norm(tokens), name, number, samples)
            tokens, samples = self._added(tokens, samples, fed, after, f"fed.{number}")
        scale, shift = self.weights["norm.weight"], self.weights["norm.bias"]
        answer = graph.relu(self._norm(tokens) * scale + shift)
        return {head: self._head_output(answer, head, samples) for head in self.ensemble.heads}

    def _tokens(self, values: Value, missing: Value) -> Value:
        """Return value times direction plus offset, or the missing token; [CLS] is the offset of a value of zero."""
        graph, weights = self.graph, self.weights
        nothing = np.zeros_like(weights["tokens.answer"])
        direction = np.concatenate([nothing, weights["tokens.direction"]])
        offset = np.concatenate([weights["tokens.answer"], weights["tokens.offset"]])
        absent = np.concatenate([nothing, weights["tokens.missing"]])
        tokens = values * direction + graph.op("Where", missing, absent, offset)
        return graph.op("Reshape", tokens, np.array([-1, self.sizes.width]))

    def _attended(self, tokens: Value, name: str) -> Value:
        """Return the attention output of all tokens."""
        graph, sizes = self.graph, self.sizes
        kernel, bias = self._projection(name)
        asking, keys, values = np.split(kernel, 3, axis=1)
        shape = np.array([-1, len(self), sizes.heads, sizes.width // sizes.heads])
        made = (tokens @ asking + bias[: sizes.width], tokens @ keys, tokens @ values)
        by_head = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        queries, turned, seen = (
            graph.op("Transpose", graph.op("Reshape", projected, shape), perm=order)
            for projected, order in zip(made, by_head, strict=True)
        )
        mixed = graph.op("Softmax", queries @ turned, axis=-1) @ seen
        mixed = graph.op("Transpose", mixed, perm=[0, 2, 1, 3])
        join, left = self._joined(name)
        return graph.op("Reshape", mixed, np.array([-1, sizes.width])) @ join + left

    def _pooled(self, tokens: Value, name: str) -> Value:
        """Return the attention output of [CLS]."""
        graph, sizes = self.graph, self.sizes
        together = graph.op("Reshape", tokens, np.array([-1, len(self), sizes.width]))
        kernel, bias = self._projection(name)
        asking, keys, values = (_by_head(part, sizes.heads) for part in np.split(kernel, 3, axis=1))
        keys = np.swapaxes(keys, -1, -2)
        meet = graph.op("Transpose", graph.constant(asking) @ keys, perm=[1, 0, 2])
        meet = graph.op("Reshape", meet, np.array([sizes.width, -1]))
        shift = _by_head(bias[None, : sizes.width], sizes.heads) @ keys
        queries = self._answer(tokens) @ meet + shift.reshape(-1)
        queries = graph.op("Reshape", queries, np.array([-1, sizes.heads, sizes.width]))
        shares = graph.op("Softmax", queries @ graph.op("Transpose", together, perm=[0, 2, 1]), axis=-1)
        mixed = graph.op("Reshape", shares @ together, np.array([-1, sizes.heads * sizes.width]))
        join, left = self._joined(name)
        taken = graph.constant(values) @ join.reshape(sizes.heads, -1, sizes.width)
        return mixed @ graph.op("Reshape", taken, np.array([-1, sizes.width])) + left

    def _fed(self, tokens: Value, name: str, number: int, samples: int) -> tuple[Value, int]:
        """Apply the feed-forward part to normalised tokens; return the number of different samples after it, too."""
        kernel, bias = self._linear(f"{name}.widen", f"{name}.feed_norm")
        linear, gate = np.split(kernel, 2, axis=-1)
        linear_bias, gate_bias = np.split(bias, 2, axis=-1)
        hidden = (tokens @ linear + linear_bias) * self.graph.relu(tokens @ gate + gate_bias)
        hidden, samples = self._masked(hidden, f"hidden.{number}", self.sizes.hidden_dropout, samples)
        kernel, bias = self._linear(f"{name}.narrow")
        return hidden @ kernel + bias, samples

    def _masked(self, value: Value, place: str, dropout: float, samples: int) -> tuple[Value, int]:
        """Apply a frozen mask, scaled by the share that is kept."""
        kept = self.masks.get(place)
        if kept is None:
            return value, samples
        graph, shape = self.graph, kept.shape[1:]
        factor = graph.op("Cast", graph.constant(kept[:, None]), to=TensorProto.FLOAT) * (1 / (1 - dropout))
        apart = graph.op("Reshape", value, np.array([samples, -1, *shape]))
        return graph.op("Reshape", apart * factor, np.array([-1, shape[-1]])), len(kept)

    def _added(self, tokens: Value, samples: int, part: Value, after: int, place: str) -> tuple[Value, int]:
        """Add the output of a part of a block, which may have more samples, to the tokens."""
        graph, width = self.graph, self.sizes.width
        part, after = self._masked(part, place, self.sizes.residual_dropout, after)
        if after == samples:
            return tokens + part, samples
        together = graph.op("Reshape", tokens, np.array([samples, -1, width])) + graph.op(
            "Reshape", part, np.array([after, -1, width])
        )
        return graph.op("Reshape", together, np.array([-1, width])), after

    def _head_output(self, answer: Value, head: str, samples: int) -> Value:
        """Return mean and variance, or probabilities, from the answer of [CLS]."""
        graph = self.graph
        kernel, bias = self._linear(head)
        if head == TEMPERATURE.name:
            kernel, bias = _in_celsius(kernel, bias, self.ensemble.scaling)
        raw = graph.op("Reshape", answer @ kernel + bias, np.array([samples, -1, len(bias)]))
        if head == PRECIPITATION.name:
            return graph.op("Softmax", raw, axis=-1)
        std = (graph.softplus(graph.column(raw, 1)) + FLOOR) * self.ensemble.scaling.temperature_std
        return graph.op("Concat", graph.column(raw, 0), std * std, axis=-1)

    def _norm(self, tokens: Value) -> Value:
        """Normalise tokens; scale and shift are part of the following linear layer."""
        return self.graph.op("LayerNormalization", tokens, np.ones(self.sizes.width), axis=-1, epsilon=EPSILON)

    def _answer(self, tokens: Value) -> Value:
        """Return [CLS] of each row."""
        rows = self.graph.op("Reshape", tokens, np.array([-1, len(self) * self.sizes.width]))
        return self.graph.op("Slice", rows, np.array([0]), np.array([self.sizes.width]), np.array([1]))

    def _projection(self, name: str) -> tuple[Array, Array]:
        """Return the projection to queries, keys and values.

        Queries are divided by the square root of a head's width.
        """
        norm = f"{name}.attention_norm"
        kernel, bias = self._linear(f"{name}.project", norm if f"{norm}.weight" in self.weights else None)
        scale = np.ones(3 * self.sizes.width)
        scale[: self.sizes.width] = 1 / math.sqrt(self.sizes.width // self.sizes.heads)
        return kernel * scale, bias * scale

    def _joined(self, name: str) -> tuple[Array, Array]:
        """Return the layer after attention, with the values' bias passed through it."""
        kernel, bias = self._linear(f"{name}.join")
        return kernel, bias + self._projection(name)[1][2 * self.sizes.width :] @ kernel

    def _linear(self, name: str, norm: str | None = None) -> tuple[Array, Array]:
        """Return kernel [in, out] and bias [out] of a layer, with scale and shift of the preceding norm."""
        kernel = self.weights[f"{name}.weight"].T.astype(np.float64)
        bias = self.weights[f"{name}.bias"].astype(np.float64)
        if norm is None:
            return kernel, bias
        return kernel * self.weights[f"{norm}.weight"][:, None], bias + self.weights[f"{norm}.bias"] @ kernel

    def __len__(self) -> int:
        """Number of tokens of a row."""
        return len(self.ensemble.scaling) + 1


def _by_head(kernel: Array, heads: int) -> Array:
    """Split a kernel [in, heads x width] to [heads, in, width]."""
    return np.moveaxis(kernel.reshape(len(kernel), heads, -1), 1, 0)


def _in_celsius(kernel: Array, bias: Array, scaling: Scaling) -> tuple[Array, Array]:
    """Return the temperature's last layer with the mean in °C; the second output stays the input of softplus."""
    kernel, bias = kernel.copy(), bias.copy()
    kernel[:, 0] *= scaling.temperature_std
    bias[0] = bias[0] * scaling.temperature_std + scaling.temperature_mean
    return kernel, bias

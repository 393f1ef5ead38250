"""One ONNX graph for all members and samples of an FT-Transformer ensemble.

Input ``rows`` float32 [N, F] in the schema's units, NaN and sentinels for missing values; outputs ``temperature``
float32 [K, N, 2] (mean °C, variance °C²) and ``precipitation`` [K, N, C] (probabilities), if the networks have these
heads, with K = members x samples. Each member has its own matrices (``layout = split``): ONNX Runtime packs
two-dimensional constants once, and one member's tokens stay in the core's cache.

The graph computes the same as the torch network, with less work: scalings are folded into weights; the bias of keys
shifts all scores of a query alike and is left out, that of values passes through attention and moves into the next
layer; and the last block's single query is multiplied with the tokens themselves, because q (x W)^T = (q W^T) x^T and a
(x W) = (a x) W.
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
    tokens = _tokens(graph, values, missing, ensemble)
    masks = frozen.masks(ensemble)
    raw = []
    for member, own_tokens in enumerate(tokens):
        weights = {name: array[member] for name, array in ensemble.weights.items()}
        own = {name: array[member] for name, array in masks.items()}
        raw.append(_Member(graph, ensemble, weights, own).run(own_tokens))
    _predicted(graph, graph.op("Concat", *raw, axis=0), ensemble)
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


def _tokens(graph: Graph, values: Value, missing: Value, ensemble: TrainedEnsemble) -> list[Value]:
    """Return the tokens of each member [N T, width]: value times direction plus offset, or the missing token.

    [CLS] is the offset of a value of zero. The members' tokens are made together, because operations on rows as short
    as a token's cost more than their arithmetic.
    """
    weights, width = ensemble.weights, ensemble.sizes.width
    answer = weights["tokens.answer"]
    parts = {"direction": np.zeros_like(answer), "missing": np.zeros_like(answer), "offset": answer}
    direction, absent, offset = (
        np.concatenate(np.concatenate([first, weights[f"tokens.{name}"]], axis=1), axis=-1)
        for name, first in parts.items()
    )  # [T, members x width]
    tokens = values * direction + graph.op("Where", missing, absent, offset)
    tokens = graph.op("Reshape", tokens, np.array([-1, ensemble.members * width]))
    return list(graph.split(tokens, [width] * ensemble.members, axis=1)) if ensemble.members > 1 else [tokens]


def _predicted(graph: Graph, raw: Value, ensemble: TrainedEnsemble) -> None:
    """Declare mean and variance, and probabilities, from the raw outputs of all heads [K, N, outputs]."""
    sizes = [ensemble.outputs(name) for name in ensemble.heads]
    for name, part in zip(ensemble.heads, graph.split(raw, sizes, axis=-1), strict=True):
        if name == PRECIPITATION.name:
            output = graph.op("Softmax", part, axis=-1)
        else:
            mean, spread = graph.split(part, [1, 1], axis=-1)
            std = (graph.softplus(spread) + FLOOR) * ensemble.scaling.temperature_std
            output = graph.op("Concat", mean, std * std, axis=-1)
        graph.output(name, output, ("K", "N", ensemble.outputs(name)))


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

    def run(self, tokens: Value) -> Value:
        """Return the raw outputs of all heads, [S, N, outputs]."""
        graph, sizes = self.graph, self.sizes
        samples = 1
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
        answer = graph.relu(self._norm(tokens, self.weights["norm.weight"], self.weights["norm.bias"]))
        kernels, biases = zip(*(self._head(name) for name in self.ensemble.heads), strict=True)
        raw = answer @ np.concatenate(kernels, axis=1) + np.concatenate(biases)
        return graph.op("Reshape", raw, np.array([samples, -1, sum(map(len, biases))]))

    def _attended(self, tokens: Value, name: str) -> Value:
        """Return the attention output of all tokens."""
        graph, sizes = self.graph, self.sizes
        kernel, bias = self._projection(name)
        asking, keys, values = np.split(kernel, 3, axis=1)
        shape = np.array([-1, len(self), sizes.heads, sizes.width // sizes.heads])
        turned_queries, turned_keys, turned_values = (
            graph.op("Transpose", graph.op("Reshape", projected, shape), perm=[0, 2, 3, 1])
            for projected in (tokens @ asking + bias[: sizes.width], tokens @ keys, tokens @ values)
        )  # [N, heads, width of a head, T]: whole matrices are transposed faster than a head's few numbers are moved
        shares = graph.op("Softmax", self._product(turned_queries, turned_keys, transA=1), axis=-1)
        mixed = graph.op("Transpose", self._product(shares, turned_values, transB=1), perm=[0, 2, 1, 3])
        join, left = self._joined(name)
        return graph.op("Reshape", mixed, np.array([-1, sizes.width])) @ join + left

    def _pooled(self, tokens: Value, name: str) -> Value:
        """Return the attention output of [CLS]."""
        graph, sizes = self.graph, self.sizes
        together = graph.op("Reshape", tokens, np.array([-1, len(self), sizes.width]))
        apart = np.array([-1, sizes.heads, 1, sizes.width // sizes.heads])
        whole = np.array([-1, sizes.heads, sizes.width])
        kernel, bias = self._projection(name)
        asking, keys, values = np.split(kernel, 3, axis=1)
        queries = graph.op("Reshape", self._answer(tokens) @ asking + bias[: sizes.width], apart)
        queries = graph.op("Reshape", queries @ np.swapaxes(_by_head(keys, sizes.heads), -1, -2), whole)
        shares = graph.op("Softmax", queries @ graph.op("Transpose", together, perm=[0, 2, 1]), axis=-1)
        mixed = graph.op("Unsqueeze", shares @ together, np.array([2])) @ _by_head(values, sizes.heads)
        join, left = self._joined(name)
        return graph.op("Reshape", mixed, np.array([-1, sizes.width])) @ join + left

    def _product(self, left: Value, right: Value, **transposed: int) -> Value:
        """Return a product of matrices of which one is transposed without a copy."""
        return self.graph.op("FusedMatMul", left, right, domain="com.microsoft", **transposed)

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

    def _head(self, name: str) -> tuple[Array, Array]:
        """Return the last layer of a head; the mean of temperature is in °C."""
        kernel, bias = self._linear(name)
        return _in_celsius(kernel, bias, self.ensemble.scaling) if name == TEMPERATURE.name else (kernel, bias)

    def _norm(self, tokens: Value, *affine: NDArray[np.float32]) -> Value:
        """Normalise tokens; without ``affine``, scale and shift are part of the following linear layer."""
        scale = affine or (np.ones(self.sizes.width),)
        return self.graph.op("LayerNormalization", tokens, *scale, axis=-1, epsilon=EPSILON)

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

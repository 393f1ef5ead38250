"""One ONNX graph for all members and samples of an FT-Transformer ensemble.

Input ``rows`` float32 [N, F] in the schema's units, NaN and sentinels for what is missing; outputs ``temperature``
float32 [K, N, 2] (mean °C, variance °C²) and ``precipitation`` [K, N, C] (probabilities), as far as the networks have
these heads, with K = members x samples.

The graph computes what the torch network does, with less work: scalings are folded into weights; the bias of keys
shifts all scores of a query alike and is left out, that of values passes through attention unchanged and moves into
the next layer; and the last block's single query meets the tokens themselves, because q (x W)^T = (q W^T) x^T and
a (x W) = (a x) W, instead of keys and values made of all tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from models.executors.graph import Graph, Value
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.tasks.weather.transformer import frozen
from models.tasks.weather.transformer.ensemble import TrainedEnsemble, Weights
from models.tasks.weather.transformer.scaling import LARGEST, LIMIT, Scaling
from models.tasks.weather.transformer.settings import Sizes

FLOOR = 1e-3
"""Added to every standard deviation, in standard deviations of the training temperatures (``network.FLOOR``)."""
EPSILON = 1e-5
"""Added to variances in normalisation layers (``network.EPSILON``)."""

Array = NDArray[np.float64]
Layout = Literal["stacked", "split"]


def layout_for(sizes: Sizes) -> Layout:
    """The faster layout: per-member matrices once they are large enough that packing them at each call would cost."""
    return "stacked" if sizes.width * sizes.hidden <= 16_384 else "split"


def export(ensemble: TrainedEnsemble, layout: Layout | None = None) -> bytes:
    """The graph; the same weights give the same bytes."""
    graph = Graph(f"weather_{ensemble.family}")
    rows = graph.input("rows", ("N", len(ensemble.scaling)))
    values, missing = _prepared(graph, rows, ensemble.scaling)
    masks = frozen.masks(ensemble)
    if (layout or layout_for(ensemble.sizes)) == "stacked":
        said = _Members(graph, ensemble, ensemble.weights, masks, ensemble.members).run(values, missing)
    else:
        parts = []
        for member in range(ensemble.members):
            weights = {name: array[member] for name, array in ensemble.weights.items()}
            own = {name: array[member] for name, array in masks.items()}
            parts.append(_Members(graph, ensemble, weights, own, None).run(values, missing))
        said = {name: graph.op("Concat", *(part[name] for part in parts), axis=0) for name in ensemble.heads}
    for name, value in said.items():
        graph.output(name, value, ("K", "N", ensemble.outputs(name)))
    return graph.serialise()


def _prepared(graph: Graph, rows: Value, scaling: Scaling) -> tuple[Value, Value]:
    """Values [N, T, 1] and whether they are missing; the first token is [CLS], whose value is zero."""
    missing = graph.op("IsNaN", rows)
    for codes in scaling.sentinels:
        missing = graph.op("Or", missing, graph.op("Equal", rows, codes))
    known = graph.op("Where", missing, scaling.mean, rows)
    known = graph.op("Clip", known, np.float32(-LARGEST), np.float32(LARGEST))
    values = graph.op("Clip", (known - scaling.mean) * scaling.inverse, np.float32(-LIMIT), np.float32(LIMIT))
    before = np.array([0, 1, 0, 0])
    return (
        graph.op("Unsqueeze", graph.op("Pad", values, before), np.array([-1])),
        graph.op("Unsqueeze", graph.op("Pad", missing, before), np.array([-1])),
    )


@dataclass(frozen=True)
class _Members:
    """Writes one member, or with ``stack`` all of them at once.

    Tokens are [S, N, T, width], stacked [M, S, N, T, width]; S is 1 until a frozen mask makes the samples differ.
    """

    graph: Graph
    ensemble: TrainedEnsemble
    weights: Weights
    masks: frozen.Masks
    stack: int | None

    @property
    def sizes(self) -> Sizes:
        return self.ensemble.sizes

    def run(self, values: Value, missing: Value) -> dict[str, Value]:
        """What the heads say, [K, N, outputs]."""
        tokens = self._tokens(values, missing)
        samples = 1
        for number in range(self.sizes.blocks):
            name = f"blocks.{number}"
            norm = f"{name}.attention_norm" if number else None
            read = self._norm(tokens) if number else tokens
            if number == self.sizes.blocks - 1:
                attended, tokens = self._pooled(read, name, norm, samples), self._answer(tokens)
            else:
                attended = self._attended(read, name, norm, samples)
            attended, samples = self._masked(attended, f"attended.{number}", self.sizes.residual_dropout, samples)
            tokens = tokens + attended
            fed, samples = self._fed(self._norm(tokens), name, number, samples)
            tokens = tokens + fed
        scale, shift = self.weights["norm.weight"], self.weights["norm.bias"]
        answer = self.graph.relu(self._norm(tokens) * self._vector(scale) + self._vector(shift))
        return {head: self._said(answer, head, samples) for head in self.ensemble.heads}

    def _tokens(self, values: Value, missing: Value) -> Value:
        weights = self.weights
        nothing = np.zeros_like(weights["tokens.answer"])
        direction = np.concatenate([nothing, weights["tokens.direction"]], axis=-2)
        offset = np.concatenate([weights["tokens.answer"], weights["tokens.offset"]], axis=-2)
        absent = np.concatenate([nothing, weights["tokens.missing"]], axis=-2)
        chosen = self.graph.op("Where", missing, self._table(absent), self._table(offset))
        return chosen + values * self._table(direction)

    def _attended(self, tokens: Value, name: str, norm: str | None, samples: int) -> Value:
        """Every token asks all tokens: [..., T, width]."""
        graph, sizes, lead = self.graph, self.sizes, len(self._lead)
        kernel, bias = self._linear(f"{name}.project", norm)
        asking, keys, values = np.split(kernel, 3, axis=-1)
        asking_bias, _, values_bias = np.split(bias, 3, axis=-1)
        scale = 1 / math.sqrt(sizes.width // sizes.heads)
        heads = np.array([*self._lead, samples, -1, len(self), sizes.heads, sizes.width // sizes.heads])
        by_head = [*range(lead), lead, lead + 1, lead + 3, lead + 2, lead + 4]
        turned = [*range(lead), lead, lead + 1, lead + 3, lead + 4, lead + 2]
        queries = tokens @ self._matrix(asking * scale) + self._vector(asking_bias * scale)
        queries = graph.op("Transpose", graph.op("Reshape", queries, heads), perm=by_head)
        met = graph.op("Transpose", graph.op("Reshape", tokens @ self._matrix(keys), heads), perm=turned)
        seen = graph.op("Transpose", graph.op("Reshape", tokens @ self._matrix(values), heads), perm=by_head)
        mixed = graph.op("Transpose", graph.op("Softmax", queries @ met, axis=-1) @ seen, perm=by_head)
        mixed = graph.op("Reshape", mixed, np.array([*self._lead, samples, -1, len(self), sizes.width]))
        join, join_bias = self._linear(f"{name}.join")
        return mixed @ self._matrix(join) + self._vector(join_bias + _times(values_bias, join))

    def _pooled(self, tokens: Value, name: str, norm: str | None, samples: int) -> Value:
        """[CLS] asks all tokens: [..., 1, width].

        Products of two matrices are left to the session that loads them, so that the file need not hold them.
        """
        graph, sizes, lead = self.graph, self.sizes, len(self._lead)
        kernel, bias = self._linear(f"{name}.project", norm)
        asking, keys, values = (_by_head(part, sizes.heads) for part in np.split(kernel, 3, axis=-1))
        asking_bias, _, values_bias = np.split(bias, 3, axis=-1)
        scale = 1 / math.sqrt(sizes.width // sizes.heads)
        keys = np.swapaxes(keys, -1, -2) * scale
        meet = graph.constant(asking) @ graph.constant(keys)
        meet = graph.op("Transpose", meet, perm=[*range(lead), lead + 1, lead, lead + 2])
        meet = graph.op("Reshape", meet, np.array([*self._over_rows, sizes.width, sizes.heads * sizes.width]))
        shift = (_by_head(asking_bias[..., None, :], sizes.heads) @ keys).reshape(*self._lead, -1)
        asked = self._answer(tokens) @ meet + self._vector(shift)
        asked = graph.op("Reshape", asked, np.array([*self._lead, samples, -1, sizes.heads, sizes.width]))
        turned = graph.op("Transpose", tokens, perm=[*range(lead + 2), lead + 3, lead + 2])
        mixed = graph.op("Softmax", asked @ turned, axis=-1) @ tokens
        mixed = graph.op("Reshape", mixed, np.array([*self._lead, samples, -1, 1, sizes.heads * sizes.width]))
        join, join_bias = self._linear(f"{name}.join")
        joined = graph.constant(values) @ graph.constant(join.reshape(*self._lead, sizes.heads, -1, sizes.width))
        joined = graph.op("Reshape", joined, np.array([*self._over_rows, sizes.heads * sizes.width, sizes.width]))
        return mixed @ joined + self._vector(join_bias + _times(values_bias, join))

    def _fed(self, tokens: Value, name: str, number: int, samples: int) -> tuple[Value, int]:
        """The feed-forward part, and how many samples differ after it."""
        sizes = self.sizes
        kernel, bias = self._linear(f"{name}.widen", f"{name}.feed_norm")
        linear, gate = np.split(kernel, 2, axis=-1)
        linear_bias, gate_bias = np.split(bias, 2, axis=-1)
        gated = self.graph.relu(tokens @ self._matrix(gate) + self._vector(gate_bias))
        hidden = (tokens @ self._matrix(linear) + self._vector(linear_bias)) * gated
        hidden, samples = self._masked(hidden, f"hidden.{number}", sizes.hidden_dropout, samples)
        kernel, bias = self._linear(f"{name}.narrow")
        fed = hidden @ self._matrix(kernel) + self._vector(bias)
        return self._masked(fed, f"fed.{number}", sizes.residual_dropout, samples)

    def _masked(self, value: Value, place: str, dropout: float, samples: int) -> tuple[Value, int]:
        """Numbers that a frozen mask keeps, over the share that is kept."""
        kept = self.masks.get(place)
        if kept is None:
            return value, samples
        mask = self.graph.constant(kept[..., None, :, :])
        factor = self.graph.op("Cast", mask, to=TensorProto.FLOAT) * np.float32(1 / (1 - dropout))
        return value * factor, self.ensemble.samples

    def _said(self, answer: Value, head: str, samples: int) -> Value:
        """Mean and variance, or probabilities, of relu(normalised [CLS]) [..., 1, width]."""
        graph = self.graph
        kernel, bias = self._linear(head)
        if head == TEMPERATURE.name:
            kernel, bias = _in_celsius(kernel, bias, self.ensemble.scaling)
        raw = answer @ self._matrix(kernel) + self._vector(bias)
        raw = graph.op("Reshape", raw, np.array([(self.stack or 1) * samples, -1, kernel.shape[-1]]))
        if head == PRECIPITATION.name:
            return graph.op("Softmax", raw, axis=-1)
        std = (graph.softplus(graph.column(raw, 1)) + FLOOR) * self.ensemble.scaling.temperature_std
        return graph.op("Concat", graph.column(raw, 0), std * std, axis=-1)

    def _norm(self, tokens: Value) -> Value:
        """Normalised tokens; scale and shift are part of the linear layer that follows."""
        return self.graph.op("LayerNormalization", tokens, np.ones(self.sizes.width), axis=-1, epsilon=EPSILON)

    def _linear(self, name: str, norm: str | None = None) -> tuple[Array, Array]:
        """Kernel [..., in, out] and bias [..., out], with scale and shift of a norm before it."""
        kernel = np.swapaxes(self.weights[f"{name}.weight"], -1, -2).astype(np.float64)
        bias = self.weights[f"{name}.bias"].astype(np.float64)
        if norm is None:
            return kernel, bias
        shift = self.weights[f"{norm}.bias"].astype(np.float64)
        return kernel * self.weights[f"{norm}.weight"][..., None], bias + _times(shift, kernel)

    def _answer(self, tokens: Value) -> Value:
        """[CLS]: [..., 1, width]."""
        return self.graph.op("Slice", tokens, np.array([0]), np.array([1]), np.array([-2]))

    def __len__(self) -> int:
        """Tokens of a row."""
        return len(self.ensemble.scaling) + 1

    @property
    def _lead(self) -> tuple[int, ...]:
        """Axes of the members."""
        return () if self.stack is None else (self.stack,)

    @property
    def _over_rows(self) -> tuple[int, ...]:
        """Axes of a matrix before its own two. Without members none: then rows and tokens are one long matrix."""
        return () if self.stack is None else (self.stack, 1, 1)

    def _matrix(self, array: NDArray[Any]) -> Value:
        return self.graph.constant(array.reshape(*self._over_rows, *array.shape[-2:]))

    def _vector(self, array: NDArray[Any]) -> Value:
        return self._matrix(array[..., None, :]) if self.stack else self.graph.constant(array)

    def _table(self, array: NDArray[Any]) -> Value:
        """A vector for each token; gives rows their axis of samples."""
        return self.graph.constant(array.reshape(*self._lead, 1, 1, *array.shape[-2:]))


def _by_head(kernel: Array, heads: int) -> Array:
    """[..., in, heads x width] as [..., heads, in, width]."""
    return np.moveaxis(kernel.reshape(*kernel.shape[:-1], heads, -1), -2, -3)


def _times(vector: Array, kernel: Array) -> Array:
    """Vectors [..., in] times matrices [..., in, out]."""
    return (vector[..., None, :] @ kernel)[..., 0, :]


def _in_celsius(kernel: Array, bias: Array, scaling: Scaling) -> tuple[Array, Array]:
    """The temperature's last layer with the mean in °C; the second output stays what the softplus takes."""
    kernel, bias = kernel.copy(), bias.copy()
    kernel[..., 0] *= scaling.temperature_std
    bias[..., 0] = bias[..., 0] * scaling.temperature_std + scaling.temperature_mean
    return kernel, bias

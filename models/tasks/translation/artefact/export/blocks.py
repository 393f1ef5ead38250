"""Blocks of a Transformer as nodes of a graph, in a given precision.

Weights are 2-D and each member's own: ONNX Runtime packs those once, stacked ones at every call. Eight-bit layers scale
each input row by its own largest value, so that results of a sentence do not depend on others in its batch.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Value
from models.tasks.translation.networks.settings import Precision, Sizes
from models.tasks.translation.text.vocabulary import PAD

Weights = Mapping[str, NDArray[np.float32]]
"""Weights of one member, by fairseq's names."""

EPSILON = 1e-5  # of layer normalisation, as in torch
_LEVELS = 127
_WEIGHT_LEVELS = 64
"""Levels of weights, seven bits: processors without VNNI add pairs of products in 16 bits, which eight bits would
overflow.
"""
_ZERO = np.uint8(128)
"""Zero point of activations; levels of weights are signed. Current processors have instructions for this pair of types,
four times as fast as float32, but none for two unsigned types.
"""
_LEAST = 1e-9  # least divisor of a row, its largest value


@dataclass(frozen=True)
class Blocks:
    """Builder that adds one member's blocks to a graph."""

    graph: Graph
    weights: Weights
    sizes: Sizes
    precision: Precision

    def linear(self, x: Value, *names: str) -> Value:
        """Apply linear layers to the same input and concatenate: x [..., d] to [..., sum of widths]."""
        weight = np.concatenate([self.weights[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        return self.product(x, weight) + self._number(bias)

    def product(self, x: Value, weight: NDArray[np.float32]) -> Value:
        """Multiply x [..., d] by weight [d, n]."""
        if self.precision == "int8":
            return _product_of_bytes(self.graph, x, weight)
        return self.graph.op("MatMul", x, self._number(np.ascontiguousarray(weight)))

    def compared(self, x: Value, table: NDArray[np.float32]) -> Value:
        """Multiply x [..., d] by all rows of a table of embeddings [n, d], which is stored once for this and
        ``rows_of``.

        Rows are contiguous in the file, as ``rows_of`` reads them; ONNX Runtime transposes and packs them once, at the
        start.
        """
        if self.precision == "int8":
            levels, scales = quantised(table, axis=1)
            return _product_of_levels(self.graph, x, self._turned(levels), scales[:, 0])
        stored = table.astype(np.float16) if self.precision == "fp16" else table
        return self.graph.op("MatMul", x, self._turned(stored))

    def norm(self, x: Value, name: str) -> Value:
        """Apply layer normalisation over the last axis."""
        scale, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return self.graph.op("LayerNormalization", x, self._number(scale), self._number(bias), epsilon=EPSILON)

    def inner(self, x: Value, layer: str) -> Value:
        """Apply the feed-forward block."""
        return self.linear(self.graph.relu(self.linear(x, f"{layer}.fc1")), f"{layer}.fc2")

    def block(self, x: Value, norm: str, inside: Callable[[Value], Value]) -> Value:
        """Apply a block with its normalisation and residual connection."""
        if self.sizes.norm_first:
            return x + inside(self.norm(x, norm))
        return self.norm(x + inside(x), norm)

    def rows_of(self, table: NDArray[np.float32], tokens: Value) -> Value:
        """Return rows of a table of embeddings, times the square root of the width."""
        graph, scale = self.graph, math.sqrt(self.sizes.width)
        number: Any = scale
        if self.precision == "int8":
            stored, scales = quantised(table, axis=1)
            number = graph.op("Gather", graph.constant(scales * scale), tokens)
        else:
            stored = table if self.precision == "fp32" else table.astype(np.float16)
            number = stored.dtype.type(scale)
        rows = graph.op("Gather", graph.constant(stored), tokens)
        levels: Value = graph.op("Cast", rows, to=1) if self.precision == "int8" else rows
        scaled: Value = levels * number
        return scaled

    def number(self, x: Value) -> Value:
        """Convert a float32 value to the precision of activations."""
        return self.graph.op("Cast", x, to=10) if self.precision == "fp16" else x

    def float32(self, x: Value) -> Value:
        """Convert a value of ``number`` back to float32."""
        return self.graph.op("Cast", x, to=1) if self.precision == "fp16" else x

    def _turned(self, table: NDArray[Any]) -> Value:
        return self.graph.op("Transpose", self.graph.constant(table), perm=[1, 0])

    def _number(self, array: NDArray[np.float32]) -> Value:
        return self.graph.constant(array.astype(np.float16) if self.precision == "fp16" else array)


def quantised(weight: NDArray[np.float32], axis: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Return 8-bit levels and scales of a table, one scale along ``axis``, which is kept with length 1."""
    scales = np.maximum(np.abs(weight).max(axis=axis, keepdims=True), _LEAST) / _WEIGHT_LEVELS
    return np.rint(weight / scales).astype(np.int8), scales.astype(np.float32)


def _product_of_bytes(graph: Graph, x: Value, weight: NDArray[np.float32]) -> Value:
    levels, scales = quantised(weight, axis=0)
    return _product_of_levels(graph, x, graph.constant(levels), scales[0])


def _product_of_levels(graph: Graph, x: Value, levels: Value, scales: NDArray[np.float32]) -> Value:
    largest = graph.op("ReduceMax", graph.op("Abs", x), np.array([-1]), keepdims=1)
    largest = graph.op("Max", largest, _LEAST)
    rows = graph.op("QuantizeLinear", x / largest, 1.0 / _LEVELS, _ZERO)
    product = graph.op(
        "MatMulIntegerToFloat",
        rows,
        levels,
        1.0 / _LEVELS,
        scales,
        _ZERO,
        domain="com.microsoft",
    )
    return product * largest


def places(graph: Graph, numbers: Value, width: int) -> Value:
    """Return sinusoidal embeddings of positions [...], float32 from 0, as [..., width].

    See ``transformer.positions``.
    """
    half = width // 2
    rates = np.exp(np.arange(half) * -(math.log(10_000) / (half - 1)))
    angles = graph.op("Unsqueeze", numbers + float(PAD + 1), np.array([-1])) * rates
    return graph.op("Concat", graph.op("Sin", angles), graph.op("Cos", angles), axis=-1)


def heads(graph: Graph, x: Value, grid: Sequence[int] | Value, order: Sequence[int]) -> Value:
    """Reshape to [.., heads, width of a head] and transpose the axes to ``order``."""
    shape = grid if isinstance(grid, Value) else graph.constant(np.array(grid))
    return graph.op("Transpose", graph.op("Reshape", x, shape), perm=list(order))

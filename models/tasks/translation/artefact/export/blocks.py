"""Blocks of a Transformer as nodes of a graph, in the precision that is asked for.

Weights are 2-D and each member's own: ONNX Runtime packs those once, stacked ones at every call. Eight-bit layers scale
each row of what comes in by its own largest value, so that what is said of a sentence does not depend on its company.
"""

from __future__ import annotations

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
"""Of one member, by fairseq's names."""

EPSILON = 1e-5  # of layer normalisation, torch's
_LEVELS = 127
_WEIGHT_LEVELS = 64
"""Seven bits: processors without VNNI add pairs of products in 16 bits, which eight would overflow."""
_ZERO = np.uint8(128)
"""Of activations; levels of weights are signed. This pair of types has instructions of its own on today's processors,
4 x quicker than float32; two unsigned ones have none."""
_LEAST = 1e-9  # of a row's largest value


@dataclass(frozen=True)
class Blocks:
    """Writes one member's blocks into a graph."""

    graph: Graph
    weights: Weights
    sizes: Sizes
    precision: Precision

    def linear(self, x: Value, *names: str) -> Value:
        """Linear layers of the same input side by side: x [..., d] to [..., sum of widths]."""
        weight = np.concatenate([self.weights[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        return self.product(x, weight) + self._number(bias)

    def product(self, x: Value, weight: NDArray[np.float32]) -> Value:
        """x [..., d] times weight [d, n]."""
        if self.precision == "int8":
            return _product_of_bytes(self.graph, x, weight)
        return self.graph.op("MatMul", x, self._number(np.ascontiguousarray(weight)))

    def compared(self, x: Value, table: NDArray[np.float32]) -> Value:
        """x [..., d] times all rows of a table of embeddings [n, d], which is stored once for this and ``rows_of``.

        Rows lie together in the file, as they are read there; ONNX Runtime turns and packs them once, at the start.
        """
        if self.precision == "int8":
            levels, scales = quantised(table, axis=1)
            return _product_of_levels(self.graph, x, self._turned(levels), scales[:, 0])
        stored = table.astype(np.float16) if self.precision == "fp16" else table
        return self.graph.op("MatMul", x, self._turned(stored))

    def norm(self, x: Value, name: str) -> Value:
        """Layer normalisation over the last axis."""
        scale, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return self.graph.op("LayerNormalization", x, self._number(scale), self._number(bias), epsilon=EPSILON)

    def inner(self, x: Value, layer: str) -> Value:
        """Return the feed-forward block."""
        return self.linear(self.graph.relu(self.linear(x, f"{layer}.fc1")), f"{layer}.fc2")

    def block(self, x: Value, norm: str, inside: Callable[[Value], Value]) -> Value:
        """Return a block with its normalisation and the way around it."""
        if self.sizes.norm_first:
            return x + inside(self.norm(x, norm))
        return self.norm(x + inside(x), norm)

    def rows_of(self, table: NDArray[np.float32], tokens: Value) -> Value:
        """Rows of a table of embeddings, times the square root of the width."""
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
        found: Value = levels * number
        return found

    def number(self, x: Value) -> Value:
        """Return a float32 value in the precision of activations."""
        return self.graph.op("Cast", x, to=10) if self.precision == "fp16" else x

    def float32(self, x: Value) -> Value:
        """What ``number`` made, back."""
        return self.graph.op("Cast", x, to=1) if self.precision == "fp16" else x

    def _turned(self, table: NDArray[Any]) -> Value:
        return self.graph.op("Transpose", self.graph.constant(table), perm=[1, 0])

    def _number(self, array: NDArray[np.float32]) -> Value:
        return self.graph.constant(array.astype(np.float16) if self.precision == "fp16" else array)


def quantised(weight: NDArray[np.float32], axis: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Levels (8 bits) and scales of a table, one scale for all along an axis, which stays with length 1."""
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
    """Sinusoidal embeddings of places [...], float32 from 0, as [..., width]; see ``transformer.positions``."""
    half = width // 2
    rates = np.exp(np.arange(half) * -(math.log(10_000) / (half - 1)))
    angles = graph.op("Unsqueeze", numbers + float(PAD + 1), np.array([-1])) * rates
    return graph.op("Concat", graph.op("Sin", angles), graph.op("Cos", angles), axis=-1)


def heads(graph: Graph, x: Value, grid: Sequence[int] | Value, order: Sequence[int]) -> Value:
    """Reshaped to [.., heads, width of one], then its axes in an order."""
    shape = grid if isinstance(grid, Value) else graph.constant(np.array(grid))
    return graph.op("Transpose", graph.op("Reshape", x, shape), perm=list(order))

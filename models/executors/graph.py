"""Writes ONNX graphs with ordinary arithmetic: same operations and weights in, same bytes out.

``Value`` overloads + - * / @, so formulas are written once for arrays and for graphs. Nothing of the machine
(paths, times, tool versions) enters the file, because an artefact's version is the hash of its content.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper, numpy_helper

OPSET = 18
IR_VERSION = 9


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph under construction."""

    graph: Graph
    name: str

    __array_ufunc__ = None  # arrays leave arithmetic with a Value to the Value

    def __add__(self, other: Any) -> Value:
        return self.graph.op("Add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.op("Add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.op("Mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.op("Mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.op("Div", self, other)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.op("MatMul", self, other)


class Graph:
    """A graph under construction."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._initialisers: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: tuple[str | int, ...]) -> Value:
        """A float32 input; a string in the shape names a free dimension."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))
        return Value(self, name)

    def constant(self, array: NDArray[Any] | float | int) -> Value:
        """A constant; equal constants are stored once. Floats become float32, integers int64, booleans stay."""
        value = np.asarray(array)
        if value.dtype.kind != "b":
            value = value.astype(np.int64 if value.dtype.kind in "iu" else np.float32)
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._initialisers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
            self._constants[key] = Value(self, name)
        return self._constants[key]

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Value:
        """One node with one output; arrays and numbers become constants."""
        names = [self._as_value(one).name for one in inputs]
        output = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, names, [output], name=f"n{len(self._nodes)}", **attributes))
        return Value(self, output)

    def output(self, name: str, value: Value, shape: tuple[str | int, ...]) -> None:
        """Gives a value a name outside; float32."""
        self._nodes.append(helper.make_node("Identity", [value.name], [name], name=f"out_{name}"))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def serialise(self) -> bytes:
        """The checked model."""
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._initialisers)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="demur", ir_version=IR_VERSION)
        checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _as_value(self, one: Any) -> Value:
        return one if isinstance(one, Value) else self.constant(one)

    def relu(self, x: Value) -> Value:
        return self.op("Relu", x)

    def sigmoid(self, x: Value) -> Value:
        return self.op("Sigmoid", x)

    def tanh(self, x: Value) -> Value:
        return self.op("Tanh", x)

    def exp(self, x: Value) -> Value:
        return self.op("Exp", x)

    def sqrt(self, x: Value) -> Value:
        return self.op("Sqrt", x)

    def power(self, x: Value, exponent: Any) -> Value:
        return self.op("Pow", x, exponent)

    def softplus(self, x: Value) -> Value:
        """log(1 + exp(x)) as relu(x) - log(sigmoid(|x|)): vectorised, unlike the operator Softplus."""
        return self.relu(x) - self.op("Log", self.sigmoid(self.op("Abs", x)))

    def column(self, x: Value, index: int) -> Value:
        """One column of the last axis, kept with length 1."""
        return self.op("Slice", x, np.array([index]), np.array([index + 1]), np.array([-1]))

    def mean_of_members(self, x: Value, keepdims: bool = False) -> Value:
        """Mean over axis 0."""
        return self.op("ReduceMean", x, np.array([0]), keepdims=int(keepdims))

"""Builder of ONNX graphs from ordinary arithmetic: the same operations and weights give the same bytes.

``Value`` overloads + - * / @, so formulas are written once for arrays and for graphs. No property of the machine
(paths, times, tool versions) enters the file, because an artefact's version is the hash of its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, compose, helper, numpy_helper

OPSET = 18
IR_VERSION = 9

Kind = Literal["float32", "float16", "int64", "bool"]
_KINDS = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
_SMALL = (np.dtype(np.float16), np.dtype(np.int8), np.dtype(np.uint8))


@dataclass(frozen=True, eq=False)
class Value:
    """Tensor of a graph under construction."""

    graph: Graph
    name: str

    __array_ufunc__ = None  # makes arrays leave arithmetic with a Value to the Value

    def __add__(self, other: Any) -> Value:
        return _arithmetic("Add", self, other)

    def __radd__(self, other: Any) -> Value:
        return _arithmetic("Add", other, self)

    def __sub__(self, other: Any) -> Value:
        return _arithmetic("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return _arithmetic("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return _arithmetic("Mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return _arithmetic("Mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return _arithmetic("Div", self, other)

    def __matmul__(self, other: Any) -> Value:
        return _arithmetic("MatMul", self, other)


def _arithmetic(kind: str, left: Any, right: Any) -> Value:
    """Return an operation in the innermost graph of its operands: in a loop's body if one of them belongs to it."""
    graphs = [operand.graph for operand in (left, right) if isinstance(operand, Value)]
    return max(graphs, key=lambda graph: graph.depth).op(kind, left, right)


@dataclass(frozen=True)
class Steps:
    """Results of a step of a loop, or of a loop."""

    states: Sequence[Value]
    outputs: Sequence[Value]


class Graph:
    """Graph under construction."""

    def __init__(self, name: str, prefix: str = "", depth: int = 0) -> None:
        """Create an empty graph.

        Args:
            prefix: prefix of all names inside, so that names in a loop's body are unique.
            depth: number of enclosing loops.
        """
        self.depth = depth
        self._name = name
        self._prefix = prefix
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._initialisers: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._versions = {"": OPSET}
        self._output_names: dict[str, str] = {}

    def texts(self, values: Sequence[str]) -> Value:
        """Return a constant of texts [n]."""
        name = f"{self._prefix}t{len(self._initialisers)}"
        content = [value.encode() for value in values]
        self._initialisers.append(helper.make_tensor(name, TensorProto.STRING, [len(content)], content))
        return Value(self, name)

    def embed(self, model: Any, inputs: Mapping[str, Value]) -> dict[str, Value]:
        """Add the nodes of another model, and return its outputs by name.

        Versions of operators are those of the model, unless those of the graph or of another model are newer.

        Args:
            model: ``onnx.ModelProto`` without functions of its own; it is changed.
            inputs: value of each input by name.

        Raises:
            ValueError: an input has no value.
        """
        prefix = f"{self._prefix}m{len(self._nodes)}."
        names = [output.name for output in model.graph.output]
        constants = {tensor.name for tensor in model.graph.initializer}
        needed = [node.name for node in model.graph.input if node.name not in constants]
        if missing := set(needed) - inputs.keys():
            raise ValueError(f"inputs without a value: {', '.join(sorted(missing))}")
        compose.add_prefix(model, prefix, inplace=True)
        for name in needed:
            self._nodes.append(
                helper.make_node("Identity", [inputs[name].name], [prefix + name], name=f"{prefix}in.{name}")
            )
        self._nodes.extend(model.graph.node)
        self._initialisers.extend(model.graph.initializer)
        for opset in model.opset_import:
            domain = "" if opset.domain == "ai.onnx" else opset.domain
            self._versions[domain] = max(self._versions.get(domain, 0), opset.version)
        return {name: Value(self, prefix + name) for name in names}

    def input(self, name: str, shape: tuple[str | int, ...], kind: Kind = "float32") -> Value:
        """Return an input; a string in the shape names a free dimension."""
        self._inputs.append(helper.make_tensor_value_info(name, _KINDS[kind], list(shape)))
        return Value(self, name)

    def constant(self, array: NDArray[Any] | float | int) -> Value:
        """Return a constant; equal constants are stored once.

        Floats become float32 and integers int64; booleans and deliberately small types (float16, 8 bits) stay.
        """
        value = np.asarray(array)
        if value.dtype.kind != "b" and value.dtype not in _SMALL:
            value = value.astype(np.int64 if value.dtype.kind in "iu" else np.float32)
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._constants:
            name = f"{self._prefix}c{len(self._constants)}"
            self._initialisers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
            self._constants[key] = Value(self, name)
        return self._constants[key]

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Value:
        """Add a node with one output; arrays and numbers become constants, None leaves an optional input out.

        ``domain="com.microsoft"`` among the attributes selects an operator that only ONNX Runtime has.
        """
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, count: int, *inputs: Any, **attributes: Any) -> tuple[Value, ...]:
        """Add a node with ``count`` outputs."""
        names = ["" if value is None else self._as_value(value).name for value in inputs]
        stem = f"{self._prefix}v{len(self._nodes)}"
        outputs = [stem] if count == 1 else [f"{stem}.{number}" for number in range(count)]
        self._add(kind, names, outputs, attributes)
        return tuple(Value(self, output) for output in outputs)

    def split(self, x: Value, sizes: Sequence[int], axis: int) -> tuple[Value, ...]:
        """Split an axis into consecutive parts."""
        outputs = [f"{self._prefix}v{len(self._nodes)}.{number}" for number in range(len(sizes))]
        self._add("Split", [x.name, self.constant(np.array(sizes)).name], outputs, {"axis": axis})
        return tuple(Value(self, output) for output in outputs)

    def scan(
        self, step: Callable[[Graph, list[Value], list[Value]], Steps], states: Sequence[Value], over: Sequence[Value]
    ) -> Steps:
        """Return a loop over axis 0 of some values (the operator Scan): its body is stored once.

        Args:
            step: function from body, states and the present elements of ``over`` to new states and outputs. Values
                around the loop may be operands.
            states: states before the first step.

        Returns:
            The states after the last step, and the outputs of all steps along a new axis 0.
        """
        body = Graph(f"{self._name}.step", f"{self._prefix}n{len(self._nodes)}.", self.depth + 1)
        arguments = [Value(body, f"{body._prefix}in{number}") for number in range(len(states) + len(over))]
        steps = step(body, arguments[: len(states)], arguments[len(states) :])
        results = body._distinct([*steps.states, *steps.outputs])
        attribute = helper.make_graph(
            body._nodes, body._name, _untyped(arguments), _untyped(results), initializer=body._initialisers
        )
        outputs = [f"{self._prefix}v{len(self._nodes)}.{number}" for number in range(len(results))]
        names = [value.name for value in (*states, *over)]
        self._add("Scan", names, outputs, {"body": attribute, "num_scan_inputs": len(over)})
        values = tuple(Value(self, output) for output in outputs)
        return Steps(values[: len(states)], values[len(states) :])

    def output(
        self, name: str, value: Value, shape: tuple[str | int, ...], kind: Kind = "float32", *, copied: bool = True
    ) -> None:
        """Declare a value as an output under a name.

        Args:
            copied: True lets ONNX Runtime copy an output that is also used inside; False exports the value itself,
                under one name only.

        Raises:
            ValueError: a value that is exported twice, or that no node of this graph makes.
        """
        if not copied:
            if value.name in self._output_names or not any(value.name in node.output for node in self._nodes):
                raise ValueError(
                    f"{name}: {value.name} cannot be given away: it is another output already, or no node's"
                )
            self._output_names[value.name] = name
            self._outputs.append(helper.make_tensor_value_info(name, _KINDS[kind], list(shape)))
            return
        self._nodes.append(helper.make_node("Identity", [value.name], [name], name=f"out_{name}"))
        self._outputs.append(helper.make_tensor_value_info(name, _KINDS[kind], list(shape)))

    def serialise(self) -> bytes:
        """Return the checked model."""
        _rename(self._nodes, self._output_names)
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._initialisers)
        domains = sorted({"" if node.domain == "ai.onnx" else node.domain for node in self._nodes} | {""})
        opsets = [helper.make_opsetid(domain, self._versions.get(domain, 1)) for domain in domains]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="demur", ir_version=IR_VERSION)
        checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _add(self, kind: str, inputs: list[str], outputs: list[str], attributes: dict[str, Any]) -> None:
        name = f"{self._prefix}n{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, outputs, name=name, **attributes))

    def _distinct(self, values: list[Value]) -> list[Value]:
        """Return the values, with a copy under another name for each repeated one."""
        names: set[str] = set()
        distinct = []
        for value in values:
            distinct.append(self.op("Identity", value) if value.name in names else value)
            names.add(value.name)
        return distinct

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
        """Return log(1 + exp(x)) as relu(x) - log(sigmoid(|x|)): vectorised, unlike the operator Softplus."""
        return self.relu(x) - self.op("Log", self.sigmoid(self.op("Abs", x)))

    def column(self, x: Value, index: int) -> Value:
        """Return one column of the last axis, kept with length 1."""
        return self.op("Slice", x, np.array([index]), np.array([index + 1]), np.array([-1]))

    def mean_of_members(self, x: Value, keepdims: bool = False) -> Value:
        """Return the mean over axis 0."""
        return self.op("ReduceMean", x, np.array([0]), keepdims=int(keepdims))


def _rename(nodes: Iterable[Any], names: Mapping[str, str]) -> None:
    """Rename values, inside loops as well."""
    for node in nodes:
        for some in (node.input, node.output):
            some[:] = [names.get(name, name) for name in some]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g.node, names)
                for output in attribute.g.output:
                    output.name = names.get(output.name, output.name)


def _untyped(values: Sequence[Value]) -> list[Any]:
    """Return declarations of float32 values of any shape."""
    return [helper.make_tensor_value_info(value.name, TensorProto.FLOAT, None) for value in values]

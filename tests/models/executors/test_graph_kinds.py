"""Kinds of numbers in graphs, nodes of several outputs, outputs that are given away, ONNX Runtime's own operators."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from models.executors.graph import Graph, Kind, Steps, Value
from models.executors.onnx import OnnxGraph


def loaded(graph: Graph, folder: Path) -> OnnxGraph:
    path = folder / "graph.onnx"
    path.write_bytes(graph.serialise())
    return OnnxGraph(path)


@pytest.mark.parametrize("kind", ["float32", "float16", "int64", "bool"])
def test_inputs_and_outputs_of_every_kind(kind: Kind, tmp_path: Path) -> None:
    graph = Graph("kinds")
    graph.output("y", graph.op("Transpose", graph.input("x", ("N", 2), kind), perm=[1, 0]), (2, "N"), kind)
    values = np.array([[0, 1], [1, 1], [0, 0]]).astype(kind)
    (result,) = loaded(graph, tmp_path).run({"x": values}, ("y",))
    assert result.dtype == np.dtype(kind)
    assert np.array_equal(result, values.T)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (1, np.int64),
        (1.0, np.float32),
        (True, np.bool_),
        (np.float64(1), np.float32),
        (np.int32(1), np.int64),
        (np.uint16(1), np.int64),
        (np.float16(1), np.float16),
        (np.int8(1), np.int8),
        (np.uint8(1), np.uint8),
    ],
)
def test_constants_keep_what_is_small_on_purpose(given: Any, stored: type) -> None:
    graph = Graph("constants")
    graph.output("y", graph.op("Shape", graph.constant(np.array([given]))), (1,), "int64")
    (tensor,) = onnx.load_from_string(graph.serialise()).graph.initializer
    array = onnx.numpy_helper.to_array(tensor)
    assert array.dtype == stored
    assert array == 1


def test_equal_constants_of_other_kinds_are_not_one() -> None:
    graph = Graph("constants")
    kinds = (np.float32, np.float16, np.int8, np.uint8, np.int64, np.bool_)
    names = {graph.constant(np.zeros(2, kind)).name for kind in (*kinds, *kinds)}
    assert len(names) == len(kinds)
    assert graph.constant(np.zeros(2)).name == graph.constant(np.zeros(2, np.float32)).name
    assert graph.constant(np.zeros((1, 2))).name not in names


def test_a_node_has_as_many_outputs_as_are_asked_for(tmp_path: Path) -> None:
    graph = Graph("several")
    values, places = graph.ops("TopK", 2, graph.input("x", ("N", 4)), np.array([2]), axis=1)
    graph.output("values", values * 2.0, ("N", 2))
    graph.output("places", places, ("N", 2), "int64")
    outputs = loaded(graph, tmp_path).run({"x": np.array([[3, 9, 1, 5]], np.float32)}, ("values", "places"))
    assert [output.tolist() for output in outputs] == [[[18, 10]], [[1, 3]]]


def test_operators_of_onnx_runtime_are_taken(tmp_path: Path) -> None:
    graph = Graph("own")
    levels = np.arange(6, dtype=np.int8).reshape(2, 3) - 2
    rows = graph.op("QuantizeLinear", graph.input("x", ("N", 2)), 1.0, np.uint8(128))
    product = graph.op(
        "MatMulIntegerToFloat", rows, graph.constant(levels), 1.0, 0.5, np.uint8(128), domain="com.microsoft"
    )
    graph.output("y", product, ("N", 3))
    x = np.array([[3, -7], [0, 100]], np.float32)
    (result,) = loaded(graph, tmp_path).run({"x": x}, ("y",))
    assert np.array_equal(result, x @ levels * 0.5)
    opsets = onnx.load_from_string(graph.serialise()).opset_import
    assert {opset.domain for opset in opsets} == {"", "com.microsoft"}
    plain = Graph("plain")
    plain.output("y", plain.input("x", (1,)) * 2.0, (1,))
    assert [opset.domain for opset in onnx.load_from_string(plain.serialise()).opset_import] == [""]


def given_away(copied: bool) -> Graph:
    """A value that is an output, an operand, and seen from inside a loop."""
    graph = Graph("given")
    x = graph.input("x", ("T", 2))
    double = x * 2.0
    graph.output("double", double, ("T", 2), copied=copied)
    graph.output("more", double + 1.0, ("T", 2))
    top = graph.op("ReduceMax", double, np.array([0]), keepdims=0)
    graph.output("top", top, (2,), copied=copied)

    def step(body: Graph, states: list[Value], elements: list[Value]) -> Steps:
        total = states[0] + elements[0] * top
        return Steps([total], [total])

    loop = graph.scan(step, [graph.constant(np.zeros(2))], [double])
    graph.output("sums", loop.outputs[0], ("T", 2), copied=copied)
    return graph


def run(graph: Graph, folder: Path) -> list[NDArray[Any]]:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    return list(loaded(graph, folder).run({"x": x}, ("double", "more", "top", "sums")))


def test_outputs_that_are_given_away_say_the_same(tmp_path: Path) -> None:
    for array, other in zip(run(given_away(True), tmp_path), run(given_away(False), tmp_path), strict=True):
        assert np.array_equal(array, other)
    nodes = onnx.load_from_string(given_away(False).serialise()).graph.node
    assert [node.output[0] for node in nodes if node.op_type == "Identity"] == ["more"]
    assert {node.output[0] for node in nodes if node.op_type in ("Mul", "ReduceMax", "Scan")} == {
        "double",
        "top",
        "v4.0",
    }


def test_a_graph_is_the_same_bytes_however_often_it_is_written() -> None:
    graph = given_away(False)
    assert graph.serialise() == graph.serialise() == given_away(False).serialise()


def test_what_cannot_be_given_away_is_refused() -> None:
    graph = Graph("given")
    x = graph.input("x", (2,))
    y = x * 2.0
    graph.output("y", y, (2,), copied=False)
    for value in (y, x, graph.constant(np.zeros(2))):
        with pytest.raises(ValueError, match=r"z: \w+ cannot be given away"):
            graph.output("z", value, (2,), copied=False)
    graph.output("z", y, (2,))  # once more as a copy
    graph.serialise()

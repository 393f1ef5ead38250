"""Graphs with parts and loops: what they compute, and the same bytes."""

from pathlib import Path

import numpy as np
import onnx

from models.executors.graph import Graph, Steps, Value
from models.executors.onnx import OnnxGraph


def sums() -> bytes:
    """Running sums of rows and of their doubles, less an offset; and the last of both."""
    graph = Graph("sums")
    rows, offset = graph.input("rows", ("T", 3)), graph.input("offset", (3,))

    def step(body: Graph, states: list[Value], elements: list[Value]) -> Steps:
        total = (offset * -1.0 + elements[0]) + states[0]  # from outside to inside, whichever comes first
        return Steps([total], [total, total * 2.0])

    loop = graph.scan(step, [graph.constant(np.zeros(3))], [rows])
    first, rest = graph.split(loop.outputs[0], [1, 2], axis=1)
    graph.output("last", loop.states[0], (3,))
    graph.output("first", first, ("T", 1))
    graph.output("rest", rest, ("T", 2))
    graph.output("doubles", loop.outputs[1], ("T", 3))
    return graph.serialise()


def test_a_loop_walks_over_axis_0_and_sees_what_is_around_it(tmp_path: Path) -> None:
    path = tmp_path / "sums.onnx"
    path.write_bytes(sums())
    rows, offset = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([1, 0, -1], np.float32)
    expected = np.cumsum(rows - offset, axis=0)
    last, first, rest, doubles = OnnxGraph(path).run(
        {"rows": rows, "offset": offset}, ("last", "first", "rest", "doubles")
    )
    assert np.array_equal(last, expected[-1])
    assert np.array_equal(np.concatenate([first, rest], axis=1), expected)
    assert np.array_equal(doubles, 2 * expected)


def test_inputs_are_told_with_their_shapes(tmp_path: Path) -> None:
    path = tmp_path / "sums.onnx"
    path.write_bytes(sums())
    assert OnnxGraph(path).inputs == {"rows": ("T", 3), "offset": (3,)}


def test_loops_are_the_same_bytes_and_their_names_are_their_own() -> None:
    assert sums() == sums()
    graph = onnx.load_from_string(sums()).graph
    (loop,) = [node for node in graph.node if node.op_type == "Scan"]
    (body,) = [attribute.g for attribute in loop.attribute if attribute.name == "body"]
    inside = {name for node in body.node for name in node.output} | {tensor.name for tensor in body.initializer}
    outside = {name for node in graph.node for name in node.output} | {tensor.name for tensor in graph.initializer}
    assert not inside & outside

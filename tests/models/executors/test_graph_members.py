"""Graphs of members as a member executor: passes bounded, rows in order, heads by name."""

from pathlib import Path

import numpy as np
import pytest

from models.artefact import ArtefactError
from models.executors.graph import Graph
from models.executors.graph_members import GraphMembers
from models.executors.onnx import OnnxGraph


class Counted(OnnxGraph):
    """Remembers how many rows each pass had."""

    def run(self, inputs, outputs):
        self.passes = [*getattr(self, "passes", []), len(inputs["rows"])]
        return super().run(inputs, outputs)


def sums(folder: Path) -> Counted:
    """Two members, K = 1: the sum of a row, and three times that; another head says the negative."""
    graph = Graph("sums")
    rows = graph.input("rows", ("N", 4))
    total = graph.op("Unsqueeze", rows @ np.ones((4, 1)), np.array([0]))
    members = graph.op("Concat", total, total * 3.0, axis=0)
    graph.output("sum", members, (2, "N", 1))
    graph.output("less", members * -1.0, (2, "N", 1))
    path = folder / "sums.onnx"
    path.write_bytes(graph.serialise())
    return Counted(path)


@pytest.mark.parametrize("count", [0, 1, 5, 16, 17, 100])
def test_rows_pass_in_bounded_parts_and_come_back_in_order(tmp_path, count: int) -> None:
    graph = sums(tmp_path)
    rows = np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32)
    outputs = GraphMembers(graph, ("sum", "less"), pass_rows=16)(rows)
    expected = np.stack([rows.sum(axis=1), 3 * rows.sum(axis=1)])[..., None]
    assert outputs["sum"].shape == (2, count, 1)
    np.testing.assert_allclose(outputs["sum"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(outputs["less"], -outputs["sum"])
    assert max(graph.passes) <= 16
    assert sum(graph.passes) == count


def test_only_the_heads_that_are_asked_for_are_given(tmp_path) -> None:
    members = GraphMembers(sums(tmp_path), ("less",))
    assert members.heads == ("less",)
    assert set(members(np.zeros((3, 4), np.float32))) == {"less"}


def test_a_head_that_the_graph_lacks_is_refused(tmp_path) -> None:
    with pytest.raises(ArtefactError, match="no output 'wind', it has sum, less"):
        GraphMembers(sums(tmp_path), ("sum", "wind"))

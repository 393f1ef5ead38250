"""Row graphs as executors: passes are an inner matter, the rows come back in their order."""

from typing import Any

import numpy as np
import pytest

from models.executors.graph import Graph
from models.executors.onnx import OnnxGraph, RowGraph
from models.executors.pace import Pace

OUTPUTS = ("mean", "mvar", "member_mean")
WEIGHTS = np.array([[1, 2], [3, -4], [5, 6]], np.float32)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> OnnxGraph:
    """Of two members; with small integers its sums are exact, in whatever order."""
    toy = Graph("toy")
    members = toy.op("Transpose", toy.input("rows", ("N", 3)) @ WEIGHTS, perm=[1, 0])
    toy.output("mean", toy.mean_of_members(members), ("N",))
    toy.output("mvar", toy.mean_of_members(members * members), ("N",))
    toy.output("member_mean", members, ("K", "N"))
    path = tmp_path_factory.mktemp("toy") / "toy.onnx"
    path.write_bytes(toy.serialise())
    return OnnxGraph(path)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).integers(-8, 9, (333, 3)).astype(np.float32)


@pytest.mark.parametrize("pass_rows", [1, 7, 100, 332, 333, 1024])
def test_passes_do_not_show(graph: OnnxGraph, rows: np.ndarray, pass_rows: int) -> None:
    whole = graph.run({"rows": rows}, OUTPUTS)
    parts = RowGraph(graph, OUTPUTS, pass_rows=pass_rows)(rows)
    for name, expected, actual in zip(OUTPUTS, whole, parts, strict=True):
        assert actual.shape == expected.shape
        np.testing.assert_array_equal(actual, expected, err_msg=name)
    np.testing.assert_array_equal(parts[2], (rows @ WEIGHTS).T)


class Timed(OnnxGraph):
    """A graph whose passes take a second and a 64th of one a row, on a clock of its own."""

    outputs = OUTPUTS

    def __init__(self) -> None:
        self.now = 0.0

    def run(self, inputs: dict[str, np.ndarray], outputs: tuple[str, ...]) -> list[np.ndarray]:
        self.now += 1 + len(inputs["rows"]) / 64
        return [inputs["rows"][:, 0] for _ in outputs]


def test_expected_duration_grows_with_rows_and_passes(rows: np.ndarray) -> None:
    graph: Any = Timed()
    executor = RowGraph(graph, OUTPUTS, pass_rows=256)
    executor._pace = Pace(lambda: graph.now)
    executor.measure(rows, repeats=3)
    assert executor.seconds(1) == pytest.approx(1 + 1 / 64)
    assert executor.seconds(1024) == pytest.approx(4 + 1024 / 64), "four passes"

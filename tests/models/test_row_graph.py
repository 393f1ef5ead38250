"""Row graphs as executors: passes are an inner matter, the rows come back in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import artefact
from models.executors.onnx import OnnxGraph
from models.executors.pace import Pace
from models.executors.rows import RowGraph

DIRECTORY = Path(__file__).parents[2] / "artefacts" / "vessel" / "dnn-10"
OUTPUTS = ("mean", "mvar", "varm", "member_mean")


@pytest.fixture(scope="module")
def graph() -> OnnxGraph:
    return OnnxGraph(artefact.read(DIRECTORY).path("ensemble.onnx"))


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    golden = np.load(DIRECTORY / "golden.npz")["rows"]
    return np.resize(golden, (333, golden.shape[1])).astype(np.float32)


@pytest.mark.parametrize("pass_rows", [1, 7, 100, 332, 333, 1024])
def test_passes_do_not_show(graph: OnnxGraph, rows: np.ndarray, pass_rows: int) -> None:
    whole = graph.run({"rows": rows}, OUTPUTS)
    parts = RowGraph(graph, OUTPUTS, pass_rows=pass_rows)(rows)
    for name, expected, given in zip(OUTPUTS, whole, parts, strict=True):
        assert given.shape == expected.shape
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-2, err_msg=name)


class Timed:
    """A graph whose passes take a second and a 64th of one a row, on a clock of its own."""

    outputs = OUTPUTS

    def __init__(self) -> None:
        self.now = 0.0

    def run(self, inputs: dict[str, np.ndarray], outputs: tuple[str, ...]) -> list[np.ndarray]:
        self.now += 1 + len(inputs["rows"]) / 64
        return [inputs["rows"][:, 0] for _ in outputs]


def test_expected_duration_grows_with_rows_and_passes(rows: np.ndarray) -> None:
    graph: Any = Timed()
    executor = RowGraph(graph, OUTPUTS[:3], pass_rows=256)
    executor._pace = Pace(lambda: graph.now)
    executor.measure(rows, repeats=3)
    assert executor.seconds(1) == pytest.approx(1 + 1 / 64)
    assert executor.seconds(1024) == pytest.approx(4 + 1024 / 64), "four passes"

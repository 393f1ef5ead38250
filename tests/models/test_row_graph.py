"""Row graphs as executors: passes are an inner matter, the rows come back in their order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models import artefact
from models.executors.onnx import OnnxGraph
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


def test_expected_duration_grows_with_rows(graph: OnnxGraph, rows: np.ndarray) -> None:
    executor = RowGraph(graph, OUTPUTS[:3])
    executor.measure(rows, repeats=3)
    assert 0 < executor.seconds(1) < executor.seconds(1000) < 1

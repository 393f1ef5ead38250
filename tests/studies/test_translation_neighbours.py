"""How far scores depend on neighbours: the line that is printed, and graphs without levels."""

from pathlib import Path

import numpy as np
import pytest

from models.executors.graph import Graph
from models.executors.onnx import OnnxGraph
from models.tasks.translation.artefact.export.blocks import Blocks
from models.tasks.translation.networks.settings import Sizes
from studies import translation_neighbours
from studies.translation_neighbours import Scored

SIZES = Sizes(source=8, target=8, width=32, heads=2, inner=32, encoder=1, decoder=1)


def test_the_line_counts_sides_and_translations() -> None:
    scores = np.linspace(0.1, 1.0, 40)
    moved = scores.copy()
    moved[3] *= 1.5
    texts = [str(number) for number in range(40)]
    alone, together = Scored(scores, texts), Scored(moved, ["other", *texts[1:]])
    line = translation_neighbours.compared(alone, together, [float(scores[3]), 2.0])
    assert "largest 5.0e-01" in line
    assert "thresholds of 60% and 95%: 1 and 0" in line
    assert line.endswith("1 best translations differ")


@pytest.mark.parametrize("rows", [1, 5])
def test_products_without_levels_are_those_of_the_same_weights(rows: int, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    graph = Graph("product")
    blocks = Blocks(graph, {}, SIZES, "int8")
    weight = random.normal(size=(32, 9)).astype(np.float32)
    graph.output("y", blocks.product(graph.input("x", ("R", 32)), weight), ("R", 9))
    (tmp_path / "product.onnx").write_bytes(translation_neighbours.without_levels(graph.serialise()))
    x = random.normal(size=(rows, 32)).astype(np.float32)
    (product,) = OnnxGraph(tmp_path / "product.onnx").run({"x": x}, ("y",))
    scales = np.abs(weight).max(axis=0) / 64
    assert product == pytest.approx(x @ (np.rint(weight / scales) * scales), abs=1e-4)

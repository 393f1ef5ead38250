"""Memory of activations, which a session keeps after a pass unless it is told to release it."""

import platform
from pathlib import Path

import numpy as np
import psutil
import pytest

from models.executors.onnx import OnnxGraph, releasing_memory
from services.runtime.system import release_free_memory

GRAPH = Path(__file__).resolve().parents[3] / "artefacts" / "lesion" / "unet-5" / "member-0.onnx"
MIB = 1 << 20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc returns memory when it is told to")
@pytest.mark.parametrize("shared_arena", [False, True])
def test_a_pass_in_the_block_leaves_no_activations_behind(shared_arena: bool) -> None:
    graph = OnnxGraph(GRAPH, shared_arena=shared_arena)
    ((name, shape),) = graph.inputs.items()
    window = np.random.default_rng(0).standard_normal((1, shape[1], 96, 96, 96)).astype(np.float32)
    (kept,) = graph.run({name: window}, graph.outputs)
    release_free_memory()
    held = psutil.Process().memory_info().rss
    with releasing_memory():
        (released,) = graph.run({name: window}, graph.outputs)
    release_free_memory()
    assert psutil.Process().memory_info().rss < held - 15 * MIB
    np.testing.assert_array_equal(kept, released)
    graph.run({name: window}, graph.outputs)
    assert psutil.Process().memory_info().rss > held - 5 * MIB, "outside the block a session keeps it"

"""Decoding step of all members with all of its outputs, against bare decoders run one after the other."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Figure, Timed, interleaved
from benchmarks.inputs import opened
from benchmarks.translation_decoding.ensembles import BEAM, CANDIDATES, SMALL, drawn
from models.executors.graph import Graph
from models.executors.onnx import OnnxGraph
from models.tasks.translation.artefact.export.blocks import Weights
from models.tasks.translation.artefact.export.stepping import members_say, stepping_graph
from models.tasks.translation.networks import settings
from models.tasks.translation.networks.settings import Precision, Sizes
from models.tasks.translation.text.tokens import SPECIAL

SENTENCES = (1, 4, 16)
AT_MOST, AT_LEAST = 1.2, 2.5
"""Largest ratio of a step to bare decoders; least ratio of float32 to eight bits, on processors that multiply those
four at a time.
"""
_SOURCE, _SAID, _COLUMNS = 30, 12, 47
"""Tokens of a sentence with padding and of its hypotheses, and columns of caches: the means over the steps of a search
of 100 real sentences, 16 side by side.
"""
_BYTES = ("avx512_vnni", "avx_vnni", "amx_int8")

Inputs = dict[str, NDArray[Any]]


def steps(folder: Path, seconds: float, sizes: Sizes = SMALL) -> Iterator[Figure]:
    """Measure a step of each precision and number of sentences."""
    for precision in _PRECISIONS:
        members = drawn(sizes).weights
        whole = opened(stepping_graph(members, sizes, SPECIAL, CANDIDATES, precision), folder)
        bare = [opened(_bare(network, sizes, precision), folder) for network in members]
        for count in SENTENCES:
            inputs = step_inputs(sizes, len(members), count)
            alone = step_inputs(sizes, 1, count)
            timed = _timed({"whole": partial(_run, whole, inputs), "bare": partial(_run_all, bare, alone)}, seconds)
            part = f"step: {precision}, {len(members)} members, {sizes.width} wide, {sizes.target} tokens"
            took, floor = timed["whole"], timed["bare"]
            name = f"{count} x {BEAM} hypotheses"
            yield Figure(part, name, took.p50 * 1e3, "ms p50", note=f"±{took.spread():.0%}")
            note = f"{floor.p50 * 1e3:.2f} ms ±{floor.spread():.0%}"
            yield Figure(part, f"{name} over bare ones", took.p50 / floor.p50, "x", at_most=AT_MOST, note=note)


def precisions(folder: Path, seconds: float, sizes: Sizes = SMALL) -> Iterator[Figure]:
    """Measure float32 over eight bits for the same step."""
    members = drawn(sizes).weights
    graphs = {
        precision: opened(stepping_graph(members, sizes, SPECIAL, CANDIDATES, precision), folder)
        for precision in _PRECISIONS
    }
    quick = instructions()
    for count in SENTENCES:
        inputs = step_inputs(sizes, len(members), count)
        timed = _timed({name: partial(_run, graph, inputs) for name, graph in graphs.items()}, seconds)
        yield Figure(
            f"precision: int8 against fp32, {', '.join(quick) or 'no instructions for products of bytes'}",
            f"{count} x {BEAM} hypotheses, fp32 over int8",
            timed["fp32"].p50 / timed["int8"].p50,
            "x",
            at_least=AT_LEAST if quick else None,
            note=f"int8 {timed['int8'].p50 * 1e3:.2f} ms ±{timed['int8'].spread():.0%}",
        )


def instructions() -> tuple[str, ...]:
    """Return the processor's instructions for products of bytes; empty if they cannot be read."""
    info = Path("/proc/cpuinfo")
    words = set(info.read_text().split()) if info.exists() else set()
    return tuple(name for name in _BYTES if name in words)


def step_inputs(sizes: Sizes, members: int, sentences: int) -> Inputs:
    """Return inputs of a step in the middle of a search."""
    rows, head_width = sentences * BEAM, sizes.width // sizes.heads
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> NDArray[np.float32]:
        return draw.standard_normal(shape, np.float32)

    seen = draw.random((sentences, 1, BEAM, _COLUMNS + BEAM)) < _SAID / _COLUMNS
    inputs: Inputs = {
        settings.LAST: draw.integers(SPECIAL, sizes.target, rows),
        settings.PAST: np.where(seen, 0, -1e9).astype(np.float32),
        settings.PLACES: np.full(rows, _SAID, np.float32),
        settings.PREFIX: -20 + normal(members, rows),
        settings.SHAPE: np.array([sentences, BEAM, sizes.heads, head_width]),
        settings.HIDDEN: np.zeros((sentences, _SOURCE), np.float32),
    }
    inputs[settings.PAST][..., _COLUMNS:] = np.where(np.eye(BEAM, dtype=bool), 0, -1e9)
    for name in settings.memory_names(members, sizes):
        inside = (head_width, _SOURCE) if name.startswith("k") else (_SOURCE, head_width)
        inputs[name] = normal(sentences, sizes.heads, *inside)
    for name in settings.cache_names(members, sizes):
        inputs[name] = normal(sentences, sizes.heads, _COLUMNS, head_width)
    return inputs


_PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")


def _bare(weights: Weights, sizes: Sizes, precision: Precision) -> Graph:
    """Return a decoder whose only output is the logarithms of the next token's distribution [R, V]."""
    graph = Graph("bare")
    (logits,) = members_say(graph, [weights], sizes, precision)
    graph.output("logs", graph.op("LogSoftmax", logits, axis=-1), ("R", sizes.target))
    return graph


def _run(graph: OnnxGraph, inputs: Inputs) -> None:
    graph.run({name: inputs[name] for name in graph.inputs}, graph.outputs)


def _run_all(graphs: Sequence[OnnxGraph], inputs: Inputs) -> None:
    for graph in graphs:
        _run(graph, inputs)


def _timed(cases: dict[str, Callable[[], None]], seconds: float) -> dict[str, Timed]:
    return interleaved(cases, seconds, warm_up=2, clock=time.thread_time)

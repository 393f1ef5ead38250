"""Request from its feature map to plans and scores: the fused graph over the loop, and the time of parts of both."""

import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Figure, interleaved
from benchmarks.inputs import opened
from benchmarks.motion_planning.apart import Loop
from benchmarks.motion_planning.ensembles import MEMBERS, SIZES, Array, Case, check, members, noise
from models.executors.graph import Graph
from models.executors.onnx import OnnxGraph
from models.tasks.motion.artefact import export_encoders
from models.tasks.motion.artefact.export import export
from models.tasks.motion.inference.grid import CHANNELS
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import SAMPLES, Sizes
from tests.models.motion.toys import maps

AT_MOST = {512: 0.85, 64: 0.6}
"""Largest accepted ratio of the fused graph to the loop, by hidden units."""


def measure(folder: Path, seconds: float, ensembles: Mapping[str, Sizes] = SIZES) -> Iterator[Figure]:
    """Yield all figures of each ensemble."""
    for name, sizes in ensembles.items():
        networks, drawn = members(sizes), maps(1, sizes.grid).numpy()
        whole, encoder = opened(export(networks), folder), opened(_encoders(networks), folder)
        loops = {
            "the loop": Loop(networks, folder, "cells"),
            "the loop by the operator GRU": Loop(networks, folder, "gru"),
            "the loop that reuses own scores": Loop(networks, folder, "cells", reuse=True),
        }
        cases: dict[str, Case] = {"fused": partial(_fused, whole, drawn)}
        cases |= {loop: partial(run, drawn) for loop, run in loops.items()}
        check(cases)
        timed = interleaved(
            {**cases, "encoder": partial(encoder.run, {"maps": drawn}, encoder.outputs)},
            seconds,
            warm_up=2,
            clock=time.thread_time,
        )
        part = f"{name}: K = {MEMBERS}, Q = {SAMPLES}, {sizes.hidden} hidden units, {sizes.encoder}"
        loop, fused = timed["the loop"].p50, timed["fused"]
        spread = f"±{fused.spread():.0%}, the loop {loop * 1e3:.1f} ms ±{timed['the loop'].spread():.0%}"
        yield Figure(part, "fused", fused.p50 * 1e3, "ms p50", note=f"±{fused.spread():.0%}")
        yield Figure(part, "fused over the loop", fused.p50 / loop, "x", at_most=AT_MOST.get(sizes.hidden), note=spread)
        for variant in (label for label in loops if label != "the loop"):
            took = timed[variant]
            yield Figure(part, f"{variant} over it", took.p50 / loop, "x", note=f"±{took.spread():.0%}")
        share = 100 * timed["encoder"].p50 / fused.p50
        yield Figure(part, "encoders' share of fused", share, "%", note=f"{timed['encoder'].p50 * 1e3:.1f} ms")


def _fused(graph: OnnxGraph, drawn: Array) -> tuple[Array, Array]:
    plans, scores = graph.run({"maps": drawn, "noise": noise()}, ("plans", "scores"))
    return plans[0], scores[0]


def _encoders(networks: list[Network]) -> Graph:
    """Return the part of the fused graph that is computed before the first step."""
    graph = Graph("encoders")
    grid = networks[0].sizes.grid
    maps = graph.input("maps", (1, CHANNELS, grid, grid))
    features, _ = export_encoders.pooled(graph, maps, networks)
    states = [
        graph.op("Unsqueeze", export_encoders.embedded(graph, feature, network), np.array([0]))
        for feature, network in zip(features, networks, strict=True)
    ]
    graph.output("states", graph.op("Concat", *states, axis=0), (MEMBERS, 1, networks[0].sizes.hidden))
    return graph

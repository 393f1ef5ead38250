"""Ways from first states to plans and scores in one graph, relative to the exported way."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Figure, interleaved
from benchmarks.inputs import opened
from benchmarks.motion_planning import apart
from benchmarks.motion_planning.ensembles import MEMBERS, SIZES, Array, Case, check, members, noise
from models.executors.graph import Graph, Steps, Value
from models.executors.onnx import OnnxGraph
from models.tasks.motion.artefact.export_encoders import array
from models.tasks.motion.artefact.export_plans import Counts, Start, input_weights, planned
from models.tasks.motion.inference.members import STEPS
from models.tasks.motion.networks.decoders import SCALE_FLOOR
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import SAMPLES, Sizes

PLANS = MEMBERS * SAMPLES
EXPORTED = "side by side, as exported"
Way = Callable[[Graph, Sequence[Network], Sequence[Value], Value], tuple[Value, Value]]
"""Writer of a graph from states [1, hidden] of members and noise [K, Q, T, 2] to plans [G, T, 2] and scores [K, G]."""


def measure(folder: Path, seconds: float, ensembles: Mapping[str, Sizes] = SIZES) -> Iterator[Figure]:
    """Measure ensembles of behavioural cloning; the flow differs only by a layer of its head."""
    for name, sizes in ensembles.items():
        if sizes.decoder != "bc":
            continue
        networks = members(sizes)
        states = np.random.default_rng(1).standard_normal((MEMBERS, sizes.hidden), np.float32)
        graphs = {way: opened(_graph(sizes, networks, write), folder) for way, write in WAYS.items()}
        cases: dict[str, Case] = {way: partial(_run, graph, states) for way, graph in graphs.items()}
        check(cases)
        timed = interleaved(cases, seconds, warm_up=2, clock=time.thread_time)
        part = f"Decoders of {name}: {sizes.hidden} hidden units"
        exported = timed.pop(EXPORTED)
        yield Figure(part, EXPORTED, exported.p50 * 1e3, "ms p50", note=f"±{exported.spread():.0%}")
        for way, took in timed.items():
            yield Figure(part, f"{way} over it", took.p50 / exported.p50, "x", note=f"±{took.spread():.0%}")


def _run(graph: OnnxGraph, states: Array) -> tuple[Array, Array]:
    plans, scores = graph.run({"states": states, "noise": noise()}, ("plans", "scores"))
    return plans, scores


def _graph(sizes: Sizes, networks: Sequence[Network], write: Way) -> Graph:
    graph = Graph("decoders")
    states = graph.split(graph.input("states", (MEMBERS, sizes.hidden)), [1] * MEMBERS, axis=0)
    plans, scores = write(graph, networks, states, graph.input("noise", (MEMBERS, SAMPLES, STEPS, 2)))
    graph.output("plans", plans, (PLANS, STEPS, 2))
    graph.output("scores", scores, (MEMBERS, PLANS))
    return graph


def _exported(graph: Graph, networks: Sequence[Network], states: Sequence[Value], draws: Value) -> tuple[Value, Value]:
    starts = [
        Start(network, graph.op("Unsqueeze", state, [0])) for network, state in zip(networks, states, strict=True)
    ]
    axis = graph.constant(np.array([1]))
    plans, scores = planned(graph, starts, None, draws, axis, Counts(MEMBERS, SAMPLES, STEPS))
    return graph.op("Squeeze", plans, [0]), graph.op("Squeeze", scores, [0])


def _in_turn(
    graph: Graph,
    networks: Sequence[Network],
    states: Sequence[Value],
    draws: Value,
    *,
    scoring: apart.Scoring,
    reuse: bool = True,
) -> tuple[Value, Value]:
    """Let all members sample, then all members score the plans, except their own if ``reuse``."""
    zero = graph.constant(np.zeros((1, 2)))
    apiece = [graph.op("Squeeze", part, [0]) for part in graph.split(draws, [1] * MEMBERS, axis=0)]
    made = [
        apart.sampled(graph, network, state, zero, drawn)
        for network, state, drawn in zip(networks, states, apiece, strict=True)
    ]
    rows = []
    for member, (network, state) in enumerate(zip(networks, states, strict=True)):
        others = [plans for other, (plans, _) in enumerate(made) if not reuse or other != member]
        count = len(others) * SAMPLES
        scores = apart.scored(graph, network, state, zero, graph.op("Concat", *others, axis=0), count, scoring)
        if reuse:
            before, after = graph.split(scores, [member * SAMPLES, count - member * SAMPLES], axis=0)
            scores = graph.op("Concat", before, made[member][1], after, axis=0)
        rows.append(graph.op("Unsqueeze", scores, [0]))
    return graph.op("Concat", *(plans for plans, _ in made), axis=0), graph.op("Concat", *rows, axis=0)


def _stacked(graph: Graph, networks: Sequence[Network], states: Sequence[Value], draws: Value) -> tuple[Value, Value]:
    """Run members side by side, with the weights of all members in one array [K, in, out]."""

    def stack(part: Callable[[Network], Array]) -> Array:
        return np.stack([part(network) for network in networks])

    incoming = np.split(stack(lambda member: input_weights(member).T), 3, axis=2)
    kept = np.split(stack(lambda member: array(member.decoder.cell.weight_hh).T), 3, axis=2)
    given_bias, kept_bias = (
        np.split(stack(lambda member, name=name: array(getattr(member.decoder.cell, name))[None]), 3, axis=2)
        for name in ("bias_ih", "bias_hh")
    )
    head = stack(lambda member: array(member._output.weight).T)
    head_bias = stack(lambda member: array(member._output.bias)[None])
    first = graph.op("Concat", *(graph.op("Unsqueeze", state, [0]) for state in states), axis=0)
    width = networks[0].sizes.hidden
    apiece = graph.op("Reshape", graph.op("Transpose", draws, perm=[2, 0, 1, 3]), [STEPS, PLANS, 2])
    own = np.stack([np.repeat(np.arange(MEMBERS), SAMPLES), np.arange(PLANS)], axis=1)

    def step(body: Graph, now: list[Value], drawn: list[Value]) -> Steps:
        hidden, y, before = now
        seen = body.op("Concat", y, before, axis=1) if networks[0].sizes.sees_steps else y
        r, z = (body.sigmoid(hidden @ kept[gate] + (seen @ incoming[gate] + both[gate])) for gate in range(2))
        n = body.tanh(seen @ incoming[2] + given_bias[2] + r * (hidden @ kept[2] + kept_bias[2]))
        hidden = n + z * (hidden - n)
        every = hidden @ head + head_bias
        mean, raw = body.split(body.op("GatherND", every, own), [2, 2], axis=1)
        moved = mean + (body.softplus(raw) + SCALE_FLOOR) * drawn[0]
        return Steps([hidden, y + moved, moved], [y + moved, moved, every])

    both = [left + other for left, other in zip(given_bias, kept_bias, strict=True)]
    start = graph.op("Expand", first, [MEMBERS, PLANS, width])
    nowhere = graph.constant(np.zeros((PLANS, 2)))
    walked = graph.scan(step, [start, nowhere, nowhere], [apiece])
    positions, moved, every = walked.outputs
    mean, raw = graph.split(every, [2, 2], axis=3)
    scores = apart.density(graph, graph.op("Unsqueeze", moved, [1]), mean, graph.softplus(raw) + SCALE_FLOOR, [0, 3])
    return graph.op("Transpose", positions, perm=[1, 0, 2]), scores


WAYS: dict[str, Way] = {
    EXPORTED: _exported,
    "sampling, then the operator GRU": partial(_in_turn, scoring="gru"),
    "sampling, then unrolled cells": partial(_in_turn, scoring="cells"),
    "the same, own plans scored again": partial(_in_turn, scoring="cells", reuse=False),
    "side by side, weights stacked": _stacked,
}

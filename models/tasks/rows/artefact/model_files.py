"""Files that serve the heads: one graph of everything, or models of CatBoost and a graph that finishes them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.executors.graph import Graph, Value
from models.manifest import Executor
from models.schema import Schema
from models.tasks.rows.artefact import finish
from models.tasks.rows.artefact.members import HeadPlan
from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources.catboost_source import CatBoostSource
from models.tasks.rows.sources.onnx_source import OnnxSource

GRAPH, FINISH = "model.onnx", "finish.onnx"


@dataclass(frozen=True)
class ModelFiles:
    """Executor of an artefact, and its files."""

    executor: Executor
    files: dict[str, bytes]
    members: int
    """Number of trained models."""


def model_files(heads: Sequence[HeadPlan], schema: Schema, virtual: int) -> ModelFiles:
    """Return executor and files of the heads.

    Raises:
        Refused: heads with other numbers of members, or models of CatBoost beside others.
    """
    if len({len(plan.raw) for plan in heads}) > 1:
        counts = ", ".join(f"{plan.target.column}: {len(plan.raw)}" for plan in heads)
        raise Refused(f"targets have other numbers of members ({counts}); bring the same number of models for each")
    sources = [source for plan in heads for source in plan.sources]
    if all(isinstance(source, OnnxSource) for source in sources):
        return _graph(heads, schema)
    if all(isinstance(source, CatBoostSource) for source in sources):
        return _trees(heads, schema, virtual)
    raise Refused(
        "models of CatBoost with categories or a loss of their own cannot be mixed with models of other kinds"
    )


def _graph(heads: Sequence[HeadPlan], schema: Schema) -> ModelFiles:
    graph = Graph("rows")
    rows = graph.input("rows", ("rows", len(schema)))
    raws: dict[int, list[Value]] = {}
    for plan in heads:
        parts = []
        for source in plan.sources:
            assert isinstance(source, OnnxSource)
            if id(source) not in raws:
                raws[id(source)] = source.raw(graph, rows, schema)
            parts.append(graph.op("Unsqueeze", raws[id(source)][plan.place], np.array([0])))
        raw = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=0)
        finish.add(graph, rows, raw, plan.head, plan.output, plan.choice.chosen, len(plan.raw) > 1)
    trees = any(isinstance(s, OnnxSource) and s.trees for plan in heads for s in plan.sources)
    spreads = (plan.choice.chosen.spread for plan in heads)
    trees = trees or any(spread is not None and spread.trees for spread in spreads)
    executor = Executor(kind="onnx", file=GRAPH, layout="trees" if trees else "reduced")
    return ModelFiles(executor, {GRAPH: graph.serialise()}, len(heads[0].sources))


def _trees(heads: Sequence[HeadPlan], schema: Schema, virtual: int) -> ModelFiles:
    files: dict[str, bytes] = {}
    models: dict[str, tuple[str, ...]] = {}
    for plan in heads:
        names = []
        for number, source in enumerate(plan.sources, 1):
            assert isinstance(source, CatBoostSource)
            names.append(f"{plan.head.name}-{number}.cbm")
            files[names[-1]] = source.content
        models[plan.head.name] = tuple(names)
    finished = not all(_tables(plan) for plan in heads)
    if finished:
        files[FINISH] = _finish(heads, schema)
    executor = Executor(
        kind="catboost", layout="trees", models=models, virtual=virtual, finish=FINISH if finished else ""
    )
    return ModelFiles(executor, files, len(heads[0].sources))


def _tables(plan: HeadPlan) -> bool:
    """Return whether Demur's own tables of trees answer a head as it is."""
    native = plan.output.meaning == "mean_and_log_deviation" and plan.choice.chosen.kind == "native"
    return native and not any(source.texts for source in plan.sources)


def _finish(heads: Sequence[HeadPlan], schema: Schema) -> bytes:
    graph = Graph("finish")
    needs_rows = any(plan.choice.chosen.spread is not None for plan in heads)
    rows = graph.input("rows", ("rows", len(schema))) if needs_rows else None
    for plan in heads:
        raw = graph.input(f"{plan.head.name}.raw", ("members", "rows", plan.raw.shape[2]))
        finish.add(graph, rows, raw, plan.head, plan.output, plan.choice.chosen, len(plan.raw) > 1)
    return graph.serialise()

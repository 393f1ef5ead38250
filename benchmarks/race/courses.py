"""What is raced: a model, its rows, and the graph that every other server runs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import inputs
from models.artefact import Artefact, read
from models.executors.graph import Graph

ROWS_TASK, ROWS_NAME, HEAD = "rows", "shaft", "power"
TREES = 500
"""Trees of the row model."""


@dataclass(frozen=True)
class Course:
    """A model that all contenders serve."""

    name: str
    """Name that it is served under."""
    task: str
    """Task whose messages Demur takes, such as ``vessel``."""
    source: Artefact
    """Artefact that Demur serves."""
    graph: Path
    """Graph that the others run, from ``rows`` to ``outputs``."""
    outputs: tuple[str, ...]
    threshold: float
    """Threshold that defers 5 % of the rows, in the square of the unit."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of Demur beside those of all races."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment of Demur in which it finds the artefact."""

    def rows(self, count: int) -> NDArray[np.float32]:
        """Return simulated rows [count, F] as callers send them."""
        return inputs.rows(inputs.artefact("vessel"), count)


def vessel() -> Course:
    """Return the vessel task: ten members, which the graph reduces to three outputs."""
    source = inputs.artefact("vessel")
    graph = source.path(source.manifest.executor.file)
    return Course("vessel", "vessel", source, graph, ("mean", "mvar", "varm"), inputs.threshold(0.95))


@cache
def row_model(folder: Path) -> Course:
    """Return a LightGBM model of the same rows with the uncertainty that a build adds; made in a folder.

    The others run the LightGBM model alone, whose one output is the prediction.
    """
    from lightgbm import LGBMRegressor

    import demur
    from models.tasks.rows.sources.lightgbm_source import of_booster
    from simulators.vessel.dataset import simulate

    names = inputs.artefact("vessel").schema.names
    tables = simulate(0.022, seed=12)
    training, power = tables["train"].features.astype(np.float32), tables["train"].power
    half = len(training) * 2 // 3
    model = LGBMRegressor(n_estimators=TREES, verbose=-1, n_jobs=2, random_state=1).fit(training[:half], power[:half])
    columns = dict(zip(names, training[half:].T, strict=True))
    place = folder / "artefacts" / ROWS_NAME / "1"
    place.parent.mkdir(parents=True, exist_ok=True)
    labels = {HEAD: power[half:]}
    demur.build(model, columns, labels, name=ROWS_NAME, home=folder / "home", out=place)
    brought: Any = of_booster(model.booster_, "model").model
    graph = Graph("alone")
    (value,) = graph.embed(brought.model, {brought.inputs[0].name: graph.input("rows", ("rows", len(names)))}).values()
    graph.output("mean", graph.op("Reshape", value, np.array([-1])), ("rows",))
    (folder / "alone.onnx").write_bytes(graph.serialise())
    source = read(place)
    return Course(
        ROWS_NAME,
        ROWS_TASK,
        source,
        folder / "alone.onnx",
        ("mean",),
        _threshold(source),
        {"model": ROWS_NAME},
        {"DEMUR_ARTEFACTS": str(folder / "artefacts")},
    )


def _threshold(source: Artefact) -> float:
    """Return the threshold at which 95 % of the rows of callers are answered."""
    from models.rows import executors

    opened = executors.of_artefact(source)
    batch = inputs.rows(inputs.artefact("vessel"), 1000)
    opened.prepare(batch)
    predictive: Any = opened.read(opened.plain(batch))[0][HEAD]
    return float(np.quantile(predictive.tvar, 0.95))


def environment(course: Course) -> dict[str, str]:
    """Return the variables by which servers in other processes know what to run."""
    return {
        "RACE_GRAPH": str(course.graph),
        "RACE_OUTPUTS": ",".join(course.outputs),
        "RACE_NAME": course.name,
        "RACE_TASK": course.task,
        "RACE_ARTEFACT": str(course.source.directory),
        "RACE_THRESHOLD": repr(course.threshold),
    }


def raced() -> tuple[str, Artefact]:
    """Return the task and artefact of the race that this process serves for."""
    return os.environ.get("RACE_TASK", "vessel"), read(Path(os.environ["RACE_ARTEFACT"]))

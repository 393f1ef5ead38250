"""Valid input rows of a task, and the artefact that answers them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact, read
from models.executors.graph import Graph
from models.executors.onnx import OnnxGraph
from models.executors.reduced import Reduced
from models.tasks.weather.inference import serving

ARTEFACTS = Path(__file__).resolve().parents[1] / "artefacts"
SERVED = {"vessel": "dnn-10", "weather": "catboost-10"}
"""Default reference artefact of each task's service."""


def artefact(task: str = "vessel", name: str = "") -> Artefact:
    """Return a verified reference artefact, by default the served one."""
    return read(ARTEFACTS / task / (name or SERVED[task]))


def rows(source: Artefact, count: int) -> NDArray[np.float32]:
    """Return simulated rows [count, F] as callers send them; a thousand of them are different."""
    simulated = _weather_stations() if source.manifest.task == "weather" else _voyages()
    return np.resize(simulated, (count, len(source.schema)))


@cache
def _voyages() -> NDArray[np.float32]:
    """Return rows of voyages, one in ten from seas and speeds that the model was not trained for; not the first."""
    from simulators.vessel.dataset import simulate  # takes two seconds

    tables = simulate(0.022, seed=11)
    drawn = np.concatenate([tables["eval_in"].features[:900], tables["eval_out"].features[:100]]).astype(np.float32)
    order = np.random.default_rng(7).permutation(np.arange(1, len(drawn)))
    return drawn[np.concatenate([[0], order])]


@cache
def _weather_stations() -> NDArray[np.float32]:
    """Return rows of stations in the climates of training: more than a few others would mark a whole request."""
    from simulators.weather.dataset import simulate

    return simulate(0.002, seed=11)["eval_in"].features[:1000].astype(np.float32)


def threshold(retention: float, count: int = 16 * 1024) -> float:
    """Return the threshold, kW², at which the vessel task answers this share of ``rows(source, count)``."""
    source = artefact("vessel")
    _, data, knowledge = direct(source)(rows(source, count))
    return float(np.quantile(data + knowledge, retention))


def rowed(count: int) -> str:
    """Return a number of rows as words in the titles of figures."""
    return "one row" if count == 1 else f"{count} rows"


def normal_rows(count: int, features: int, seed: int) -> NDArray[np.float32]:
    """Return rows [count, features] of standard normal values, one in twenty missing."""
    draw = np.random.default_rng(seed)
    drawn = draw.normal(size=(count, features)).astype(np.float32)
    drawn[draw.random(drawn.shape) < 0.05] = np.nan
    return drawn


def opened(content: Graph | bytes, folder: Path) -> OnnxGraph:
    """Open a graph in a session of one thread.

    Args:
        folder: folder for its file, which the next graph replaces.
    """
    path = folder / "graph.onnx"
    path.write_bytes(content.serialise() if isinstance(content, Graph) else content)
    return OnnxGraph(path)


Call = Callable[[NDArray[np.float32]], list[NDArray[np.float32]]]


def direct(source: Artefact) -> Call:
    """Return a function from rows [n, F] to statistics: one call, one intra-op thread."""
    if source.manifest.task == "weather":
        return _weather(source)
    graph = OnnxGraph(source.path(source.manifest.executor.file))
    outputs = ("mean", "mvar", "varm") if source.manifest.ensemble else ("mean", "mvar")
    return lambda rows: graph.run({"rows": rows}, outputs)


def _weather(source: Artefact) -> Call:
    members = serving.members(source)
    reduced = Reduced(members, serving.heads(source), ensemble=source.manifest.ensemble)
    return lambda rows: list(reduced(rows))

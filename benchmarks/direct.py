"""The same model without a service: called directly, under the session options that are served."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.executors.onnx import OnnxGraph
from models.executors.reduced import Reduced
from models.tasks.weather.inference import serving

Call = Callable[[NDArray[np.float32]], list[NDArray[np.float32]]]


def direct(source: Artefact) -> Call:
    """Statistics of rows [n, F]: one call, one intra-op thread."""
    if source.manifest.task == "weather":
        return _weather(source)
    graph = OnnxGraph(source.path(source.manifest.executor.file))
    outputs = ("mean", "mvar", "varm") if source.manifest.ensemble else ("mean", "mvar")
    return lambda rows: graph.run({"rows": rows}, outputs)


def _weather(source: Artefact) -> Call:
    members = serving.members(source)
    reduced = Reduced(members, serving.heads(source), ensemble=source.manifest.ensemble)
    return lambda rows: list(reduced(rows))

"""The same graph without a service: ONNX Runtime called directly, under the session options that are served."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.executors.onnx import OnnxGraph

Call = Callable[[NDArray[np.float32]], list[NDArray[np.float32]]]


def direct(source: Artefact) -> Call:
    """Statistics of rows [n, F]: one call of the session, one intra-op thread."""
    graph = OnnxGraph(source.path(source.manifest.executor.file), threads=1)
    outputs = ("mean", "mvar", "varm") if source.manifest.ensemble else ("mean", "mvar")
    return lambda rows: graph.run({"rows": rows}, outputs)

"""Executors of a verified vessel artefact: its graph ends in the statistics of the one head."""

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.executors.device import Device
from models.executors.onnx import QUANTUM_ROWS, OnnxGraph, RowGraph
from models.predictive import Gaussian, Predictives
from models.rows.executors import RowExecutors, member_values
from models.tasks.vessel.inference.scoring import rows_per_pass
from models.tasks.vessel.spec import HEADS, POWER

Arrays = tuple[NDArray[np.float32], ...]


def executors(artefact: Artefact, device: Device) -> RowExecutors:
    """Return the executors of an artefact on a device.

    Raises:
        ArtefactError, ProviderUnavailable: see ``models.executors.onnx``.
    """
    manifest = artefact.manifest
    predictors = manifest.members * manifest.samples
    graph = OnnxGraph(artefact.path(manifest.executor.file), device=device)
    statistics = ("mean", "mvar", "varm") if manifest.ensemble else ("mean", "mvar")
    pass_rows = rows_per_pass(predictors, device.provider)
    quantum_rows = max(QUANTUM_ROWS, pass_rows)

    def read(arrays: Arrays) -> tuple[Predictives, dict[str, Arrays]]:
        width = len(statistics)
        return {POWER.name: Gaussian(*arrays[:width])}, {POWER.name: arrays[width:]}

    return RowExecutors(
        heads=HEADS,
        plain=RowGraph(graph, statistics, pass_rows=pass_rows, quantum_rows=quantum_rows),
        with_members=RowGraph(
            graph, (*statistics, "member_mean", "member_var"), pass_rows=pass_rows, quantum_rows=quantum_rows
        ),
        read=read,
        member_values=member_values(HEADS, predictors),
        replayed=graph,
    )

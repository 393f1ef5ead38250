"""Vessel power as a served model: shaft power in kW from ten features, one head, rows as items."""

import numpy as np
from numpy.typing import NDArray

from demur.v1 import vessel_pb2
from models.artefact import Artefact
from models.executors.onnx import QUANTUM_ROWS, OnnxGraph, RowGraph
from models.predictive import Gaussian, Predictives
from models.tasks.vessel.inference.scoring import rows_per_pass
from models.tasks.vessel.spec import HEADS, POWER
from services.request.row_task import MemberOutputs
from services.runtime.settings import Settings
from services.tasks.row_model import RowModel, row_model
from services.transport.grpc.rows import RowMessages
from services.transport.served_model import Parts, ServedModel

_MESSAGES = RowMessages(
    request=vessel_pb2.VesselPredictRequest,
    response=vessel_pb2.VesselPredictResponse,
    stream_request=vessel_pb2.VesselStreamRequest,
    stream_response=vessel_pb2.VesselStreamResponse,
)


def served_model(artefact: Artefact, settings: Settings, parts: Parts) -> ServedModel:
    """Assemble the served model from a verified vessel artefact."""
    manifest = artefact.manifest
    predictors = manifest.members * manifest.samples
    graph = OnnxGraph(artefact.path(manifest.executor.file), device=settings.device)
    statistics = ("mean", "mvar", "varm") if manifest.ensemble else ("mean", "mvar")
    pass_rows = rows_per_pass(predictors, settings.device.provider)
    quantum_rows = max(QUANTUM_ROWS, pass_rows)

    def power(arrays: tuple[NDArray[np.float32], ...]) -> tuple[Predictives, MemberOutputs]:
        width = len(statistics)
        return {POWER.name: Gaussian(*arrays[:width])}, {POWER.name: arrays[width:]}

    model = RowModel(
        heads=HEADS,
        plain=RowGraph(graph, statistics, pass_rows=pass_rows, quantum_rows=quantum_rows),
        with_members=RowGraph(
            graph, (*statistics, "member_mean", "member_var"), pass_rows=pass_rows, quantum_rows=quantum_rows
        ),
        statistics=power,
        member_values=2 * predictors,  # a mean and a variance each
        replayed=graph,
    )
    return row_model(artefact, settings, parts, model, service="demur.v1.VesselService", messages=_MESSAGES)

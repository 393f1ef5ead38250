"""Vessel power as a tenant: shaft power in kW from ten features, one head, rows as items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur.v1 import vessel_pb2
from models.artefact import Artefact
from models.executors.golden import replay
from models.executors.onnx import OnnxGraph
from models.executors.rows import RowGraph
from models.predictive import Gaussian, Predictives
from models.tasks.vessel.scoring import rows_per_pass
from models.tasks.vessel.spec import HEADS, POWER
from services.pipeline import Description
from services.rows import MemberOutputs, RowTask
from services.settings import Settings
from services.tenant import Parts, Tenant
from services.transport import http
from services.transport.grpc.rows import RowMessages, row_binding

_MESSAGES = RowMessages(
    request=vessel_pb2.VesselPredictRequest,
    response=vessel_pb2.VesselPredictResponse,
    stream_request=vessel_pb2.VesselStreamRequest,
    stream_response=vessel_pb2.VesselStreamResponse,
)


def tenant(artefact: Artefact, settings: Settings, parts: Parts) -> Tenant:
    """Assembles the tenant of a verified vessel artefact."""
    manifest = artefact.manifest
    graph = OnnxGraph(
        artefact.path(manifest.executor.file), provider=settings.provider, threads=settings.intra_op_threads
    )
    statistics = ("mean", "mvar", "varm") if manifest.ensemble else ("mean", "mvar")
    pass_rows = rows_per_pass(manifest.members * manifest.samples)
    plain = RowGraph(graph, statistics, pass_rows=pass_rows)
    with_members = RowGraph(graph, (*statistics, "member_mean", "member_var"), pass_rows=pass_rows)
    trained = manifest.training_range
    description = Description(
        task=manifest.task,
        model=artefact.tag,
        schema=artefact.schema,
        heads=HEADS,
        max_rows=settings.max_rows,
        trained_lower=() if trained is None else trained.lower,
        trained_upper=() if trained is None else trained.upper,
    )

    def power(arrays: tuple[NDArray[np.float32], ...]) -> tuple[Predictives, MemberOutputs]:
        width = len(statistics)
        return {POWER.name: Gaussian(*arrays[:width])}, {POWER.name: arrays[width:]}

    told = 2 * manifest.members * manifest.samples  # a mean and a variance each
    task = RowTask(description, plain, with_members, power, member_values=told)
    pipeline = parts.pipeline(task)
    intervals = {name: None if found is None else found.intervals for name, found in parts.calibrations.items()}

    def warm_up() -> None:
        golden = artefact.path(manifest.golden)
        replay(graph, golden, manifest.golden_tolerance)
        rows: Any = np.load(golden)["rows"]
        plain.measure(rows)
        with_members.measure(rows)

    return Tenant(
        pipeline=pipeline,
        description=description,
        grpc=row_binding(
            "demur.v1.VesselService",
            _MESSAGES,
            description,
            pipeline,
            intervals,
            quantum_rows=plain.quantum_rows,
            window_chunks=settings.stream_window_chunks,
        ),
        http=http.row_binding(description, intervals),
        warm_up=warm_up,
    )

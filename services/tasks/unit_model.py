"""Served models whose answer is a table with a record for each unit: from executor to protocols."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from models.artefact import Artefact
from models.executors.golden import Probe
from models.executors.reduced import Reduced
from models.schema import Schema
from services.request.contract import Description, Task
from services.runtime.settings import Settings
from services.transport.http.predict_body import PredictBody
from services.transport.served_model import Parts, ServedModel
from services.transport.table_binding import UnitBindings


@dataclass(frozen=True)
class UnitModel:
    """Parts of such a task."""

    task: Task[Any, Any]
    executor: Reduced
    """Replays and warms up with the golden input ``rows`` of the artefact."""
    schema: Schema | None
    """Description of the inputs; None: they are not rows of numbers."""
    bindings: UnitBindings
    body: type[PredictBody]
    """Decodes JSON requests."""
    service: str
    """Full name of the gRPC service."""
    request: Any
    """Message types of its method ``Predict``."""
    response: Any


def unit_model(artefact: Artefact, settings: Settings, parts: Parts, model: UnitModel) -> ServedModel:
    """Assemble the served model from a verified artefact."""
    manifest, bindings = artefact.manifest, model.bindings
    description = Description(manifest.task, artefact.tag, model.schema, model.task.heads, settings.max_rows)
    pipeline = parts.pipeline(model.task)
    golden = artefact.path(manifest.golden)
    probe = Probe(model.executor, golden, parts.golden_tolerance, manifest.golden_tolerance)

    def warm_up() -> None:
        probe()
        with np.load(golden) as recorded:
            model.executor.measure(recorded["rows"])

    return ServedModel(
        pipeline=pipeline,
        description=description,
        grpc=bindings.grpc(model.service, model.request, model.response, description, pipeline),
        http=bindings.http(model.body),
        oip=bindings.oip(),
        warm_up=warm_up,
        probe=probe,
    )

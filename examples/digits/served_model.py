"""Digits as a served model: inputs of all protocols, and the executor."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from digits import digits_pb2
from digits.answer import TABLE
from digits.spec import HEADS, SCHEMA, SIDE
from digits.task import DigitsTask, Images
from models.artefact import Artefact
from models.executors.graph_members import GraphMembers
from models.executors.onnx import OnnxGraph
from models.executors.reduced import Reduced
from services.runtime.errors import InvalidInput
from services.runtime.settings import Settings
from services.tasks.unit_model import UnitModel, unit_model
from services.transport.binding import TensorSpec
from services.transport.http.predict_body import PredictBody
from services.transport.served_model import Parts, ServedModel
from services.transport.table_binding import UnitBindings

INPUTS = (TensorSpec("images", "UINT8", (-1, SIDE, SIDE), "", "pixels, 0 (paper) to 16 (ink)", optional=False),)


class DigitsBody(PredictBody):
    """JSON request: pixels [n][8][8], 0 (paper) to 16 (ink)."""

    images: list[list[list[int]]]


def read(inputs: Mapping[str, Any]) -> Images:
    """Return arrays, lists or bytes as rows of pixels [n, 64]; raise ``InvalidInput`` for other shapes."""
    images = inputs["images"]
    try:
        if isinstance(images, bytes):
            return np.frombuffer(images, np.uint8).reshape(-1, SIDE * SIDE).astype(np.float32)
        return np.asarray(images, np.float32).reshape(len(images), SIDE * SIDE)
    except ValueError as error:
        size = f"{type(images).__name__} of length {len(images)}"
        raise InvalidInput.about("images", size, "must have 8 rows of 8 pixels each", code="wrong_shape") from error


def served_model(artefact: Artefact, settings: Settings, parts: Parts) -> ServedModel:
    """Assemble the served model from a verified artefact."""
    graph = OnnxGraph(artefact.path(artefact.manifest.executor.file), device=settings.device)
    members = Reduced(GraphMembers(graph, ("digit",), pass_rows=64), HEADS, ensemble=True)
    bindings = UnitBindings(TABLE, INPUTS, read)
    service = "demur.examples.digits.v1.DigitsService"
    messages = digits_pb2.DigitsPredictRequest, digits_pb2.DigitsPredictResponse
    task = DigitsTask(members, settings.max_rows)
    return unit_model(
        artefact, settings, parts, UnitModel(task, members, SCHEMA, bindings, DigitsBody, service, *messages)
    )

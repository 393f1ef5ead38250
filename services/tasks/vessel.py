"""Vessel power as a served model: shaft power in kW from ten features, one head, rows as items."""

from demur.v1 import vessel_pb2
from models.artefact import Artefact
from models.tasks.vessel.inference.serving import executors
from services.runtime.settings import Settings
from services.tasks.row_model import row_model
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
    model = executors(artefact, settings.device)
    return row_model(artefact, settings, parts, model, service="demur.v1.VesselService", messages=_MESSAGES)

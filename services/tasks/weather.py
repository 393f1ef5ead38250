"""Weather as a served model: air temperature (°C) and precipitation class from forecasts, two heads, rows as items."""

from demur.v1 import weather_pb2
from models.artefact import Artefact
from models.executors.trees.library_process import LibraryProcess
from models.rows import executors
from models.tasks.weather.inference import serving
from services.runtime.settings import Settings
from services.tasks.row_model import row_model
from services.transport.grpc.rows import RowMessages
from services.transport.served_model import Parts, ServedModel

_MESSAGES = RowMessages(
    request=weather_pb2.WeatherPredictRequest,
    response=weather_pb2.WeatherPredictResponse,
    stream_request=weather_pb2.WeatherStreamRequest,
    stream_response=weather_pb2.WeatherStreamResponse,
)


def served_model(artefact: Artefact, settings: Settings, parts: Parts) -> ServedModel:
    """Assemble the served model from a verified weather artefact, with the artefact's heads."""
    manifest = artefact.manifest
    members = serving.members(artefact, device=settings.device, library=LibraryProcess)
    model = executors.of_members(members, serving.heads(artefact), manifest.members * manifest.samples)
    return row_model(artefact, settings, parts, model, service="demur.v1.WeatherService", messages=_MESSAGES)

"""Weather as a served model: air temperature (°C) and precipitation class from forecasts, two heads, rows as items."""

from demur.v1 import weather_pb2
from models.artefact import Artefact
from models.executors.reduced import Reduced
from models.executors.trees.library_process import LibraryProcess
from models.tasks.weather.inference import serving
from services.runtime.settings import Settings
from services.tasks.row_model import RowModel, row_model
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
    heads = serving.heads(artefact)
    members = serving.members(artefact, device=settings.device, library=LibraryProcess)
    plain = Reduced(members, heads, ensemble=manifest.ensemble)
    predictions = manifest.members * manifest.samples
    model = RowModel(
        heads=heads,
        plain=plain,
        with_members=Reduced(members, heads, ensemble=manifest.ensemble, members=True),
        statistics=plain.read,
        member_values=sum(2 if head.classes is None else head.classes for head in heads) * predictions,
        replayed=plain,
    )
    return row_model(
        artefact,
        settings,
        parts,
        model,
        service="demur.v1.WeatherService",
        messages=_MESSAGES,
        prepare=members.measure,
    )

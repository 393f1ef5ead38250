"""Rows as a served model: any artefact that declares its own columns and heads."""

from demur.v1 import rows_pb2
from models.artefact import Artefact, ArtefactError
from models.executors.trees.library_process import LibraryProcess
from models.rows import executors
from services.runtime.settings import Settings
from services.tasks.row_model import row_model
from services.transport.grpc.rows import RowMessages
from services.transport.served_model import Parts, ServedModel

_MESSAGES = RowMessages(
    request=rows_pb2.RowsPredictRequest,
    response=rows_pb2.RowsPredictResponse,
    stream_request=rows_pb2.RowsStreamRequest,
    stream_response=rows_pb2.RowsStreamResponse,
)


def served_model(artefact: Artefact, settings: Settings, parts: Parts) -> ServedModel:
    """Assemble the served model from a verified artefact.

    Raises:
        ArtefactError: the artefact does not declare its heads, or a file cannot be used.
    """
    if not artefact.manifest.outputs:
        raise ArtefactError(
            f"{artefact.directory}: declares no heads; `demur models build rows` makes what is served here"
        )
    model = executors.of_artefact(artefact, device=settings.device, library=LibraryProcess)
    return row_model(artefact, settings, parts, model, service="demur.v1.RowsService", messages=_MESSAGES)

"""Error responses in the format of the protocol that a path belongs to."""

from starlette.responses import Response

from services.runtime.errors import DemurError
from services.transport.http.body import error_response
from services.transport.oip.bodies import PREFIX, TRANSPORT, refusal


def is_oip(path: str) -> bool:
    """Return whether clients of the Open Inference Protocol use a path."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def response_for(path: str, error: DemurError) -> Response:
    """Return an error in the format that callers of a path expect."""
    return refusal(error) if is_oip(path) else error_response(error)


def transport_of(path: str) -> str:
    """Return the transport that metrics count calls of a path under."""
    return TRANSPORT if is_oip(path) else "http"

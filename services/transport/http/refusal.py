"""Refusals in the words of the protocol that a path belongs to."""

from __future__ import annotations

from starlette.responses import Response

from services.runtime.errors import DemurError
from services.transport.http.body import error_response
from services.transport.oip.bodies import refusal
from services.transport.oip.routes import PREFIX, TRANSPORT


def of_oip(path: str) -> bool:
    """Whether clients of the Open Inference Protocol read what is answered there."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def refused(path: str, error: DemurError) -> Response:
    """An error as the callers of a path read it."""
    return refusal(error) if of_oip(path) else error_response(error)


def counted_as(path: str) -> str:
    """What calls of a path are counted under."""
    return TRANSPORT if of_oip(path) else "http"

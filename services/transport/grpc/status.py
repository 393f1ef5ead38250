"""gRPC errors: the status code, a message for people, and a typed detail in the trailing metadata."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from demur.v1 import common_pb2
from services.runtime.errors import DemurError, internal, status
from services.runtime.logging import get_logger
from services.tracing.trace import current

DETAIL_KEY = "demur-error-bin"
_TEXT_BYTES = 1024
"""Maximum length of a message, in bytes; callers accept 8 KiB of metadata, which has the message twice and escaped."""
_log = get_logger(__name__)


def detail(error: DemurError) -> Any:
    """Return the error as ``demur.v1.ErrorDetail``."""
    return common_pb2.ErrorDetail(
        code=error.code,
        message=_bounded(error.message, _TEXT_BYTES),
        field=_bounded(error.field, _TEXT_BYTES // 4),
        unit=_bounded(error.unit, _TEXT_BYTES // 4),
        value=_bounded(error.value, _TEXT_BYTES // 4),
        allowed=_bounded(error.allowed, _TEXT_BYTES // 2),
        index=error.index,
        retry_after_seconds=error.retry_after_seconds,
    )


async def abort(context: Any, error: Exception) -> None:
    """End the call with the error's status; an unknown error is logged and hidden."""
    known = internal(error)
    current().failed(known)
    if known is not error:
        _log.error("a call failed by a defect", exc_info=error)
    code = grpc.StatusCode[status(known).grpc]
    await context.abort(code, _bounded(known.message, _TEXT_BYTES), ((DETAIL_KEY, detail(known).SerializeToString()),))


def _bounded(text: str, size: int) -> str:
    """Return text of at most ``size`` bytes; longer text is cut and ends in an ellipsis."""
    content = text.encode(errors="replace")
    return content.decode() if len(content) <= size else content[: size - 3].decode(errors="ignore") + "…"


def guarded(handler: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return a unary handler whose errors end the call with a typed status."""

    async def call(request: Any, context: Any) -> Any:
        try:
            return await handler(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except Exception as error:
            await abort(context, error)

    return call

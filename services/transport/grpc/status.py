"""Errors on gRPC: the status code, a message for people, and a typed detail in the trailing metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from demur.v1 import common_pb2
from services.errors import DemurError, ExecutionFailed, status
from services.logging import get_logger

DETAIL_KEY = "demur-error-bin"
_log = get_logger(__name__)


def detail(error: DemurError) -> Any:
    """The error as ``demur.v1.ErrorDetail``."""
    return common_pb2.ErrorDetail(
        code=error.code,
        message=error.message,
        field=error.field,
        unit=error.unit,
        value=error.value,
        allowed=error.allowed,
        index=error.index,
        retry_after_seconds=error.retry_after_seconds,
    )


async def abort(context: Any, error: Exception) -> None:
    """Ends the call with the error's status; an unknown error is logged and hidden."""
    known = error if isinstance(error, DemurError) else internal(error)
    if isinstance(known, ExecutionFailed):
        _log.error("execution failed", exc_info=known.__cause__ or known)
    code = grpc.StatusCode[status(known).grpc]
    await context.abort(code, known.message, ((DETAIL_KEY, detail(known).SerializeToString()),))


def internal(error: Exception) -> ExecutionFailed:
    """What a caller is told of a defect: no text of the exception leaves the process."""
    failure = ExecutionFailed(
        f"the service failed ({type(error).__name__}); nothing is wrong with the request", code="internal"
    )
    failure.__cause__ = error
    return failure


def guarded(handler: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
    """A unary handler whose errors end the call properly."""

    async def call(request: Any, context: Any) -> Any:
        try:
            return await handler(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except Exception as error:
            await abort(context, error)

    return call

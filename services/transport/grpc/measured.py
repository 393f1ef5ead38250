"""Unary calls, counted with their status and duration."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from services.request.metrics import Metrics
from services.runtime.errors import internal, status

Handler = Callable[[Any, Any], Awaitable[Any]]


def measured(handler: Handler, metrics: Metrics, transport: str = "grpc") -> Handler:
    """The handler; its errors pass through. ``transport`` is what its calls are counted under."""

    async def call(request: Any, context: Any) -> Any:
        start = time.perf_counter()
        code = "CANCELLED"
        try:
            response = await handler(request, context)
            code = "OK"
            return response
        except Exception as error:
            code = status(internal(error)).grpc
            raise
        finally:
            metrics.request(transport, code, time.perf_counter() - start)

    return call

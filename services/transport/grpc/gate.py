"""The door of the gRPC service: once it is shut, every new call is refused in words."""

from __future__ import annotations

from typing import Any

import grpc

from services.errors import Draining
from services.transport.grpc.status import abort


class Gate(grpc.GenericRpcHandler):
    """Leads calls to a service's handlers until it is shut; calls that are inside go on."""

    def __init__(self, handlers: grpc.GenericRpcHandler) -> None:
        self._handlers = handlers
        self._open = True

    def shut(self) -> None:
        self._open = False

    def service(self, handler_call_details: Any) -> Any:
        """The handler of one new call."""
        found: Any = self._handlers.service(handler_call_details)
        if self._open or found is None:
            return found
        if found.request_streaming:
            return grpc.stream_stream_rpc_method_handler(_refuse)
        return grpc.unary_unary_rpc_method_handler(_refuse)


async def _refuse(request: Any, context: Any) -> None:
    error = Draining("this replica is shutting down; retry at once, another one answers", code="draining")
    await abort(context, error)

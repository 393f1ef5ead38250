"""The door of the gRPC services: every call is traced from here on; once the door is shut, new calls are refused."""

from __future__ import annotations

from typing import Any

import grpc

from services.runtime.errors import Draining
from services.tracing.tracer import OFF, Tracer
from services.transport.grpc.arrival import Arrival, refusing
from services.transport.grpc.traced import traced


class Gate(grpc.GenericRpcHandler):
    """Leads calls to a service's handlers until it is shut; calls that are inside go on."""

    def __init__(self, handlers: grpc.GenericRpcHandler, arrival: Arrival, tracer: Tracer = OFF) -> None:
        self._handlers = handlers
        self._arrival = arrival
        self._tracer = tracer
        self._traced: dict[str, Any] = {}
        """By method, as far as it was called; bounded by the methods that there are."""
        self._open = True

    def shut(self) -> None:
        self._open = False

    def service(self, handler_call_details: Any) -> Any:
        """The handler of one new call."""
        method: str = handler_call_details.method
        found: Any = self._traced.get(method)
        if found is None:
            found = self._handlers.service(handler_call_details)
            if found is None:
                return None
            found = traced(method.removeprefix("/"), found, self._tracer)
            found = self._traced[method] = self._arrival.bounded(found)
        if self._open:
            return self._arrival.admit(handler_call_details.invocation_metadata, found)
        return refusing(Draining("this replica is shutting down; retry at once, another one answers", code="draining"))

"""Handlers of ``grpc.health.v1.Health`` over the library's servicer, which accept compressed requests."""

from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2

from services.transport.grpc.raw_request import small


def handlers(servicer: Any) -> grpc.GenericRpcHandler:
    """Return handlers for a ``grpc_health.v1.health.aio.HealthServicer``."""
    codec = {
        "request_deserializer": small(health_pb2.HealthCheckRequest.FromString),
        "response_serializer": health_pb2.HealthCheckResponse.SerializeToString,
    }
    return grpc.method_handlers_generic_handler(
        health.SERVICE_NAME,
        {
            "Check": grpc.unary_unary_rpc_method_handler(servicer.Check, **codec),
            "Watch": grpc.unary_stream_rpc_method_handler(servicer.Watch, **codec),
        },
    )

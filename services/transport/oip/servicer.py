"""``inference.GRPCInferenceService``: handlers for the process's gRPC server."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from services.request.metrics import Metrics
from services.runtime.settings import Settings
from services.tracing.trace import step
from services.transport.binding import message_of
from services.transport.grpc.answer_size import check_size
from services.transport.grpc.measured import measured
from services.transport.grpc.received import Received, receiver
from services.transport.grpc.status import guarded
from services.transport.grpc.stream import ChunkStream, sooner
from services.transport.http.request import within
from services.transport.oip import messages
from services.transport.oip.frames import OipFrames
from services.transport.oip.model import OipModel, absent, items
from services.transport.oip.protocol import oip_pb2
from services.transport.served_model import Tenant

SERVICE = "inference.GRPCInferenceService"
UNARY, STREAM = "oip_grpc", "oip_grpc_stream"
"""What calls are counted under."""
_ABSENT = {
    "RepositoryModel": ("Load", "Unload"),
    "SystemSharedMemory": ("Status", "Register", "Unregister"),
    "CudaSharedMemory": ("Status", "Register", "Unregister"),
    "TraceSetting": ("",),
    "LogSettings": ("",),
}
"""Beginnings of methods that Triton has and this service has not, with their ends."""
Method = Callable[[Any], Awaitable[Any]]


def probes(model: OipModel) -> Any:
    """Handlers that answer whatever state the process is in."""

    async def live(request: Any) -> Any:
        return oip_pb2.ServerLiveResponse(live=True)

    async def ready(request: Any) -> Any:
        return oip_pb2.ServerReadyResponse(ready=model.ready())

    async def model_ready(request: Any) -> Any:
        model.check(request.name, request.version)
        return oip_pb2.ModelReadyResponse(ready=model.ready())

    return _handlers({"ServerLive": live, "ServerReady": ready, "ModelReady": model_ready}, None)


def methods(model: OipModel, tenant: Tenant, settings: Settings, metrics: Metrics) -> Any:
    """All other handlers."""

    async def server(request: Any) -> Any:
        return messages.message(oip_pb2.ServerMetadataResponse, model.server())

    async def metadata(request: Any) -> Any:
        model.check(request.name, request.version)
        return messages.metadata(model)

    async def config(request: Any) -> Any:
        model.check(request.name, request.version)
        return messages.message(oip_pb2.ModelConfigResponse, {"config": model.config()})

    async def statistics(request: Any) -> Any:
        model.check(request.name or model.name, request.version)
        return messages.message(oip_pb2.ModelStatisticsResponse, model.stats())

    async def index(request: Any) -> Any:
        return messages.message(oip_pb2.RepositoryIndexResponse, model.index(request.ready))

    plain: dict[str, Method] = {
        "ServerMetadata": server,
        "ModelMetadata": metadata,
        "ModelConfig": config,
        "ModelStatistics": statistics,
        "RepositoryIndex": index,
    }
    stream = OipFrames(model)
    handlers = {
        "ModelInfer": grpc.unary_unary_rpc_method_handler(
            guarded(measured(_infer(model), metrics, UNARY)),
            request_deserializer=receiver(message_of(oip_pb2.ModelInferRequest)),
        ),  # its responses are bytes already
        "ModelStreamInfer": grpc.stream_stream_rpc_method_handler(
            ChunkStream(stream, tenant, settings, metrics, STREAM).handle,
            request_deserializer=receiver(stream.request),
            response_serializer=stream.response.encode,
        ),
    }
    return _handlers(plain, metrics, handlers | {name: _refusing(name) for name in _absent()})


def _infer(model: OipModel) -> Callable[[Received, Any], Awaitable[bytes]]:
    offload = model.pipeline.offload

    async def infer(received: Received, context: Any) -> bytes:
        start = time.perf_counter()
        try:
            request = received.checked()
            model.check(request.model_name, request.model_version)
            nbytes = received.text_bytes
            with step("decode"):
                asked = await offload.run(nbytes, lambda: model.read(messages.question(request)))
            seconds = sooner(context.time_remaining(), asked.wishes.seconds)
            async with within(asked.wishes.seconds):
                answers = await model.answer(asked, seconds, nbytes)
            with step("encode"):
                written = await offload.run(
                    nbytes, lambda: messages.response(model, model.told(asked, answers)).SerializeToString()
                )
            check_size(written, context, "name fewer outputs, or ask for less in each call")
        except Exception:
            model.statistics.failed(time.perf_counter() - start)
            raise
        model.statistics.answered(items(answers), time.perf_counter() - start)
        return bytes(written)

    return infer


def _handlers(plain: dict[str, Method], metrics: Metrics | None, more: dict[str, Any] | None = None) -> Any:
    """Of unary methods whose messages are small; ``metrics``: where they are counted."""
    return grpc.method_handlers_generic_handler(
        SERVICE, {name: _unary(name, method, metrics) for name, method in plain.items()} | (more or {})
    )


def _unary(name: str, method: Method, metrics: Metrics | None) -> Any:
    async def handler(received: Received, context: Any) -> Any:
        return await method(received.checked())

    return grpc.unary_unary_rpc_method_handler(
        guarded(handler if metrics is None else measured(handler, metrics, UNARY)),
        request_deserializer=receiver(message_of(getattr(oip_pb2, f"{name}Request"))),
        response_serializer=getattr(oip_pb2, f"{name}Response").SerializeToString,
    )


def _absent() -> dict[str, str]:
    return {f"{begin}{end}": begin for begin, ends in _ABSENT.items() for end in ends}


def _refusing(name: str) -> Any:
    begin = _absent()[name]

    async def refuse(request: bytes, context: Any) -> None:
        raise absent(begin)

    return grpc.unary_unary_rpc_method_handler(guarded(refuse))

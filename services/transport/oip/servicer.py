"""``inference.GRPCInferenceService``: handlers for the process's gRPC server."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from services.runtime.settings import Settings
from services.tracing.trace import step
from services.transport.grpc.call import Method
from services.transport.grpc.limits import check_size
from services.transport.grpc.raw_request import Received
from services.transport.grpc.stream import ChunkStream, sooner
from services.transport.http.request import within
from services.transport.oip import messages
from services.transport.oip.frames import OipFrames
from services.transport.oip.infer_request import ParsedRequest
from services.transport.oip.model import OipModel, absent, items
from services.transport.oip.protocol import oip_pb2
from services.transport.served_model import ServedModel

SERVICE = "inference.GRPCInferenceService"
UNARY, STREAM = "oip_grpc", "oip_grpc_stream"
"""Names of the transports in metrics."""
_ABSENT = {
    "RepositoryModel": ("Load", "Unload"),
    "SystemSharedMemory": ("Status", "Register", "Unregister"),
    "CudaSharedMemory": ("Status", "Register", "Unregister"),
    "TraceSetting": ("",),
    "LogSettings": ("",),
}
"""Prefixes of Triton methods that this service does not implement, with their endings."""
Small = Callable[[Any], Awaitable[Any]]
"""Handler of a method with small messages."""


def probes(model: OipModel) -> dict[str, Method]:
    """Return the methods that answer in every state of the process."""

    async def live(request: Any) -> Any:
        return oip_pb2.ServerLiveResponse(live=True)

    async def ready(request: Any) -> Any:
        return oip_pb2.ServerReadyResponse(ready=model.ready())

    async def model_ready(request: Any) -> Any:
        model.check(request.name, request.version)
        return oip_pb2.ModelReadyResponse(ready=model.ready())

    return _small({"ServerLive": live, "ServerReady": ready, "ModelReady": model_ready}, None)


def methods(model: OipModel, tenant: ServedModel, settings: Settings) -> dict[str, Method]:
    """Return all other methods."""

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

    small: dict[str, Small] = {
        "ServerMetadata": server,
        "ModelMetadata": metadata,
        "ModelConfig": config,
        "ModelStatistics": statistics,
        "RepositoryIndex": index,
    }
    stream = OipFrames(model)
    predictions = {
        "ModelInfer": Method(
            _infer(model), oip_pb2.ModelInferRequest.FromString, counted_as=UNARY, sized=True
        ),  # its responses are bytes already
        "ModelStreamInfer": Method(
            ChunkStream(stream, tenant, settings).handle,
            stream.request.decode,
            stream.response.encode,
            streams_requests=True,
            streams_responses=True,
            counted_as=STREAM,
        ),
    }
    missing = {f"{begin}{end}": _missing(begin) for begin, ends in _ABSENT.items() for end in ends}
    return _small(small, UNARY) | predictions | missing


def _infer(model: OipModel) -> Callable[[Received, Any], Awaitable[bytes]]:
    offload = model.pipeline.offload

    def read(request: Any) -> ParsedRequest:
        return model.read(messages.question(request))

    def write(parsed: ParsedRequest, answers: list[Any]) -> bytes:
        return messages.response(model, model.joined(parsed, answers))

    async def infer(received: Received, context: Any) -> bytes:
        start = time.perf_counter()
        try:
            request = received.checked()
            model.check(request.model_name, request.model_version)
            nbytes = received.text_bytes
            with step("decode"):
                parsed = await offload.run(nbytes, read, request)
            seconds = sooner(context.time_remaining(), parsed.wishes.seconds)
            async with within(parsed.wishes.seconds):
                answers = await model.answer(parsed, seconds, nbytes)
            with step("encode"):
                written = await offload.run(nbytes, write, parsed, answers)
            check_size(written, context, "name fewer outputs, or ask for less in each call")
        except Exception:
            model.statistics.failed(time.perf_counter() - start)
            raise
        model.statistics.answered(items(answers), time.perf_counter() - start)
        return written

    return infer


def _small(handlers: Mapping[str, Small], counted_as: str | None) -> dict[str, Method]:
    return {name: _method(name, handler, counted_as) for name, handler in handlers.items()}


def _method(name: str, handler: Small, counted_as: str | None) -> Method:
    async def handle(request: Any, context: Any) -> Any:
        return await handler(request)

    request, response = getattr(oip_pb2, f"{name}Request"), getattr(oip_pb2, f"{name}Response")
    return Method(handle, request.FromString, response.SerializeToString, counted_as=counted_as)


def _missing(name: str) -> Method:
    async def refuse(request: Any, context: Any) -> None:
        raise absent(name)

    return Method(refuse, bytes, counted_as=None)

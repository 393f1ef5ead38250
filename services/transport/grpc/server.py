"""gRPC server of a served model: prediction, streams, labels, policies, health and reflection."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2

from services.access.factory import Access
from services.access.rules import GrpcRules
from services.runtime.lifecycle import unhurried
from services.runtime.settings import Settings
from services.tracing.trace import step
from services.transport.grpc import health_checks, policies, reflection, tls
from services.transport.grpc.call import CallLayer, Method
from services.transport.grpc.labels import SERVICE as LABEL_SERVICE
from services.transport.grpc.labels import LabelHandlers
from services.transport.grpc.limits import Limits, check_size
from services.transport.grpc.plain import encoded
from services.transport.grpc.raw_request import OPTIONS, Received
from services.transport.grpc.stream import ChunkStream
from services.transport.oip import servicer as oip
from services.transport.oip.model import OipModel
from services.transport.served_model import ServedModel
from services.transport.serving import Serving

REFUSALS_SECONDS = 0.25
"""Time, in seconds, in which new calls get a typed error before the connections are told to close. A call that reaches
a closing connection is cancelled by the library, which callers do not take as advice to try another replica.
"""


class GrpcServer:
    """gRPC server with its health state; ``drain`` refuses new calls at once and waits for those in flight."""

    def __init__(self, serving: Serving, *, oip_model: OipModel | None = None, access: Access | None = None) -> None:
        """Build the server; ``start`` binds it.

        Args:
            oip_model: the served model over the Open Inference Protocol; None: the server makes one.
            access: tokens and certificates; None: no tokens and no TLS.
        """
        tenant, settings, metrics = serving.tenant, serving.settings, serving.metrics
        self._services = (tenant.grpc.service, LABEL_SERVICE, policies.SERVICE, oip.SERVICE)
        self._serving = False
        model = oip_model or OipModel(tenant, metrics, lambda: self._serving)
        authenticator = None if access is None else access.authenticator
        certificates = None if access is None else access.certificates
        self._credentials = None if certificates is None else tls.credentials(certificates)
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", settings.max_message_bytes),
                ("grpc.max_send_message_length", -1),
                *OPTIONS,
                ("grpc.max_metadata_size", settings.max_header_bytes),
                ("grpc.absolute_max_metadata_size", settings.max_header_bytes),
                ("grpc.max_allowed_incoming_connections", settings.max_connections),
                ("grpc.server_handshake_timeout_ms", int(settings.slow_seconds * 1000)),
                ("grpc.http2.settings_timeout", int(settings.slow_seconds * 1000)),
                ("grpc.so_reuseport", 0),
                ("grpc.max_connection_age_ms", int(settings.max_connection_age_seconds * 1000)),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
                *_bounded(settings),
            ),
        )
        self._health = health.aio.HealthServicer()
        self.calls = CallLayer(
            Limits(settings.message_seconds, settings.max_header_bytes, settings.max_message_bytes),
            tenant.pipeline.offload,
            metrics,
            tracer=serving.tracer,
            authenticator=authenticator,
            rules=None if authenticator is None else GrpcRules([tenant.grpc.service]),
        )
        services = (
            self.calls.service(tenant.grpc.service, _methods(tenant, settings)),
            self.calls.service(LABEL_SERVICE, LabelHandlers(serving.label_service, tenant.pipeline).methods()),
            self.calls.service(policies.SERVICE, policies.methods(tenant.pipeline.policies, serving.keeper)),
            self.calls.service(oip.SERVICE, oip.methods(model, tenant, settings)),
            self.calls.service(oip.SERVICE, oip.probes(model), traced=False),
        )
        reflected = reflection.handlers((*self._services, health.SERVICE_NAME)) if tenant.reflected else ()
        foreign = map(self.calls.foreign, (health_checks.handlers(self._health), *reflected))
        unknown = () if authenticator is None else (self.calls.unknown(),)
        self._server.add_generic_rpc_handlers((*services, *foreign, *unknown))
        self.port = 0

    async def start(self, address: str) -> None:
        """Bind and listen; ``port`` is the port in use.

        Raises:
            RuntimeError: the address is taken or not local.
        """
        if self._credentials is None:
            self.port = self._server.add_insecure_port(address)
        else:
            self.port = self._server.add_secure_port(address, self._credentials)
        await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._server.start()

    async def ready(self) -> None:
        """Report SERVING."""
        self._serving = True
        await self._report(health_pb2.HealthCheckResponse.SERVING)

    async def unready(self) -> None:
        """Report NOT_SERVING for a while; calls are still accepted, and refused by later layers."""
        self._serving = False
        await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def drain(self, seconds: float) -> None:
        """Refuse new calls from now on; calls in flight have ``seconds`` to end."""
        self._serving = False
        self.calls.shut()
        await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)
        await unhurried(min(REFUSALS_SECONDS, seconds), seconds)
        await self._server.stop(seconds)

    async def _report(self, state: Any) -> None:
        for name in ("", *self._services):
            await self._health.set(name, state)


def _bounded(settings: Settings) -> tuple[tuple[str, int], ...]:
    """Return limits on calls per connection, and on calls that wait in the library for the event loop.

    The loop accepts one call per turn; without a limit thousands wait, for seconds. A refusal by the handler costs a
    large part of an answer, so refusals alone could fill the loop; the library refuses at a fraction of it, but only
    with CANCELLED and without a message. Its "overload protection" is off: it would refuse the next call of a caller
    who was just answered, although there is room.
    """
    return (
        ("grpc.max_concurrent_streams", settings.max_connection_calls),
        ("grpc.http.overload_protection", 0),
        ("grpc.server.max_pending_requests", settings.waiting_calls),
        ("grpc.server.max_pending_requests_hard_limit", settings.waiting_calls),
    )


def _methods(tenant: ServedModel, settings: Settings) -> dict[str, Method]:
    """Return the methods of the task's own service."""
    binding = tenant.grpc
    methods = {
        "Predict": Method(  # its responses are bytes already
            _predict(tenant), binding.request.decode, as_sdk_0_1=binding.as_sdk_0_1, sized=True
        )
    }
    if binding.describe is not None and binding.describe_messages is not None:
        description = binding.describe
        request, response = binding.describe_messages

        async def describe(request: Any, context: Any) -> Any:
            return description()

        methods["Describe"] = Method(describe, request.decode, response.encode, counted_as=None)
    if binding.stream is not None:
        methods["PredictStream"] = Method(
            ChunkStream(binding.stream, tenant, settings).handle,
            binding.stream.request.decode,
            binding.stream.response.encode,
            streams_requests=True,
            streams_responses=True,
            counted_as="grpc_stream",
            as_sdk_0_1=binding.as_sdk_0_1,
        )
    return methods


def _predict(tenant: ServedModel) -> Callable[[Any, Any], Awaitable[Any]]:
    binding, pipeline = tenant.grpc, tenant.pipeline

    async def predict(received: Received, context: Any) -> Any:
        with step("decode"):
            request, options = binding.read(received.checked())
        remaining = context.time_remaining()
        deadline = None if remaining is None else time.monotonic() + remaining
        call = options.call("decide", deadline=deadline)
        answers = await pipeline.answer(request, call, received.text_bytes)
        with step("encode"):
            response = await pipeline.offload.run(
                received.text_bytes, encoded, binding, answers, in_plain=options.plain
            )
        check_size(response, context, binding.smaller)
        return response

    return predict

"""``LabelService``: labels, resolutions and commits over gRPC; thin over ``services.labels.service``."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from demur.v1 import labels_pb2
from services.access.caller import check_sources
from services.labels.label_types import MOST_UNITS
from services.labels.label_validation import sources
from services.labels.service import LabelService
from services.ledger.unit_ids import parse_unit
from services.request.pipeline import Pipeline
from services.runtime.errors import no_ledger
from services.transport.grpc import label_messages as messages
from services.transport.grpc.call import Method
from services.transport.grpc.plain import plain
from services.transport.grpc.raw_request import Received
from services.transport.grpc.review import ReviewHandlers, caller_name

SERVICE = "demur.v1.LabelService"
MOST_COMMITTED = 1_000_000


class LabelHandlers:
    """Methods of the service, those for reviewers among them; without a label service each call is refused."""

    def __init__(self, service: LabelService | None, pipeline: Pipeline[Any, Any]) -> None:
        self._known = service
        self._pipeline = pipeline

    def methods(self) -> dict[str, Method]:
        """Return the methods of the service."""
        unary: dict[str, tuple[Any, Any, Any]] = {
            "Submit": (self.submit, labels_pb2.SubmitLabelsRequest, labels_pb2.SubmitLabelsResponse),
            "Resolve": (self.resolve, labels_pb2.ResolveRequest, labels_pb2.ResolveResponse),
            "Commit": (self.commit, labels_pb2.CommitRequest, labels_pb2.CommitResponse),
            "Erase": (self.erase, labels_pb2.EraseRequest, labels_pb2.EraseResponse),
        }
        unary |= ReviewHandlers(self._known).methods()
        methods = {
            name: Method(handler, request.FromString, response.SerializeToString)
            for name, (handler, request, response) in unary.items()
        }
        methods["WatchResolutions"] = Method(
            self.watch_resolutions,
            labels_pb2.WatchRequest.FromString,
            labels_pb2.Resolution.SerializeToString,
            streams_responses=True,
            counted_as="grpc_stream",
        )
        methods["SubmitStream"] = Method(
            self.submit_stream,
            labels_pb2.SubmitLabelsRequest.FromString,
            labels_pb2.SubmitLabelsResponse.SerializeToString,
            streams_requests=True,
            streams_responses=True,
            counted_as="grpc_stream",
        )
        return methods

    async def submit(self, message: Any, context: Any) -> Any:
        self._service.check_count(messages.count(message))
        labels = await self._pipeline.offload.run(message.ByteSize(), messages.labels, message)
        check_sources(sources(labels))
        response = messages.batch_message(await self._service.submit(labels, caller_name(context)))
        return plain(response) if message.plain else response

    async def resolve(self, message: Any, context: Any) -> Any:
        units = [parse_unit(text) for text in message.units]
        views = await self._service.resolve(units, message.wait_seconds)
        return labels_pb2.ResolveResponse(resolutions=map(messages.resolution_message, views))

    async def commit(self, message: Any, context: Any) -> Any:
        units = messages.units(message.units, MOST_COMMITTED)
        return messages.committed_message(await self._pipeline.ledger.commit(units))

    async def erase(self, message: Any, context: Any) -> Any:
        units = messages.units(message.units, MOST_UNITS)
        return labels_pb2.EraseResponse(
            erased=await self._service.erase(units, actor=caller_name(context), reason=message.reason)
        )

    async def watch_resolutions(self, message: Any, context: Any) -> None:
        """Stream resolutions until every unit is final, or until the caller's deadline."""
        units = [parse_unit(text) for text in message.units]
        async with aclosing(self._service.watch(units)) as resolutions:
            async for view in resolutions:
                await context.write(messages.resolution_message(view))

    async def submit_stream(self, requests: AsyncIterator[Received], context: Any) -> None:
        """Answer batches in order; each is durable before its answer is sent, and answered before the next is read."""
        async for received in requests:
            await context.write(await self.submit(received.checked(), context))

    @property
    def _service(self) -> LabelService:
        if self._known is None:
            raise no_ledger()
        return self._known

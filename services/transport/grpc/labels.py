"""``LabelService``: labels, requests, resolutions and commits over gRPC; thin over ``services.labels.service``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import grpc

from demur.v1 import labels_pb2
from services.access.caller import check_sources
from services.labels.label_types import DEFAULT_LEASE_SECONDS, MOST_UNITS
from services.labels.label_validation import sources
from services.labels.service import LabelService
from services.ledger.unit_ids import parse_unit
from services.request.metrics import Metrics
from services.request.pipeline import Pipeline
from services.runtime.errors import internal, no_ledger, status
from services.transport.actor import ACTOR_KEY, actor
from services.transport.binding import Message, message_of
from services.transport.grpc import label_messages as messages
from services.transport.grpc.measured import measured
from services.transport.grpc.plain import plain
from services.transport.grpc.received import Received, receiver
from services.transport.grpc.status import abort, guarded

SERVICE = "demur.v1.LabelService"
MOST_COMMITTED = 1_000_000
Handler = Callable[[Any, Any], Awaitable[Any]]


class LabelHandlers:
    """The methods of the service; without a label service each call is refused."""

    def __init__(self, label_service: LabelService | None, pipeline: Pipeline[Any, Any], metrics: Metrics) -> None:
        self._known = label_service
        self._pipeline = pipeline
        self._metrics = metrics

    def generic(self) -> grpc.GenericRpcHandler:
        """What a server is given."""
        unary = {
            "Submit": (self.submit, labels_pb2.SubmitLabelsRequest, labels_pb2.SubmitLabelsResponse),
            "Claim": (self.claim, labels_pb2.ClaimRequest, labels_pb2.ClaimResponse),
            "Extend": (self.extend, labels_pb2.ExtendRequest, labels_pb2.Lease),
            "Release": (self.release, labels_pb2.ReleaseRequest, labels_pb2.Lease),
            "Skip": (self.skip, labels_pb2.SkipRequest, labels_pb2.Lease),
            "SubmitClaimed": (
                self.submit_claimed,
                labels_pb2.SubmitClaimedRequest,
                labels_pb2.SubmitClaimedResponse,
            ),
            "CountRequests": (self.count_requests, labels_pb2.CountRequestsRequest, labels_pb2.CountRequestsResponse),
            "Resolve": (self.resolve, labels_pb2.ResolveRequest, labels_pb2.ResolveResponse),
            "Commit": (self.commit, labels_pb2.CommitRequest, labels_pb2.CommitResponse),
            "Erase": (self.erase, labels_pb2.EraseRequest, labels_pb2.EraseResponse),
        }
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                guarded(self._measured(handler)),
                request_deserializer=receiver(message_of(taken)),
                response_serializer=message_of(answered).encode,
            )
            for name, (handler, taken, answered) in unary.items()
        }
        resolution: Message = message_of(labels_pb2.Resolution)
        handlers["WatchResolutions"] = grpc.unary_stream_rpc_method_handler(
            self.watch_resolutions,
            request_deserializer=receiver(message_of(labels_pb2.WatchRequest)),
            response_serializer=resolution.encode,
        )
        handlers["SubmitStream"] = grpc.stream_stream_rpc_method_handler(
            self.submit_stream,
            request_deserializer=receiver(message_of(labels_pb2.SubmitLabelsRequest)),
            response_serializer=message_of(labels_pb2.SubmitLabelsResponse).encode,
        )
        found: grpc.GenericRpcHandler = grpc.method_handlers_generic_handler(SERVICE, handlers)
        return found

    async def submit(self, message: Any, context: Any) -> Any:
        self._service.check_count(messages.count(message))
        labels = await self._pipeline.offload.run(message.ByteSize(), messages.given, message)
        check_sources(sources(labels))
        response = messages.batch_message(await self._service.submit(labels, _actor(context)))
        return plain(response) if message.plain else response

    async def claim(self, message: Any, context: Any) -> Any:
        requests = await self._service.claim(
            count=message.count or 1,
            head=message.head,
            actor=_actor(context),
            seconds=message.seconds or DEFAULT_LEASE_SECONDS,
        )
        return labels_pb2.ClaimResponse(requests=map(messages.request_message, requests))

    async def extend(self, message: Any, context: Any) -> Any:
        seconds = message.seconds or DEFAULT_LEASE_SECONDS
        return messages.lease_message(await self._service.extend(message.request, message.lease, seconds=seconds))

    async def release(self, message: Any, context: Any) -> Any:
        lease = await self._service.release(message.request, message.lease, actor=_actor(context))
        return messages.lease_message(lease)

    async def skip(self, message: Any, context: Any) -> Any:
        lease = await self._service.skip(
            message.request,
            message.lease,
            reason=message.reason,
            unlabelable=message.unlabelable,
            actor=_actor(context),
        )
        return messages.lease_message(lease)

    async def submit_claimed(self, message: Any, context: Any) -> Any:
        outcome = await self._service.answer(
            message.request,
            message.lease,
            messages.value(message.value),
            observed=message.observed if message.HasField("observed") else None,
            actor=_actor(context),
        )
        return labels_pb2.SubmitClaimedResponse(outcome=messages.outcome_number(outcome))

    async def count_requests(self, message: Any, context: Any) -> Any:
        counts = await self._service.counts()
        return labels_pb2.CountRequestsResponse(
            counts=[
                labels_pb2.RequestCount(head=head, state=state, count=count)
                for head, states in counts.items()
                for state, count in states.items()
            ]
        )

    async def resolve(self, message: Any, context: Any) -> Any:
        units = [parse_unit(text) for text in message.units]
        told = await self._service.resolve(units, message.wait_seconds)
        return labels_pb2.ResolveResponse(resolutions=map(messages.told_message, told))

    async def commit(self, message: Any, context: Any) -> Any:
        units = messages.units(message.units, MOST_COMMITTED)
        return messages.committed_message(await self._pipeline.ledger.commit(units))

    async def erase(self, message: Any, context: Any) -> Any:
        units = messages.units(message.units, MOST_UNITS)
        return labels_pb2.EraseResponse(
            erased=await self._service.erase(units, actor=_actor(context), reason=message.reason)
        )

    async def watch_resolutions(self, received: Received, context: Any) -> None:
        """A stream that ends when every unit is final, or with the caller's deadline."""
        start, code = time.perf_counter(), "CANCELLED"
        try:
            units = [parse_unit(text) for text in received.checked().units]
            async with aclosing(self._service.watch(units)) as resolutions:
                async for told in resolutions:
                    await context.write(messages.told_message(told))
            code = "OK"
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except Exception as error:
            code = status(internal(error)).grpc
            await abort(context, error)
        finally:
            self._metrics.request("grpc_stream", code, time.perf_counter() - start)

    async def submit_stream(self, requests: AsyncIterator[Received], context: Any) -> None:
        """A batch is durable before its answer is sent, and answered before the next is read."""
        start, code = time.perf_counter(), "CANCELLED"
        try:
            async for received in requests:
                await context.write(await self.submit(received.checked(), context))
            code = "OK"
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except Exception as error:
            code = status(internal(error)).grpc
            await abort(context, error)
        finally:
            self._metrics.request("grpc_stream", code, time.perf_counter() - start)

    @property
    def _service(self) -> LabelService:
        if self._known is None:
            raise no_ledger()
        return self._known

    def _measured(self, handler: Handler) -> Handler:
        async def checked(received: Received, context: Any) -> Any:
            return await handler(received.checked(), context)

        return measured(checked, self._metrics)


def _actor(context: Any) -> str:
    found = dict(context.invocation_metadata() or ()).get(ACTOR_KEY)
    return actor(found if found is None or isinstance(found, str) else found.decode(errors="replace"))

"""``demur.v1.PolicyService``: shows and changes the policies in force."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from demur.v1 import policy_pb2
from services.ledger.policies import Entry
from services.policy.changes import PolicyChange
from services.policy.decision import PolicyBook
from services.policy.sync import PolicyKeeper, required
from services.request.metrics import Metrics
from services.transport.actor import author
from services.transport.binding import message_of
from services.transport.grpc.codec import policy_spec
from services.transport.grpc.measured import measured
from services.transport.grpc.received import Received, receiver
from services.transport.grpc.status import guarded

SERVICE = "demur.v1.PolicyService"
_OPTIONAL = ("target_retention", "threshold", "audit_rate", "defer_on_shift", "withhold")
_PLAIN = ("head", "expected", "reason", "defer_all", "certificate")
MOST_EVENTS = 1000


def handlers(book: PolicyBook, keeper: PolicyKeeper | None, metrics: Metrics) -> Any:
    """The service's handlers; without a ledger policies are shown, not changed."""

    async def show(request: Any, context: Any) -> Any:
        return policy_pb2.ShowPoliciesResponse(policies=[policy_spec(policy) for policy in book.all()])

    async def set_policy(request: Any, context: Any) -> Any:
        return _event(await required(keeper).set(_change(request)))

    async def history(request: Any, context: Any) -> Any:
        events = await required(keeper).history(request.head, min(request.most or 100, MOST_EVENTS))
        return policy_pb2.PolicyHistoryResponse(events=[_event(entry) for entry in events])

    methods: dict[str, tuple[Any, Any, Any]] = {
        "Show": (show, policy_pb2.ShowPoliciesRequest, policy_pb2.ShowPoliciesResponse),
        "Set": (set_policy, policy_pb2.SetPolicyRequest, policy_pb2.PolicyEvent),
        "History": (history, policy_pb2.PolicyHistoryRequest, policy_pb2.PolicyHistoryResponse),
    }
    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            name: grpc.unary_unary_rpc_method_handler(
                guarded(measured(_checked(method), metrics)),
                request_deserializer=receiver(message_of(taken)),
                response_serializer=given.SerializeToString,
            )
            for name, (method, taken, given) in methods.items()
        },
    )


def _checked(method: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Received, Any], Awaitable[Any]]:
    """A method of messages, as one of what came from the wire."""

    async def call(received: Received, context: Any) -> Any:
        return await method(received.checked(), context)

    return call


def _change(request: Any) -> PolicyChange:
    given = {name: getattr(request, name) for name in _OPTIONAL if request.HasField(name)}
    plain = {name: getattr(request, name) for name in _PLAIN}
    return PolicyChange(author=author(request.author), audits=request.audits or None, **plain, **given)


def _event(entry: Entry) -> Any:
    return policy_pb2.PolicyEvent(
        number=entry.number,
        time=entry.time,
        author=entry.author,
        reason=entry.reason,
        policy=policy_spec(entry.policy),
    )

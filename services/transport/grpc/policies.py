"""``demur.v1.PolicyService``: shows and changes the policies in force."""

from typing import Any

from demur.v1 import policy_pb2
from services.policy.changes import PolicyChange
from services.policy.decision import PolicyBook
from services.policy.log import Entry
from services.policy.sync import PolicyKeeper, required
from services.transport.actor import author
from services.transport.grpc.call import Method
from services.transport.grpc.codec import policy_spec

SERVICE = "demur.v1.PolicyService"
_OPTIONAL = ("target_retention", "threshold", "audit_rate", "defer_on_shift", "withhold")
_PLAIN = ("head", "expected", "reason", "defer_all", "certificate")
MOST_EVENTS = 1000


def methods(book: PolicyBook, keeper: PolicyKeeper | None) -> dict[str, Method]:
    """Return the methods of the service; without a ledger policies are shown, not changed."""

    async def show(request: Any, context: Any) -> Any:
        return policy_pb2.ShowPoliciesResponse(policies=[policy_spec(policy) for policy in book.all()])

    async def set_policy(request: Any, context: Any) -> Any:
        return _event(await required(keeper).set(_change(request)))

    async def history(request: Any, context: Any) -> Any:
        events = await required(keeper).history(request.head, min(request.most or 100, MOST_EVENTS))
        return policy_pb2.PolicyHistoryResponse(events=[_event(entry) for entry in events])

    return {
        "Show": Method(
            show, policy_pb2.ShowPoliciesRequest.FromString, policy_pb2.ShowPoliciesResponse.SerializeToString
        ),
        "Set": Method(set_policy, policy_pb2.SetPolicyRequest.FromString, policy_pb2.PolicyEvent.SerializeToString),
        "History": Method(
            history, policy_pb2.PolicyHistoryRequest.FromString, policy_pb2.PolicyHistoryResponse.SerializeToString
        ),
    }


def _change(request: Any) -> PolicyChange:
    optional = {name: getattr(request, name) for name in _OPTIONAL if request.HasField(name)}
    plain = {name: getattr(request, name) for name in _PLAIN}
    return PolicyChange(author=author(request.author), audits=request.audits or None, **plain, **optional)


def _event(entry: Entry) -> Any:
    return policy_pb2.PolicyEvent(
        number=entry.number,
        time=entry.time,
        author=entry.author,
        reason=entry.reason,
        policy=policy_spec(entry.policy),
    )

"""Who is answered, and changing it: the client of ``PolicyService``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from demur._calls import AsyncCalls, Calls
from demur._connection import Reconnecting
from demur._describe import Policy, policy
from demur.v1.policy_pb2 import PolicyEvent, PolicyHistoryRequest, SetPolicyRequest, ShowPoliciesRequest
from demur.v1.policy_pb2_grpc import PolicyServiceStub


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """A change that was made."""

    number: int
    """1, 2, … for each head."""
    time: float
    """Seconds since 1970."""
    author: str
    reason: str
    policy: Policy


class Policies(Reconnecting):
    """Shows and changes policies, blocking; for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = PolicyServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def show(self, *, timeout: float | None = None) -> tuple[Policy, ...]:
        """The policies in force, one per head."""
        found = self._calls.unary(self._stub.Show, ShowPoliciesRequest(), self._calls.deadline(timeout))
        return tuple(policy(spec) for spec in found.policies)

    def set(
        self,
        head: str,
        *,
        expected: str = "",
        author: str = "anonymous",
        reason: str = "",
        target_retention: float | None = None,
        threshold: float | None = None,
        defer_all: bool = False,
        certificate: str = "",
        audit_rate: float | None = None,
        audits: Literal["uniform", "stratified"] | None = None,
        defer_on_shift: bool | None = None,
        withhold: bool | None = None,
        timeout: float | None = None,
    ) -> PolicyChange:
        """Change a head's policy; what is not given stays as it is.

        Args:
            expected: version that the change was made for; with another in force nothing is changed.
            target_retention: share of in-domain units to answer, by the artefact's calibration.
            threshold: in the unit of the head's measure.
            defer_all: answer nothing.
            certificate: JSON of what ``demur calibrate`` certified; goes with its threshold.
            audit_rate: share of answered units whose label is requested at random, 0.0001 to 1.
            audits: whether these are drawn all alike, or more often where an error would cost the error-retention
                curve more.

        Raises:
            InvalidInput: no such head, two goals, or one that cannot be met.
            Conflict: ``expected`` is not in force.
        """
        request = change_request(
            head=head,
            expected=expected,
            author=author,
            reason=reason,
            target_retention=target_retention,
            threshold=threshold,
            defer_all=defer_all,
            certificate=certificate,
            audit_rate=audit_rate,
            audits=audits,
            defer_on_shift=defer_on_shift,
            withhold=withhold,
        )
        return change(self._calls.unary(self._stub.Set, request, self._calls.deadline(timeout)))

    def history(self, head: str, *, most: int = 100, timeout: float | None = None) -> tuple[PolicyChange, ...]:
        """The last changes of a head, the newest first."""
        request = PolicyHistoryRequest(head=head, most=most)
        found = self._calls.unary(self._stub.History, request, self._calls.deadline(timeout))
        return tuple(change(event) for event in found.events)


class AsyncPolicies(Reconnecting):
    """Shows and changes policies, on the running event loop."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls
        self._stub: Any = PolicyServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    async def show(self, *, timeout: float | None = None) -> tuple[Policy, ...]:
        """As :meth:`Policies.show`."""
        found = await self._calls.unary(self._stub.Show, ShowPoliciesRequest(), self._calls.deadline(timeout))
        return tuple(policy(spec) for spec in found.policies)

    async def set(self, head: str, *, timeout: float | None = None, **wishes: Any) -> PolicyChange:
        """As :meth:`Policies.set`."""
        request = change_request(head=head, **wishes)
        return change(await self._calls.unary(self._stub.Set, request, self._calls.deadline(timeout)))

    async def history(self, head: str, *, most: int = 100, timeout: float | None = None) -> tuple[PolicyChange, ...]:
        """As :meth:`Policies.history`."""
        request = PolicyHistoryRequest(head=head, most=most)
        found = await self._calls.unary(self._stub.History, request, self._calls.deadline(timeout))
        return tuple(change(event) for event in found.events)


def change_request(**wishes: Any) -> SetPolicyRequest:
    """The message of a change; None is left out."""
    return SetPolicyRequest(**{name: wish for name, wish in wishes.items() if wish is not None})


def change(event: PolicyEvent) -> PolicyChange:
    """Decode a change that was made."""
    return PolicyChange(event.number, event.time, event.author, event.reason, policy(event.policy))

# Generated from demur/_async/policies.py by tests/regenerate_blocking_client.py. Edit that file instead.
"""Client of ``PolicyService``: show policies and change them."""

from typing import Any, Literal

from demur._connection import Reconnecting
from demur._description import Policy, PolicyChange, policies, policy_change
from demur._sync.calls import Calls
from demur.v1.policy_pb2 import PolicyHistoryRequest, SetPolicyRequest, ShowPoliciesRequest
from demur.v1.policy_pb2_grpc import PolicyServiceStub


class Policies(Reconnecting):
    """Blocking client that shows and changes policies, for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub: Any = PolicyServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def show(self, *, timeout: float | None = None) -> tuple[Policy, ...]:
        """Return the policies in force, one per head."""
        response = self._calls.unary(self._stub.Show, ShowPoliciesRequest(), self._calls.deadline(timeout))
        return policies(response.policies)

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
        """Change a head's policy; arguments that are not given leave it as it is.

        Args:
            expected: version that the change is based on; if another one is in force, nothing is changed.
            target_retention: share of in-domain units to answer, by the artefact's calibration.
            threshold: in the unit of the head's measure.
            defer_all: answer nothing.
            certificate: JSON of what ``demur calibrate`` certified; goes with its threshold.
            audit_rate: share of answered units whose label is requested at random, 0.0001 to 1.
            audits: draw these with equal probability, or more often where an error would cost the error-retention
                curve more.

        Raises:
            InvalidInput: no such head, two goals, or one that cannot be met.
            Conflict: ``expected`` is not in force.
        """
        switches: dict[str, Any] = {"defer_on_shift": defer_on_shift, "withhold": withhold}  # None: unset
        request = SetPolicyRequest(
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
            **switches,
        )
        return policy_change(self._calls.unary(self._stub.Set, request, self._calls.deadline(timeout)))

    def history(self, head: str, *, most: int = 100, timeout: float | None = None) -> tuple[PolicyChange, ...]:
        """Return the last changes of a head, the newest first."""
        request = PolicyHistoryRequest(head=head, most=most)
        response = self._calls.unary(self._stub.History, request, self._calls.deadline(timeout))
        return tuple(map(policy_change, response.events))

"""Submission of an annotation: the calls that it takes, and what became of it; without a network of its own.

Each function is a generator that yields calls, is sent their replies, and returns the outcome, so that a command and a
server run the same one.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from services.labels.label_types import to_json
from services.transport.label_studio.converter import Converter, Data, StudioHead
from services.transport.label_studio.documents import Annotation, Claim, claim_of, head_of

SKIPPED = "skipped in Label Studio"
"""Reason of a request whose annotation was cancelled."""
REFUSED, NOT_HELD, IGNORED = "refused", "not_held", "ignored"


@dataclass(frozen=True, slots=True)
class Call:
    """POST call to the service of the task."""

    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply to a call."""

    status: int
    content: bytes

    def json(self) -> Any:
        """Return the body; None if it is no JSON."""
        try:
            return msgspec.json.decode(self.content)
        except msgspec.DecodeError:
            return None

    @property
    def error(self) -> tuple[str, str]:
        """Code and message of a refusal."""
        try:
            error = self.json()["error"]
            return str(error["code"]), str(error["message"])
        except (KeyError, TypeError):
            return "", f"the service answered {self.status} without a reason"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of sending an annotation."""

    outcome: str
    """``accepted``, ``duplicate``, ``corrected``, ``skipped``; ``not_held``: it was skipped, and the claim holds the
    request no longer; ``ignored``: another annotation of the task counts; ``refused``."""
    status: int = 200
    """HTTP status that fits."""
    code: str = ""
    """Code of the refusal."""
    message: str = ""


Steps = Generator[Call, Reply, Outcome]


def advance(steps: Steps, reply: Reply | None) -> Call | Outcome:
    """Return the next call of a submission, or its outcome.

    Args:
        reply: reply to the last call; None at the beginning.
    """
    try:
        return next(steps) if reply is None else steps.send(reply)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


def first_counting(annotations: Sequence[Annotation]) -> Annotation | None:
    """Return the annotation of a task that counts: the first with an answer, else the first; None if there are none.

    A second annotator's is not a second opinion, since it is not known to be given unseen: Demur asks for those itself.
    """
    ordered = sorted(annotations, key=lambda one: (bool(one.was_cancelled), one.created_at or "", str(one.id)))
    return ordered[0] if ordered else None


def answer(task: str, heads: Sequence[StudioHead], converter: Converter, data: Data, annotation: Annotation) -> Steps:
    """Submit the label of an annotation, or skip its request. Idempotent: the same again is a duplicate.

    Args:
        task: name of the service that is called.
        heads: heads of the service.
        data: data of the annotated task.

    Raises:
        InvalidInput, NotFound: the task is not one of this service, or the annotation is no label.
    """
    claim = claim_of(data, task)
    head = head_of(heads, claim.head)
    if annotation.was_cancelled:
        return (yield from _skip(claim))
    value = converter.value(head, data, annotation.result)
    return (yield from _submit(claim, value, annotation.seconds))


def _submit(claim: Claim, value: object, seconds: float | None) -> Steps:
    body = msgspec.json.encode({"lease": claim.lease, "value": to_json(value), "seconds": seconds})
    reply = yield Call(_path(claim, "submit"), body)
    if reply.status == 409 and reply.error[0] == "already_labelled":  # the annotation was changed since
        reply = yield Call(_path(claim, "correct"), body)
    if reply.status != 200:
        return _refused(reply)
    return Outcome(str(reply.json()["outcome"]))


def _skip(claim: Claim) -> Steps:
    body = msgspec.json.encode({"lease": claim.lease, "reason": SKIPPED})
    reply = yield Call(_path(claim, "skip"), body)
    if reply.status == 409 and reply.error[0] in ("lease_lost", "wrong_state"):  # as after the first time
        return Outcome(NOT_HELD, message=reply.error[1])
    return Outcome("skipped") if reply.status == 200 else _refused(reply)


def _path(claim: Claim, action: str) -> str:
    return f"/v1/requests/{claim.request}/{action}"


def _refused(reply: Reply) -> Outcome:
    code, message = reply.error
    return Outcome(REFUSED, reply.status, code, message)

"""JSON bodies of requests and answers for label requests."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from services.labels.label_types import (
    DEFAULT_LEASE_SECONDS,
    LEASE_SECONDS,
    MOST_CLAIMED,
    Request,
    RevealedPrediction,
    to_json,
)
from services.labels.queue_entries import Lease
from services.labels.requests import REASON_CHARACTERS
from services.labels.review_service import MOST_SECONDS, NOTE_CHARACTERS
from services.labels.waiting_requests import WaitingPage
from services.transport.http.components import Json
from services.transport.http.decoding import Integer, JsonBody
from services.transport.http.label_bodies import TIME, HeadName, Reason, Value
from services.transport.http.struct_schema import documented

LEASE: Json = {"type": "string", "description": "Lease that claim gave with the request."}
_SECONDS: Json = {
    "type": "number",
    "minimum": LEASE_SECONDS[0],
    "maximum": LEASE_SECONDS[1],
    "description": f"How long the request is kept, from now. Default: {DEFAULT_LEASE_SECONDS:g}.",
    "x-unit": "s",
}
_TOOK: Json = {
    "type": ["number", "null"],
    "minimum": 0,
    "maximum": MOST_SECONDS,
    "description": "Time that the reviewer took. Absent or null: unknown.",
    "x-unit": "s",
}
_COUNT: Json = {"type": "integer", "minimum": 1, "maximum": MOST_CLAIMED, "description": "Absent: 1."}
_IDS: Json = {
    "type": ["array", "null"],
    "items": {"type": "string"},
    "maxItems": MOST_CLAIMED,
    "description": "Requests of which any that are open are claimed. Absent or null: the next ones of the queue.",
}
_QUEUE: Json = {
    "title": "ReviewQueue",
    "type": "string",
    "enum": ["blind", "drafts", "adjudication"],
    "description": "drafts: deferred units with their prediction, to be edited (DEMUR_DRAFTS=1). "
    "adjudication: units on which two labels differ. Absent: blind.",
}
_NOTE: Json = {"type": "string", "minLength": 1, "maxLength": NOTE_CHARACTERS}
_MAYBE_REASON: Json = {"type": "string", "maxLength": REASON_CHARACTERS, "description": "Absent: none is kept."}
LeaseText = Annotated[str, documented(LEASE)]
Seconds = Annotated[float, documented(_SECONDS)]
Took = Annotated[float | None, documented(_TOOK)]


class ClaimBody(JsonBody):
    EXAMPLE = '{"count": 1}'

    count: Annotated[Integer, documented(_COUNT)] = 1
    seconds: Seconds = DEFAULT_LEASE_SECONDS
    head: HeadName = ""
    queue: Annotated[Literal["blind", "drafts", "adjudication"], documented(_QUEUE)] = "blind"
    requests: Annotated[list[str] | None, documented(_IDS)] = None
    inputs: Annotated[
        bool, msgspec.Meta(description="false: inputs that are neither rows nor texts are left out. Absent: true.")
    ] = True


class ReleaseBody(JsonBody):
    EXAMPLE = '{"lease": "..."}'

    lease: LeaseText
    reason: Annotated[str, documented(_MAYBE_REASON)] = ""


class RevealBody(JsonBody):
    EXAMPLE = '{"lease": "..."}'

    lease: LeaseText


class ExtendBody(JsonBody):
    EXAMPLE = '{"lease": "...", "seconds": 600}'

    lease: LeaseText
    seconds: Seconds = DEFAULT_LEASE_SECONDS


class SkipBody(JsonBody):
    EXAMPLE = '{"lease": "...", "reason": "..."}'

    lease: LeaseText
    reason: Reason
    unlabelable: Annotated[bool, msgspec.Meta(description="No label can exist. Absent: false.")] = False


class AnswerBody(JsonBody):
    EXAMPLE = '{"lease": "...", "value": 1.5}'

    lease: LeaseText
    value: Value
    observed: Annotated[float | None, documented(TIME)] = None
    seconds: Took = None


class FlagBody(JsonBody):
    EXAMPLE = '{"lease": "...", "note": "..."}'

    lease: LeaseText
    note: Annotated[str, documented(_NOTE)]


REQUESTS: Mapping[str, type[JsonBody]] = {
    "Claim": ClaimBody,
    "Extension": ExtendBody,
    "Release": ReleaseBody,
    "Skip": SkipBody,
    "ClaimedLabel": AnswerBody,
    "Reveal": RevealBody,
    "Flag": FlagBody,
}
"""Name of the component to the struct that decodes it."""


def request_json(request: Request) -> dict[str, Any]:
    """Return a claimed label request as JSON; an input that was left out has the path of its own endpoint instead."""
    claimed, shown = request.claimed, request.input
    if shown is not None and request.payload is None:
        shown = {**shown, "href": f"/v1/requests/{claimed.request}/input"}
    return {
        "request": claimed.request,
        "lease": claimed.lease,
        "lease_until": claimed.lease_until,
        "due": claimed.due,
        "must_complete": claimed.must_complete,
        "head": claimed.head,
        "label": request.head.label,
        "queue": claimed.queue,
        "input": shown,
        "draft": to_json(request.draft),
        "answers": [to_json(answer) for answer in request.answers],
    }


def lease_json(lease: Lease) -> dict[str, Any]:
    return {"request": lease.request, "state": lease.state, "lease_until": lease.lease_until}


def waiting_json(page: WaitingPage) -> dict[str, Any]:
    return {"requests": [msgspec.to_builtins(request) for request in page.requests], "next": page.next}


def revealed_json(revealed: RevealedPrediction) -> dict[str, Any]:
    """Return a prediction as its reviewer sees it after submitting."""
    return {
        "prediction": to_json(revealed.prediction),
        "uncertainty": revealed.uncertainty,
        "measure": revealed.measure,
        "threshold": revealed.threshold,
        "decision": "defer" if revealed.deferred else "answer",
        "error": revealed.error,
        "error_unit": revealed.head.error_unit,
    }

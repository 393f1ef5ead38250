"""JSON bodies about labels, requests and resolutions: what is taken, and how they look in answers."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest

from services.labels.intake import Outcome
from services.labels.label_types import DEFAULT_LEASE_SECONDS, Batch, Request, from_json
from services.labels.label_validation import SubmittedLabel
from services.labels.review_queue import Lease
from services.ledger.contract import Committed
from services.ledger.unit_ids import Unit, parse_unit, unit_text
from services.runtime.errors import InvalidInput, shortened
from services.runtime.offload import Offload
from services.runtime.settings import Settings
from services.transport.http import doubled_names
from services.transport.http.body import describe, json_only, read_body
from services.transport.http.decoding import ERRORS, Body, JsonBody, json_body
from services.transport.http.integers import Integer, integer
from services.transport.http.request import within

_WORDS = {outcome.value: outcome.name.lower() for outcome in Outcome}


class LabelBody(JsonBody):
    """One label."""

    EXAMPLE = '{"unit": "0123456789abcdef-0", "value": 1.5}'

    unit: str
    value: Any
    source: str | None = None
    head: str | None = None
    key: str = ""
    version: Integer = 1
    observed: float | None = None


class LabelsBody(JsonBody):
    """A batch; source and head hold for labels that name none."""

    EXAMPLE = '{"labels": [{"unit": "0123456789abcdef-0", "value": 1.5}]}'

    labels: list[msgspec.Raw]
    source: str = "requested"
    head: str = ""


class ClaimBody(JsonBody):
    EXAMPLE = '{"count": 1}'

    count: Integer = 1
    seconds: float = DEFAULT_LEASE_SECONDS
    head: str = ""


class LeaseBody(JsonBody):
    EXAMPLE = '{"lease": "..."}'

    lease: str


class ExtendBody(JsonBody):
    EXAMPLE = '{"lease": "...", "seconds": 600}'

    lease: str
    seconds: float = DEFAULT_LEASE_SECONDS


class SkipBody(JsonBody):
    EXAMPLE = '{"lease": "...", "reason": "..."}'

    lease: str
    reason: str
    unlabelable: bool = False


class AnswerBody(JsonBody):
    EXAMPLE = '{"lease": "...", "value": 1.5}'

    lease: str
    value: Any
    observed: float | None = None


class UnitsBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"]}'

    units: list[str]
    wait: float = 0.0


class CallbackBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"], "url": "https://..."}'

    units: list[str]
    url: str


class EraseBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"], "reason": "..."}'

    units: list[str]
    reason: str


class CommitBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"]}'

    units: list[str]


_LABEL = msgspec.json.Decoder(LabelBody)
_LABEL_NAMES = 2
"""Names that each label has."""


async def read_json(request: HttpRequest, kind: type[Body], settings: Settings, offload: Offload) -> Body:
    """A body of this kind; an empty one where none of its fields is needed.

    Raises:
        InvalidInput, TooLarge, UnsupportedMediaType, Cancelled: the body is not what the route takes.
        DeadlineExceeded: it did not come in time.
    """
    json_only(request)
    async with within(settings.request_seconds):
        content = await read_body(request, settings.max_message_bytes)
    return await offload.run(len(content), read, content, kind)


def read(content: bytes, kind: type[Body]) -> Body:
    """A body of this kind; an empty one where none of its fields is needed.

    Raises:
        InvalidInput: the body is not what the route takes.
    """
    optional = not content and not any(field.required for field in msgspec.structs.fields(kind))
    return json_body(b"{}" if optional else content, kind, field="body")


def given(body: LabelsBody) -> list[SubmittedLabel | InvalidInput]:
    """Labels one by one; what is none is a refusal in its place."""
    return [_label(raw, body) for raw in body.labels]


def units(texts: list[str]) -> list[Unit]:
    """
    Raises:
        InvalidInput: one is no unit id; the index says which.
    """
    found = []
    for index, text in enumerate(texts):
        try:
            found.append(parse_unit(text))
        except InvalidInput as error:
            error.index = index
            raise
    return found


def batch_json(batch: Batch) -> dict[str, Any]:
    rejected = [{"index": one.at, "error": describe(one.error)} for one in batch.rejected]
    return {"outcomes": [_WORDS[value] for value in batch.outcomes], "rejected": rejected}


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": _WORDS[outcome]}


def request_json(request: Request) -> dict[str, Any]:
    """A request as it is handed out."""
    claimed = request.claimed
    return {
        "request": claimed.request,
        "lease": claimed.lease,
        "lease_until": claimed.lease_until,
        "due": claimed.due,
        "must_complete": claimed.must_complete,
        "head": claimed.head,
        "label": request.head.label,
        "input": request.input,
    }


def lease_json(lease: Lease) -> dict[str, Any]:
    return {"request": lease.request, "state": lease.state, "lease_until": lease.lease_until}


def committed_json(committed: Committed) -> dict[str, Any]:
    return {"units": committed.units, "unknown": [unit_text(unit) for unit in committed.unknown]}


def _label(raw: msgspec.Raw, body: LabelsBody) -> SubmittedLabel | InvalidInput:
    try:
        one = _LABEL.decode(raw)
        content = bytes(raw)
        if content.count(b":") > _LABEL_NAMES:  # else no name can be there twice
            doubled_names.check(content, one)
        return SubmittedLabel(
            unit=one.unit,
            value=from_json(one.value),
            source=body.source if one.source is None else one.source,
            head=body.head if one.head is None else one.head,
            key=one.key,
            version=integer("version", one.version),
            observed=one.observed,
        )
    except InvalidInput as error:
        return error
    except ERRORS as error:
        return InvalidInput(
            f"this is no label: {shortened(str(error))}; send {LabelBody.EXAMPLE}", code="not_a_label", field="labels"
        )

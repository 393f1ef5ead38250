"""JSON bodies about labels, requests and resolutions: what is taken, and how they look in answers."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from starlette.requests import Request as HttpRequest

from services.errors import InvalidInput
from services.labels.feed import Lease
from services.labels.given import GivenLabel
from services.labels.identity import Unit, parse_unit, unit_text
from services.labels.intake import Outcome
from services.labels.values import from_json
from services.labels.words import DEFAULT_LEASE_SECONDS, Batch, Request
from services.offload import Offload
from services.pipeline import Committed
from services.settings import Settings
from services.transport.http.body import describe, json_only, read_body
from services.transport.http.integers import Integer, integer
from services.transport.http.request import within

Body = TypeVar("Body")
_WORDS = {outcome.value: outcome.name.lower() for outcome in Outcome}


class LabelBody(msgspec.Struct, forbid_unknown_fields=True):
    """One label."""

    unit: str
    value: Any
    source: str | None = None
    head: str | None = None
    key: str = ""
    version: Integer = 1
    observed: float | None = None


class LabelsBody(msgspec.Struct, forbid_unknown_fields=True):
    """A batch; source and head hold for labels that name none."""

    labels: list[msgspec.Raw]
    source: str = "requested"
    head: str = ""


class ClaimBody(msgspec.Struct, forbid_unknown_fields=True):
    count: Integer = 1
    seconds: float = DEFAULT_LEASE_SECONDS
    head: str = ""


class LeaseBody(msgspec.Struct, forbid_unknown_fields=True):
    lease: str


class ExtendBody(msgspec.Struct, forbid_unknown_fields=True):
    lease: str
    seconds: float = DEFAULT_LEASE_SECONDS


class SkipBody(msgspec.Struct, forbid_unknown_fields=True):
    lease: str
    reason: str
    unlabelable: bool = False


class AnswerBody(msgspec.Struct, forbid_unknown_fields=True):
    lease: str
    value: Any
    observed: float | None = None


class UnitsBody(msgspec.Struct, forbid_unknown_fields=True):
    units: list[str]
    wait: float = 0.0


class CallbackBody(msgspec.Struct, forbid_unknown_fields=True):
    units: list[str]
    url: str


class EraseBody(msgspec.Struct, forbid_unknown_fields=True):
    units: list[str]
    reason: str


class CommitBody(msgspec.Struct, forbid_unknown_fields=True):
    units: list[str]


_LABEL = msgspec.json.Decoder(LabelBody)


async def read_json(request: HttpRequest, kind: type[Body], settings: Settings, offload: Offload) -> Body:
    """A body of this kind; an empty one where none of its fields is needed.

    Raises:
        InvalidInput, TooLarge, UnsupportedMediaType, Cancelled: the body is not what the route takes.
        DeadlineExceeded: it did not come in time.
    """
    json_only(request)
    async with within(settings.request_seconds):
        content = await read_body(request, settings.max_message_bytes)
    try:
        return await offload.run(len(content), msgspec.json.decode, content or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"the body is not what this route takes: {error}", code="not_a_body", field="body"
        ) from error


def given(body: LabelsBody) -> list[GivenLabel | InvalidInput]:
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


def _label(raw: msgspec.Raw, body: LabelsBody) -> GivenLabel | InvalidInput:
    try:
        one = _LABEL.decode(raw)
        return GivenLabel(
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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return InvalidInput(f"this is no label: {error}", code="not_a_label", field="labels")

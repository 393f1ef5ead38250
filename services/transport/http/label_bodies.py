"""JSON bodies of requests and answers for labels and resolutions."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from starlette.requests import Request as HttpRequest

from services.labels.intake import Outcome
from services.labels.label_types import (
    MOST_UNITS,
    MOST_WAIT_SECONDS,
    Batch,
    from_json,
)
from services.labels.label_validation import MOST_VERSION, SOURCES, SubmittedLabel
from services.labels.requests import REASON_CHARACTERS
from services.ledger.contract import Committed
from services.ledger.unit_ids import Unit, parse_unit, unit_text
from services.runtime.errors import InvalidInput, shortened
from services.runtime.offload import Offload
from services.runtime.settings import Settings
from services.transport.http import doubled_names
from services.transport.http.body import describe, json_only, read_body
from services.transport.http.components import Json, choice, ref
from services.transport.http.decoding import ERRORS, Body, Integer, JsonBody, integer, json_body
from services.transport.http.request import within
from services.transport.http.struct_schema import documented

_WORDS = {outcome.value: outcome.name.lower() for outcome in Outcome}


TIME: Json = {"type": "number", "minimum": 0, "description": "Seconds since 1970.", "x-unit": "s"}
UNIT: Json = {
    "type": "string",
    "pattern": "^[0-7][0-9a-f]{15}-(0|[1-9][0-9]{0,17})$",
    "description": "Id of a unit, one of an answer's prediction_ids.",
}
WAIT: Json = {
    "type": "number",
    "minimum": 0,
    "maximum": MOST_WAIT_SECONDS,
    "description": "Time to wait until nothing is pending any more. Absent: 0.",
    "x-unit": "s",
}
_REASON: Json = {"type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS}
_SOURCE = documented(choice("LabelSource", SOURCES, "Absent: requested."))
_UNITS: Json = {"type": "array", "items": UNIT, "minItems": 1, "maxItems": MOST_UNITS}
_OBSERVED = documented(TIME | {"description": "When it was measured or judged, seconds since 1970."})
_KEY: Json = {
    "type": "string",
    "pattern": "^[!-~]{1,48}$",
    "description": "The caller's own name of this label: given again, it is the same label.",
}
_VERSION: Json = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_VERSION,
    "description": "A correction has a greater one. Absent: 1.",
}
HEAD, VALUE = "head", "value"
"""Parts of schemas that depend on the heads of the model."""
Reason = Annotated[str, documented(_REASON)]
Units = Annotated[list[str], documented(_UNITS)]
HeadName = Annotated[str, documented(HEAD)]
Value = Annotated[Any, documented(VALUE)]


class LabelBody(JsonBody):
    """Label of a unit."""

    EXAMPLE = '{"unit": "0123456789abcdef-0", "value": 1.5}'

    unit: Annotated[str, documented(UNIT)]
    value: Value
    source: Annotated[str | None, _SOURCE] = None
    head: Annotated[str | None, documented(HEAD)] = None
    key: Annotated[str, documented(_KEY)] = ""
    version: Annotated[Integer, documented(_VERSION)] = 1
    observed: Annotated[float | None, _OBSERVED] = None


class LabelsBody(JsonBody):
    """Batch of labels; source and head apply to labels without their own."""

    EXAMPLE = '{"labels": [{"unit": "0123456789abcdef-0", "value": 1.5}]}'

    labels: list[Annotated[msgspec.Raw, documented(ref("Label"))]]
    source: Annotated[str, _SOURCE] = "requested"
    head: HeadName = ""


class UnitsBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"]}'

    units: Units
    wait: Annotated[float, documented(WAIT)] = 0.0


class CallbackBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"], "url": "https://..."}'

    units: Units
    url: Annotated[str, documented({"type": "string", "format": "uri"})]


class EraseBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"], "reason": "..."}'

    units: Units
    reason: Reason


class CommitBody(JsonBody):
    EXAMPLE = '{"units": ["0123456789abcdef-0"]}'

    units: Annotated[list[str], documented({"type": "array", "items": UNIT, "minItems": 1})]


REQUESTS: Mapping[str, type[JsonBody]] = {
    "Label": LabelBody,
    "Labels": LabelsBody,
    "ResolutionQuery": UnitsBody,
    "Callback": CallbackBody,
    "Erasure": EraseBody,
    "Commit": CommitBody,
}
"""Name of the component to the struct that decodes it."""
_LABEL = msgspec.json.Decoder(LabelBody)
_LABEL_NAMES = 2
"""Number of names that each label has."""


async def read_json(request: HttpRequest, kind: type[Body], settings: Settings, offload: Offload) -> Body:
    """Return a body of this kind; an empty one if none of its fields is required.

    Raises:
        InvalidInput, TooLarge, UnsupportedMediaType, Cancelled: the body is not valid for the route.
        DeadlineExceeded: the body did not arrive in time.
    """
    json_only(request)
    async with within(settings.request_seconds):
        content = await read_body(request, settings.max_message_bytes)
    return await offload.run(len(content), read, content, kind)


def read(content: bytes, kind: type[Body]) -> Body:
    """Return a body of this kind; an empty one if none of its fields is required.

    Raises:
        InvalidInput: the body is not valid for the route.
    """
    optional = not content and not any(field.required for field in msgspec.structs.fields(kind))
    return json_body(b"{}" if optional else content, kind, field="body")


def submitted_labels(body: LabelsBody) -> list[SubmittedLabel | InvalidInput]:
    """Return the labels of a batch; a label that cannot be read is an error in its place."""
    return [_label(raw, body) for raw in body.labels]


def units(texts: list[str]) -> list[Unit]:
    """Return the units of their texts.

    Raises:
        InvalidInput: a text is not a unit id; the error has its index.
    """
    parsed_units = []
    for index, text in enumerate(texts):
        try:
            parsed_units.append(parse_unit(text))
        except InvalidInput as error:
            error.index = index
            raise
    return parsed_units


def batch_json(batch: Batch) -> dict[str, Any]:
    rejected = [{"index": rejection.at, "error": describe(rejection.error)} for rejection in batch.rejected]
    return {"outcomes": [_WORDS[value] for value in batch.outcomes], "rejected": rejected}


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": _WORDS[outcome]}


def committed_json(committed: Committed) -> dict[str, Any]:
    return {"units": committed.units, "unknown": [unit_text(unit) for unit in committed.unknown]}


def _label(raw: msgspec.Raw, body: LabelsBody) -> SubmittedLabel | InvalidInput:
    try:
        parsed = _LABEL.decode(raw)
        content = bytes(raw)
        if content.count(b":") > _LABEL_NAMES:  # with fewer colons no name can be duplicate
            doubled_names.check(content, parsed)
        return SubmittedLabel(
            unit=parsed.unit,
            value=from_json(parsed.value),
            source=body.source if parsed.source is None else parsed.source,
            head=body.head if parsed.head is None else parsed.head,
            key=parsed.key,
            version=integer("version", parsed.version),
            observed=parsed.observed,
        )
    except InvalidInput as error:
        return error
    except ERRORS as error:
        return InvalidInput(
            f"this is no label: {shortened(str(error))}; send {LabelBody.EXAMPLE}", code="not_a_label", field="labels"
        )

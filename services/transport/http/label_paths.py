"""The part of the OpenAPI document about labels, requests and resolutions."""

from __future__ import annotations

from typing import Any

from models.head import Head
from services.labels.intake import Outcome
from services.labels.label_types import (
    DEFAULT_LEASE_SECONDS,
    LEASE_SECONDS,
    MOST_CLAIMED,
    MOST_UNITS,
    MOST_WAIT_SECONDS,
)
from services.labels.label_validation import MOST_VERSION, SOURCES
from services.labels.requests import REASON_CHARACTERS, STATES
from services.transport.http.components import COUNT, NUMBER_OR_NULL, Json, choice, or_null, ref

_TEXT: Json = {"type": "string"}
_TIME: Json = {"type": "number", "minimum": 0, "description": "Seconds since 1970.", "x-unit": "s"}
_UNIT: Json = {
    "type": "string",
    "pattern": "^[0-7][0-9a-f]{15}-(0|[1-9][0-9]{0,17})$",
    "description": "Id of a unit, one of an answer's prediction_ids.",
}
_OUTCOME = choice("Outcome", (outcome.name.lower() for outcome in Outcome))
_STATE = choice("RequestState", STATES)
_LEASE: Json = {"type": "string", "description": "What claim gave with the request."}
_SECONDS: Json = {
    "type": "number",
    "minimum": LEASE_SECONDS[0],
    "maximum": LEASE_SECONDS[1],
    "description": f"How long the request is kept, from now. Default: {DEFAULT_LEASE_SECONDS:g}.",
    "x-unit": "s",
}
_ACTOR: Json = {
    "name": "Demur-Actor",
    "in": "header",
    "description": "Who calls, for the ledger's events; anonymous where it is missing.",
    "schema": {"type": "string", "maxLength": 128, "pattern": "^[ -~]*$"},
}


def label_paths(errors: Json) -> Json:
    """Path to its operations; ``errors`` are the responses that all of them may give."""
    identity = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
    request = [{"name": "request", "in": "path", "required": True, "schema": identity}, _ACTOR]
    gone = {
        "404": _answer("No such request, or unit.", ref("Error")),
        "409": _answer("The lease is lost, or the request is in another state.", ref("Error")),
    }

    def of_request(name: str, summary: str, body: str, answer: str) -> Json:
        return {"post": _operation(name, summary, body, answer, errors | gone, request)}

    return {
        "/v1/labels": {
            "post": _operation(
                "submitLabels",
                "Labels, in one batch: durable when answered, once however often they are sent.",
                "Labels",
                "LabelsTaken",
                errors,
                [_ACTOR],
            )
        },
        "/v1/commit": {
            "post": _operation(
                "commit",
                "Make explored units decided ones: durable, audited from now on.",
                "Commit",
                "Committed",
                errors,
                [],
            )
        },
        "/v1/erase": {
            "post": _operation(
                "erase",
                "Forget inputs, evidence and labels of units; the numbers stay.",
                "Erasure",
                "Erased",
                errors,
                [_ACTOR],
            )
        },
        "/v1/requests": {
            "get": _operation("countRequests", "Number of requests by head and state.", None, "Counts", errors, [])
        },
        "/v1/requests/claim": {
            "post": _operation(
                "claimRequests", "Take requests from the blind feed, for a time.", "Claim", "Claimed", errors, [_ACTOR]
            )
        },
        "/v1/requests/{request}/extend": of_request("extendRequest", "Keep a request longer.", "Extension", "Lease"),
        "/v1/requests/{request}/release": of_request(
            "releaseRequest", "Hand a request back, unanswered.", "Release", "Lease"
        ),
        "/v1/requests/{request}/skip": of_request("skipRequest", "Leave a request unanswered.", "Skip", "Lease"),
        "/v1/requests/{request}/submit": of_request(
            "submitRequest", "Label a claimed request.", "ClaimedLabel", "LabelTaken"
        ),
        "/v1/units/{unit}/resolution": {
            "get": _operation(
                "getResolution",
                "What became of a unit.",
                None,
                "Resolution",
                errors | {"404": gone["404"]},
                [{"name": "unit", "in": "path", "required": True, "schema": _UNIT}, _wait_parameter()],
            )
        },
        "/v1/resolutions": {
            "post": _operation("listResolutions", "What became of units.", "ResolutionQuery", "Resolutions", errors, [])
        },
        "/v1/resolutions/callbacks": {
            "post": _operation(
                "registerCallback",
                "Have an address told of the labels of units, once each, signed (DEMUR_CALLBACKS allows addresses).",
                "Callback",
                "CallbackTaken",
                errors,
                [],
            )
        },
    }


def label_schemas(heads: tuple[Head, ...]) -> Json:
    """Name to schema."""
    value: Json = {
        "description": "; ".join(f"{head.name}: {head.label}" for head in heads)
        + '. A file is {"base64": "..."}, positions are [[x, y] or null, ...].'
    }
    source = choice("LabelSource", SOURCES, "Absent: requested.")
    head = choice("HeadName", (head.name for head in heads), "Needed where there are several.")
    label = {
        "unit": _UNIT,
        "value": value,
        "source": source,
        "head": head,
        "key": {
            "type": "string",
            "pattern": "^[!-~]{1,48}$",
            "description": "The caller's own name of this label: given again, it is the same label.",
        },
        "version": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_VERSION,
            "description": "A correction has a greater one. Absent: 1.",
        },
        "observed": _TIME | {"description": "When it was measured or judged, seconds since 1970."},
    }
    count = {"type": "integer", "minimum": 1, "maximum": MOST_CLAIMED, "description": "Absent: 1."}
    reason = {"type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS}
    units = _array(_UNIT, MOST_UNITS)
    rejected = _object({"index": COUNT, "error": ref("ErrorDetail")}, ["index", "error"])
    return {
        "Label": _object(label, ["unit", "value"]),
        "Labels": _object({"labels": _array(ref("Label")), "source": source, "head": head}, ["labels"]),
        "LabelsTaken": _object(
            {"outcomes": _array(_OUTCOME), "rejected": _array(rejected | {"title": "RejectedLabel"})},
            ["outcomes", "rejected"],
        ),
        "LabelTaken": _object({"outcome": _OUTCOME}, ["outcome"]),
        "Claim": _object({"count": count, "seconds": _SECONDS, "head": head}, []),
        "Claimed": _object({"requests": _array(ref("LabelRequest"))}, ["requests"]),
        "LabelRequest": _request(),
        "Lease": _object(
            {"request": _TEXT, "state": _STATE, "lease_until": _or_null(_TIME)},
            ["request", "state", "lease_until"],
        ),
        "Extension": _object({"lease": _LEASE, "seconds": _SECONDS}, ["lease"]),
        "Release": _object({"lease": _LEASE}, ["lease"]),
        "Skip": _object(
            {
                "lease": _LEASE,
                "reason": reason,
                "unlabelable": {"type": "boolean", "description": "No label can exist. Absent: false."},
            },
            ["lease", "reason"],
        ),
        "ClaimedLabel": _object({"lease": _LEASE, "value": value, "observed": _TIME}, ["lease", "value"]),
        "Counts": _object(
            {
                "heads": {
                    "type": "object",
                    "additionalProperties": _object(dict.fromkeys(STATES, COUNT), list(STATES))
                    | {"title": "CountsByState"},
                }
            },
            ["heads"],
        ),
        "Resolution": _resolution(value),
        "Resolutions": _object({"resolutions": _array(ref("Resolution"))}, ["resolutions"]),
        "ResolutionQuery": _object({"units": units, "wait": _wait()}, ["units"]),
        "Callback": _object({"units": units, "url": {"type": "string", "format": "uri"}}, ["units", "url"]),
        "CallbackTaken": _object({"registered": COUNT | {"description": "How many are new."}}, ["registered"]),
        "Erasure": _object({"units": units, "reason": reason}, ["units", "reason"]),
        "Erased": _object({"erased": COUNT | {"description": "How many had anything to forget."}}, ["erased"]),
        "Commit": _object({"units": _array(_UNIT) | {"minItems": 1}}, ["units"]),
        "Committed": _object(
            {
                "units": COUNT | {"description": "Now decided, with those of earlier, equal calls."},
                "unknown": _array(_UNIT) | {"description": "Not held any more: ask again with the purpose decide."},
            },
            ["units", "unknown"],
        ),
    }


def _request() -> Json:
    column = _object(
        {"name": _TEXT, "value": NUMBER_OR_NULL, "unit": _TEXT, "description": _TEXT},
        ["name", "value", "unit", "description"],
    )
    given = _object(
        {"media_type": _TEXT, "columns": _array(column | {"title": "InputColumn"}), "base64": _TEXT}, ["media_type"]
    )
    return _object(
        {
            "request": {"type": "string", "description": "Opaque id; not that of the unit."},
            "lease": _LEASE,
            "lease_until": _TIME,
            "due": _or_null(_TIME) | {"description": "When the request expires; null: it does not."},
            "must_complete": {"type": "boolean", "description": "It stands for others, and cannot be skipped again."},
            "head": _TEXT,
            "label": {"type": "string", "description": "What a label is, with its unit."},
            "input": or_null(given | {"title": "LabelInput"}, "null: inputs are not kept."),
        },
        ["request", "lease", "lease_until", "due", "must_complete", "head", "label", "input"],
    )


def _resolution(value: Json) -> Json:
    status = ("resolved", "pending", "unresolved", "erased", "unknown")
    return _object(
        {
            "unit": _UNIT,
            "status": choice(
                "ResolutionStatus", status, "pending: asked for; unresolved: the request ended without a label."
            ),
            "state": _STATE,
            "head": _TEXT,
            "value": value,
            "label": {"type": "string", "description": "What the value is, with its unit."},
            "source": choice("ResolutionSource", ("requested", "census")),
            "version": {"type": "integer", "minimum": 1},
            "observed": _or_null(_TIME),
            "received": _TIME,
        },
        ["unit", "status"],
    )


def _wait() -> Json:
    return {
        "type": "number",
        "minimum": 0,
        "maximum": MOST_WAIT_SECONDS,
        "description": "How long to wait until nothing is pending any more. Absent: 0.",
        "x-unit": "s",
    }


def _wait_parameter() -> Json:
    return {"name": "wait", "in": "query", "schema": _wait()}


def _operation(name: str, summary: str, body: str | None, answer: str, errors: Json, parameters: list[Json]) -> Json:
    """``body`` and ``answer`` are names of components."""
    responses = {"200": _answer("Done.", ref(answer))} | errors
    operation: dict[str, Any] = {"operationId": name, "summary": summary, "responses": responses}
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        required = body != "Claim"  # where all fields have defaults, no body is needed
        operation["requestBody"] = {"required": required, "content": _json(ref(body))}
    return operation


def _answer(description: str, schema: Json) -> Json:
    return {"description": description, "content": _json(schema)}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _array(items: Json, most: int = 0) -> Json:
    return {"type": "array", "items": items} | ({"minItems": 1, "maxItems": most} if most else {})


def _or_null(schema: Json) -> Json:
    return schema | {"type": [schema["type"], "null"]}

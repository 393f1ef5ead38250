"""The part of the OpenAPI document about labels, requests and resolutions."""

from __future__ import annotations

from typing import Any

from models.head import Head
from services.labels.given import SOURCES
from services.labels.intake import Outcome
from services.labels.requests import REASON_CHARACTERS, STATES
from services.labels.words import DEFAULT_LEASE_SECONDS, LEASE_SECONDS, MOST_CLAIMED, MOST_UNITS, MOST_WAIT_SECONDS
from services.transport.http.components import Json, ref

_TEXT: Json = {"type": "string"}
_TIME: Json = {"type": "number", "description": "Seconds since 1970.", "x-unit": "s"}
_UNIT: Json = {
    "type": "string",
    "pattern": "^[0-7][0-9a-f]{15}-(0|[1-9][0-9]{0,17})$",
    "description": "Id of a unit, one of an answer's prediction_ids.",
}
_LEASE: Json = {"type": "string", "description": "What claim gave with the request."}
_SECONDS: Json = {
    "type": "number",
    "minimum": LEASE_SECONDS[0],
    "maximum": LEASE_SECONDS[1],
    "default": DEFAULT_LEASE_SECONDS,
    "description": "How long the request is kept, from now.",
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
    units = _object({"units": _array(_UNIT) | {"minItems": 1}}, ["units"])
    callback = {"units": _array(_UNIT, MOST_UNITS), "url": {"type": "string", "format": "uri"}}
    identity = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
    request = [{"name": "request", "in": "path", "required": True, "schema": identity}, _ACTOR]
    gone = {
        "404": _answer("No such request, or unit.", ref("Error")),
        "409": _answer("The lease is lost, or the request is in another state.", ref("Error")),
    }

    def of_request(summary: str, body: Json, answer: Json) -> Json:
        return {"post": _operation(summary, body, answer, errors | gone, request)}

    return {
        "/v1/labels": {
            "post": _operation(
                "Labels, in one batch: durable when answered, once however often they are sent.",
                ref("Labels"),
                ref("LabelsTaken"),
                errors,
                [_ACTOR],
            )
        },
        "/v1/commit": {
            "post": _operation(
                "Make explored units decided ones: durable, audited from now on.", units, ref("Committed"), errors, []
            )
        },
        "/v1/erase": {
            "post": _operation(
                "Forget inputs, evidence and labels of units; the numbers stay.",
                _object(
                    {
                        "units": _array(_UNIT, MOST_UNITS),
                        "reason": {"type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS},
                    },
                    ["units", "reason"],
                ),
                _object({"erased": {"type": "integer", "description": "How many had anything to forget."}}, ["erased"]),
                errors,
                [_ACTOR],
            )
        },
        "/v1/requests": {"get": _operation("Number of requests by head and state.", None, ref("Counts"), errors, [])},
        "/v1/requests/claim": {
            "post": _operation(
                "Take requests from the blind feed, for a time.", ref("Claim"), ref("Claimed"), errors, [_ACTOR]
            )
        },
        "/v1/requests/{request}/extend": of_request(
            "Keep a request longer.", _object({"lease": _LEASE, "seconds": _SECONDS}, ["lease"]), ref("Lease")
        ),
        "/v1/requests/{request}/release": of_request(
            "Hand a request back, unanswered.", _object({"lease": _LEASE}, ["lease"]), ref("Lease")
        ),
        "/v1/requests/{request}/skip": of_request("Leave a request unanswered.", ref("Skip"), ref("Lease")),
        "/v1/requests/{request}/submit": of_request(
            "Label a claimed request.", ref("ClaimedLabel"), _object({"outcome": _outcome()}, ["outcome"])
        ),
        "/v1/units/{unit}/resolution": {
            "get": _operation(
                "What became of a unit.",
                None,
                ref("Resolution"),
                errors | {"404": gone["404"]},
                [{"name": "unit", "in": "path", "required": True, "schema": _UNIT}, _wait_parameter()],
            )
        },
        "/v1/resolutions": {
            "post": _operation(
                "What became of units.",
                _object({"units": _array(_UNIT, MOST_UNITS), "wait": _wait()}, ["units"]),
                _object({"resolutions": _array(ref("Resolution"))}, ["resolutions"]),
                errors,
                [],
            )
        },
        "/v1/resolutions/callbacks": {
            "post": _operation(
                "Have an address told of the labels of units, once each, signed (DEMUR_CALLBACKS allows addresses).",
                _object(callback, ["units", "url"]),
                _object({"registered": {"type": "integer", "description": "How many are new."}}, ["registered"]),
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
    source: Json = {"enum": list(SOURCES), "default": "requested"}
    head: Json = {"enum": [head.name for head in heads], "description": "Needed where there are several."}
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
        "version": {"type": "integer", "minimum": 1, "default": 1, "description": "A correction has a greater one."},
        "observed": _TIME | {"description": "When it was measured or judged, seconds since 1970."},
    }
    count = {"type": "integer", "minimum": 1, "maximum": MOST_CLAIMED, "default": 1}
    error = {"$ref": "#/components/schemas/Error/properties/error"}
    return {
        "Label": _object(label, ["unit", "value"]),
        "Labels": _object({"labels": _array(ref("Label")), "source": source, "head": head}, ["labels"]),
        "LabelsTaken": _object(
            {
                "outcomes": _array(_outcome()),
                "rejected": _array(_object({"index": {"type": "integer"}, "error": error}, ["index", "error"])),
            },
            ["outcomes", "rejected"],
        ),
        "Claim": _object({"count": count, "seconds": _SECONDS, "head": head}, []),
        "Claimed": _object({"requests": _array(ref("LabelRequest"))}, ["requests"]),
        "LabelRequest": _request(),
        "Lease": _object(
            {"request": _TEXT, "state": {"enum": list(STATES)}, "lease_until": _or_null(_TIME)},
            ["request", "state", "lease_until"],
        ),
        "Skip": _object(
            {
                "lease": _LEASE,
                "reason": {"type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS},
                "unlabelable": {"type": "boolean", "default": False, "description": "No label can exist."},
            },
            ["lease", "reason"],
        ),
        "ClaimedLabel": _object({"lease": _LEASE, "value": value, "observed": _TIME}, ["lease", "value"]),
        "Counts": _object(
            {
                "heads": {
                    "type": "object",
                    "additionalProperties": _object({state: {"type": "integer"} for state in STATES}, list(STATES)),
                }
            },
            ["heads"],
        ),
        "Resolution": _resolution(value),
        "Committed": _object(
            {
                "units": {"type": "integer", "description": "Now decided, with those of earlier, equal calls."},
                "unknown": _array(_UNIT) | {"description": "Not held any more: ask again with the purpose decide."},
            },
            ["units", "unknown"],
        ),
    }


def _request() -> Json:
    column = _object(
        {"name": _TEXT, "value": {"type": ["number", "null"]}, "unit": _TEXT, "description": _TEXT},
        ["name", "value", "unit", "description"],
    )
    given = _object({"media_type": _TEXT, "columns": _array(column), "base64": _TEXT}, ["media_type"])
    return _object(
        {
            "request": {"type": "string", "description": "Opaque id; not that of the unit."},
            "lease": _LEASE,
            "lease_until": _TIME,
            "due": _or_null(_TIME) | {"description": "When the request expires; null: it does not."},
            "must_complete": {"type": "boolean", "description": "It stands for others, and cannot be skipped again."},
            "head": _TEXT,
            "label": {"type": "string", "description": "What a label is, with its unit."},
            "input": {"oneOf": [given, {"type": "null"}], "description": "null: inputs are not kept."},
        },
        ["request", "lease", "lease_until", "due", "must_complete", "head", "label", "input"],
    )


def _resolution(value: Json) -> Json:
    return _object(
        {
            "unit": _UNIT,
            "status": {
                "enum": ["resolved", "pending", "unresolved", "erased", "unknown"],
                "description": "pending: asked for; unresolved: the request ended without a label.",
            },
            "state": {"enum": list(STATES), "description": "Of the request; missing where there is none."},
            "head": _TEXT,
            "value": value,
            "label": {"type": "string", "description": "What the value is, with its unit."},
            "source": {"enum": ["requested", "census"]},
            "version": {"type": "integer"},
            "observed": _or_null(_TIME),
            "received": _TIME,
        },
        ["unit", "status"],
    )


def _outcome() -> Json:
    return {"enum": [outcome.name.lower() for outcome in Outcome]}


def _wait() -> Json:
    return {
        "type": "number",
        "minimum": 0,
        "maximum": MOST_WAIT_SECONDS,
        "default": 0,
        "description": "How long to wait until nothing is pending any more.",
        "x-unit": "s",
    }


def _wait_parameter() -> Json:
    return {"name": "wait", "in": "query", "schema": _wait()}


def _operation(summary: str, body: Json | None, answer: Json, errors: Json, parameters: list[Json]) -> Json:
    found: dict[str, Any] = {"summary": summary, "responses": {"200": _answer("Done.", answer)} | errors}
    if parameters:
        found["parameters"] = parameters
    if body is not None:
        found["requestBody"] = {"required": body != ref("Claim"), "content": _json(body)}  # all of a claim has defaults
    return found


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

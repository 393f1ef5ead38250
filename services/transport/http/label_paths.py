"""Part of the OpenAPI document for labels, label requests and resolutions."""

from typing import Any

from models.head import Head
from services.labels.intake import Outcome
from services.labels.requests import STATES
from services.transport.http import label_bodies as bodies
from services.transport.http.components import COUNT, NUMBER_OR_NULL, Json, choice, or_null, ref
from services.transport.http.struct_schema import struct_schema

_TEXT: Json = {"type": "string"}
_OUTCOME = choice("Outcome", (outcome.name.lower() for outcome in Outcome))
_STATE = choice("RequestState", STATES)
_ACTOR: Json = {
    "name": "Demur-Actor",
    "in": "header",
    "description": "Who calls, for the ledger's events; anonymous where it is missing.",
    "schema": {"type": "string", "maxLength": 128, "pattern": "^[ -~]*$"},
}


def label_paths(errors: Json) -> Json:
    """Return operations by path; ``errors`` are error responses common to all of them."""
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
                [{"name": "unit", "in": "path", "required": True, "schema": bodies.UNIT}, _wait_parameter()],
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


def label_schemas(heads: tuple[Head, ...], *, texts: bool = False) -> Json:
    """Return schemas by name."""
    value: Json = {
        "description": "; ".join(f"{head.name}: {head.label}" for head in heads)
        + '. A file is {"base64": "..."}, positions are [[x, y] or null, ...].'
    }
    parts = {
        bodies.HEAD: choice("HeadName", (head.name for head in heads), "Needed where there are several."),
        bodies.VALUE: value,
    }
    rejected = _object({"index": COUNT, "error": ref("ErrorDetail")}, ["index", "error"])
    requests = {name: struct_schema(kind, parts) for name, kind in bodies.REQUESTS.items()}
    return requests | {
        "LabelsTaken": _object(
            {"outcomes": _array(_OUTCOME), "rejected": _array(rejected | {"title": "RejectedLabel"})},
            ["outcomes", "rejected"],
        ),
        "LabelTaken": _object({"outcome": _OUTCOME}, ["outcome"]),
        "Claimed": _object({"requests": _array(ref("LabelRequest"))}, ["requests"]),
        "LabelRequest": _request(texts),
        "Lease": _object(
            {"request": _TEXT, "state": _STATE, "lease_until": _or_null(bodies.TIME)},
            ["request", "state", "lease_until"],
        ),
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
        "CallbackTaken": _object({"registered": COUNT | {"description": "How many are new."}}, ["registered"]),
        "Erased": _object({"erased": COUNT | {"description": "How many had anything to forget."}}, ["erased"]),
        "Committed": _object(
            {
                "units": COUNT | {"description": "Now decided, with those of earlier, equal calls."},
                "unknown": _array(bodies.UNIT)
                | {"description": "Not held any more: ask again with the purpose decide."},
            },
            ["units", "unknown"],
        ),
    }


def _request(texts: bool) -> Json:
    text = {"text": {"type": "string", "description": "Of a categorical column: the text of the code."}}
    column = _object(
        {"name": _TEXT, "value": NUMBER_OR_NULL, "unit": _TEXT, "description": _TEXT} | (text if texts else {}),
        ["name", "value", "unit", "description"],
    )
    input_schema = _object(
        {"media_type": _TEXT, "columns": _array(column | {"title": "InputColumn"}), "base64": _TEXT}, ["media_type"]
    )
    return _object(
        {
            "request": {"type": "string", "description": "Opaque id; not that of the unit."},
            "lease": bodies.LEASE,
            "lease_until": bodies.TIME,
            "due": _or_null(bodies.TIME) | {"description": "When the request expires; null: it does not."},
            "must_complete": {"type": "boolean", "description": "It stands for others, and cannot be skipped again."},
            "head": _TEXT,
            "label": {"type": "string", "description": "What a label is, with its unit."},
            "input": or_null(input_schema | {"title": "LabelInput"}, "null: inputs are not kept."),
        },
        ["request", "lease", "lease_until", "due", "must_complete", "head", "label", "input"],
    )


def _resolution(value: Json) -> Json:
    status = ("resolved", "pending", "unresolved", "erased", "unknown")
    return _object(
        {
            "unit": bodies.UNIT,
            "status": choice(
                "ResolutionStatus", status, "pending: asked for; unresolved: the request ended without a label."
            ),
            "state": _STATE,
            "head": _TEXT,
            "value": value,
            "label": {"type": "string", "description": "What the value is, with its unit."},
            "source": choice("ResolutionSource", ("requested", "census")),
            "version": {"type": "integer", "minimum": 1},
            "observed": _or_null(bodies.TIME),
            "received": bodies.TIME,
        },
        ["unit", "status"],
    )


def _wait_parameter() -> Json:
    return {"name": "wait", "in": "query", "schema": bodies.WAIT}


def _operation(name: str, summary: str, body: str | None, answer: str, errors: Json, parameters: list[Json]) -> Json:
    """Return an operation; ``body`` and ``answer`` are names of components."""
    responses = {"200": _answer("Done.", ref(answer))} | errors
    operation: dict[str, Any] = {"operationId": name, "summary": summary, "responses": responses}
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        required = body != "Claim"  # all fields have defaults, so no body is needed
        operation["requestBody"] = {"required": required, "content": _json(ref(body))}
    return operation


def _answer(description: str, schema: Json) -> Json:
    return {"description": description, "content": _json(schema)}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _array(items: Json) -> Json:
    return {"type": "array", "items": items}


def _or_null(schema: Json) -> Json:
    return schema | {"type": [schema["type"], "null"]}

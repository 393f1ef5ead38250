"""Part of the OpenAPI document for label requests."""

from services.labels.neighbours import MOST_A_SIDE
from services.labels.requests import STATES
from services.labels.waiting_requests import MOST_LISTED
from services.transport.http import review_bodies as bodies
from services.transport.http.components import COUNT, NUMBER_OR_NULL, Json, choice, or_null, ref
from services.transport.http.label_bodies import TIME
from services.transport.http.label_paths import STATE
from services.transport.http.operations import ACTOR, REQUEST, answer, array, closed, nullable, operation
from services.transport.http.struct_schema import struct_schema

_TEXT: Json = {"type": "string"}
_QUEUE = choice("Queue", ("blind", "drafts", "adjudication"))
_LEASE: Json = {"name": "Demur-Lease", "in": "header", "required": True, "schema": bodies.LEASE}


def review_paths(errors: Json) -> Json:
    """Return operations by path; ``errors`` are error responses common to all of them."""
    gone = {
        "404": answer("No such request.", ref("Error")),
        "409": answer("The lease is lost, or the request is in another state.", ref("Error")),
    }

    def of_request(name: str, summary: str, body: str, result: str) -> Json:
        return {"post": operation(name, summary, body, result, errors | gone, [REQUEST, ACTOR])}

    content = operation("getRequestInput", "Input of a claimed request.", None, "Error", errors | gone, [])
    content |= {"parameters": [REQUEST, _LEASE]}
    content["responses"]["200"] = {
        "description": "As it was sent.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
    neighbours = operation(
        "getRequestNeighbours",
        "Rows just before and just after the unit of a claimed request.",
        None,
        "Neighbours",
        errors | gone,
        [REQUEST, _LEASE],
    )
    return {
        "/v1/requests": {
            "get": operation("countRequests", "Number of requests by head and state.", None, "Counts", errors, [ACTOR])
        },
        "/v1/requests/waiting": {
            "get": operation(
                "listWaitingRequests",
                "Requests that wait or are claimed, in the order of the queue.",
                None,
                "WaitingRequests",
                errors,
                [ACTOR, *_page()],
            )
        },
        "/v1/requests/claim": {
            "post": operation(
                "claimRequests", "Take requests from the blind feed, for a time.", "Claim", "Claimed", errors, [ACTOR]
            )
        },
        "/v1/requests/{request}/input": {"get": content},
        "/v1/requests/{request}/neighbours": {"get": neighbours},
        "/v1/requests/{request}/extend": of_request("extendRequest", "Keep a request longer.", "Extension", "Lease"),
        "/v1/requests/{request}/release": of_request(
            "releaseRequest", "Hand a request back, unanswered.", "Release", "Lease"
        ),
        "/v1/requests/{request}/skip": of_request("skipRequest", "Leave a request unanswered.", "Skip", "Lease"),
        "/v1/requests/{request}/submit": of_request(
            "submitRequest", "Label a claimed request.", "ClaimedLabel", "LabelTaken"
        ),
        "/v1/requests/{request}/correct": of_request(
            "correctRequest",
            "Replace the label that this lease has given; assisted, if the prediction was shown before.",
            "ClaimedLabel",
            "LabelTaken",
        ),
        "/v1/requests/{request}/reveal": of_request(
            "revealRequest", "Show the prediction of a request that this lease has labelled.", "Reveal", "Revealed"
        ),
        "/v1/requests/{request}/flag": of_request("flagRequest", "Keep a note for operators.", "Flag", "Lease"),
    }


def review_schemas(parts: dict[str, Json], *, texts: bool = False) -> Json:
    """Return schemas by name.

    Args:
        parts: parts of schemas that depend on the heads of the model, see ``struct_schema``.
        texts: True: columns may be categorical.
    """
    requests = {name: struct_schema(kind, parts) for name, kind in bodies.REQUESTS.items()}
    waiting = closed(
        {
            "request": _TEXT | {"description": "Names it in a claim; the claimed request has another id."},
            "head": _TEXT,
            "time": TIME | {"description": "Time of the decision, seconds since 1970."},
            "due": nullable(TIME) | {"description": "When it expires; null: it does not."},
            "state": STATE,
            "mine": {"type": "boolean", "description": "The caller has claimed it."},
            "must_complete": {"type": "boolean"},
        },
        ["request", "head", "time", "due", "state", "mine", "must_complete"],
    )
    return requests | {
        "Claimed": closed({"requests": array(ref("LabelRequest"))}, ["requests"]),
        "LabelRequest": _request(texts),
        "Lease": closed(
            {"request": _TEXT, "state": STATE, "lease_until": nullable(TIME)}, ["request", "state", "lease_until"]
        ),
        "Neighbours": closed(
            {
                "names": array(_TEXT) | {"description": "Numeric columns, in the order of values."},
                "before": _neighbours("before"),
                "after": _neighbours("after"),
            },
            ["names", "before", "after"],
        ),
        "WaitingRequests": closed(
            {
                "requests": array(waiting | {"title": "WaitingRequest"}),
                "next": {"type": ["string", "null"], "description": "Cursor of the next part; null at the end."},
            },
            ["requests", "next"],
        ),
        "Revealed": closed(
            {
                "prediction": {"description": "As a label of the head, but for lists of texts and of plans."},
                "uncertainty": NUMBER_OR_NULL,
                "measure": _TEXT,
                "threshold": NUMBER_OR_NULL,
                "decision": choice("RevealedDecision", ("answer", "defer")),
                "error": NUMBER_OR_NULL | {"description": "Of the prediction by this label, in error_unit."},
                "error_unit": _TEXT,
            },
            ["prediction", "uncertainty", "measure", "threshold", "decision", "error", "error_unit"],
        ),
        "Counts": closed(
            {
                "heads": {
                    "type": "object",
                    "additionalProperties": closed(dict.fromkeys(STATES, COUNT), list(STATES))
                    | {"title": "CountsByState"},
                },
                "keeps_inputs": {"type": "boolean", "description": "Requests come with the input of their unit."},
                "drafts": {"type": "boolean", "description": "The queue of drafts may be claimed."},
                "adjudications": COUNT | {"description": "That the caller could make."},
            },
            ["heads", "keeps_inputs", "drafts", "adjudications"],
        ),
    }


def _neighbours(side: str) -> Json:
    distance = {
        "type": "number",
        "description": "From the unit to this one, two significant digits; negative before it.",
        "x-unit": "s",
    }
    values = array(NUMBER_OR_NULL) | {"description": "In the units of the columns; null: missing."}
    neighbour = closed({"seconds": distance, "values": values}, ["seconds", "values"]) | {"title": "Neighbour"}
    return array(neighbour) | {"maxItems": MOST_A_SIDE, "description": f"Units just {side} this one, by time."}


def _page() -> list[Json]:
    limit = {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}
    return [
        {"name": "head", "in": "query", "schema": _TEXT},
        {"name": "limit", "in": "query", "schema": limit},
        {"name": "after", "in": "query", "schema": _TEXT, "description": "`next` of an earlier answer."},
    ]


def _request(texts: bool) -> Json:
    text = {"text": {"type": "string", "description": "Of a categorical column: the text of the code."}}
    column = closed(
        {"name": _TEXT, "value": NUMBER_OR_NULL, "unit": _TEXT, "description": _TEXT} | (text if texts else {}),
        ["name", "value", "unit", "description"],
    )
    columns = array(column | {"title": "InputColumn"})
    input_schema = closed({"media_type": _TEXT, "columns": columns, "base64": _TEXT, "href": _TEXT}, ["media_type"])
    properties: Json = {
        "request": {"type": "string", "description": "Opaque id; not that of the unit."},
        "lease": bodies.LEASE,
        "lease_until": TIME,
        "due": nullable(TIME) | {"description": "When the request expires; null: it does not."},
        "must_complete": {"type": "boolean", "description": "It stands for others, and cannot be skipped again."},
        "head": _TEXT,
        "label": {"type": "string", "description": "What a label is, with its unit."},
        "queue": _QUEUE,
        "input": or_null(input_schema | {"title": "LabelInput"}, "null: inputs are not kept."),
        "draft": {"description": "Prediction to be edited; null but in the queue of drafts."},
        "answers": {
            "type": "array",
            "items": {},
            "description": "Labels that differ; empty but in the queue of adjudications.",
        },
    }
    return closed(properties, list(properties))

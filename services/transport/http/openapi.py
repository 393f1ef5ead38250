"""OpenAPI document of a service: complete, with units and ranges from the artefact's own schema.

Operations have one type of answer, and bodies no plain text or bytes beside JSON and forms: client generators make the
union of all types of a body, in which protobuf would be a text. Descriptions list the other accepted types.
"""

from typing import Any

from services.ledger.audit_trail import KINDS
from services.request.contract import Description
from services.transport import head_answer
from services.transport.binding import HttpBinding
from services.transport.http.answer_json import schema as answer_schema
from services.transport.http.body import FORM, JSON, PROTOBUF
from services.transport.http.components import COUNT, Json, choice, common_schemas, or_null, ref
from services.transport.http.hoisting import hoisted
from services.transport.http.label_paths import label_parts, label_paths, label_schemas
from services.transport.http.policies import ChangeBody
from services.transport.http.request import ZIP
from services.transport.http.review_paths import review_paths, review_schemas
from services.transport.http.schema import OF_CATEGORIES
from services.transport.http.struct_schema import struct_schema
from services.transport.http.trail import DEFAULT_ACTS, MOST_ACTS
from services.transport.served_model import ServedModel

EVENTS = "text/event-stream"
_BYTES: Json = {"type": "string", "format": "binary"}
_NAME: Json = {"type": "string", "pattern": "^[!-.0-~]+$"}
"""Schema of a name in a path: printable characters without blanks and slashes."""

_ERRORS = {
    "401": "No token, or none that is known here.",
    "403": "The token is not for this.",
    "413": "More rows or bytes than one call may carry.",
    "415": "The body is neither JSON nor protobuf, or it is compressed.",
    "422": "The input breaks the contract: field, value, unit and allowed range are named.",
    "429": "The queue is full, or a rate is used up; see Retry-After.",
    "500": "The model failed on this input.",
    "503": "Not ready, shutting down, or the ledger cannot write now.",
    "504": "The deadline passed.",
}


def openapi(tenant: ServedModel, *, model: bool = True) -> Json:
    """Return the OpenAPI 3.1 document of a served model.

    Args:
        model: whether the route ``/v1/model`` exists.
    """
    description = tenant.description
    body = {"required": True, "content": _content(ref("Request")) | _form(tenant.http)}
    predict = {
        **_named("predict", "Predict with uncertainty, and decide what is answered."),
        "description": _other_types(tenant),
        "parameters": [_timeout("Deadline of this call, reading its body included, s.")],
        "requestBody": body,
        "responses": {"200": _answer("Answers.", ref("Answer"))} | _errors(),
    }
    about = _get("getModel", "Artefact, numeric profile, and verdict on it.", ref("Model"))
    document: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": f"Demur: {description.task}",
            "version": "1",
            "description": f"Served model: {description.model}",
        },
        "paths": {
            "/v1/predict": {"post": predict},
            **_jobs(body, files=tenant.http.files is not None),
            **label_paths(_errors()),
            **review_paths(_errors()),
            "/v1/schema": _get("getSchema", "Features, units, ranges, heads.", ref("Description")),
            **({"/v1/model": about} if model else {}),
            "/v1/policy": _get("listPolicies", "Policies in force.", ref("Policies")),
            "/v1/policy/{head}": _policy(),
            "/v1/audit": _audit(),
            "/v1/openapi.json": _get("getDocument", "This document.", {"type": "object", "additionalProperties": True}),
            "/metrics": _text("getMetrics", "Counters and gauges for Prometheus.", {"200": "Metrics."}),
            "/livez": _text("isAlive", "Whether the process is alive.", {"200": "It is."}),
            "/readyz": _text(
                "isReady", "Whether calls are taken.", {"200": "They are.", "503": "Starting, or shutting down."}
            ),
        },
        "components": {
            "schemas": _common_schemas(description)
            | label_schemas(description.heads)
            | review_schemas(
                label_parts(description.heads), texts=bool(description.schema and description.schema.codes)
            )
            | {"PolicyChange": struct_schema(ChangeBody)}
            | {"Request": dict(tenant.http.request_schema), "Answer": _answered(tenant.http)},
        },
    }
    return hoisted(document)


def _common_schemas(description: Description) -> Json:
    """Return the schemas common to all tasks; heads have their tables of intervals, as answers do."""
    schemas = common_schemas()
    if description.schema is None or not description.schema.codes:
        feature = schemas["Feature"]
        feature["properties"] = {
            name: kind for name, kind in feature["properties"].items() if name not in OF_CATEGORIES
        }
        feature["required"] = list(feature["properties"])
    table = answer_schema(head_answer.INTERVALS.fields, title=head_answer.INTERVALS.title)
    intervals = or_null(table, "Of a Gaussian head of rows; null: there is no table in force.")
    head = schemas["Head"]
    labels = or_null(ref("TrainingLabels"), "Labels of some training rows, for reviewers; null: not kept.")
    head["properties"] |= {"intervals": intervals, "training_labels": labels}
    head["required"] = list(head["properties"])
    return schemas


def _other_types(tenant: ServedModel) -> str:
    """Return the media types that ``/v1/predict`` accepts besides those in its schemas."""
    message = f"{tenant.grpc.service}/Predict"
    text = (
        f"Also takes and answers {PROTOBUF}, the messages of {message}; the answer has the type of the request, or "
        "that of Accept."
    )
    if tenant.http.files is None:
        return text
    return f"{text} Accept: {ZIP} is answered by an archive of answer.json and the files."


def _form(http: HttpBinding) -> Json:
    """Return the form that is accepted, if there is one."""
    if http.form is None:
        return {}
    properties = {
        name: (_BYTES if field.file else {"type": "string"}) | {"description": field.description}
        for name, field in http.form.fields.items()
    }
    required = [name for name, field in http.form.fields.items() if field.required]
    schema = {"type": "object", "additionalProperties": False, "required": required, "properties": properties}
    return {FORM: {"schema": schema | {"title": "RequestForm"}}}


def _answered(http: HttpBinding) -> Json:
    """Return the schema of the answer in JSON, with its files as base64."""
    schema = dict(http.response_schema)
    if http.files is None:
        return schema
    files = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Name to content in base64; in the result of a job, name to the path that has the content.",
    }
    return schema | {"properties": schema.get("properties", {}) | {"files": files}}


def _jobs(body: Json, *, files: bool) -> Json:
    """Return the paths of jobs."""
    parameters = [{"name": "job", "in": "path", "required": True, "schema": _NAME}]
    state = _answer("The job, without its result.", ref("JobState"))
    unknown = _answer("No such job.", ref("Error"))
    location = {"Location": {"description": "Path of the job.", "schema": {"type": "string"}}}
    content = {"200": {"description": "Its content.", "content": {"application/octet-stream": {"schema": _BYTES}}}}
    file = {
        "/v1/jobs/{job}/files/{file}": {
            "get": {
                **_named("getJobFile", "A file of the result, which names them."),
                "parameters": [*parameters, parameters[0] | {"name": "file"}],
                "responses": content | {"404": _answer("No such job or file.", ref("Error"))},
            }
        }
    }
    stream: Json = {
        "type": "string",
        "contentMediaType": EVENTS,
        "contentSchema": {"type": "array", "items": ref("JobEvent")},
    }
    events = {
        "description": "A JobEvent at each change: its name is the state, its data a JobState. The result is not in "
        "it. Lines that begin with a colon keep the connection open, and say nothing.",
        "content": {EVENTS: {"schema": stream}},
    }
    return {
        "/v1/jobs": {
            "post": {
                **_named("createJob", "The same for long work: accepted at once, worked off in the background."),
                "parameters": [_timeout("Deadline for accepting the job, s; the job itself has none.")],
                "requestBody": body,
                "responses": {"202": state | {"headers": location}} | _errors(),
            }
        },
        "/v1/jobs/{job}": {
            "get": {
                **_named("getJob", "State, progress and result."),
                "parameters": parameters,
                "responses": {"200": _answer("The job.", ref("Job")), "404": unknown},
            },
            "delete": {
                **_named("deleteJob", "Cancel a running job, forget an ended one."),
                "parameters": parameters,
                "responses": {"200": state, "404": unknown},
            },
        },
        "/v1/jobs/{job}/events": {
            "get": {
                **_named("watchJob", "Progress as server-sent events."),
                "parameters": parameters,
                "responses": {"200": events, "404": unknown},
            }
        },
    } | (file if files else {})


def _policy() -> Json:
    """Return the operations on one head's policy."""
    body = {"required": True, "content": _content(ref("PolicyChange"))}
    conflict = {"409": _answer("Another policy is in force than the change was made for.", ref("Error"))}
    event = _answer("The change, durable and in force here; on other replicas within two seconds.", ref("PolicyEvent"))
    parameters = [{"name": "head", "in": "path", "required": True, "schema": _NAME}]
    return {
        "get": {
            **_named("listPolicyChanges", "The last changes of a head's policy, the newest first."),
            "parameters": parameters,
            "responses": {"200": _answer("Found.", ref("PolicyEvents"))} | _errors(),
        },
        "put": {
            **_named("changePolicy", "Change a head's policy (compare and set)."),
            "parameters": parameters,
            "requestBody": body,
            "responses": {"200": event} | conflict | _errors(),
        },
    }


def _audit() -> Json:
    """Return the operation that lists the audit trail."""
    time: Json = {"type": "number", "minimum": 0}
    wishes: dict[str, tuple[str, Json]] = {
        "kind": (f"{', '.join(KINDS)}, with commas between; default: all.", {"type": "string"}),
        "actor": ("Who; default: everybody but the service itself.", {"type": "string"}),
        "since": ("Seconds since 1970.", time),
        "before": ("Seconds since 1970; pages on.", time),
        "most": (
            f"Acts at most; default: {DEFAULT_ACTS}.",
            {"type": "integer", "minimum": 1, "maximum": MOST_ACTS},
        ),
    }
    parameters = [
        {"name": name, "in": "query", "description": text, "schema": schema} for name, (text, schema) in wishes.items()
    ]
    act: Json = {
        "title": "Act",
        "type": "object",
        "required": ["time", "kind", "actor", "what", "count"],
        "properties": {
            "time": {"type": "number", "description": "Seconds since 1970."},
            "kind": choice("ActKind", KINDS),
            "actor": {"type": "string", "description": "Name of the token."},
            "what": {"type": "string", "description": "Version of a policy, source of a label, state of a request."},
            "count": COUNT | {"description": "Labels, requests or units."},
            "head": {"type": "string"},
            "unit": {"type": "string", "description": "Where it is one."},
            "reason": {"type": "string"},
        },
    }
    acts: Json = {
        "title": "Acts",
        "type": "object",
        "required": ["acts"],
        "properties": {"acts": {"type": "array", "items": act}},
    }
    return {
        "get": {
            **_named("listActs", "Who changed policies, labelled, worked on requests and erased."),
            "parameters": parameters,
            "responses": {"200": _answer("Found, the newest first.", acts)} | _errors(),
        }
    }


def _named(name: str, summary: str) -> Json:
    """Return the names of an operation; ``name`` is the method in generated clients."""
    return {"operationId": name, "summary": summary}


def _get(name: str, summary: str, schema: Json) -> Json:
    responses = {"200": _answer("Found.", schema), "503": _answer(_ERRORS["503"], ref("Error"))}
    return {"get": {**_named(name, summary), "responses": responses}}


def _text(name: str, summary: str, responses: dict[str, str]) -> Json:
    content: Json = {"text/plain": {"schema": {"type": "string"}}}
    answers = {code: {"description": text, "content": content} for code, text in responses.items()}
    return {"get": {**_named(name, summary), "responses": answers}}


def _timeout(description: str) -> Json:
    return {
        "name": "Demur-Timeout-Seconds",
        "in": "header",
        "description": description,
        "schema": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600},
    }


def _errors() -> Json:
    """Return the error responses of a call with a body."""
    answers = {code: _answer(text, ref("Error")) for code, text in _ERRORS.items()}
    answers["429"]["headers"] = {
        "Retry-After": {"description": "When to come back, s.", "schema": {"type": "integer", "minimum": 1}}
    }
    return answers


def _answer(description: str, schema: Json) -> Json:
    return {"description": description, "content": _content(schema)}


def _content(schema: Json) -> dict[str, Any]:
    return {JSON: {"schema": schema}}

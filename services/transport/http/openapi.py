"""The OpenAPI document of a service: complete, with units and ranges from the artefact's own schema."""

from __future__ import annotations

from typing import Any

from services.tenant import Tenant

Json = dict[str, Any]

_ERRORS = {
    "413": "More rows or bytes than one call may carry.",
    "415": "The body is neither JSON nor protobuf, or it is compressed.",
    "422": "The input breaks the contract: field, value, unit and allowed range are named.",
    "429": "The queue is full; see Retry-After.",
    "500": "The model failed on this input.",
    "503": "Not ready, or shutting down.",
    "504": "The deadline passed.",
}


def openapi(tenant: Tenant) -> Json:
    """OpenAPI 3.1 of the tenant's routes."""
    name = tenant.description.task
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}
    job = _json("The job.", {"$ref": "#/components/schemas/Job"})
    job_id = {"name": "job", "in": "path", "required": True, "schema": {"type": "string"}}
    found = _json("Found.", {"type": "object"})
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Demur: {name}", "version": "1", "description": f"Served model: {tenant.description.model}"},
        "paths": {
            "/v1/predict": {
                "post": {
                    "summary": "Predict with uncertainty, and decide what is answered.",
                    "parameters": [_timeout("Deadline of this call, reading its body included, s.")],
                    "requestBody": {"required": True, "content": body},
                    "responses": {"200": _json("Answers.", {"$ref": "#/components/schemas/Answer"})} | _errors(),
                }
            },
            "/v1/jobs": {
                "post": {
                    "summary": "The same for long work: accepted at once, worked off in the background.",
                    "parameters": [_timeout("Deadline for accepting the job, s; the job itself has none.")],
                    "requestBody": {"required": True, "content": body},
                    "responses": {"202": job} | _errors(),
                }
            },
            "/v1/jobs/{job}": {
                "get": {
                    "summary": "State, progress and result.",
                    "parameters": [job_id],
                    "responses": {"200": job, "404": _error("No such job.")},
                },
                "delete": {
                    "summary": "Cancel a running job, forget an ended one.",
                    "parameters": [job_id],
                    "responses": {"200": job, "404": _error("No such job.")},
                },
            },
            "/v1/jobs/{job}/events": {
                "get": {
                    "summary": "Progress as server-sent events.",
                    "parameters": [job_id],
                    "responses": {
                        "200": {"description": "Events.", "content": {"text/event-stream": {}}},
                        "404": _error("No such job."),
                    },
                }
            },
            "/v1/schema": {"get": {"summary": "Features, units, ranges, heads.", "responses": {"200": found}}},
            "/v1/policy": {"get": {"summary": "Policies in force.", "responses": {"200": found}}},
        },
        "components": {
            "schemas": {
                "Request": dict(tenant.http.request_schema),
                "Answer": dict(tenant.http.response_schema),
                "Job": _job_schema(),
                "Error": _error_schema(),
            }
        },
    }


def _timeout(description: str) -> Json:
    return {
        "name": "Demur-Timeout-Seconds",
        "in": "header",
        "description": description,
        "schema": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600},
    }


def _errors() -> Json:
    return {code: _error(text) for code, text in _ERRORS.items()}


def _error(text: str) -> Json:
    return _json(text, {"$ref": "#/components/schemas/Error"})


def _json(description: str, schema: Json) -> Json:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _job_schema() -> Json:
    return {
        "type": "object",
        "required": ["id", "state", "progress"],
        "properties": {
            "id": {"type": "string"},
            "state": {"enum": ["running", "done", "failed", "cancelled"]},
            "progress": {
                "type": "object",
                "properties": {
                    "fraction": {"type": "number", "minimum": 0, "maximum": 1},
                    "stage": {"type": "string"},
                    "items": {"type": "integer"},
                },
            },
            "result": {"$ref": "#/components/schemas/Answer"},
            "error": {"$ref": "#/components/schemas/Error/properties/error"},
        },
    }


def _error_schema() -> Json:
    text = {"type": "string"}
    return {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": text,
                    "message": text,
                    "field": text,
                    "value": text,
                    "unit": text,
                    "allowed": text,
                    "index": {"type": "integer"},
                    "retry_after_seconds": {"type": "number"},
                },
            }
        },
    }

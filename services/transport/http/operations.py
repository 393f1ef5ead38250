"""Operations of the OpenAPI document, and the schemas that their parts share."""

from typing import Any

from services.transport.http.components import Json, ref

OPTIONAL = ("Claim",)
"""Bodies whose fields all have defaults, so that none is needed."""
ACTOR: Json = {
    "name": "Demur-Actor",
    "in": "header",
    "description": "Who calls, for the ledger's events; anonymous where it is missing.",
    "schema": {"type": "string", "maxLength": 128, "pattern": "^[ -~]*$"},
}
REQUEST: Json = {
    "name": "request",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}


def operation(name: str, summary: str, body: str | None, result: str, errors: Json, parameters: list[Json]) -> Json:
    """Return an operation; ``body`` and ``result`` are names of components."""
    responses = {"200": answer("Done.", ref(result))} | errors
    operation: dict[str, Any] = {"operationId": name, "summary": summary, "responses": responses}
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        required = body not in OPTIONAL
        operation["requestBody"] = {"required": required, "content": _json(ref(body))}
    return operation


def answer(description: str, schema: Json) -> Json:
    """Return a response with a JSON body."""
    return {"description": description, "content": _json(schema)}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def closed(properties: Json, required: list[str]) -> Json:
    """Return the schema of an object without other properties."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def array(items: Json) -> Json:
    """Return the schema of an array."""
    return {"type": "array", "items": items}


def nullable(schema: Json) -> Json:
    """Return the schema of a value of one type, or null."""
    return schema | {"type": [schema["type"], "null"]}

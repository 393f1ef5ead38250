"""What generators of clients need of an OpenAPI document, besides that it is one; each rule names who needs it."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
_BODIES = {"application/json", "multipart/form-data"}


def violations(document: Json) -> list[str]:
    """Places and reasons; empty where each generator makes typed clients without warnings."""
    schemas = document["components"]["schemas"]
    problems = [f"{where}: {reason}" for where, schema in _schemas(document) for reason in _of_schema(where, schema)]
    for name in _requests(document):
        problems += [f"{name}.{where}: default in a request" for where in _defaults(schemas[name], schemas)]
    operations = [
        (f"{method} {path}", operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    names = [operation.get("operationId") for _, operation in operations]
    problems += [f"{where}: no operationId of its own" for where, other in operations if names.count(_id(other)) != 1]
    for where, operation in operations:
        problems += [f"{where}: {reason}" for reason in _of_operation(operation)]
    return problems


def _id(operation: Json) -> Any:
    return operation.get("operationId")


def _of_operation(operation: Json) -> Iterator[str]:
    """openapi-typescript makes the union of all types of a body; a text in it types nothing."""
    content = operation.get("requestBody", {}).get("content", {})
    for kind, media in content.items():
        if kind not in _BODIES:
            yield f"takes {kind}, whose schema would be a text"
        if "$ref" not in media["schema"]:
            yield f"the body {kind} has no name"
    for code, response in operation["responses"].items():
        if len(response.get("content", {})) > 1:
            yield f"{code} has {len(response['content'])} types"


def _of_schema(where: str, schema: Json) -> Iterator[str]:
    reference = schema.get("$ref", "")
    if reference.count("/") > 3:
        yield f"{reference} is below a component: openapi-python-client does not follow it"
    if schema.get("items") is False or "prefixItems" in schema:
        yield "a tuple: openapi-python-client takes no `items: false`"
    enum = schema.get("enum", ())
    if not all(isinstance(value, str) for value in enum):
        yield "an enumeration of other values than texts: openapi-python-client takes no numbers, others name null"
    if enum and schema.get("type") != "string":
        yield "an enumeration without a type"
    objects = "properties" in schema or "additionalProperties" in schema
    if "object" in _types(schema) and not objects:
        yield "an object that says nothing of its properties: openapi-typescript takes it for an empty one"
    if "properties" in schema and ("oneOf" in schema or "anyOf" in schema):
        yield "properties beside alternatives: openapi-generator drops the properties"
    inline = where.count(".") > 0 and "allOf" not in where and "additionalProperties" not in where
    if inline and (enum or "properties" in schema):
        yield "an object or enumeration without a name: generators number those that collide"
    if "integer" in _types(schema) and where.endswith(_BOUNDED) and "minimum" not in schema:
        yield "an integer without a bound"


_BOUNDED = (".count", ".index", ".item", ".version", ".first", ".units", ".registered", ".erased", ".max_rows")


def _types(schema: Json) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def _schemas(document: Json) -> Iterator[tuple[str, Json]]:
    """All schemas with their places, ``Component.property.items``."""
    for name, schema in document["components"]["schemas"].items():
        yield from _below(name, schema)
    for path, item in document["paths"].items():
        for method, operation in item.items():
            contents = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in contents:
                for media in content.get("content", {}).values():
                    yield from _below(f"{method} {path} .", media["schema"])
            for parameter in operation.get("parameters", ()):
                yield from _below(f"{method} {path} {parameter['name']}", parameter["schema"])


def _below(where: str, schema: Any) -> Iterator[tuple[str, Json]]:
    if not isinstance(schema, dict):
        return
    yield where, schema
    for name, child in schema.get("properties", {}).items():
        yield from _below(f"{where}.{name}", child)
    for name in ("items", "additionalProperties", "contentSchema"):
        yield from _below(f"{where}.{name}", schema.get(name))
    for name in ("oneOf", "anyOf", "allOf"):
        for child in schema.get(name, ()):
            yield from _below(f"{where}.{name}", child)


def _requests(document: Json) -> Iterator[str]:
    """Names of the components that are bodies of requests."""
    for item in document["paths"].values():
        for operation in item.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                if "$ref" in media["schema"]:
                    yield media["schema"]["$ref"].rpartition("/")[2]


def _defaults(schema: Json, schemas: Json) -> Iterator[str]:
    """Properties with a default, which openapi-typescript requires."""
    for where, child in _below("", schema):
        if "default" in child:
            yield where
        if (name := child.get("$ref", "").rpartition("/")[2]) in schemas:
            yield from _defaults(schemas[name], schemas)

"""The part of JSON Schema that the services' OpenAPI documents use: what of a value does not fit."""

from typing import Any

Json = dict[str, Any]
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KNOWN = {
    *("type", "enum", "properties", "required", "additionalProperties", "items", "oneOf", "anyOf", "allOf", "$ref"),
    *("minimum", "maximum", "minItems", "maxItems", "multipleOf"),
    *("description", "x-unit", "format"),
}


def misfits(value: Any, schema: Any, schemas: Json, where: str = "$") -> list[str]:
    """Places and reasons; empty where the value fits."""
    if schema is True or schema == {}:
        return []
    if schema is False:
        return [f"{where}: nothing may be here"]
    assert set(schema) <= _KNOWN, f"{where}: {sorted(set(schema) - _KNOWN)} is not understood here"
    problems: list[str] = []
    if "$ref" in schema:
        problems += misfits(value, _referred(schema["$ref"], schemas), schemas, where)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [*problems, f"{where}: {value!r:.60} is not {kinds}"]
    if "enum" in schema and not any(value == option and type(value) is not bool for option in schema["enum"]):
        problems.append(f"{where}: {value!r:.60} is not one of {schema['enum']}")
    for name, several in (("oneOf", False), ("anyOf", True)):
        if name in schema:
            fitting = sum(not misfits(value, branch, schemas, where) for branch in schema[name])
            if not fitting or (fitting > 1 and not several):
                problems.append(f"{where}: {value!r:.60} fits {fitting} of {name}")
    for part in schema.get("allOf", ()):
        problems += misfits(value, part, schemas, where)
    if isinstance(value, dict):
        problems += _object(value, schema, schemas, where)
    if isinstance(value, list):
        problems += _array(value, schema, schemas, where)
    if _is(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        problems.append(f"{where}: {value} is out of range")
    if _is(value, "number") and value % schema.get("multipleOf", value or 1):
        problems.append(f"{where}: {value} is no multiple of {schema['multipleOf']}")
    return problems


def _referred(pointer: str, schemas: Json) -> Any:
    node: Any = schemas
    for part in pointer.removeprefix("#/components/schemas/").split("/"):
        node = node[part]
    return node


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _object(value: Json, schema: Json, schemas: Json, where: str) -> list[str]:
    properties = schema.get("properties", {})
    problems = [f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value]
    for name, member in value.items():
        rest = properties.get(name, schema.get("additionalProperties", True))
        problems += misfits(member, rest, schemas, f"{where}.{name}")
    return problems


def _array(value: list[Any], schema: Json, schemas: Json, where: str) -> list[str]:
    problems = []
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        problems.append(f"{where}: {len(value)} items")
    for index, item in enumerate(value):
        problems += misfits(item, schema.get("items", True), schemas, f"{where}[{index}]")
    return problems

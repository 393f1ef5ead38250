"""JSON Schemas of bodies from the structs that decode them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from services.transport.http.components import Json

_AS = "x-documented-as"
_TEMPLATE = "#/{name}"
_NO_PARTS: Mapping[str, Json] = {}


def documented(schema: Json | str) -> msgspec.Meta:
    """Annotate a field with its schema; decoding does not check it, since services have their own error messages.

    Args:
        schema: schema, or the name of one of the ``parts`` of ``struct_schema``, which differ between models.
    """
    return msgspec.Meta(extra_json_schema={_AS: schema})


def struct_schema(kind: type[msgspec.Struct], parts: Mapping[str, Json] = _NO_PARTS) -> Json:
    """Return the schema of the JSON that a struct decodes."""
    (root,), components = msgspec.json.schema_components((kind,), ref_template=_TEMPLATE)
    document: Json = _plain(root, components, parts)
    return {name: value for name, value in document.items() if name != "title"}


def variants(
    kind: type[msgspec.Struct], inputs: Mapping[str, tuple[str, ...]], parts: Mapping[str, Json] = _NO_PARTS
) -> Json:
    """Return the schema of a request that has one of several inputs: a closed object of each.

    Generators type a union of objects, and do not understand which properties of one object exclude each other.

    Args:
        inputs: name of the component to its properties; the first is the input, and needed. Properties that are in
            none of them are in all.
    """
    whole = struct_schema(kind, parts)
    properties = whole["properties"]
    own = {name for names in inputs.values() for name in names}
    shared = {name: value for name, value in properties.items() if name not in own}
    return {
        "oneOf": [
            whole
            | {
                "title": title,
                "required": [names[0]],
                "properties": {name: properties[name] for name in names} | shared,
            }
            for title, names in inputs.items()
        ]
    }


def _plain(schema: Any, components: Mapping[str, Any], parts: Mapping[str, Json]) -> Any:
    """Return a schema without defaults, with the schemas of annotations and structs inlined."""
    if isinstance(schema, list):
        return [_plain(part, components, parts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if (own := schema.get(_AS)) is not None:
        return parts[own] if isinstance(own, str) else own
    if "$ref" in schema:
        named = components[schema["$ref"].removeprefix(_TEMPLATE.format(name=""))]
        return _plain(named | {key: value for key, value in schema.items() if key != "$ref"}, components, parts)
    document = {key: _plain(value, components, parts) for key, value in schema.items() if key != "default"}
    match document.get("anyOf"):
        case [{"type": str(only), **more}, {"type": "null"}] if "title" not in more:
            del document["anyOf"]
            return {"type": [only, "null"]} | more | document
    return document

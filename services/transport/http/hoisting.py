"""Named subschemas of an OpenAPI document as components.

Client generators make a class for each object and each enumeration. For inline ones they invent names, and number
those that collide; some do not follow references below a component. So schemas are written inline, with a
``title`` if they need a name, and become components here.
"""

from typing import Any

Json = dict[str, Any]
_PREFIX = "#/components/schemas/"


def hoisted(document: Json) -> Json:
    """Return the document with each titled subschema moved to ``components.schemas`` and referred to.

    Args:
        document: an OpenAPI document; it is not changed. A component's own title is dropped.

    Raises:
        ValueError: two different schemas have the same name.
    """
    components: Json = {}
    named = document["components"]["schemas"]
    for name, schema in named.items():
        _add(components, name, {key: _walked(value, components) for key, value in schema.items() if key != "title"})
    paths = _walked(document["paths"], components)
    return document | {"paths": paths, "components": document["components"] | {"schemas": components}}


def _walked(node: Any, components: Json) -> Any:
    """Return a node with references in place of titled schemas, which are added to the components."""
    if isinstance(node, list | tuple):
        return [_walked(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    walked = {key: _walked(value, components) for key, value in node.items()}
    if not isinstance(walked.get("title"), str):  # a property named "title" is a schema
        return walked
    name = walked.pop("title")
    _add(components, name, walked)
    return {"$ref": f"{_PREFIX}{name}"}


def _add(components: Json, name: str, schema: Json) -> None:
    if components.setdefault(name, schema) != schema:
        raise ValueError(f"two different schemas are named {name!r}; give one of them another title")

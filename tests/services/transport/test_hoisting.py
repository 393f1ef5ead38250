"""Titled subschemas become components."""

from typing import Any

import pytest

from services.transport.http.hoisting import hoisted

COLOUR = {"title": "Colour", "type": "string", "enum": ["red", "green"]}
DOT = {"title": "Dot", "type": "object", "properties": {"colour": COLOUR, "title": {"type": "string"}}}


def document(*schemas: Any) -> Any:
    content = {"application/json": {"schema": {"type": "array", "items": DOT}}}
    return {
        "info": {"title": "Dots", "version": "1"},
        "paths": {"/dots": {"get": {"responses": {"200": {"content": content}}}}},
        "components": {"schemas": {f"Schema{index}": schema for index, schema in enumerate(schemas)}},
    }


def test_a_title_becomes_a_component_once_with_what_is_in_it() -> None:
    made = hoisted(document({"title": "Anything", "anyOf": [COLOUR, {"type": "null"}]}))
    assert made["components"]["schemas"] == {
        "Colour": {"type": "string", "enum": ["red", "green"]},
        "Schema0": {"anyOf": [{"$ref": "#/components/schemas/Colour"}, {"type": "null"}]},
        "Dot": {
            "type": "object",
            "properties": {"colour": {"$ref": "#/components/schemas/Colour"}, "title": {"type": "string"}},
        },
    }
    answer = made["paths"]["/dots"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"type": "array", "items": {"$ref": "#/components/schemas/Dot"}}
    assert made["info"]["title"] == "Dots"
    assert DOT["title"] == "Dot"


def test_two_schemas_of_one_name_are_an_error() -> None:
    with pytest.raises(ValueError, match="'Colour'"):
        hoisted(document({"properties": {"a": COLOUR, "b": COLOUR | {"enum": ["blue"]}}}))

"""JSON Schemas of the bodies of tabular tasks, with units and ranges from the declared schema."""

import re
from collections.abc import Sequence
from dataclasses import asdict

from models.schema import Feature, Schema
from services.request.contract import Description
from services.transport.http.components import Json

_SYNTAX = re.compile(r"[\\^$.|?*+()\[\]{}]")
_ESCAPED = r"\\\g<0>"
"""Replacement that escapes syntax of regular expressions; ``re.escape`` escapes more than JavaScript allows."""


OF_CATEGORIES = ("categories", "other")
"""Fields of a feature that only schemas with categorical columns show."""


def described(schema: Schema) -> list[Json]:
    """Return the features of a schema as JSON values."""
    left_out = () if schema.codes else OF_CATEGORIES
    return [
        {name: value for name, value in asdict(feature).items() if name not in left_out} for feature in schema.features
    ]


def row_parts(description: Description) -> dict[str, Json]:
    """Return schemas of the fields of ``RowsBody`` that depend on the artefact, with units and physical ranges."""
    assert description.schema is not None
    values = {f.name: _value(f) for f in description.schema.features}
    required = list(values)
    arrays = {name: {"type": "array", "items": value, "minItems": 1} for name, value in values.items()}
    along: Json = {"description": "Comes along in files of the task; not looked at."}
    values |= dict.fromkeys(description.schema.metadata, along)
    arrays |= dict.fromkeys(description.schema.metadata, along)
    units = {f.name: {"type": "string", "pattern": _unit_pattern(f.unit)} for f in description.schema.features}
    columns: Json = {
        "title": "Columns",
        "type": "object",
        "description": "Values by column; all of the same length.",
        "properties": arrays,
        "required": required,
        "additionalProperties": False,
    }
    row: Json = {
        "title": "Row",
        "type": "object",
        "description": "Value by column.",
        "properties": values,
        "required": required,
        "additionalProperties": False,
    }
    matrix: Json = {
        "title": "Matrix",
        "type": "object",
        "description": "Rows as one list of numbers, row after row.",
        "properties": {
            "columns": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "Names of the columns, in the order of the values of a row.",
            },
            "values": {
                "type": "array",
                "items": {"type": ["number", "string", "null"] if description.schema.codes else ["number", "null"]},
                "minItems": len(required),
                "description": "Values of the first row in the order of `columns`, then of the second, and so on; null "
                "where a value is missing.",
            },
        },
        "required": ["columns", "values"],
        "additionalProperties": False,
    }
    return {
        "columns": columns,
        "rows": {"type": "array", "minItems": 1, "maxItems": description.max_rows, "items": row},
        "matrix": matrix,
        "units": {
            "title": "Units",
            "type": "object",
            "description": "Unit by column, checked against the schema where given.",
            "properties": units | {name: {"type": "string"} for name in description.schema.metadata},
            "additionalProperties": False,
        },
        "defer_above": _wish(description),
    }


def _wish(description: Description) -> Json:
    """Return the schema of a threshold: a number if there is one head, or an object by head."""
    number: Json = {"type": "number"}
    by_head: Json = {
        "title": "DeferAbove",
        "type": "object",
        "properties": {head.name: number for head in description.heads},
        "additionalProperties": False,
    }
    return {
        "oneOf": [{"type": "null"}, *([by_head] if len(description.heads) > 1 else [number, by_head])],
        "description": "Defer above this even where the policy would answer; in the unit of the head's measure. "
        "null: as the policy says.",
    }


def _value(feature: Feature) -> Json:
    """Return the schema of a column. Values are described by ranges: generators support enumerations of texts only."""
    if feature.categories:
        return _text(feature)
    choices = _exactly(feature.values) or [_range(feature.lower, feature.upper)]
    choices += [choice | {"description": "Missing."} for choice in _exactly(feature.sentinels)]
    if feature.nullable:
        choices[0]["type"] = ["number", "null"]
    about: Json = {"description": f"{feature.description} Unit: {feature.unit}.", "x-unit": feature.unit}
    return (choices[0] if len(choices) == 1 else {"anyOf": choices}) | about


def _text(feature: Feature) -> Json:
    """Return the schema of a categorical column."""
    about: Json = {"type": "string", "description": feature.description}
    if not feature.other:
        about["enum"] = list(feature.categories)
    if feature.nullable:
        about["type"] = ["string", "null"]
        if not feature.other:
            about["enum"].append(None)
    return about


def _exactly(values: Sequence[float]) -> list[Json]:
    """Return schemas that accept exactly these values: one schema if they are 0 to n, else a schema for each value.

    The type is never integer, which strict clients do not accept in a column of floats.
    """
    ascending = sorted(values)
    if len(ascending) > 1 and ascending == list(range(len(ascending))):
        return [_range(ascending[0], ascending[-1]) | {"multipleOf": 1}]
    return [_range(value, value) for value in ascending]


def _unit_pattern(unit: str) -> str:
    """Return a pattern of a unit or nothing; an enumeration would become a class per column in generated clients."""
    return f"^({_SYNTAX.sub(_ESCAPED, unit)})?$"


def _range(lower: float, upper: float) -> Json:
    return {"type": "number", "minimum": lower, "maximum": upper}

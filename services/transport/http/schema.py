"""JSON Schemas of the bodies of tabular tasks, with units and ranges from the declared schema."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.head import Head
from models.schema import Feature
from services.request.pipeline import Description
from services.transport.http.components import DECISION, PURPOSE, PURPOSE_OR_NULL, SHIFT, Json, one_of

_SYNTAX = re.compile(r"[\\^$.|?*+()\[\]{}]")
_ESCAPED = r"\\\g<0>"
"""Of regular expressions; ``re.escape`` escapes more than those of JavaScript allow."""
_SHIFT_REASON: Json = {
    "type": "string",
    "description": f"One of {', '.join(SHIFT['enum'])}.",
}
"""Text instead of the component: openapi-generator's Python clients cannot read lists of lists of an enumeration."""
_OPTIONAL = {"intervals", "member_means", "member_variances", "member_probabilities"}
"""Of a head: what is not in all answers."""


def row_request_schema(description: Description) -> Json:
    """Columns or rows with every feature's unit and physical range."""
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
    options: Json = {
        "units": {
            "title": "Units",
            "type": "object",
            "description": "Unit by column, checked against the schema where given.",
            "properties": units | {name: {"type": "string"} for name in description.schema.metadata},
            "additionalProperties": False,
        },
        "purpose": PURPOSE_OR_NULL,
        "defer_above": _wish(description),
        "members": {"type": "boolean", "description": "Also return what each member says. Absent: false."},
    }
    rows = {"type": "array", "minItems": 1, "maxItems": description.max_rows, "items": row}
    return one_of(
        {
            "ColumnsRequest": {"columns": columns} | options,
            "RowsRequest": {"rows": rows} | options,
        }
    )


def row_response_schema(description: Description) -> Json:
    """One object per head."""
    heads = {head.name: _HEADS[head.kind](head) for head in description.heads if head.kind in _HEADS}
    return {
        "type": "object",
        "required": ["model", "profile", "recorded", "purpose", *heads, "shifted_inputs"],
        "properties": {
            "model": {"type": "string", "description": "Tag of the artefact that answered."},
            "profile": {"type": "string", "description": "Numeric profile that computed the scores."},
            "recorded": {"type": "boolean", "description": "Whether the decisions are durable in the ledger."},
            "purpose": PURPOSE,
            **heads,
            "shifted_inputs": _shifted_inputs(),
        },
    }


def _shifted_inputs() -> Json:
    number: Json = {"type": "array", "items": {"type": ["number", "null"]}}
    text: Json = {"type": "array", "items": {"type": "string"}}
    properties: Json = {
        "row": {"type": "array", "items": {"type": "integer", "minimum": 0}, "description": "Rows of the request."},
        "column": text | {"description": "Names of the columns."},
        "unit": text | {"description": "Of values, ranges and expected."},
        "value": number | {"description": "What was given."},
        "trained_lower": number | {"description": "Lower end of the range seen in training; null: not known."},
        "trained_upper": number | {"description": "Upper end of the range seen in training; null: not known."},
        "deviations": number
        | {
            "description": "How far a value lies beyond the range, in standard deviations of training, negative "
            "below it. Of a value within the range: how far from `expected`, in conditional standard deviations."
        },
        "expected": number
        | {"description": "What the row's other inputs lead one to expect; null of a value outside the range."},
    }
    return {
        "title": "ShiftedInputs",
        "type": "object",
        "required": list(properties),
        "properties": properties,
        "description": "Inputs that make shifted rows unlike training, at most three a row, worst first: columns of "
        "equal length, an entry for each input.",
    }


def _wish(description: Description) -> Json:
    """A number where there is one head, else one by head."""
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
    """What a column holds. Values are told by ranges: generators know enumerations of texts only."""
    choices = _exactly(feature.values) or [_range(feature.lower, feature.upper)]
    choices += [one | {"description": "Missing."} for one in _exactly(feature.sentinels)]
    if feature.nullable:
        choices[0]["type"] = ["number", "null"]
    about: Json = {"description": f"{feature.description} Unit: {feature.unit}.", "x-unit": feature.unit}
    return (choices[0] if len(choices) == 1 else {"anyOf": choices}) | about


def _exactly(values: Sequence[float]) -> list[Json]:
    """Schemas that take these values and no others: one where they are 0 to n, else one of each.

    Never integers, which strict clients do not take of a column of floats.
    """
    ascending = sorted(values)
    if len(ascending) > 1 and ascending == list(range(len(ascending))):
        return [_range(ascending[0], ascending[-1]) | {"multipleOf": 1}]
    return [_range(value, value) for value in ascending]


def _unit_pattern(unit: str) -> str:
    """A unit or nothing: as an enumeration it would be a class of each column in generated clients."""
    return f"^({_SYNTAX.sub(_ESCAPED, unit)})?$"


def _range(lower: float, upper: float) -> Json:
    return {"type": "number", "minimum": lower, "maximum": upper}


def _gaussian(head: Head) -> Json:
    square = f"{head.unit}²"
    return _object(
        head,
        {
            "mean": _numbers(head.unit, "Mean of the ensemble's predictive."),
            "variance": _numbers(square, "Total variance; the same as total."),
            "total": _numbers(square, "Total uncertainty: variance of the mixture."),
            "data": _numbers(square, "Data uncertainty: mean of the members' variances."),
            "knowledge": _numbers(square, "Knowledge uncertainty: variance of the members' means; null if single.")
            | {"type": ["array", "null"]},
            **_decided(f"in the unit of the measure; {square} for variances"),
            "intervals": {
                "title": "Intervals",
                "type": "object",
                "required": ["levels", "multipliers"],
                "description": "Central interval at levels[i]: mean ± multipliers[i] · sqrt(total).",
                "properties": {"levels": _exact("Coverages, 0 to 1."), "multipliers": _exact("Standard deviations.")},
            },
            "member_means": {"type": "array", "items": _numbers(head.unit, "Means of one member.")},
            "member_variances": {"type": "array", "items": _numbers(square, "Variances of one member.")},
        },
    )


def _categorical(head: Head) -> Json:
    names = "; ".join(f"{number} {name}" for number, name in enumerate(head.class_names))
    probabilities = _numbers("1", f"Probabilities of the classes: {names}.")
    optional: Json = {"type": ["array", "null"]}
    return _object(
        head,
        {
            "class": {
                "type": "array",
                "items": {"type": ["integer", "null"]},
                "description": f"The most probable class: {names}. null: the policy withholds it.",
            },
            "probabilities": {"type": "array", "items": probabilities},
            "total": _numbers("nat", "Total uncertainty: entropy of the members' mean probabilities."),
            "data": _numbers("nat", "Data uncertainty: mean entropy of the members; null if single.") | optional,
            "knowledge": _numbers("nat", "Knowledge uncertainty: mutual information; null if single.") | optional,
            **_decided("in the unit of the measure; nat for entropies, 1 for confidence"),
            "member_probabilities": {
                "type": "array",
                "items": {"type": "array", "items": _numbers("1", "Probabilities of one member, of one row.")},
            },
        },
    )


_HEADS = {"gaussian": _gaussian, "categorical": _categorical}


def _decided(unit: str) -> Json:
    """How the units of a head were decided."""
    return {
        "measure": {"type": "string", "description": "Name of the deferral measure; larger is less certain."},
        "uncertainty": {
            "type": "array",
            "items": {"type": ["number", "null"]},
            "description": f"The deferral measure, {unit}; null: not a number, or infinite where the prediction is "
            "impossible. Both defer.",
        },
        "threshold": {
            "type": ["number", "null"],
            "description": f"Deferred above this, {unit}; null: everything is deferred.",
        },
        "decision": {"type": "array", "items": DECISION},
        "deferred": {"type": "array", "items": {"type": "boolean"}},
        "shifted": {
            "type": "array",
            "items": {"type": "array", "items": _SHIFT_REASON},
        },
        "policy": {"type": "string", "description": "Version of the policy that decided."},
        "prediction_ids": {"type": "array", "items": {"type": "string"}},
    }


def _object(head: Head, properties: Json) -> Json:
    return {
        "title": f"{head.name.title()}Answer",
        "type": "object",
        "required": [name for name in properties if name not in _OPTIONAL],
        "properties": properties,
    }


def _exact(description: str) -> Json:
    return {"type": "array", "items": {"type": "number"}, "description": description}


def _numbers(unit: str, description: str) -> Json:
    return {
        "type": "array",
        "items": {"type": ["number", "null"]},
        "x-unit": unit,
        "description": f"{description} Unit: {unit}.",
    }

"""JSON Schemas common to all tasks: descriptions, policies, jobs and errors.

A subschema with a ``title`` becomes a component of that name; see ``hoisting``.
"""

from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from models.head import Head
from models.schema import Feature
from services.ledger.contract import Purpose
from services.policy.decision import Audits, Decision, Policy, Shift
from services.qualification.standing import Model

Json = dict[str, Any]
_TEMPLATE = "#/components/schemas/{name}"
OF_MEASURE = "In the unit of the head's measure"
_TRAINED: Json = {
    "type": "array",
    "items": {"type": "number"},
    "description": "Where training inputs lay, by feature in its unit; empty where unknown.",
}
_TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 0}
SHARE: Json = {"type": "number", "minimum": 0, "maximum": 1}
NUMBER_OR_NULL: Json = {"type": ["number", "null"]}


def choice(title: str, values: Iterable[str], description: str = "") -> Json:
    """Return the schema of an enumeration of texts; the title is the name of the component."""
    schema: Json = {"title": title, "type": "string", "enum": list(values)}
    return schema | ({"description": description} if description else {})


def or_null(schema: Json, description: str) -> Json:
    """Return the schema of a value or null; most generators do not read an enumeration with null as one of texts."""
    return {"anyOf": [schema, {"type": "null"}], "description": description}


PURPOSE = choice("Purpose", get_args(Purpose), "decide: recorded and audited; explore: held; replay: neither.")
PURPOSE_OR_NULL = or_null(PURPOSE, "Absent or null: decide.")
DECISION = choice("Decision", (decision.name for decision in Decision))
SHIFT = choice("Shift", (str(shift.name).lower() for shift in Shift), "Why a unit looks unlike the training data.")
AUDITS = choice("Audits", get_args(Audits), "How labels are drawn among the answered.")


def ref(name: str) -> Json:
    """Return a reference to a component."""
    return {"$ref": _TEMPLATE.format(name=name)}


def common_schemas() -> Json:
    """Return schemas by name; those of Feature, Head and Policy are derived from their classes."""
    _, generated = msgspec.json.schema_components((Feature, Head, Policy, Model), ref_template=_TEMPLATE)
    schemas: Json = dict(generated)
    for name in ("Feature", "Head"):
        schemas[name] = _answered(schemas[name])
    schemas["Head"]["properties"]["kind"] |= {"title": "HeadKind", "type": "string"}
    schemas["Qualification"]["properties"]["verdict"] |= {"title": "Verdict", "type": "string"}
    schemas["Qualification"]["properties"]["units"] |= COUNT
    schemas["Qualification"]["description"] = "Verdict on the numeric profile."
    return schemas | {
        "Policy": _policy(_answered(schemas["Policy"])["properties"]),
        "Description": _description(),
        "TrainingLabels": _training_labels(),
        "Policies": _record({"policies": {"type": "array", "items": ref("Policy")}}),
        "PolicyEvent": _event(),
        "PolicyEvents": _record({"events": {"type": "array", "items": ref("PolicyEvent")}}),
        "JobState": _job(),
        "Job": {"allOf": [ref("JobState"), {"type": "object", "properties": {"result": ref("Answer")}}]},
        "JobEvent": _job_event(),
        "Error": _record({"error": ref("ErrorDetail")}),
        "ErrorDetail": _error(),
    }


def _answered(schema: Json) -> Json:
    """Return the schema of a class in answers, with all of its fields required."""
    properties = {
        name: {k: v for k, v in described.items() if k != "default"} for name, described in schema["properties"].items()
    }
    return schema | {"properties": properties, "required": list(properties)}


def _record(properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _description() -> Json:
    return _record(
        {
            "task": _TEXT,
            "model": {"type": "string", "description": "Tag of the artefact that is served."},
            "schema_hash": {"type": ["string", "null"], "description": "Of names, order and units of the features."},
            "max_rows": {"type": "integer", "minimum": 1, "description": "Rows or items of one call."},
            "features": {"type": "array", "items": ref("Feature"), "description": "In the order of packed rows."},
            "metadata": {
                "type": "array",
                "items": _TEXT,
                "description": "Columns that may come along, unread.",
            },
            "trained_lower": _TRAINED,
            "trained_upper": _TRAINED,
            "heads": {"type": "array", "items": ref("Head")},
        }
    )


def _training_labels() -> Json:
    numbers = {"type": "array", "items": {"type": "number"}}
    return _record(
        {
            "column": {"type": "string", "description": "Name of a feature."},
            "values": numbers | {"description": "Its value by row, in its unit."},
            "labels": numbers | {"description": "Label by row, in the unit of the head."},
        }
    )


def _policy(properties: Json) -> Json:
    """Return the schema of a policy in answers."""
    strata = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    return _record(
        properties
        | {
            "version": {"type": "string", "description": "Equal policies have equal versions on every replica."},
            "threshold": NUMBER_OR_NULL
            | {"description": f"Deferred above this. {OF_MEASURE}; null: nothing or everything is, see mode."},
            "knowledge_reference": NUMBER_OR_NULL
            | {"description": "Above this the knowledge measure counts as shifted, in its unit; null: no such test."},
            "mode": properties["mode"] | {"title": "PolicyMode", "type": "string"},
            "target_retention": SHARE,
            "retention_band": {"type": "number", "minimum": 0},
            "calibration_units": COUNT,
            "audit_rate": SHARE | {"description": "Share of answered units whose label is requested."},
            "audit_strata": {
                "type": "array",
                "items": strata,
                "description": "[uncertainty, rate] of units up to each, ascending; above the last it is audit_rate.",
            },
            "audits": AUDITS,
            "certificate": {
                "type": ["object", "null"],
                "additionalProperties": True,
                "description": "What certified the threshold.",
            },
        }
    )


def _event() -> Json:
    """Return the schema of a policy change."""
    return _record(
        {
            "number": {"type": "integer", "minimum": 1},
            "time": {"type": "number", "description": "Seconds since 1970."},
            "author": _TEXT,
            "reason": _TEXT,
            "policy": ref("Policy"),
        }
    )


def _job() -> Json:
    items = COUNT | {"description": "Items finished so far, answered or failed."}
    progress = _record({"fraction": SHARE, "stage": _TEXT, "items": items})
    return {
        "type": "object",
        "required": ["id", "state", "progress"],
        "properties": {
            "id": _TEXT,
            "state": choice("JobStatus", ("running", "done", "failed", "cancelled")),
            "progress": {"title": "JobProgress"} | progress,
            "error": ref("ErrorDetail"),
        },
    }


def _job_event() -> Json:
    """Return the schema of a server-sent event of a job."""
    return _record({"event": ref("JobStatus"), "data": ref("JobState")}) | {
        "description": "A server-sent event of a job, parsed: its name is the state, its data is JSON. The stream ends "
        "with the first event of a job that is no longer running."
    }


def _error() -> Json:
    return {
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            **dict.fromkeys(("code", "message", "field", "value", "unit", "allowed"), _TEXT),
            "index": COUNT | {"description": "Row or item."},
            "retry_after_seconds": {"type": "number", "minimum": 0},
        },
    }

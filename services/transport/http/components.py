"""JSON Schemas of what is the same for all tasks: descriptions, policies, jobs and errors."""

from __future__ import annotations

from typing import Any

import msgspec

from models.head import Head
from models.schema import Feature
from services.policy import Policy
from services.policy_changes import AUDITS, AUTHOR_CHARACTERS, REASON_CHARACTERS
from services.qualification.standing import Model

Json = dict[str, Any]
_TEMPLATE = "#/components/schemas/{name}"
_OF_MEASURE = "In the unit of the head's measure"
_TRAINED: Json = {
    "type": "array",
    "items": {"type": "number"},
    "description": "Where training inputs lay, by feature in its unit; empty where unknown.",
}
_TEXT: Json = {"type": "string"}


def common_schemas() -> Json:
    """Name to schema; Feature, Head and Policy are read off the classes whose values are answered."""
    _, found = msgspec.json.schema_components((Feature, Head, Policy, Model), ref_template=_TEMPLATE)
    schemas: Json = dict(found)
    policy = dict(schemas["Policy"]["properties"])
    policy["version"] = {"type": "string", "description": "Equal policies have equal versions on every replica."}
    policy["threshold"] = {
        "type": ["number", "null"],
        "description": f"Deferred above this. {_OF_MEASURE}; null: nothing or everything is, see mode.",
    }
    policy["knowledge_reference"] = {
        "type": ["number", "null"],
        "description": "Above this the knowledge measure counts as shifted, in its unit; null: no such test.",
    }
    policy["audits"] = {"enum": list(AUDITS), "description": "How labels are drawn among the answered."}
    policy["certificate"] = {"type": ["object", "null"], "description": "What certified the threshold."}
    schemas["Policy"] = {"type": "object", "properties": policy, "required": list(policy)}
    return schemas | {
        "Description": _description(),
        "Policies": {
            "type": "object",
            "required": ["policies"],
            "properties": {"policies": {"type": "array", "items": ref("Policy")}},
        },
        "PolicyChange": _change(),
        "PolicyEvent": _event(),
        "JobState": _job(),
        "Job": {"allOf": [ref("JobState"), {"type": "object", "properties": {"result": ref("Answer")}}]},
        "Error": {"type": "object", "required": ["error"], "properties": {"error": _error()}},
    }


def ref(name: str) -> Json:
    """A reference to a component."""
    return {"$ref": _TEMPLATE.format(name=name)}


def _description() -> Json:
    properties: Json = {
        "task": _TEXT,
        "model": {"type": "string", "description": "Tag of the artefact that is served."},
        "schema_hash": {"type": ["string", "null"], "description": "Of names, order and units of the features."},
        "max_rows": {"type": "integer", "description": "Rows or items of one call."},
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
    return {"type": "object", "properties": properties, "required": list(properties)}


def _change() -> Json:
    """What a PUT of a policy takes."""
    number: Json = {"type": ["number", "null"]}
    flag: Json = {"type": ["boolean", "null"]}
    return {
        "type": "object",
        "additionalProperties": False,
        "description": "What is not given stays as it is. At most one of target_retention, threshold, defer_all.",
        "properties": {
            "expected": _TEXT | {"description": "Version that the change was made for; empty: whatever is in force."},
            "author": _TEXT | {"maxLength": AUTHOR_CHARACTERS},
            "reason": _TEXT | {"maxLength": REASON_CHARACTERS},
            "target_retention": number | {"description": "Share of in-domain units to answer."},
            "threshold": number | {"description": f"{_OF_MEASURE}."},
            "defer_all": {"type": "boolean"},
            "certificate": {"type": ["object", "null"], "description": "As `demur calibrate` writes it."},
            "audit_rate": number | {"description": "Share of answered units whose label is requested, 0 to 1."},
            "audits": {"enum": [*AUDITS, None], "description": "How these are drawn; see strata."},
            "defer_on_shift": flag,
            "withhold": flag,
        },
    }


def _event() -> Json:
    """A change that was made."""
    properties: Json = {
        "number": {"type": "integer", "minimum": 1},
        "time": {"type": "number", "description": "Seconds since 1970."},
        "author": _TEXT,
        "reason": _TEXT,
        "policy": ref("Policy"),
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _job() -> Json:
    return {
        "type": "object",
        "required": ["id", "state", "progress"],
        "properties": {
            "id": _TEXT,
            "state": {"enum": ["running", "done", "failed", "cancelled"]},
            "progress": {
                "type": "object",
                "required": ["fraction", "stage", "items"],
                "properties": {
                    "fraction": {"type": "number", "minimum": 0, "maximum": 1},
                    "stage": _TEXT,
                    "items": {"type": "integer", "description": "Items finished so far, answered or failed."},
                },
            },
            "error": {"$ref": "#/components/schemas/Error/properties/error"},
        },
    }


def _error() -> Json:
    return {
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            **dict.fromkeys(("code", "message", "field", "value", "unit", "allowed"), _TEXT),
            "index": {"type": "integer", "description": "Row or item."},
            "retry_after_seconds": {"type": "number"},
        },
    }

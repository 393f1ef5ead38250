"""Decisions on units in JSON, and their schemas."""

from typing import Any

import msgspec
import numpy as np

from services.ledger.contract import Portion
from services.policy.decision import Decision, Shift
from services.transport.http.components import DECISION, NUMBER_OR_NULL, SHIFT, Json
from services.transport.http.json_text import Choices, numbers, unit_ids

_DECISIONS = {decision.value: decision.name for decision in Decision}
_REASONS = {bits: [reason.name.lower() for reason in Shift if bits & reason] for bits in range(16)}  # type: ignore[union-attr]
"""Names of the bits of a byte of shifts."""
_DECISION_TEXTS = Choices(_DECISIONS.get(value) for value in range(max(_DECISIONS) + 1))
_DEFERRED_TEXTS = Choices(value != Decision.ANSWER for value in range(max(_DECISIONS) + 1))
_SHIFT_TEXTS = Choices(_REASONS.values())
_SHIFT_REASON: Json = {
    "type": "string",
    "description": f"One of {', '.join(SHIFT['enum'])}.",
}
"""Schema as text instead of the component, since Python clients of openapi-generator cannot read lists of lists of an
enumeration.
"""


def decided(portion: Portion, head: str, index: int | None, uncertainty_text: msgspec.Raw | None = None) -> Json:
    """Return the decision on a unit of a portion; with None, on all units, as arrays.

    Args:
        uncertainty_text: text of the uncertainty of all units, if it is already written.
    """
    verdict, ids = portion.verdicts[head], portion.ids[head]
    policy = verdict.policy
    threshold = policy.threshold if np.isfinite(policy.threshold) else None
    if index is None:
        return {
            "measure": policy.measure,
            "uncertainty": numbers(verdict.uncertainty) if uncertainty_text is None else uncertainty_text,
            "threshold": threshold,
            "decision": _DECISION_TEXTS.listed(verdict.decisions),
            "deferred": _DEFERRED_TEXTS.listed(verdict.decisions),
            "shifted": _SHIFT_TEXTS.listed(verdict.shifts),
            "policy": policy.version,
            "prediction_ids": unit_ids(ids),
        }
    decision = int(verdict.decisions[index])
    uncertainty = float(verdict.uncertainty[index])
    return {
        "measure": policy.measure,
        "uncertainty": uncertainty if np.isfinite(uncertainty) else None,
        "threshold": threshold,
        "decision": _DECISIONS[decision],
        "deferred": decision != Decision.ANSWER,
        "shifted": _REASONS[int(verdict.shifts[index])],
        "policy": policy.version,
        "prediction_id": ids.text(index),
    }


def record(properties: Json, **more: Any) -> Json:
    """Return the schema of an object with these required properties."""
    return {"type": "object", "required": list(properties), "properties": properties} | more


def described(description: str, kind: str = "number") -> Json:
    """Return the schema of a value with a description."""
    return {"type": kind, "description": description}


def decided_schema(unit: str) -> Json:
    """Return the schema of the decision on a unit; ``unit`` is its name, such as "scan"."""
    properties = {
        "measure": described("Name of the deferral measure; larger is less certain.", "string"),
        "uncertainty": NUMBER_OR_NULL | {"description": f"Of the {unit}, unit of the measure."},
        "threshold": NUMBER_OR_NULL | {"description": "Deferred above; null: all or nothing, see policy."},
        "decision": DECISION,
        "deferred": {"type": "boolean"},
        "shifted": {"type": "array", "items": SHIFT},
        "policy": described("Version of the policy.", "string"),
        "prediction_id": described("Of the unit, for labels.", "string"),
    }
    return record(properties)


def decided_rows_schema() -> Json:
    """Return the schema of decisions on many units."""
    properties: Json = {
        "measure": {"type": "string", "description": "Name of the deferral measure; larger is less certain."},
        "uncertainty": {
            "type": "array",
            "items": {"type": ["number", "null"]},
            "description": "The deferral measure, in its unit; null: not a number, or infinite where the prediction is "
            "impossible. Both defer.",
        },
        "threshold": {
            "type": ["number", "null"],
            "description": "Deferred above this, in the unit of the measure; null: everything is deferred.",
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
    return record(properties)

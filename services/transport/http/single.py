"""Units that are answered one by one in JSON: how each was decided, what is remarkable about it, and the schemas."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.input_warning import Remark
from services.ledger.contract import Portion
from services.policy.decision import Decision, Shift
from services.transport.http.components import DECISION, NUMBER_OR_NULL, SHIFT, Json


def decided(portion: Portion, head: str, index: int = 0) -> Json:
    """How one unit of a portion was decided."""
    verdict, ids = portion.verdicts[head], portion.ids[head]
    policy = verdict.policy
    decision = Decision(int(verdict.decisions[index]))
    uncertainty = float(verdict.uncertainty[index])
    return {
        "measure": policy.measure,
        "uncertainty": uncertainty if np.isfinite(uncertainty) else None,
        "threshold": policy.threshold if np.isfinite(policy.threshold) else None,
        "decision": decision.name,
        "deferred": decision is not Decision.ANSWER,
        "shifted": [reason.name.lower() for reason in Shift if int(verdict.shifts[index]) & reason],  # type: ignore[union-attr]
        "policy": policy.version,
        "prediction_id": ids.text(index),
    }


def remarked(remark: Remark) -> Json:
    """A remark in plain values, for both protocols."""
    return {name: getattr(remark, name) for name in ("code", "message", "value", "unit", "lower", "upper")}


def record(properties: Json, **more: Any) -> Json:
    """An object that has all of these."""
    return {"type": "object", "required": list(properties), "properties": properties} | more


def told(description: str, kind: str = "number") -> Json:
    """A value in words."""
    return {"type": kind, "description": description}


def decided_schema(unit: str) -> Json:
    """Properties of ``decided``; ``unit`` is what one is, such as a scan."""
    return {
        "measure": told("What is compared with the threshold.", "string"),
        "uncertainty": NUMBER_OR_NULL | {"description": f"Of the {unit}, unit of the measure."},
        "threshold": NUMBER_OR_NULL | {"description": "Deferred above; null: all or nothing, see policy."},
        "decision": DECISION,
        "deferred": {"type": "boolean"},
        "shifted": {"type": "array", "items": SHIFT},
        "policy": told("Version of the policy.", "string"),
        "prediction_id": told("Of the unit, for labels.", "string"),
    }


def remark_schema(codes: str) -> Json:
    """Of ``remarked``; ``codes`` are some."""
    return record(
        {
            "code": told(f"{codes}, ...", "string"),
            "message": told("For people.", "string"),
            "value": told("In `unit`."),
            "unit": told("Of the three numbers.", "string"),
            "lower": NUMBER_OR_NULL | {"description": "Training inputs lay above; null: no limit."},
            "upper": NUMBER_OR_NULL | {"description": "Training inputs lay below; null: no limit."},
        },
        title="Remark",
    )

"""What is said of a judged window, as one document: the fields that programs read, in a fixed order."""

from __future__ import annotations

import math
from typing import Any

from models.estimation.intervals import Estimate
from models.estimation.judge import Asked, Judged

_FIGURES = ("r_auc", "f1_auc", "f1_at_95", "error")
_FURTHER = ("answered_error", "mean_error", "system_error")
_REFERENCES = ("r_auc_random", "r_auc_optimal", "prr", "f1_auc_random", "f1_auc_optimal", "retention")


def document(judged: Judged, asked: Asked) -> dict[str, Any]:
    """Figures with their intervals, whether they are valid and why not; None for what does not exist."""
    figures, found = judged.figures, judged.gates

    def interval(name: str) -> dict[str, float | None] | None:
        if name.startswith("f1") and asked.acceptable is None:
            return None
        one = Estimate(*[math.nan] * 4) if figures is None else getattr(figures, name)
        return {"estimate": number(one.estimate), "low": number(one.low), "high": number(one.high)}

    delayed = judged.delayed
    law = delayed.law
    return {
        **{name: interval(name) for name in _FIGURES},
        "valid": found.valid,
        "reasons": found.texts,
        "ess": found.ess,
        "n": 0 if figures is None else figures.n,
        "labels": judged.labels,
        **{name: interval(name) for name in _FURTHER},
        **{name: None if figures is None else number(getattr(figures, name)) for name in _REFERENCES},
        "sampled": 0 if judged.view is None else int(judged.view.sampled),
        "heaviest_share": found.heaviest,
        "estimator": asked.estimator,
        "mode": asked.mode,
        "convention": asked.rules.convention.name,
        "acceptable": asked.acceptable,
        "delay": {
            "corrected": law is not None,
            "settled": law is None or law.settled,
            "mature": int(delayed.mature.sum()),
            "early": delayed.early,
            "youngest_seconds": None if law is None else number(law.youngest),
        },
        **_what_if(judged),
    }


def number(value: float) -> float | None:
    """A number, or None for what JSON has no word for."""
    return float(value) if math.isfinite(value) else None


def _what_if(judged: Judged) -> dict[str, Any]:
    other = judged.what_if
    if other is None:
        return {}
    bands = {"error": other.error, "answered_error": other.answered_error, "f1": other.f1}
    return {
        "what_if": [
            {
                "threshold": number(other.threshold[place]),
                "retention": float(other.retention[place]),
                **{
                    name: None
                    if band is None
                    else {key: number(getattr(band, key)[place]) for key in ("estimate", "low", "high")}
                    for name, band in bands.items()
                },
            }
            for place in range(len(other.threshold))
        ]
    }

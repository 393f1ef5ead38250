"""What is published, as JSON; what does not exist is null."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from models.estimation.intervals import Band, Estimate
from services.monitor.judge import Asked
from services.monitor.judgement import FIGURES, Curve, Judgement
from services.monitor.published import Distribution, Published, StreamState

Json = dict[str, Any]


def document(known: Published, now: float) -> Json:
    """All windows, and what they are made of.

    Args:
        now: seconds since 1970.
    """
    return {
        "time": known.time,
        "windows": [_window(one) for one in known.judgements],
        "streams": [_stream(one, now) for one in known.streams],
        "policies": [
            {
                "task": task,
                "head": head,
                "version": policy.version,
                "measure": policy.measure,
                "mode": policy.mode,
                "threshold": _number(policy.threshold),
                "target_retention": policy.target_retention,
            }
            for (task, head), policy in known.policies.items()
        ],
        "labels": [
            {"task": task, "source": source, "verdict": verdict, "count": count}
            for (task, source, verdict), count in sorted(known.labels.items())
        ],
        "ledgers": [
            {
                "url": one.url,
                "complete_until": one.complete_until,
                "last_success": one.last_success,
                "problem": one.problem,
                "caught_up": one.caught_up,
            }
            for one in known.ledgers
        ],
        "errors": dict(known.errors),
    }


def what_if_document(asked: Asked) -> Json:
    """What other thresholds would have meant."""
    one, found = asked.judgement, asked.found
    rows = []
    for place, threshold in enumerate(found.threshold):
        rows.append(
            {
                "threshold": _number(float(threshold)),
                "retention": _number(float(found.retention[place])),
                "error": _at(found.error, place),
                "answered_error": _at(found.answered_error, place),
                "f1": None if found.f1 is None else _at(found.f1, place),
            }
        )
    return {**_name(one), "valid": one.valid, "reasons": _reasons(one), "units": one.judged, "what_if": rows}


def _window(one: Judgement) -> Json:
    return {
        **_name(one),
        "mode": one.mode,
        "estimator": one.estimator,
        "valid": one.valid,
        "reasons": _reasons(one),
        **{name: _estimate(one.figures.get(name)) for name in FIGURES},
        **{name: _number(value) for name, value in one.references.items()},
        "units": one.units,
        "answered": one.answered,
        "judged": one.judged,
        "labels": one.labels,
        "abstain_ratio": _number(one.abstained),
        "mature_ratio": _number(one.mature),
        "effective_samples": _number(one.effective_samples),
        "completion_ratio": _number(one.completion),
        "baseline": None if one.baseline is None else one.baseline._asdict(),
        "drift": {
            "psi": _number(one.drift.psi),
            "psi_expected": _number(one.drift.psi_expected),
            "log_wealth": _number(one.drift.log_wealth),
            "alarm": one.drift.alarm,
        },
        "risk": {"log_wealth": one.risk.log_wealth, "alarm": one.risk.alarm, "baseline": one.risk.baseline},
        "error_curve": None if one.error_curve is None else _curve(one.error_curve),
        "f1_curve": None if one.f1_curve is None else _curve(one.f1_curve),
    }


def _name(one: Judgement) -> Json:
    return {
        "task": one.key.task,
        "head": one.key.head,
        "model": one.key.model,
        "window": one.window,
        "source": one.source,
        "start": one.start,
        "end": one.end,
    }


def _reasons(one: Judgement) -> list[Json]:
    return [{"reason": word, "text": text} for word, text in one.reasons]


def _stream(one: StreamState, now: float) -> Json:
    head = one.head
    return {
        "task": one.key.task,
        "head": one.key.head,
        "model": one.key.model,
        "unit": head.unit,
        "measure": one.measure,
        "error": head.error,
        "error_unit": head.error_unit,
        "acceptable": head.acceptable,
        "requests": dict(one.requests),
        "oldest_request_age_seconds": None if one.oldest_request is None else max(0.0, now - one.oldest_request),
        "label_delay_seconds": {source: _distribution(found) for source, found in one.delays.items()},
        "explored": dict(one.explored),
        "explored_psi": {purpose: _number(found.psi) for purpose, found in one.explored_shifts.items()},
    }


def _distribution(found: Distribution) -> Json:
    bounds = [*map(float, found.bounds), None]
    return {"upper": bounds, "count": found.counts, "sum": found.sum}


def _curve(curve: Curve) -> Json:
    band = curve.band
    return {
        "retention": _numbers(band.retention),
        "live": _numbers(band.estimate),
        "low": _numbers(band.low),
        "high": _numbers(band.high),
        "random": _numbers(curve.random),
        "optimal": _numbers(curve.optimal),
    }


def _estimate(found: Estimate | None) -> Json | None:
    if found is None:
        return None
    return {"estimate": _number(found.estimate), "low": _number(found.low), "high": _number(found.high)}


def _at(band: Band, place: int) -> Json:
    return {
        "estimate": _number(float(band.estimate[place])),
        "low": _number(float(band.low[place])),
        "high": _number(float(band.high[place])),
    }


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [_number(float(value)) for value in values]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

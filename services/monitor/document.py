"""JSON documents of the monitor; missing values are null."""

from dataclasses import asdict
from typing import Any

from models.estimation.estimate_window import what_if_rows
from models.estimation.figures import WhatIf
from models.evaluation.evaluate import plain
from models.live.stream import Histogram
from models.live.window_evaluator import WindowResult
from models.live.window_figures import FIGURES, Curve
from services.monitor.reviewer_document import backlogs, queue_document, reviewers_document
from services.monitor.snapshot import Snapshot, StreamState

Json = dict[str, Any]
_ENDS = ("estimate", "low", "high")


def document(snapshot: Snapshot, now: float) -> Json:
    """Return all windows, streams, policies, labels, ledgers and errors.

    Args:
        now: seconds since 1970.
    """
    return plain(
        {
            "time": snapshot.time,
            "windows": [_window(window) for window in snapshot.windows],
            "streams": [_stream(stream, now) for stream in snapshot.streams],
            "reviewers": [reviewers_document(own) for own in snapshot.reviewers],
            "queues": [queue_document(key, backlog) for key, backlog in backlogs(snapshot.streams).items()],
            "policies": [
                {"task": task, "head": head, **asdict(policy)} for (task, head), policy in snapshot.policies.items()
            ],
            "labels": [
                {"task": task, "source": source, "verdict": verdict, "count": count}
                for (task, source, verdict), count in sorted(snapshot.labels.items())
            ],
            "ledgers": [asdict(ledger) for ledger in snapshot.ledgers],
            "errors": snapshot.errors,
        }
    )


def what_if_document(window: WindowResult, what_if: WhatIf) -> Json:
    """Return a window's figures at other thresholds."""
    head = {"valid": window.valid, "reasons": _reasons(window), "units": window.judged}
    return {**_name(window), **head, "what_if": what_if_rows(what_if)}


def _window(window: WindowResult) -> Json:
    figures = window.figures
    return {
        **_name(window),
        "mode": window.mode,
        "estimator": window.estimator,
        "valid": window.valid,
        "reasons": _reasons(window),
        **{name: {end: getattr(figures[name], end) for end in _ENDS} if name in figures else None for name in FIGURES},
        **window.references,
        "human_error": None if window.human_error is None else window.human_error.mean,
        "units": window.units,
        "answered": window.answered,
        "judged": window.judged,
        "labels": window.labels,
        "abstain_ratio": window.abstained,
        "mature_ratio": window.mature,
        "effective_samples": window.effective_samples,
        "completion_ratio": window.completion,
        "baseline": None if window.baseline is None else window.baseline._asdict(),
        "drift": asdict(window.drift),
        "risk": asdict(window.risk),
        "error_curve": None if window.error_curve is None else _curve(window.error_curve),
        "f1_curve": None if window.f1_curve is None else _curve(window.f1_curve),
    }


def _name(window: WindowResult) -> Json:
    return window.key._asdict() | {name: getattr(window, name) for name in ("window", "source", "start", "end")}


def _reasons(window: WindowResult) -> list[Json]:
    return [{"reason": word, "text": text} for word, text in window.reasons]


def _stream(stream: StreamState, now: float) -> Json:
    head = stream.head
    return {
        **stream.key._asdict(),
        "unit": head.unit,
        "measure": stream.measure,
        "error": head.error,
        "error_unit": head.error_unit,
        "acceptable": head.acceptable,
        "requests": dict(stream.requests),
        "oldest_request_age_seconds": None if stream.oldest_request is None else max(0.0, now - stream.oldest_request),
        "label_delay_seconds": {source: _histogram(delays) for source, delays in stream.delays.items()},
        "explored": dict(stream.explored),
        "explored_psi": {purpose: shift.psi for purpose, shift in stream.explored_shifts.items()},
    }


def _histogram(histogram: Histogram) -> Json:
    return {"upper": [*map(float, histogram.bounds), None], "count": histogram.counts, "sum": histogram.sum}


def _curve(curve: Curve) -> Json:
    band = curve.band
    return {
        "retention": band.retention.tolist(),
        "live": band.estimate.tolist(),
        "low": band.low.tolist(),
        "high": band.high.tolist(),
        "random": curve.random.tolist(),
        "optimal": curve.optimal.tolist(),
    }

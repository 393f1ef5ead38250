"""JSON of reviewers: errors, agreement, pace, and the forecast of the queue; missing values are null."""

from collections.abc import Mapping, Sequence
from typing import Any

from models.agreement.bounds import Bounds
from models.agreement.pairs import Agreement
from models.agreement.throughput import SECONDS_PER_HOUR, Backlog, Throughput, forecast
from models.evaluation.evaluate import plain
from models.live.reviewer_figures import PACE_SECONDS, ReviewerFigures
from models.live.reviewers import HeadKey
from services.monitor.snapshot import Snapshot, StreamState

Json = dict[str, Any]
_OPEN = ("requested", "claimed")


def backlogs(streams: Sequence[StreamState]) -> dict[HeadKey, Backlog]:
    """Return the forecast of each head's queue in a day, at the pace of the last day; none for less than an hour."""
    by_head: dict[HeadKey, list[StreamState]] = {}
    for stream in streams:
        if stream.flow.seconds >= SECONDS_PER_HOUR:
            by_head.setdefault((stream.key.task, stream.key.head), []).append(stream)
    return {
        key: forecast(
            sum(stream.requests.get(state, 0) for stream in own for state in _OPEN),
            sum(stream.flow.arrived for stream in own) / span,
            sum(stream.flow.labelled for stream in own) / span,
            span_seconds=span,
            horizon_seconds=PACE_SECONDS,
        )
        for key, own in by_head.items()
        for span in [max(stream.flow.seconds for stream in own)]
    }


def reviewers_document(figures: ReviewerFigures) -> Json:
    """Return the figures of the reviewers of a head, without their names."""
    (task, head), human = figures.reviewed.key, figures.human_error
    return {
        "task": task,
        "head": head,
        "second_opinions": figures.second_opinions,
        "known_units": figures.known_units,
        "human_error": None if human is None else _bounds(human),
        "error_unit": figures.reviewed.error_unit,
        "difference_unit": figures.reviewed.difference_unit,
        "method": None if human is None else human.method,
        "agreement": _agreement(figures.agreement.overall),
        "pace": _pace(figures.pace),
    }


def queue_document(key: HeadKey, backlog: Backlog) -> Json:
    """Return the forecast of a queue."""
    return {
        "task": key[0],
        "head": key[1],
        "waiting_tomorrow": _bounds(backlog.waiting),
        "hours_to_empty": _bounds(backlog.seconds_to_empty.scaled(1 / SECONDS_PER_HOUR)),
    }


def named_document(snapshot: Snapshot) -> Json:
    """Return the figures of all heads by reviewer and by pair of reviewers, by name, for operators."""
    queues = [queue_document(key, backlog) for key, backlog in sorted(backlogs(snapshot.streams).items())]
    heads = [
        reviewers_document(own)
        | {
            "reviewers": [
                {"name": name, "pace": _pace(pace), "agreement": _agreement(own.agreement.by_reviewer.get(name, {}))}
                for name, pace in own.pace_by_reviewer.items()
            ],
            "pairs": [
                {"names": list(names), "agreement": _agreement(measures)}
                for names, measures in own.agreement.by_pair.items()
            ],
        }
        for own in snapshot.reviewers
    ]
    return plain({"time": snapshot.time, "heads": heads, "queues": queues})


def _agreement(measures: Mapping[str, Agreement]) -> Json:
    return {
        name: _bounds(own) | {"pairs": own.pairs, "units": own.units, "reviewers": own.reviewers}
        for name, own in measures.items()
    }


def _pace(pace: Throughput) -> Json:
    low, median, high = pace.seconds
    return {
        "labels": pace.labels,
        "labels_per_hour": _bounds(pace.per_hour),
        "seconds": {"p10": low, "median": median, "p90": high},
    }


def _bounds(bounds: Bounds) -> Json:
    return {"estimate": bounds.mean, "low": bounds.lower, "high": bounds.upper}

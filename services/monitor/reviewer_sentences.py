"""Sentences about the reviewers of a head, for the page: their error, agreement and pace, and their queue."""

import math
from dataclasses import astuple

from models.agreement.bounds import Bounds
from models.agreement.throughput import SECONDS_PER_HOUR
from models.live.reviewer_figures import ReviewerFigures
from services.monitor.reviewer_document import backlogs
from services.monitor.snapshot import Snapshot, StreamState
from services.report.number_format import count, numeral, with_unit

_MEASURES = {"kappa": "Cohen's kappa", "alpha": "Krippendorff's alpha", "icc": "intraclass correlation"}


def sentences(snapshot: Snapshot, stream: StreamState) -> list[str]:
    """Return what is known of the reviewers of a stream's head."""
    place, unit = (stream.key.task, stream.key.head), stream.head.error_unit
    own = next((own for own in snapshot.reviewers if own.reviewed.key == place), None)
    return [*_error(own, unit), *([] if own is None else [*_agreement(own), *_pace(own)]), *_queue(snapshot, place)]


def _error(own: ReviewerFigures | None, unit: str) -> list[str]:
    if own is not None and own.reviewed.relation is None:
        return ["Differences of these labels show nothing of the error of reviewers, who are taken to be right."]
    if own is None or own.human_error is None:
        return ["Reviewers are taken to be right in the error of the system: there are no second opinions."]
    human = own.human_error
    lines = [
        f"Mean error of a reviewer's label: {with_unit(human.mean, unit)} ({_ends(human, unit)}), from "
        f"{count(own.second_opinions)} second opinions and {count(own.known_units)} labels of known units. "
        "It is included in the error of the system."
    ]
    if human.method == "contradiction":
        lines.append(
            "Known units show another error than second opinions, so reviewers share a bias; only known units are used."
        )
    return lines


def _agreement(own: ReviewerFigures) -> list[str]:
    overall = own.agreement.overall
    known = [(text, overall[name]) for name, text in _MEASURES.items() if name in overall]
    parts = [f"{text} {numeral(bounds.mean)} ({_ends(bounds)})" for text, bounds in known]
    return [f"Agreement of second opinions: {', '.join(parts)}."] if parts else []


def _pace(own: ReviewerFigures) -> list[str]:
    median = own.pace.median_seconds
    if math.isnan(median):
        return []
    return [f"{count(own.pace.labels)} labels in the last day, half of them in at most {with_unit(median, 's')} each."]


def _queue(snapshot: Snapshot, place: tuple[str, str]) -> list[str]:
    backlog = backlogs(snapshot.streams).get(place)
    if backlog is None:
        return []
    hours = backlog.seconds_to_empty.mean / SECONDS_PER_HOUR
    waiting, least, most = (count(round(end)) for end in astuple(backlog.waiting))
    pace = f"is empty in {with_unit(hours, 'h')}" if math.isfinite(hours) else "does not shrink"
    pace = pace if hours else "is empty now"
    return [f"At the pace of the last day the queue {pace}; {waiting} requests wait tomorrow ({least} to {most})."]


def _ends(bounds: Bounds, unit: str = "") -> str:
    return f"{numeral(bounds.lower, unit)} to {numeral(bounds.upper, unit)}"

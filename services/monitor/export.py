"""Decided units and labels of ledgers as columns, in the form that ``demur monitor replay`` reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.opinions import COLUMNS as OPINION_COLUMNS
from models.head import Head
from models.live.label_requests import RequestedUnits
from models.live.reviewer_figures import ReviewedHead
from models.live.reviewers import HeadKey, Opinion
from models.live.stream import StreamProfile, read_profile
from models.live.units import CENSUS, Columns, Labels, StreamKey, Units, no_units
from services.ledger.deployments import head_of
from services.monitor.follow import Follower
from services.policy.decision import Decision

Table = dict[str, NDArray[Any]]
_WORDS = np.array([decision.name.lower() for decision in Decision])
_EVENTS = (
    *("event_id", "time", "uncertainty", "decision", "propensity"),
    *("requested", "expected", "task", "head", "model"),
)
_OPINIONS = (*OPINION_COLUMNS, "task", "head")
_LABELS = ("event_id", "time", "error", "source")


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Selection of streams and decisions; empty names and open ends select all."""

    task: str = ""
    head: str = ""
    start: float = -np.inf
    """First decision time, seconds since 1970."""
    end: float = np.inf
    """End of the decision times (exclusive), seconds since 1970."""
    source: str = "requested"

    def takes(self, key: StreamKey) -> bool:
        """Return whether a stream is selected."""
        return self.task in ("", key.task) and self.head in ("", key.head)

    def rows(self, units: Units) -> NDArray[np.bool_]:
        """Return which units [n] were decided in the selected time."""
        return (units.time >= self.start) & (units.time < self.end)


@dataclass(frozen=True, slots=True)
class Exported:
    """Tables for ``demur monitor replay``, each as columns by name."""

    events: Table
    """Decided units in the order of time."""
    labels: Table
    opinions: Table
    """Second opinions and labels of known units, in the order of time."""


def export(
    followers: list[Follower], selected: ExportFilter, progress: Callable[[str], None] = lambda text: None
) -> Exported:
    """Return the tables of all ledgers.

    Raises:
        sqlalchemy.exc.SQLAlchemyError, OSError: a ledger cannot be read.
    """
    profiles: dict[StreamKey, StreamProfile] = {}
    units: dict[StreamKey, list[Units]] = {}
    requests: dict[StreamKey, list[RequestedUnits]] = {}
    labels: dict[StreamKey, list[Labels]] = {}
    opinions: dict[HeadKey, dict[str, Opinion]] = {}
    for follower in followers:
        behind = True
        while behind:
            news = follower.read(selected.start)
            behind = any(writer.behind for writer in news.writers)
            for deployment in news.deployments:
                if (key := deployment.key) not in profiles:
                    profiles[key] = read_profile(key, head_of(deployment.document), deployment.document)
            for key, parts in news.units.items():
                units.setdefault(key, []).extend(parts)
            for key, requested in news.requests.items():
                requests.setdefault(key, []).extend(requested)
            for changes in news.labels:
                for (key, source), added in changes.added.items():
                    if source == selected.source:
                        labels.setdefault(key, []).append(added)
            for place, read in news.opinions.items():
                opinions.setdefault(place, {}).update((own.request, own) for own in read)
            progress(f"{sum(len(part) for parts in units.values() for part in parts)} units")
    kept = [key for key in units if selected.takes(key)]
    events = [_event_table(key, profiles.get(key), units[key], requests.get(key, []), selected) for key in kept]
    label_tables = [_label_table(labels[key], selected) for key in kept if key in labels]
    heads = {(key.task, key.head): profile.head for key, profile in profiles.items() if selected.takes(key)}
    opinion_tables = [
        _opinion_table(place, heads[place], [*own.values()], selected)
        for place, own in opinions.items()
        if place in heads
    ]
    return Exported(
        events=_joined(events, _EVENTS, "time"),
        labels=_joined(label_tables, _LABELS, None),
        opinions=_joined(opinion_tables, _OPINIONS, "time"),
    )


def _event_table(
    key: StreamKey,
    profile: StreamProfile | None,
    parts: list[Units],
    requests: list[RequestedUnits],
    selected: ExportFilter,
) -> Table:
    units = Units.join(parts)
    units = units.take(selected.rows(units))
    units = units.take(units.order)
    counted = _among(units, [part.take(part.census) for part in requests if selected.source == CENSUS])
    requested = counted | _among(units, [part.take(part.has_request) for part in requests])
    expected = None if profile is None or profile.expected is None else profile.expected(units.uncertainty)
    return {
        "event_id": _ids(units),
        "time": units.time,
        "uncertainty": units.uncertainty.astype(np.float64),
        "decision": _WORDS[units.decision - 1],
        "propensity": np.where(counted, 1.0, units.propensity),
        "requested": requested.astype(np.int64),
        "expected": np.full(len(units), np.nan) if expected is None else expected,
        **{name: np.full(len(units), value) for name, value in key._asdict().items()},
    }


def _opinion_table(place: HeadKey, head: Head, opinions: list[Opinion], selected: ExportFilter) -> Table:
    reviewed = ReviewedHead.of(place, head)
    rows = [own for own in opinions if selected.start <= own.received < selected.end]
    n, limit = len(rows), reviewed.largest
    return {
        "event_id": np.array([own.unit_id for own in rows], object),
        "time": np.array([own.received for own in rows], np.float64),
        "kind": np.array(["known" if own.known else "second" for own in rows], object),
        "difference": np.array([own.difference for own in rows], np.float64),
        "reviewer": np.array([own.reviewer for own in rows], object),
        "other": np.array([own.other for own in rows], object),
        "relation": np.full(n, reviewed.relation or "", object),
        "classes": np.full(n, np.nan if reviewed.classes is None else reviewed.classes),
        "largest": np.full(n, limit if np.isfinite(limit) else np.nan),
        "task": np.full(n, place[0], object),
        "head": np.full(n, place[1], object),
    }


def _among(units: Units, parts: Sequence[Units]) -> NDArray[np.bool_]:
    """Return which of the units [n] are among the parts."""
    return np.isin(units.words, Units.join([no_units(), *parts]).words)


def _label_table(parts: list[Labels], selected: ExportFilter) -> Table:
    labels = Labels.join(parts)
    words = labels.words
    # of several labels of a unit, the last one read counts
    _, last = np.unique(words[::-1], return_index=True)
    labels = labels.take(np.sort(len(words) - 1 - last))
    labels = labels.take(selected.rows(labels))
    return {
        "event_id": _ids(labels),
        "time": labels.received,
        "error": labels.error,
        "source": np.full(len(labels), selected.source),
    }


def _ids(units: Columns) -> NDArray[Any]:
    """Return unit ids as ``services.ledger.unit_ids.UnitIds.text`` writes them [n]."""
    pairs = zip(units.epoch.tolist(), units.sequence.tolist(), strict=True)
    return np.array([f"{epoch:016x}-{sequence}" for epoch, sequence in pairs], object)


def _joined(tables: list[Table], columns: tuple[str, ...], order: str | None) -> Table:
    if not tables:
        return {name: np.empty(0) for name in columns}
    whole = {name: np.concatenate([table[name] for table in tables]) for name in columns}
    if "expected" in whole and np.isnan(whole["expected"]).all():
        del whole["expected"]
    if order is None or len(tables) == 1:
        return whole
    rank = np.argsort(whole[order], kind="stable")
    return {name: values[rank] for name, values in whole.items()}

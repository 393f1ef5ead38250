"""State of one stream, a head of an artefact, and its changes by new units, requests and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from models.assessment.figures import Rules
from models.calibration import REFERENCE_LEVELS, Calibration, ExpectedError
from models.drift.bins import Reference, of_quantiles
from models.estimation.edges import Edges
from models.head import Head
from models.live.drift import ExploredScores, RiskDrift, ScoreDrift
from models.live.label_requests import LabelRequests, RequestedUnits, RequestState, StateChanges
from models.live.time_buckets import BucketLayout, TimeBuckets
from models.live.units import BLIND, CENSUS, Labels, RecentUnits, StreamKey, Units, no_units
from models.tasks.rules import rules

SOURCES = ("requested", BLIND, CENSUS)
"""Sources of labels that are used in figures. Volunteered labels are only counted: their probability is unknown."""
DELAY_SECONDS = (1, 10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400)
"""Upper bounds of the histogram of label delays."""


@dataclass
class Histogram:
    """Counts by upper bound, and the sum of the values."""

    bounds: tuple[float, ...]
    counts: list[int]
    """Count up to each bound, and above the last [bounds + 1]."""
    sum: float = 0.0

    @classmethod
    def empty(cls, bounds: tuple[float, ...]) -> Histogram:
        """Return a histogram without values."""
        return cls(bounds, [0] * (len(bounds) + 1))

    def copy(self) -> Histogram:
        """Return a copy that is independent of this histogram."""
        return Histogram(self.bounds, list(self.counts), self.sum)


@dataclass(frozen=True)
class StreamProfile:
    """Properties of a stream that its deployment declares."""

    key: StreamKey
    head: Head
    rules: Rules
    measure: str
    expected: ExpectedError | None
    """Expected error of a unit by its uncertainty."""
    reference: Reference | None
    """In-domain uncertainty."""
    reference_values: tuple[float, ...]
    """Quantiles of the in-domain uncertainty, by which ledgers count explored units."""
    edges: Edges
    baseline: tuple[float, float] | None
    """Interval of R-AUC on in-domain data, if the deployment has one."""

    @property
    def layout(self) -> BucketLayout:
        """Bins in which the stream is counted."""
        bins = None if self.reference is None else self.reference.bins
        return BucketLayout(self.edges, self.head.acceptable, self.rules.convention.strict_limit, bins)


def read_profile(key: StreamKey, head: Head, document: Mapping[str, Any]) -> StreamProfile:
    """Read a deployment's document.

    Raises:
        msgspec.ValidationError, ValueError: its calibration cannot be read.
    """
    policy, quality = document.get("policy"), document.get("quality")
    measure = policy.get("measure") if isinstance(policy, Mapping) else None
    measure = str(measure or head.own_measure(int(document.get("members", 2)) > 1))
    values, reference, expected = None, None, None
    if document.get("calibration") is not None:
        calibration = msgspec.convert(document["calibration"], Calibration)
        values, expected = calibration.reference.get(measure), calibration.expected_error
        if values is not None:
            reference = of_quantiles(values, REFERENCE_LEVELS, calibration.retention.units)
        if expected is not None and expected.measure != measure:
            expected = None
    baseline = None
    if isinstance(quality, Mapping) and isinstance(r_auc := quality.get("r_auc"), Mapping):
        baseline = float(r_auc["low"]), float(r_auc["high"])
    edges = _edges(values)
    return StreamProfile(key, head, rules(key.task), measure, expected, reference, values or (), edges, baseline)


class Stream:
    """State of one stream; the same changes in any order give the same state."""

    def __init__(self, profile: StreamProfile, exact_units: int, request_units: int, now: float) -> None:
        """
        Args:
            exact_units: number of newest units that are held individually.
            request_units: number of newest units with a request, or under a census, that are held individually.
            now: seconds since 1970.
        """
        self.profile = profile
        self.recent = RecentUnits(exact_units)
        self.requests = LabelRequests(request_units, SOURCES)
        self.buckets = TimeBuckets(profile.layout)
        self.buckets.advance(now)
        self.scores = None if profile.reference is None else ScoreDrift(profile.key, profile.reference)
        head, expected = profile.head, profile.expected
        bound = None if expected is None else 10 * max(expected.values)
        self.risks = {source: RiskDrift(head.acceptable, bound) for source in SOURCES}
        self.delays = {source: Histogram.empty(DELAY_SECONDS) for source in SOURCES}
        self.explored = ExploredScores(profile.reference, profile.reference_values)
        self._units: list[Units] = []
        self._requested: list[Units] = []
        self._covered: list[Units] = []
        self.changes = 0
        """Number that grows with every change that a window may depend on."""

    def advance(self, now: float, since: float, until: float) -> None:
        """Count the units decided before ``until``, and drop those decided before ``since``.

        The other units wait: in the last second, deferred units become known before answered ones.

        Args:
            now: seconds since 1970.
            since: earliest decision time that is kept, seconds since 1970.
            until: time up to which the ledgers are complete, seconds since 1970.
        """
        self.buckets.advance(now)
        self.requests.forget(since)
        units, self._units = _ready(self._units, until)
        requests, self._requested = _ready(self._requested, until)
        self.buckets.add_requests(requests)
        covered, self._covered = _ready(self._covered, until)
        self.buckets.add_census(covered)
        if not len(units):
            return
        self.recent.add(units)
        self.buckets.add_units(units)
        if self.scores is not None:
            self.scores.add(units)
        self.changes += 1

    def add_units(self, units: Units) -> None:
        """Add decided units, each once; ``advance`` counts them."""
        if len(units):
            self._units.append(units)

    def add_requests(self, requested: RequestedUnits) -> None:
        """Add units with a label request, or under a census."""
        self.requests.add(requested)
        self._requested.append(requested.take(requested.has_request))
        if requested.census.any():
            self._covered.append(requested.take(requested.census))
        self.changes += 1

    def advance_requests(self, changes: StateChanges) -> None:
        """Apply changes of requests."""
        self.requests.advance(changes)
        self.changes += 1

    def relabel(self, source: str, removed: Labels | None, added: Labels | None) -> None:
        """Remove errors that no longer count, and add those that replace them or count for the first time."""
        first = added
        if removed is not None:
            self.buckets.remove_labels(source, removed)
            self.requests.unlabel(source, removed)
            self._delay(source, removed, -1)
        if added is not None:
            self.buckets.add_labels(source, added)
            self.requests.label(source, added)
            self._delay(source, added, 1)
            if removed is not None:
                known = set(zip(removed.epoch.tolist(), removed.sequence.tolist(), strict=True))
                named = zip(added.epoch.tolist(), added.sequence.tolist(), strict=True)
                first = added.take(np.array([unit not in known for unit in named], bool))
        if first is not None and len(first):
            self.risks[source].add(first)
        self.changes += 1

    @property
    def sources(self) -> tuple[str, ...]:
        """Sources whose labels are evaluated: requested ones, and others of which there are any."""
        return tuple(source for source in SOURCES if source == "requested" or any(self.delays[source].counts))

    def request_counts(self) -> dict[str, int]:
        """Return the number of requests in each state, by its lower-case name."""
        counts = np.bincount(self.requests.units.state, minlength=len(RequestState)).tolist()
        return {state.name.lower(): counts[state] for state in RequestState if state != RequestState.UNASKED}

    def oldest_request(self) -> float | None:
        """Return the decision time of the oldest open request; None without one."""
        units = self.requests.units
        return float(units.time[units.open].min()) if units.open.any() else None

    def _delay(self, source: str, labels: Labels, sign: int) -> None:
        seconds = np.maximum(labels.received - labels.time, 0.0)
        histogram = self.delays[source]
        counts = np.bincount(np.searchsorted(DELAY_SECONDS, seconds), minlength=len(DELAY_SECONDS) + 1).tolist()
        histogram.counts = [held + sign * count for held, count in zip(histogram.counts, counts, strict=True)]
        histogram.sum += sign * float(seconds.sum())


def _ready(waiting: list[Units], until: float) -> tuple[Units, list[Units]]:
    """Return the units decided before ``until``, in their order, and those that still wait."""
    if not waiting:
        return no_units(), []
    units = Units.join(waiting).sorted()
    ready = int(np.searchsorted(units.time, until))
    return units.take(slice(None, ready)), [units.take(slice(ready, None))] if ready < len(units) else []


def _edges(values: tuple[float, ...] | None) -> Edges:
    """Return bins from the artefact's quantiles, equal in all monitors; without quantiles, about 12 per decade."""
    if values is None:
        steps = 10.0 ** np.linspace(-9, 12, 250)
        return Edges(np.concatenate([-steps[::-1], [0.0], steps]).astype(np.float32))
    levels = np.linspace(0, len(values) - 1, 8 * (len(values) - 1) + 1)
    return Edges.of(np.interp(levels, np.arange(len(values)), values).astype(np.float32))

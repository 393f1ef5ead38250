"""One stream: all that is held of one head of one artefact, and how news changes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from models.assessment.figures import Rules
from models.calibration import Calibration, ExpectedError
from models.drift.bins import Reference
from models.estimation.edges import Edges
from models.head import Head
from models.tasks.rules import rules
from services.labels.requests import STATES
from services.monitor.drift import RiskDrift, ScoreDrift, reference
from services.monitor.explored import Explored
from services.monitor.panes import Form, Panes
from services.monitor.published import DELAY_SECONDS, Distribution
from services.monitor.recent import Recent
from services.monitor.requests import CODES, OPEN_CODES, Requested, Requests, States
from services.monitor.units import CENSUS, Key, Labels, Units, no_units, ordered

SOURCES = ("requested", CENSUS)
"""Of labels that are judged by. Volunteered ones are counted only: nobody knows their probability."""


@dataclass(frozen=True)
class Profile:
    """What a stream is judged by, as its deployment says."""

    key: Key
    head: Head
    rules: Rules
    measure: str
    expected: ExpectedError | None
    """Error that the artefact expects of a unit, from its uncertainty."""
    reference: Reference | None
    """In-domain uncertainty."""
    reference_values: tuple[float, ...]
    """Quantiles of the same, which ledgers count explored units by."""
    edges: Edges
    baseline: tuple[float, float] | None
    """Interval of R-AUC on in-domain data, where the deployment tells it."""

    @property
    def form(self) -> Form:
        """How the stream is counted."""
        bins = None if self.reference is None else self.reference.bins
        return Form(self.edges, self.head.acceptable, self.rules.convention.strict_limit, bins)


def profile(key: Key, head: Head, document: Mapping[str, Any]) -> Profile:
    """What a deployment's document says.

    Raises:
        msgspec.ValidationError, ValueError: its calibration cannot be read.
    """
    given = document.get("calibration")
    calibration = None if given is None else msgspec.convert(given, Calibration)
    policy = document.get("policy")
    told = policy.get("measure") if isinstance(policy, Mapping) else None
    measure = str(told or head.own_measure(int(document.get("members", 2)) > 1))
    known = None if calibration is None else reference(calibration, measure)
    expected = None if calibration is None else calibration.expected_error
    if expected is not None and expected.measure != measure:
        expected = None
    quality = document.get("quality")
    baseline = None
    if isinstance(quality, Mapping) and isinstance(found := quality.get("r_auc"), Mapping):
        baseline = float(found["low"]), float(found["high"])
    values = () if calibration is None else calibration.reference.get(measure, ())
    edges = _edges(calibration, measure)
    return Profile(key, head, rules(key.task), measure, expected, known, values, edges, baseline)


class Stream:
    """The state of one stream. Whatever the order in which news came, the same news make the same state."""

    def __init__(self, profile: Profile, exact_units: int, request_units: int, now: float) -> None:
        """
        Args:
            exact_units: newest units that are held one by one.
            request_units: newest units with a request, or under a census, that are held one by one.
            now: seconds since 1970.
        """
        self.profile = profile
        self.recent = Recent(exact_units)
        self.requests = Requests(request_units, SOURCES)
        self.panes = Panes(profile.form)
        self.panes.advance(now)
        self.scores = None if profile.reference is None else ScoreDrift(profile.key, profile.reference)
        head, expected = profile.head, profile.expected
        bound = None if expected is None else 10 * max(expected.values)
        self.risks = {source: RiskDrift(head.acceptable, bound) for source in SOURCES}
        self.delays = {source: Distribution.empty(DELAY_SECONDS) for source in SOURCES}
        self.explored = Explored(profile.reference, profile.reference_values)
        self._waiting: list[Units] = []
        self._asking: list[Units] = []
        self._counted: list[Units] = []
        self.changes = 0
        """Grows with everything that a window may depend on."""

    def advance(self, now: float, since: float, until: float) -> None:
        """Lets time pass: units decided before a moment that the ledgers are complete up to now count.

        Others wait: of the last second the deferred units are known before the answered ones.

        Args:
            since: units decided before are over, seconds since 1970.
            until: seconds since 1970.
        """
        self.panes.advance(now)
        self.requests.forget(since)
        units, self._waiting = _ready(self._waiting, until)
        requests, self._asking = _ready(self._asking, until)
        self.panes.add_requests(requests)
        counted, self._counted = _ready(self._counted, until)
        self.panes.add_census(counted)
        if not len(units):
            return
        self.recent.add(units)
        self.panes.add_units(units)
        if self.scores is not None:
            self.scores.add(units)
        self.changes += 1

    def add_units(self, units: Units) -> None:
        """Decided units, each once; ``advance`` makes them count."""
        if len(units):
            self._waiting.append(units)

    def add_requests(self, found: Requested) -> None:
        """Units that labels are asked for, or that a census will tell of."""
        self.requests.add(*found)
        self._asking.append(found.units.take(found.asked))
        if found.census.any():
            self._counted.append(found.units.take(found.census))
        self.changes += 1

    def advance_requests(self, states: States) -> None:
        """How requests stand."""
        self.requests.advance(states)
        self.changes += 1

    def relabel(self, source: str, removed: Labels | None, added: Labels | None) -> None:
        """Errors that count no more, and those that count now instead or for the first time."""
        first = added
        if removed is not None:
            self.panes.remove_labels(source, removed)
            self.requests.unlabel(source, removed)
            self._delay(source, removed, -1)
        if added is not None:
            self.panes.add_labels(source, added)
            self.requests.label(source, added)
            self._delay(source, added, 1)
            if removed is not None:
                known = set(zip(removed.epoch.tolist(), removed.sequence.tolist(), strict=True))
                named = zip(added.epoch.tolist(), added.sequence.tolist(), strict=True)
                first = added.take(np.array([unit not in known for unit in named], bool))
        if first is not None and len(first):
            self.risks[source].add(first)
        self.changes += 1

    def census(self) -> bool:
        """Whether anything was labelled as a declared population."""
        return any(self.delays[CENSUS].counts)

    def states(self) -> dict[str, int]:
        """How many requests are in each state."""
        counts = np.bincount(self.requests.state, minlength=len(CODES)).tolist()
        return dict(zip(STATES, counts, strict=False))  # without those that nobody was asked about

    def oldest_request(self) -> float | None:
        """When the oldest unit was decided whose request waits; None where none does."""
        waits = np.isin(self.requests.state, OPEN_CODES)
        return float(self.requests.units.time[waits].min()) if waits.any() else None

    def _delay(self, source: str, labels: Labels, sign: int) -> None:
        seconds = np.maximum(labels.received - labels.time, 0.0)
        found = self.delays[source]
        counts = np.bincount(np.searchsorted(DELAY_SECONDS, seconds), minlength=len(DELAY_SECONDS) + 1)
        found.counts = [before + sign * count for before, count in zip(found.counts, counts.tolist(), strict=True)]
        found.sum += sign * float(seconds.sum())


def _ready(waiting: list[Units], until: float) -> tuple[Units, list[Units]]:
    """The units decided before a moment, in their order, and those that wait on."""
    if not waiting:
        return no_units(), []
    units = Units.join(waiting)
    if not ordered(units):
        units = units.take(units.order)
    ready = int(np.searchsorted(units.time, until))
    return units.take(slice(None, ready)), [units.take(slice(ready, None))] if ready < len(units) else []


def _edges(calibration: Calibration | None, measure: str) -> Edges:
    """Bins from the artefact alone, so that all monitors have the same; without quantiles, steps that double."""
    values = None if calibration is None else calibration.reference.get(measure)
    if values is None:
        steps = 10.0 ** np.linspace(-9, 12, 250)
        return Edges(np.concatenate([-steps[::-1], [0.0], steps]).astype(np.float32))
    levels = np.linspace(0, len(values) - 1, 8 * (len(values) - 1) + 1)
    return Edges.of(np.interp(levels, np.arange(len(values)), values).astype(np.float32))

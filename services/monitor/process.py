"""Cycle of the monitor: reads all ledgers, updates the streams, evaluates the windows, and makes a snapshot.

One thread does all this. Snapshots are immutable, so that serving them needs no lock.
"""

import math
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from models.live.invalidity import Invalidity
from models.live.reviewer_figures import PACE_SECONDS, ReviewedHead, ReviewerEstimates
from models.live.reviewers import HeadKey, ReviewerRecords
from models.live.stream import SOURCES, Histogram, Stream, read_profile
from models.live.time_buckets import DAY, LONGEST
from models.live.units import StreamKey
from models.live.window_evaluator import WindowEvaluator
from services.ledger.deployments import head_of
from services.monitor.follow import Deployment, Follower, Gap, HistoryChanged, News, PolicyChange, WriterState
from services.monitor.label_join import Assisted
from services.monitor.snapshot import CYCLE_SECONDS, LedgerState, PolicyInForce, Snapshot, StreamState
from services.runtime.logging import get_logger

_log = get_logger(__name__)

LAG_SECONDS = 10.0
"""Age of a heartbeat, in seconds, above which the writer may have decided unknown units."""
_MOST_GAPS = 10_000
_HISTORY_SECONDS = LONGEST + DAY


class LedgerSource(Protocol):
    """Connection settings of a ledger."""

    @property
    def url(self) -> str:
        """URL without the password."""
        ...

    def engine(self) -> Engine:
        """Return a read-only engine.

        Raises:
            OSError: the ledger does not exist yet.
        """
        ...

    def fetch(self, reference: str) -> bytes:
        """Return content of the evidence store."""
        ...


@dataclass
class FollowedLedger:
    """Ledger with the state of its reading."""

    source: LedgerSource
    follower: Follower | None = None
    writers: list[WriterState] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    last_success: float = 0.0
    problem: str = "it was not read yet"


class Monitor:
    """Monitor: the state of its process, and the cycle that updates it."""

    def __init__(
        self,
        sources: Callable[[], list[LedgerSource]],
        evaluator: WindowEvaluator,
        *,
        exact_units: int,
        request_units: int,
        gone: frozenset[int] = frozenset(),
        assisted: Assisted = "fill",
        estimates: ReviewerEstimates | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Start without any state.

        Args:
            sources: returns the ledgers to follow; called before each cycle, as services may create new ones.
            exact_units: number of a stream's newest units that are kept individually; ``request_units`` likewise for
                those with a request.
            gone: epochs of writers that the operator has declared to be gone for good.
            assisted: use of labels that were given in sight of the prediction.
            estimates: figures of reviewers; None: new ones.
            clock: seconds since 1970.
        """
        self._sources, self._evaluator, self._clock = sources, evaluator, clock
        self._exact_units, self._request_units, self._gone = exact_units, request_units, gone
        self._assisted = assisted
        self._estimates = ReviewerEstimates() if estimates is None else estimates
        self._ledgers: dict[str, FollowedLedger] = {}
        self._errors: Counter[str] = Counter()
        self._cycles = Histogram.empty(CYCLE_SECONDS)
        self._until = -math.inf
        self.snapshot = Snapshot()
        self._forget()

    def _forget(self) -> None:
        """Drop all state, so that all ledgers are read from their start."""
        self.streams: dict[StreamKey, Stream] = {}
        self.reviewers: dict[HeadKey, ReviewerRecords] = defaultdict(ReviewerRecords)
        self._reviewed: dict[HeadKey, ReviewedHead] = {}
        self._estimates.forget()
        self._policies: dict[tuple[str, str], tuple[float, int, PolicyInForce]] = {}
        self._labels: Counter[tuple[str, str, str]] = Counter()
        self.close()
        for ledger in self._ledgers.values():
            ledger.follower, ledger.writers, ledger.gaps = None, [], []
        self._evaluator.forget()

    def close(self) -> None:
        """Close all connections; another cycle would open new ones."""
        for ledger in self._ledgers.values():
            if ledger.follower is not None:
                ledger.follower.close()

    def run(self, stop: threading.Event, publish: Callable[[Snapshot], None], seconds: float) -> None:
        """Run cycles until ``stop`` is set; a cycle that raises is logged and retried.

        Args:
            publish: called with the snapshot of each cycle.
            seconds: time between two cycles; while history is left to read, cycles follow without a pause.
        """
        while not stop.is_set():
            begin = time.monotonic()
            try:
                publish(self.cycle())
            except Exception:
                self._errors["defect"] += 1
                _log.exception("a cycle failed because of a defect")
            busy = any(writer.behind for _, writer in self._writers())
            stop.wait(0.0 if busy else max(0.05, seconds - (time.monotonic() - begin)))

    def cycle(self) -> Snapshot:
        """Read new rows, evaluate changed windows, and return the state."""
        begin, now = time.perf_counter(), self._clock()
        for source in self._sources():
            self._ledgers.setdefault(source.url, FollowedLedger(source))
        for ledger in self._ledgers.values():
            self._read(ledger, now)
        self._until = max(self._until, self._complete(now))
        for stream in self.streams.values():
            stream.advance(now, now - _HISTORY_SECONDS, self._until)
        for records in self.reviewers.values():
            records.forget(now - _HISTORY_SECONDS)
        reviewers = self._estimates.estimate(self._reviewed, self.reviewers, now)
        windows = self._evaluator.evaluate(
            self.streams, now, min(self._until, now), partial(self._invalidity, now), reviewers
        )
        seconds = time.perf_counter() - begin
        self._cycles.counts[bisect_left(CYCLE_SECONDS, seconds)] += 1
        self._cycles.sum += seconds
        self.snapshot = Snapshot(
            time=now,
            streams=tuple(_stream_state(stream, now) for stream in self.streams.values()),
            windows=windows,
            reviewers=tuple(reviewers.values()),
            policies={place: policy for place, (_, _, policy) in self._policies.items()},
            labels=self._verdicts(),
            errors=dict(self._errors),
            ledgers=tuple(_ledger_state(ledger) for ledger in self._ledgers.values()),
            cycles=self._cycles.copy(),
        )
        return self.snapshot

    def _writers(self) -> Iterator[tuple[FollowedLedger, WriterState]]:
        return ((ledger, writer) for ledger in self._ledgers.values() for writer in ledger.writers)

    def _verdicts(self) -> dict[tuple[str, str, str], int]:
        """Return the labels by verdict; labels of units older than all windows are late."""
        verdicts = Counter(self._labels)
        for key, stream in self.streams.items():
            for source, count in stream.buckets.late.items():
                verdicts[key.task, source, "late"] += count
        return dict(verdicts)

    def _read(self, ledger: FollowedLedger, now: float) -> None:
        try:
            if ledger.follower is None:
                ledger.follower = Follower(ledger.source.engine(), ledger.source.fetch, self._assisted)
            news = ledger.follower.read(now - _HISTORY_SECONDS)
        except HistoryChanged as error:
            self._errors["history"] += 1
            _log.error("%s; all ledgers are read anew", error)
            self._forget()
            ledger.problem = str(error)
            return
        except (SQLAlchemyError, OSError) as error:
            self._errors["ledger"] += 1
            lines = str(getattr(error, "orig", None) or error).splitlines()
            if not ledger.problem or ledger.last_success == 0.0:
                _log.warning("the ledger %s cannot be read: %s", ledger.source.url, lines[:1])
            ledger.problem = lines[0] if lines else type(error).__name__
            return
        ledger.problem, ledger.last_success, ledger.writers = "", now, news.writers
        ledger.gaps = [*ledger.gaps, *news.gaps][-_MOST_GAPS:]
        self._errors.update(news.errors)
        self._apply(news, now)

    def _apply(self, news: News, now: float) -> None:
        """Update the streams, in the order units, requests, labels."""
        for deployment in sorted(news.deployments, key=lambda row: row.time):
            self._deploy(deployment, now)
        for policy in news.policies:
            self._set_policy(policy)
        for key, units in news.units.items():
            if (stream := self._stream(key)) is not None:
                for part in units:
                    stream.add_units(part)
        for key, requested in news.requests.items():
            if (stream := self._stream(key)) is not None:
                for units_with_requests in requested:
                    stream.add_requests(units_with_requests)
        for key, changes in news.states.items():
            if (stream := self._stream(key)) is not None:
                for change in changes:
                    stream.advance_requests(change)
        for key, explored in news.explored.items():
            if (stream := self._stream(key)) is not None:
                for segment in explored:
                    stream.explored.add(*segment)
        for labels in news.labels:
            self._labels.update(labels.verdicts)
            self._errors.update(labels.errors)
            for key, source in dict.fromkeys([*labels.removed, *labels.added]):
                stream = self._stream(key)
                if stream is not None and source in SOURCES:
                    stream.relabel(source, labels.removed.get((key, source)), labels.added.get((key, source)))
            for place, reviews in labels.reviews.items():
                self.reviewers[place].add((), reviews)
        for place, opinions in news.opinions.items():
            self.reviewers[place].add(opinions, ())

    def _deploy(self, deployment: Deployment, now: float) -> None:
        key, document = deployment.key, deployment.document
        if key in self.streams:
            return
        try:
            profile = read_profile(key, head_of(document), document)
        except (ValueError, TypeError, KeyError) as error:
            self._errors["deployment"] += 1
            _log.error("the deployment of %s cannot be read: %s", key, error)
            return
        self.streams[key] = Stream(profile, self._exact_units, self._request_units, now)
        with suppress(LookupError):  # labels of other heads are not judged
            self._reviewed[key.task, key.head] = ReviewedHead.of((key.task, key.head), profile.head)
        first = document.get("policy")
        if isinstance(first, dict):  # in force until the first change
            version = str(first.get("version", ""))
            self._set_policy(PolicyChange(key.task, key.head, 0, version, deployment.time, first))

    def _stream(self, key: StreamKey) -> Stream | None:
        """Return the stream of a key; units of an artefact without a deployment are counted as errors."""
        stream = self.streams.get(key)
        if stream is None:
            self._errors["no_deployment"] += 1
        return stream

    def _set_policy(self, policy: PolicyChange) -> None:
        place, document = (policy.task, policy.head), policy.document
        known = self._policies.get(place)
        if known is not None and known[:2] >= (policy.time, policy.number):
            return
        threshold = document.get("threshold")
        try:
            in_force = PolicyInForce(
                version=policy.version,
                measure=str(document.get("measure", "")),
                mode=str(document.get("mode", "")),
                threshold=-math.inf if threshold is None else float(threshold),  # as JSON has it
                target_retention=float(document.get("target_retention", 0.0)),
            )
        except (TypeError, ValueError) as error:
            self._errors["policy"] += 1
            _log.error("the policy %s cannot be read: %s", policy.version, error)
            return
        self._policies[place] = (policy.time, policy.number, in_force)

    def _complete(self, now: float) -> float:
        """Return the time before which all decisions of writers with a heartbeat are known."""
        times = [now]
        for _, writer in self._writers():
            if writer.behind or not (writer.ended or writer.epoch in self._gone or self._lags(writer, now)):
                times.append(writer.complete_until)
        return min(times)

    def _lags(self, writer: WriterState, now: float) -> bool:
        return not writer.ended and writer.epoch not in self._gone and now - writer.heartbeat > LAG_SECONDS

    def _invalidity(self, now: float, task: str, start: float, end: float) -> Invalidity:
        """Return the state of the ledgers for units of a task that were decided between two times."""
        reasons: list[tuple[str, str]] = []
        for ledger in self._ledgers.values():
            if ledger.problem and now - ledger.last_success > LAG_SECONDS:
                reasons.append(("ledger", f"The ledger {ledger.source.url} cannot be read: {ledger.problem}."))
            for writer in ledger.writers:
                if writer.task != task:
                    continue
                if writer.behind:
                    reasons.append(("reading", "The ledger's history is still being read."))
                elif self._lags(writer, now):
                    since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(writer.heartbeat))
                    name = f"{writer.name} (epoch {writer.epoch:016x})"
                    text = f"{name} has not been heard of since {since} UTC; it may have decided more units."
                    reasons.append(("lag", text))
        gaps = [gap for ledger in self._ledgers.values() for gap in ledger.gaps if gap.task == task]
        gaps = [gap for gap in gaps if gap.end >= start and gap.start <= end]
        return Invalidity(
            reasons=tuple(dict.fromkeys(reasons)),
            lost=sum(max(1, gap.units) for gap in gaps),
            why=tuple(gap.reason for gap in gaps),
            until=max((gap.end for gap in gaps), default=-math.inf),
            more=any(gap.units == 0 for gap in gaps),
        )


def _stream_state(stream: Stream, now: float) -> StreamState:
    return StreamState(
        key=stream.profile.key,
        head=stream.profile.head,
        measure=stream.profile.measure,
        requests=stream.request_counts(),
        oldest_request=stream.oldest_request(),
        flow=stream.requests.flow(now - PACE_SECONDS, now),
        delays={source: delays.copy() for source, delays in stream.delays.items() if any(delays.counts)},
        explored=dict(stream.explored.units),
        explored_shifts=stream.explored.shifts(),
    )


def _ledger_state(ledger: FollowedLedger) -> LedgerState:
    times = [writer.complete_until for writer in ledger.writers if not writer.ended or writer.behind]
    return LedgerState(
        url=ledger.source.url,
        complete_until=min(times, default=ledger.last_success),
        last_success=ledger.last_success,
        problem=ledger.problem,
        caught_up=not any(writer.behind for writer in ledger.writers),
    )

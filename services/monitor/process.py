"""The monitor at work: reads all ledgers every second, lets the news change the streams, judges, and publishes.

One thread does all this; what it publishes is never changed, so that whoever serves it needs no lock.
"""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from services.ledger.deployments import head_of
from services.monitor.follow import Deployed, Follower, Gap, HistoryChanged, News, PolicySet, WriterState
from services.monitor.judge import Judge
from services.monitor.obstacles import Obstacles
from services.monitor.published import CYCLE_SECONDS, Distribution, InForce, LedgerState, Published, StreamState
from services.monitor.spans import LONGEST
from services.monitor.stream import SOURCES, Stream, profile
from services.monitor.units import Key
from services.runtime.logging import get_logger

_log = get_logger(__name__)

LAG_SECONDS = 10.0
"""A writer that has not been heard of for so long may have decided units that nobody knows of yet."""
_MOST_GAPS = 10_000


class Place(Protocol):
    """One ledger, as it is set up."""

    @property
    def url(self) -> str:
        """Without the password."""
        ...

    def engine(self) -> Engine:
        """For reading only.

        Raises:
            OSError: there is none yet.
        """
        ...

    def fetch(self, reference: str) -> bytes:
        """Content of the evidence store."""
        ...


@dataclass
class Followed:
    """A ledger and how its reading stands."""

    place: Place
    follower: Follower | None = None
    writers: list[WriterState] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    last_success: float = 0.0
    problem: str = "it was not read yet"
    down_since: float = 0.0


class Monitor:
    """All state of the process."""

    def __init__(
        self,
        places: Callable[[], list[Place]],
        judge: Judge,
        *,
        exact_units: int,
        request_units: int,
        gone: frozenset[int] = frozenset(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            places: the ledgers to follow; asked before each cycle, as services may make new ones.
            exact_units: newest units of a stream that are held one by one; so are ``request_units`` of those with a
                request.
            gone: epochs of writers that will never be heard of again, as somebody who knows has said.
            clock: seconds since 1970.
        """
        self._places, self.judge, self._clock = places, judge, clock
        self._exact_units, self._request_units, self._gone = exact_units, request_units, gone
        self._followed: dict[str, Followed] = {}
        self._errors: Counter[str] = Counter()
        self._cycles = Distribution.empty(CYCLE_SECONDS)
        self._until = -math.inf
        self.streams: dict[Key, Stream] = {}
        self.published = Published()
        self._forget()

    def _forget(self) -> None:
        """Begins from nothing: all ledgers are read from their start."""
        self.streams = {}
        self._policies: dict[tuple[str, str], tuple[float, int, InForce]] = {}
        self._labels: Counter[tuple[str, str, str]] = Counter()
        self._deployed: dict[Key, Deployed] = {}
        self.close()
        for followed in self._followed.values():
            followed.follower, followed.writers, followed.gaps = None, [], []
        self.judge.forget()

    def close(self) -> None:
        """Ends all connections; another cycle would make new ones."""
        for followed in self._followed.values():
            if followed.follower is not None:
                followed.follower.close()

    def run(self, stop: threading.Event, published: Callable[[Published], None], seconds: float) -> None:
        """Works until told to stop; a cycle that fails by a defect is logged, and tried again.

        Args:
            published: called after each cycle.
            seconds: between two cycles; what cannot be read at once is read on without a break.
        """
        while not stop.is_set():
            begin = time.monotonic()
            try:
                published(self.cycle())
            except Exception:
                self._errors["defect"] += 1
                _log.exception("a cycle failed by a defect")
            busy = any(writer.behind for one in self._followed.values() for writer in one.writers)
            stop.wait(0.0 if busy else max(0.05, seconds - (time.monotonic() - begin)))

    def cycle(self) -> Published:
        """Reads what is new, judges what has changed, and says what is known now."""
        begin = time.perf_counter()
        now = self._clock()
        for place in self._places():
            self._followed.setdefault(place.url, Followed(place))
        for followed in self._followed.values():
            self._read(followed, now)
        self._until = max(self._until, self._complete(now))
        for stream in self.streams.values():
            stream.advance(now, now - LONGEST - 86400, self._until)
        judgements = self.judge.all(self.streams, now, min(self._until, now), partial(self._obstacles, now))
        seconds = time.perf_counter() - begin
        self._cycles.counts[bisect_left(CYCLE_SECONDS, seconds)] += 1
        self._cycles.sum += seconds
        self.published = Published(
            time=now,
            streams=tuple(self._state(stream) for stream in self.streams.values()),
            judgements=judgements,
            policies={place: policy for place, (_, _, policy) in self._policies.items()},
            labels=self._verdicts(),
            errors=dict(self._errors),
            ledgers=tuple(self._ledger(followed) for followed in self._followed.values()),
            cycles=self._cycles.copy(),
        )
        return self.published

    def _verdicts(self) -> dict[tuple[str, str, str], int]:
        """Labels by what became of them; those of units that no window reaches any more are late."""
        found = Counter(self._labels)
        for key, stream in self.streams.items():
            for source, count in stream.panes.late.items():
                found[key.task, source, "late"] += count
        return dict(found)

    def _read(self, followed: Followed, now: float) -> None:
        try:
            if followed.follower is None:
                followed.follower = Follower(followed.place.engine(), followed.place.fetch)
            news = followed.follower.read(now - LONGEST - 86400)
        except HistoryChanged as error:
            self._errors["history"] += 1
            _log.error("%s; all ledgers are read anew", error)
            self._forget()
            followed.problem = str(error)
            return
        except (SQLAlchemyError, OSError) as error:
            self._errors["ledger"] += 1
            words = str(getattr(error, "orig", None) or error).splitlines()
            if not followed.problem or followed.last_success == 0.0:
                _log.warning("the ledger %s cannot be read: %s", followed.place.url, words[:1])
            followed.problem = words[0] if words else type(error).__name__
            return
        followed.problem, followed.last_success, followed.writers = "", now, news.writers
        followed.gaps = [*followed.gaps, *news.gaps][-_MOST_GAPS:]
        self._errors.update(news.errors)
        self._apply(news, now)

    def _apply(self, news: News, now: float) -> None:
        for deployed in sorted(news.deployed, key=lambda one: one.time):
            self._deploy(deployed, now)
        for policy in news.policies:
            self._force(policy)
        for key, parts in news.units.items():
            if (stream := self._stream(key)) is not None:
                for units in parts:
                    stream.add_units(units)
        for key, requested in news.requests.items():
            if (stream := self._stream(key)) is not None:
                for one in requested:
                    stream.add_requests(one)
        for key, changes in news.states.items():
            if (stream := self._stream(key)) is not None:
                for states in changes:
                    stream.advance_requests(states)
        for key, explored in news.explored.items():
            if (stream := self._stream(key)) is not None:
                for part in explored:
                    stream.explored.add(part.purpose, part.last_time, part.units, part.histogram)
        for found in news.labels:
            self._labels.update(found.verdicts)
            self._errors.update(found.errors)
            for key, source in dict.fromkeys([*found.removed, *found.added]):
                stream = self._stream(key)
                if stream is not None and source in SOURCES:
                    removed, added = found.removed.get((key, source)), found.added.get((key, source))
                    stream.relabel(source, removed[0] if removed else None, added[0] if added else None)

    def _deploy(self, deployed: Deployed, now: float) -> None:
        key = deployed.key
        if key in self.streams:
            return
        try:
            made = profile(key, head_of(deployed.document), deployed.document)
        except (ValueError, TypeError, KeyError) as error:
            self._errors["deployment"] += 1
            _log.error("the deployment of %s cannot be read: %s", key, error)
            return
        self.streams[key] = Stream(made, self._exact_units, self._request_units, now)
        first = deployed.document.get("policy")
        if isinstance(first, dict):  # in force until somebody sets another
            self._force(PolicySet(key.task, key.head, 0, str(first.get("version", "")), deployed.time, first))

    def _stream(self, key: Key) -> Stream | None:
        """The stream of a key; units of an artefact that no deployment tells of cannot be judged."""
        stream = self.streams.get(key)
        if stream is None:
            self._errors["no_deployment"] += 1
        return stream

    def _force(self, policy: PolicySet) -> None:
        place = (policy.task, policy.head)
        known = self._policies.get(place)
        if known is not None and known[:2] >= (policy.time, policy.number):
            return
        document = policy.document
        threshold = document.get("threshold")
        try:
            in_force = InForce(
                version=policy.version,
                measure=str(document.get("measure", "")),
                threshold=-math.inf if threshold is None else float(threshold),  # as JSON has it
                mode=str(document.get("mode", "")),
                target_retention=float(document.get("target_retention", 0.0)),
            )
        except (TypeError, ValueError) as error:
            self._errors["policy"] += 1
            _log.error("the policy %s cannot be read: %s", policy.version, error)
            return
        self._policies[place] = (policy.time, policy.number, in_force)

    def _complete(self, now: float) -> float:
        """Up to when all that was decided is known, as far as writers are heard of; the others are obstacles."""
        moments = [now]
        for followed in self._followed.values():
            for writer in followed.writers:
                if writer.behind or not (writer.ended or writer.epoch in self._gone or self._lags(writer, now)):
                    moments.append(writer.complete_until)
        return min(moments)

    def _lags(self, writer: WriterState, now: float) -> bool:
        return not writer.ended and writer.epoch not in self._gone and now - writer.heartbeat > LAG_SECONDS

    def _obstacles(self, now: float, task: str, start: float, end: float) -> Obstacles:
        """What stands against a window of a task between two moments."""
        found: list[tuple[str, str]] = []
        for followed in self._followed.values():
            if followed.problem and now - followed.last_success > LAG_SECONDS:
                found.append(("ledger", f"The ledger {followed.place.url} cannot be read: {followed.problem}."))
            for writer in followed.writers:
                if writer.task != task:
                    continue
                if writer.behind:
                    found.append(("reading", "The ledger's history is still being read."))
                elif self._lags(writer, now):
                    since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(writer.heartbeat))
                    who = f"{writer.name} (epoch {writer.epoch:016x})"
                    words = f"{who} has not been heard of since {since} UTC; it may have decided more units."
                    found.append(("lag", words))
        lost = [one for followed in self._followed.values() for one in followed.gaps if one.task == task]
        lost = [one for one in lost if one.end >= start and one.start <= end]
        return Obstacles(
            tuple(dict.fromkeys(found)),
            sum(max(1, one.units) for one in lost),
            tuple(one.reason for one in lost),
            max((one.end for one in lost), default=-math.inf),
            any(one.units == 0 for one in lost),
        )

    def _state(self, stream: Stream) -> StreamState:
        return StreamState(
            key=stream.profile.key,
            head=stream.profile.head,
            measure=stream.profile.measure,
            requests=stream.states(),
            oldest_request=stream.oldest_request(),
            delays={source: found.copy() for source, found in stream.delays.items() if any(found.counts)},
            explored=dict(stream.explored.units),
            explored_shifts=stream.explored.shifts(),
        )

    def _ledger(self, followed: Followed) -> LedgerState:
        moments = [writer.complete_until for writer in followed.writers if not writer.ended or writer.behind]
        return LedgerState(
            url=followed.place.url,
            complete_until=min(moments, default=followed.last_success),
            last_success=followed.last_success,
            problem=followed.problem,
            caught_up=not any(writer.behind for writer in followed.writers),
        )

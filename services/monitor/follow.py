"""Reads what is new in one ledger since the last time: short snapshots, a cursor for each writer.

A writer commits its flushes in order, so that its last flush is a cursor without holes. Units are read before labels,
so that labels are orphans only where the ledger does not know their units.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Select, Table, and_, select

from models.head import Head
from services.ledger.deployments import head_of
from services.ledger.segments import unpack, unpack_histogram
from services.ledger.tables import deployment, gap, item, policy, request_event, segment, writer
from services.monitor.join import Changes, Fetch, Joiner
from services.monitor.requests import CODES, Requested, States
from services.monitor.units import Key, Units
from services.runtime.logging import get_logger

_log = get_logger(__name__)
_FLUSHES = 5_000
"""Of one writer in one reading, so that a long history is taken in pieces."""
_WRITER = [column for column in writer.c if column.name != "secret"]
_DISORDER_SECONDS = 10.0
"""By so much may the times of a writer's flushes fall back."""


@dataclass(frozen=True, slots=True)
class WriterState:
    """How a writer stood when it was read."""

    epoch: int
    task: str
    name: str
    """Host and process, for people."""
    heartbeat: float
    """When it was heard of last, seconds since 1970."""
    complete_until: float
    """All that it decided before this was read, or is known to be missing."""
    ended: bool
    behind: bool
    """Whether flushes are left to be read."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Units that are not in the ledger."""

    task: str
    start: float
    end: float
    units: int
    """0: nobody knows how many."""
    reason: str


@dataclass(frozen=True, slots=True)
class Deployed:
    """What an artefact is judged by."""

    key: Key
    profile: str
    time: float
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A policy that came into force."""

    task: str
    head: str
    number: int
    version: str
    time: float
    document: dict[str, Any]


class ExploredUnits(NamedTuple):
    """Units of one flush that were no real question; ``histogram`` counts their scores, where it was kept."""

    purpose: str
    last_time: float
    units: int
    histogram: NDArray[np.uint32] | None


@dataclass
class News:
    """What one reading brought."""

    writers: list[WriterState] = field(default_factory=list)
    deployed: list[Deployed] = field(default_factory=list)
    policies: list[PolicySet] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    units: dict[Key, list[Units]] = field(default_factory=lambda: defaultdict(list))
    explored: dict[Key, list[ExploredUnits]] = field(default_factory=lambda: defaultdict(list))
    """Units that were no real question."""
    requests: dict[Key, list[Requested]] = field(default_factory=lambda: defaultdict(list))
    states: dict[Key, list[States]] = field(default_factory=lambda: defaultdict(list))
    labels: list[Changes] = field(default_factory=list)
    last_times: dict[int, float] = field(default_factory=dict)
    """Epoch of a writer to the time of the last unit in its segments that were read."""
    errors: Counter[str] = field(default_factory=Counter)
    """Rows that cannot be read, by a word for why."""


class HistoryChanged(RuntimeError):
    """A ledger lost what was read from it before: a crash of a database that does not write through, or a restore."""


class Follower:
    """One ledger, read again and again. Heads and tasks that it met stay known."""

    def __init__(self, engine: Engine, fetch: Fetch) -> None:
        """
        Args:
            engine: reads only; each transaction sees one state of the ledger.
            fetch: content of the evidence store by its reference.
        """
        self._engine = engine
        self._units_read: dict[int, int] = {}
        self._labels_read: dict[int, int] = {}
        self._heads: dict[Key, Head] = {}
        self._tasks: dict[int, str] = {}
        self._last_times: dict[int, float] = {}
        self._joiner = Joiner(fetch, self._heads, self._tasks)

    def close(self) -> None:
        """Ends its connections."""
        self._engine.dispose()

    def read(self, since: float) -> News:
        """What was written after the last reading that succeeded. One that fails is as if it had not been tried.

        Args:
            since: units decided before are not wanted, seconds since 1970.

        Raises:
            HistoryChanged: what was read before is not in the ledger any more: follow it from the start.
            sqlalchemy.exc.SQLAlchemyError, OSError: the ledger or its store does not answer.
        """
        news = News()
        units_read, labels_read = dict(self._units_read), dict(self._labels_read)
        with self._engine.connect() as connection, connection.begin():
            steps, read = {}, {}
            for row in connection.execute(select(*_WRITER)):
                self._tasks[row.epoch] = row.task
                last = min(row.flush, units_read.get(row.epoch, 0) + _FLUSHES)
                steps[row.epoch] = (units_read.get(row.epoch, 0), last)
                if last < steps[row.epoch][0]:
                    raise HistoryChanged(f"the writer {row.epoch:016x} is at flush {last}, and was further before")
                read[row.epoch] = (row, last < row.flush)
            if gone := units_read.keys() - steps.keys():
                raise HistoryChanged(
                    f"the writer {min(gone):016x} is not in the ledger any more; it was restored from a backup"
                )
            steps = {epoch: step for epoch, step in steps.items() if step[0] < step[1]}
            for epoch, step in steps.items():
                self._set(connection, epoch, step, news)
            for epoch, step in steps.items():
                self._decided(connection, epoch, step, since, news)
                news.labels.append(self._joiner.of_units(connection, epoch, step, labels_read))
                units_read[epoch] = step[1]
            for epoch, step in steps.items():
                self._changed(connection, epoch, step, news)
                news.labels.append(self._joiner.of_labels(connection, epoch, step, labels_read))
                labels_read[epoch] = step[1]
        news.writers = [self._state(row, behind, news) for row, behind in read.values()]
        self._units_read, self._labels_read = units_read, labels_read
        return news

    def _state(self, row: Any, behind: bool, news: News) -> WriterState:
        complete = row.heartbeat
        if behind:  # flushes are in the order of time but for a moment
            complete = news.last_times.get(row.epoch, self._last_times.get(row.epoch, row.started)) - _DISORDER_SECONDS
            self._last_times[row.epoch] = complete + _DISORDER_SECONDS
        name = f"Process {row.pid} on {row.host}" if row.host else "A process that was killed"
        return WriterState(row.epoch, row.task, name, row.heartbeat, complete, row.ended is not None, behind)

    def _set(self, connection: Connection, epoch: int, step: tuple[int, int], news: News) -> None:
        """Deployments, policies and gaps."""
        for row in connection.execute(_new(deployment, epoch, step)):
            key = Key(row.task, row.head, row.model)
            try:
                document = json.loads(row.document)
                self._heads[key] = head_of(document)
            except (ValueError, TypeError, KeyError) as error:
                news.errors["deployment"] += 1
                _log.error("a deployment cannot be read: %s", error, extra={"fields": key._asdict()})
                continue
            news.deployed.append(Deployed(key, row.profile, row.time, document))
        for row in connection.execute(_new(policy, epoch, step)):
            try:
                document = json.loads(row.document)
            except ValueError as error:
                news.errors["policy"] += 1
                _log.error("a policy cannot be read: %s", error)
                continue
            news.policies.append(PolicySet(row.task, row.head, row.number, row.version, row.time, document))
        for row in connection.execute(_new(gap, epoch, step)):
            news.gaps.append(Gap(self._tasks[epoch], row.from_time, row.to_time, row.units, row.reason))

    def _decided(self, connection: Connection, epoch: int, step: tuple[int, int], since: float, news: News) -> None:
        """Segments, and units with a request or under a census."""
        task = self._tasks[epoch]
        for row in connection.execute(_new(segment, epoch, step).where(segment.c.last_time >= since)):
            key = Key(task, row.head, row.model)
            news.last_times[epoch] = row.last_time
            if row.purpose != "decide":
                counts = None if row.body is None else unpack_histogram(row.body)
                news.explored[key].append(ExploredUnits(row.purpose, row.last_time, row._mapping["count"], counts))
                continue
            try:
                units = _units(row)
            except ValueError as error:
                news.errors["segment"] += 1
                news.gaps.append(
                    Gap(task, row.first_time, row.last_time, row._mapping["count"], "a segment cannot be read")
                )
                _log.error(
                    "a segment cannot be read: %s", error, extra={"fields": {"flush": row.flush, **key._asdict()}}
                )
                continue
            news.units[key].append(units)
        columns = (
            *(item.c.epoch, item.c.sequence, item.c.time, item.c.uncertainty, item.c.decision, item.c.propensity),
            *(item.c.head, item.c.model, item.c.state, item.c.census),
        )
        found: dict[Key, list[Any]] = defaultdict(list)
        for row in connection.execute(_new(item, epoch, step, columns).where(item.c.time >= since)):
            if row.state not in CODES:
                news.errors["request"] += 1
                continue
            found[Key(task, row.head, row.model)].append(row)
        for key, rows in found.items():
            epochs, sequences, times, uncertainties, decisions, rates, _, _, states, census = zip(*rows, strict=True)
            units = Units(
                np.array(epochs, np.int64),
                np.array(sequences, np.int64),
                np.array(times),
                np.array([np.nan if one is None else one for one in uncertainties], np.float32),
                np.array(decisions, np.uint8),
                np.array(rates),
            )
            codes = np.array([CODES[state] for state in states], np.uint8)
            news.requests[key].append(Requested(units, codes, np.array(census, bool)))

    def _changed(self, connection: Connection, epoch: int, step: tuple[int, int], news: News) -> None:
        """Requests that changed: how they stand now, whoever changed them last."""
        columns = (
            *(item.c.epoch, item.c.sequence, item.c.head, item.c.model, item.c.state),
            *(request_event.c.time, request_event.c.propensity),
        )
        unit = and_(item.c.epoch == request_event.c.epoch, item.c.sequence == request_event.c.sequence)
        query = _new(request_event, epoch, step, columns).select_from(request_event.join(item, unit))
        found: dict[Key, list[Any]] = defaultdict(list)
        for row in connection.execute(query.order_by(request_event.c.time, request_event.c.id)):
            if row.state in CODES:
                found[Key(self._tasks.get(row.epoch, ""), row.head, row.model)].append(row)
        for key, rows in found.items():
            news.states[key].append(
                States(
                    np.array([row.epoch for row in rows], np.int64),
                    np.array([row.sequence for row in rows], np.int64),
                    np.array([CODES[row.state] for row in rows], np.uint8),
                    np.array([row.time for row in rows]),
                    np.array([np.nan if row.propensity is None else row.propensity for row in rows]),
                )
            )


def _new(table: Table, epoch: int, step: tuple[int, int], columns: Sequence[Any] = ()) -> Select[Any]:
    """Rows that a writer wrote in the flushes (after, up to], in their order."""
    came = and_(table.c.writer == epoch, table.c.flush > step[0], table.c.flush <= step[1])
    return select(*(columns or (table,))).where(came).order_by(table.c.flush)


def _units(row: Any) -> Units:
    """The units of a segment's row.

    Raises:
        ValueError: its body cannot be read.
    """
    runs = unpack(row.body or b"")
    count = row._mapping["count"]  # a row has a method of that name
    if len(runs) != count:
        raise ValueError(f"a segment of {count} units has {len(runs)} in its body")
    return Units(
        np.full(len(runs), row.writer, np.int64),
        runs.sequence.astype(np.int64),
        runs.times,
        runs.uncertainty,
        runs.decisions,
        runs.propensities,
    )

"""Incremental reader of one ledger: short transactions, and a cursor for each writer.

A writer commits its flushes in order, so its last flush is a cursor without holes. Units are read before labels, so
labels are orphans only if the ledger does not have their units.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Select, Table, and_, select

from models.head import Head
from models.label_errors import LabelRule, label_rule
from models.live.label_requests import RequestedUnits, RequestState, StateChanges
from models.live.reviewers import HeadKey, Opinion
from models.live.units import StreamKey, Units
from services.ledger.deployments import head_of
from services.ledger.segments import unpack, unpack_histogram
from services.ledger.tables import deployment, gap, item, policy, request_event, segment, writer
from services.monitor.label_join import Assisted, Fetch, Flushes, LabelChanges, LabelJoin
from services.monitor.opinion_reader import read_opinions
from services.runtime.logging import get_logger

_log = get_logger(__name__)
_FLUSHES = 5_000
"""Maximum number of a writer's flushes in one reading, so that a long history is read in pieces."""
_WRITERS = select(*(column for column in writer.c if column.name != "secret"))
"""Query of each reading, built once."""
_DISORDER_SECONDS = 10.0
"""Largest step back in the times of a writer's flushes."""
_STATES = {state.name.lower(): state for state in RequestState}
"""Codes of the states by their names in the ledger."""


@dataclass(frozen=True, slots=True)
class WriterState:
    """State of a writer at the time of reading."""

    epoch: int
    task: str
    name: str
    """Host and process, for display."""
    heartbeat: float
    """Time of the last heartbeat, seconds since 1970."""
    complete_until: float
    """Time before which all its decisions were read, or are known to be missing."""
    ended: bool
    behind: bool
    """True if flushes are left to read."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Units that are not in the ledger."""

    task: str
    start: float
    end: float
    units: int
    """Number of units; 0 if unknown."""
    reason: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """Declaration of an artefact and its head."""

    key: StreamKey
    time: float
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """Change of the policy in force."""

    task: str
    head: str
    number: int
    version: str
    time: float
    document: dict[str, Any]


class ExploredUnits(NamedTuple):
    """Explored or replayed units of one flush."""

    purpose: str
    last_time: float
    units: int
    histogram: NDArray[np.uint32] | None
    """Counts of their scores; None if the ledger kept none."""


@dataclass
class News:
    """Rows of one reading."""

    writers: list[WriterState] = field(default_factory=list)
    deployments: list[Deployment] = field(default_factory=list)
    policies: list[PolicyChange] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    units: dict[StreamKey, list[Units]] = field(default_factory=lambda: defaultdict(list))
    explored: dict[StreamKey, list[ExploredUnits]] = field(default_factory=lambda: defaultdict(list))
    requests: dict[StreamKey, list[RequestedUnits]] = field(default_factory=lambda: defaultdict(list))
    states: dict[StreamKey, list[StateChanges]] = field(default_factory=lambda: defaultdict(list))
    labels: list[LabelChanges] = field(default_factory=list)
    opinions: dict[HeadKey, list[Opinion]] = field(default_factory=lambda: defaultdict(list))
    last_times: dict[int, float] = field(default_factory=dict)
    """Time of the last unit that was read, by the writer's epoch."""
    errors: Counter[str] = field(default_factory=Counter)
    """Number of rows that cannot be read, by reason."""


class HistoryChanged(RuntimeError):
    """A ledger lost rows that were read before: by a crash without write-through, or by a restore."""


class Follower:
    """Reader of one ledger that remembers its cursors, heads and tasks."""

    def __init__(self, engine: Engine, fetch: Fetch, assisted: Assisted = "fill") -> None:
        """Start at the beginning of the ledger.

        Args:
            engine: read-only; each transaction sees one state of the ledger.
            fetch: returns content of the evidence store by its reference.
            assisted: use of labels that were given in sight of the prediction.
        """
        self._engine = engine
        self._units_read: dict[int, int] = {}
        self._labels_read: dict[int, int] = {}
        self._heads: dict[StreamKey, Head] = {}
        self._rules: dict[HeadKey, LabelRule] = {}
        self._tasks: dict[int, str] = {}
        self._last_times: dict[int, float] = {}
        self._join = LabelJoin(fetch, self._heads, self._tasks, assisted)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def read(self, since: float) -> News:
        """Read all rows since the last successful reading; a failed reading changes nothing.

        Args:
            since: decision time before which units are skipped, seconds since 1970.

        Raises:
            HistoryChanged: rows that were read before are missing: follow the ledger from the start.
            sqlalchemy.exc.SQLAlchemyError, OSError: the ledger or its store does not answer.
        """
        news = News()
        units_read, labels_read = dict(self._units_read), dict(self._labels_read)
        with self._engine.connect() as connection, connection.begin():
            steps: dict[int, Flushes] = {}
            rows = list(connection.execute(_WRITERS))
            for row in rows:
                self._tasks[row.epoch] = row.task
                before = units_read.get(row.epoch, 0)
                steps[row.epoch] = flushes = Flushes(row.epoch, before, min(row.flush, before + _FLUSHES))
                if flushes.last < before:
                    raise HistoryChanged(
                        f"the writer {row.epoch:016x} is at flush {flushes.last}, and was further before"
                    )
            if gone := units_read.keys() - steps.keys():
                raise HistoryChanged(
                    f"the writer {min(gone):016x} is not in the ledger any more; it was restored from a backup"
                )
            new = [flushes for flushes in steps.values() if flushes.after < flushes.last]
            for flushes in new:
                self._read_settings(connection, flushes, news)
            for flushes in new:
                self._read_units(connection, flushes, since, news)
                news.labels.append(self._join.labels_of_units(connection, flushes, labels_read))
                units_read[flushes.writer] = flushes.last
            for flushes in new:
                self._read_changes(connection, flushes, news)
                news.labels.append(self._join.new_labels(connection, flushes, labels_read))
                for place, opinions in read_opinions(connection, flushes, self._tasks, self._rules).items():
                    news.opinions[place].extend(opinions)
                labels_read[flushes.writer] = flushes.last
        news.writers = [self._state(row, steps[row.epoch].last < row.flush, news) for row in rows]
        self._units_read, self._labels_read = units_read, labels_read
        return news

    def _state(self, row: Any, behind: bool, news: News) -> WriterState:
        complete = row.heartbeat
        if behind:  # flushes are nearly in the order of time
            complete = news.last_times.get(row.epoch, self._last_times.get(row.epoch, row.started)) - _DISORDER_SECONDS
            self._last_times[row.epoch] = complete + _DISORDER_SECONDS
        name = f"Process {row.pid} on {row.host}" if row.host else "A process that was killed"
        return WriterState(row.epoch, row.task, name, row.heartbeat, complete, row.ended is not None, behind)

    def _read_settings(self, connection: Connection, flushes: Flushes, news: News) -> None:
        """Read deployments, policies and gaps."""
        for row in connection.execute(_new(deployment, flushes)):
            key = StreamKey(row.task, row.head, row.model)
            try:
                document = json.loads(row.document)
                self._heads[key] = head = head_of(document)
            except (ValueError, TypeError, KeyError) as error:
                news.errors["deployment"] += 1
                _log.error("a deployment cannot be read: %s", error, extra={"fields": key._asdict()})
                continue
            news.deployments.append(Deployment(key, row.time, document))
            if (rule := _rule(head)) is not None:
                self._rules[key.task, key.head] = rule
        for row in connection.execute(_new(policy, flushes)):
            try:
                document = json.loads(row.document)
            except ValueError as error:
                news.errors["policy"] += 1
                _log.error("a policy cannot be read: %s", error)
                continue
            news.policies.append(PolicyChange(row.task, row.head, row.number, row.version, row.time, document))
        for row in connection.execute(_new(gap, flushes)):
            news.gaps.append(Gap(self._tasks[flushes.writer], row.from_time, row.to_time, row.units, row.reason))

    def _read_units(self, connection: Connection, flushes: Flushes, since: float, news: News) -> None:
        """Read segments, and units with a request or under a census."""
        task = self._tasks[flushes.writer]
        for row in connection.execute(_new(segment, flushes).where(segment.c.last_time >= since)):
            key, count = StreamKey(task, row.head, row.model), row._mapping["count"]  # a row has a method of that name
            news.last_times[flushes.writer] = row.last_time
            if row.purpose != "decide":
                histogram = None if row.body is None else unpack_histogram(row.body)
                news.explored[key].append(ExploredUnits(row.purpose, row.last_time, count, histogram))
                continue
            try:
                news.units[key].append(_segment_units(row, count))
            except ValueError as error:
                news.errors["segment"] += 1
                news.gaps.append(Gap(task, row.first_time, row.last_time, count, "a segment cannot be read"))
                _log.error(
                    "a segment cannot be read: %s", error, extra={"fields": {"flush": row.flush, **key._asdict()}}
                )
        columns = (
            *(item.c.epoch, item.c.sequence, item.c.time, item.c.uncertainty, item.c.decision, item.c.propensity),
            *(item.c.state, item.c.census, item.c.head, item.c.model),
        )
        by_stream: dict[StreamKey, list[Any]] = defaultdict(list)
        for row in connection.execute(_new(item, flushes, columns).where(item.c.time >= since)):
            if row.state not in _STATES:
                news.errors["request"] += 1
                continue
            by_stream[StreamKey(task, row.head, row.model)].append(row)
        for key, rows in by_stream.items():
            epochs, sequences, times, uncertainties, decisions, rates, states, census, _, _ = zip(*rows, strict=True)
            news.requests[key].append(
                RequestedUnits(
                    epoch=np.array(epochs, np.int64),
                    sequence=np.array(sequences, np.int64),
                    time=np.array(times),
                    uncertainty=_or_nan(uncertainties).astype(np.float32),
                    decision=np.array(decisions, np.uint8),
                    propensity=np.array(rates),
                    state=np.array([_STATES[state] for state in states], np.uint8),
                    census=np.array(census, bool),
                )
            )

    def _read_changes(self, connection: Connection, flushes: Flushes, news: News) -> None:
        """Read the current states of changed requests, whichever writer changed them last."""
        columns = (
            *(item.c.epoch, item.c.sequence, item.c.head, item.c.model, item.c.state),
            request_event.c.propensity,
        )
        unit = and_(item.c.epoch == request_event.c.epoch, item.c.sequence == request_event.c.sequence)
        query = _new(request_event, flushes, columns).select_from(request_event.join(item, unit))
        by_stream: dict[StreamKey, list[Any]] = defaultdict(list)
        for row in connection.execute(query.order_by(request_event.c.time, request_event.c.id)):
            if row.state in _STATES:
                by_stream[StreamKey(self._tasks.get(row.epoch, ""), row.head, row.model)].append(row)
        for key, rows in by_stream.items():
            news.states[key].append(
                StateChanges(
                    epoch=np.array([row.epoch for row in rows], np.int64),
                    sequence=np.array([row.sequence for row in rows], np.int64),
                    state=np.array([_STATES[row.state] for row in rows], np.uint8),
                    second=_or_nan([row.propensity for row in rows]),
                )
            )


def _rule(head: Head) -> LabelRule | None:
    try:
        return label_rule(head)
    except LookupError:  # its labels are not judged
        return None


def _new(table: Table, flushes: Flushes, columns: Sequence[Any] = ()) -> Select[Any]:
    """Select the rows of some flushes, in order."""
    return select(*(columns or (table,))).where(flushes.of(table)).order_by(table.c.flush)


def _or_nan(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _segment_units(row: Any, count: int) -> Units:
    """Return the units of a segment's row.

    Raises:
        ValueError: its body cannot be read.
    """
    runs = unpack(row.body or b"")
    if len(runs) != count:
        raise ValueError(f"a segment of {count} units has {len(runs)} in its body")
    return Units(
        epoch=np.full(len(runs), row.writer, np.int64),
        sequence=runs.sequence.astype(np.int64),
        time=runs.times,
        uncertainty=runs.uncertainty,
        decision=runs.decisions,
        propensity=runs.propensities,
    )

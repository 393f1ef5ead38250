"""Join of labels and units: chooses the label of a unit that counts, with its error and the error that it replaces.

No label is kept in memory: those that counted before are read from the ledger again, by the cursors of the readers. So
a correction removes an earlier error of any age, and a label that arrived before its unit is joined with it later.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, select, tuple_

from models.head import Head
from models.label_errors import label_rule
from models.live.reviewers import HeadKey, Review
from models.live.units import BLIND, CENSUS, Labels, StreamKey
from services.labels.label_precedence import rank
from services.ledger.tables import UNASKED, item, label
from services.runtime.logging import get_logger

_log = get_logger(__name__)
_CHUNK = 10_000
_COLUMNS = (
    *(label.c.epoch, label.c.sequence, label.c.head, label.c.source, label.c.version, label.c.observed),
    *(label.c.received, label.c.digest, label.c.value, label.c.value_ref, label.c.error, label.c.writer, label.c.flush),
    *(item.c.time, item.c.uncertainty, item.c.decision, item.c.propensity, item.c.model, item.c.evidence),
    *(item.c.evidence_ref, item.c.state, item.c.census, label.c.assisted, label.c.actor, label.c.seconds),
)

Fetch = Callable[[str], bytes]
"""Function that returns content of the evidence store by its reference."""
Cursor = Mapping[int, int]
"""Last flush that was read, by the writer's epoch."""
Assisted = Literal["fill", "omit", "compare"]
"""Use of labels that were given in sight of the prediction: ``fill`` lets them count for units without a blind label,
``omit`` never, ``compare`` is ``fill`` with ``omit`` beside it, as the source ``blind``."""
Rows = dict[tuple[StreamKey, str], list[Any]]
"""Rows of labels by stream and source."""


class Flushes(NamedTuple):
    """Flushes of one writer: those after ``after``, up to ``last``."""

    writer: int
    after: int
    last: int

    def of(self, table: Table) -> ColumnElement[bool]:
        """Return the condition that selects their rows."""
        return and_(table.c.writer == self.writer, table.c.flush > self.after, table.c.flush <= self.last)

    def include(self, row: Any) -> bool:
        """Return whether a row was written in them."""
        return bool(row.writer == self.writer and self.after < row.flush <= self.last)


@dataclass
class LabelChanges:
    """Changes of the errors of units."""

    removed: dict[tuple[StreamKey, str], Labels] = field(default_factory=dict)
    """Errors that no longer count, by stream and source."""
    added: dict[tuple[StreamKey, str], Labels] = field(default_factory=dict)
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Number of labels by task, source and verdict."""
    errors: Counter[str] = field(default_factory=Counter)
    """Number of labels and pieces of evidence that cannot be read, by reason."""
    reviews: dict[HeadKey, list[Review]] = field(default_factory=lambda: defaultdict(list))
    """New labels with the time that a person took, by head."""


class LabelJoin:
    """Join of the labels of one ledger to their units."""

    def __init__(
        self, fetch: Fetch, heads: Mapping[StreamKey, Head], tasks: Mapping[int, str], assisted: Assisted = "fill"
    ) -> None:
        """Initialise a join without rows.

        Args:
            heads: heads of the streams, growing as deployments are read.
            tasks: tasks of writers by epoch, growing too.
        """
        self._fetch, self._heads, self._tasks, self._assisted = fetch, heads, tasks, assisted

    def labels_of_units(self, connection: Connection, flushes: Flushes, known: Cursor) -> LabelChanges:
        """Return changes by labels that were read before their units, which are in ``flushes``."""
        changes = LabelChanges()
        removed: Rows = defaultdict(list)
        added: Rows = defaultdict(list)
        for rows in _by_unit(connection, item, flushes):
            known_rows = (row for row in rows if row.flush <= known.get(row.writer, 0))
            self._change({}, self._counting(known_rows), removed, added)
        return self._with_errors(changes, removed, added)

    def new_labels(self, connection: Connection, flushes: Flushes, known: Cursor) -> LabelChanges:
        """Return changes by the labels in ``flushes``; ``known`` is the cursor of labels read before."""
        changes = LabelChanges()
        removed: Rows = defaultdict(list)
        added: Rows = defaultdict(list)
        for rows in _by_unit(connection, label, flushes):
            known_rows = [row for row in rows if row.flush <= known.get(row.writer, 0)]
            new = [row for row in rows if flushes.include(row)]
            before, after = self._counting(known_rows), self._counting([*known_rows, *new])
            for row in new:
                verdict, task = _verdict(row, before, after), self._tasks.get(row.epoch, "unknown")
                changes.verdicts[task, row.source, verdict] += 1
                if row.seconds is not None:
                    changes.reviews[task, row.head].append(Review(row.actor, row.received, row.seconds))
            self._change(before, after, removed, added)
        return self._with_errors(changes, removed, added)

    def _change(self, before: Mapping[str, Any], after: Mapping[str, Any], removed: Rows, added: Rows) -> None:
        """Collect the rows of a unit that no longer count, and those that count now."""
        for source, row in after.items():
            replaced = before.get(source)
            if replaced is row or not _expected(row):
                continue
            place = StreamKey(self._tasks.get(row.epoch, "unknown"), row.head, row.model), source
            if replaced is not None:
                removed[place].append(replaced)
            added[place].append(row)

    def _counting(self, rows: Iterable[Any]) -> dict[str, Any]:
        """Return the label of a unit that counts, by source.

        It is the last by version, observation, receipt and content of those that were given blindly; only without one
        an assisted label may count, since it leans towards the prediction.
        """
        counting: dict[str, Any] = {}
        for row in rows:
            if row.assisted and self._assisted == "omit":
                continue
            sources = (row.source, BLIND) if self._compared(row) else (row.source,)
            for source in sources:
                best = counting.get(source)
                if best is None or _rank(row) > _rank(best):
                    counting[source] = row
        return counting

    def _compared(self, row: Any) -> bool:
        """Return whether a label counts for the source ``blind``, too."""
        return self._assisted == "compare" and row.source == "requested" and not row.assisted

    def _with_errors(self, changes: LabelChanges, removed: Rows, added: Rows) -> LabelChanges:
        for (key, source), rows in removed.items():  # their defects were counted when they were added
            changes.removed[key, source] = self._labels(key, source, rows, LabelChanges())
        for (key, source), rows in added.items():  # those of blind labels are counted by their own source
            counted = LabelChanges() if source == BLIND else changes
            changes.added[key, source] = self._labels(key, source, rows, counted)
        return changes

    def _labels(self, key: StreamKey, source: str, rows: Sequence[Any], changes: LabelChanges) -> Labels:
        """Return the errors of rows of one stream; those without an error are left out and counted."""
        error = np.array([np.nan if row.error is None else row.error for row in rows])
        missing = np.flatnonzero(np.isnan(error)).tolist()
        if missing and (head := self._heads.get(key)) is not None:
            error[missing] = self._compute(head, [rows[place] for place in missing], changes)
        elif missing:
            _log.error("labels of a model without a deployment in the ledger", extra={"fields": key._asdict()})
            changes.errors["no_deployment"] += len(missing)
        whole = np.isfinite(error)
        if lost := int((~whole).sum()):
            changes.verdicts[key.task, source, "unjudged"] += lost
        kept = [row for row, good in zip(rows, whole, strict=True) if good]
        return Labels(
            epoch=np.array([row.epoch for row in kept], np.int64),
            sequence=np.array([row.sequence for row in kept], np.int64),
            time=np.array([row.time for row in kept]),
            uncertainty=np.array([np.nan if row.uncertainty is None else row.uncertainty for row in kept], np.float32),
            decision=np.array([row.decision for row in kept], np.uint8),
            propensity=np.array([1.0 if source == CENSUS and row.census else row.propensity for row in kept]),
            error=error[whole],
            received=np.array([row.received for row in kept]),
        )

    def _compute(self, head: Head, rows: Sequence[Any], changes: LabelChanges) -> NDArray[np.float64]:
        """Return the errors [n] from evidence and labels; NaN if they cannot be computed."""
        pairs = [
            (self._content(row.evidence, row.evidence_ref, changes), self._content(row.value, row.value_ref, changes))
            for row in rows
        ]
        errors = np.full(len(rows), np.nan)
        places, evidence, values = [], [], []
        for place, (own, value) in enumerate(pairs):
            if own is not None and value is not None:
                places.append(place)
                evidence.append(own)
                values.append(value)
        rule = label_rule(head)
        try:
            errors[places] = rule.errors(evidence, values)
        except Exception:  # some are broken: compute the others
            for place, own, value in zip(places, evidence, values, strict=True):
                try:
                    errors[place] = rule.errors([own], [value])[0]
                except Exception:
                    changes.errors["evidence"] += 1
                    _log.exception("the error of a label cannot be computed", extra={"fields": {"head": head.name}})
        return errors

    def _content(self, inline: bytes | None, reference: str | None, changes: LabelChanges) -> bytes | None:
        if inline is not None or reference is None:
            return inline
        try:
            return self._fetch(reference)
        except (LookupError, ValueError) as error:  # other errors end this reading: it is retried
            changes.errors["store"] += 1
            _log.error("evidence or a label is lost: %s", error)
            return None


def _verdict(row: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    if not _expected(row):
        return "orphan"
    counting = after.get(row.source)
    if counting is None or (row.assisted and not counting.assisted):
        return "assisted"
    if counting is not row:
        return "superseded"
    return "corrected" if row.source in before else "counted"


def _expected(row: Any) -> bool:
    """Return whether the ledger has the unit of a label, and a label of this source was expected.

    A requested label of a unit without a request is volunteered: its probability is unknown.
    """
    return row.time is not None and not (row.source == "requested" and row.state == UNASKED)


def _by_unit(connection: Connection, table: Table, flushes: Flushes) -> Iterator[list[Row[Any]]]:
    """Yield the labels, with their unit, of each unit that has a row of ``table`` in the flushes.

    At most one chunk is in memory.
    """
    unit = and_(item.c.epoch == label.c.epoch, item.c.sequence == label.c.sequence)
    units = select(table.c.epoch, table.c.sequence).where(flushes.of(table))
    query: Select[Any] = (
        select(*_COLUMNS)
        .select_from(label.outerjoin(item, unit))
        .where(tuple_(label.c.epoch, label.c.sequence).in_(units))
        .order_by(label.c.epoch, label.c.sequence)
    )
    ordered = connection.execution_options(stream_results=True, yield_per=_CHUNK).execute(query)
    for _, rows in groupby(ordered, lambda row: (row.epoch, row.sequence)):
        yield list(rows)


def _rank(row: Any) -> Any:
    return not row.assisted, rank(row.version, row.observed, row.received, row.digest)

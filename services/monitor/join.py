"""Labels found to their units: which label of a unit counts, what error it gives, and what it replaces.

Nothing of this is held: which label counted before is asked of the ledger again, by where its readers had come. So a
correction takes back what was added, however long ago, and a label that came before its unit is joined when it comes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, and_, select, tuple_

from models.head import Head
from models.judging import judging
from services.labels.label_precedence import rank
from services.ledger.tables import UNASKED, item, label
from services.monitor.units import CENSUS, Key, Labels
from services.runtime.logging import get_logger

_log = get_logger(__name__)
_CHUNK = 10_000
_UNIT = (item.c.time, item.c.uncertainty, item.c.decision, item.c.propensity, item.c.model, item.c.evidence)
_ASKED = (item.c.state, item.c.census)
_LABEL = (
    *(label.c.epoch, label.c.sequence, label.c.head, label.c.source, label.c.version, label.c.observed),
    *(label.c.received, label.c.digest, label.c.value, label.c.value_ref, label.c.error, label.c.writer, label.c.flush),
)

Fetch = Callable[[str], bytes]
"""Content of the evidence store by its reference."""
Cursor = Mapping[int, int]
"""Epoch of a writer to its last flush that was read."""


@dataclass
class Changes:
    """What labels did to the errors of units."""

    removed: dict[tuple[Key, str], list[Labels]] = field(default_factory=lambda: defaultdict(list))
    """Errors that count no more, by stream and source."""
    added: dict[tuple[Key, str], list[Labels]] = field(default_factory=lambda: defaultdict(list))
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Labels by task, source, and what became of them."""
    errors: Counter[str] = field(default_factory=Counter)
    """Labels and evidence that cannot be read, by a word for why."""


class Joiner:
    """Joins labels of one ledger."""

    def __init__(self, fetch: Fetch, heads: Mapping[Key, Head], tasks: Mapping[int, str]) -> None:
        """
        Args:
            heads: of the streams, growing as deployments are read.
            tasks: of writers by epoch, growing too.
        """
        self._fetch, self._heads, self._tasks = fetch, heads, tasks

    def of_units(self, connection: Connection, writer: int, flushes: tuple[int, int], known: Cursor) -> Changes:
        """Labels that were read before the units that they are about: ``flushes`` (after, up to) brought the units."""
        came = and_(item.c.writer == writer, item.c.flush > flushes[0], item.c.flush <= flushes[1])
        units = select(item.c.epoch, item.c.sequence).where(came)
        changes = Changes()
        for rows in _by_unit(connection, _joined().where(tuple_(label.c.epoch, label.c.sequence).in_(units))):
            after = _winners(row for row in rows if row.flush <= known.get(row.writer, 0))
            self._change(changes, {}, after)
        return self._judged(changes)

    def of_labels(self, connection: Connection, writer: int, flushes: tuple[int, int], known: Cursor) -> Changes:
        """Labels that ``flushes`` (after, up to) of a writer brought; ``known`` are those that were read before."""
        came = and_(label.c.writer == writer, label.c.flush > flushes[0], label.c.flush <= flushes[1])
        units = select(label.c.epoch, label.c.sequence).where(came)
        changes = Changes()
        for rows in _by_unit(connection, _joined().where(tuple_(label.c.epoch, label.c.sequence).in_(units))):
            known_rows = [row for row in rows if row.flush <= known.get(row.writer, 0)]
            new = [row for row in rows if row.writer == writer and flushes[0] < row.flush <= flushes[1]]
            before, after = _winners(known_rows), _winners([*known_rows, *new])
            for row in new:
                verdict = self._verdict(row, before, after)
                changes.verdicts[self._tasks.get(row.epoch, "unknown"), row.source, verdict] += 1
            self._change(changes, before, after)
        return self._judged(changes)

    def _verdict(self, row: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        if not _expected(row):
            return "orphan"
        if after[row.source] is not row:
            return "superseded"
        return "corrected" if row.source in before else "counted"

    def _change(self, changes: Changes, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Notes rows whose counting changes; they become errors in ``_judged``."""
        for source, row in after.items():
            was = before.get(source)
            if was is row or not _expected(row):
                continue
            key = Key(self._tasks.get(row.epoch, "unknown"), row.head, row.model)
            if was is not None:
                changes.removed[key, source].append(was)
            changes.added[key, source].append(row)

    def _judged(self, changes: Changes) -> Changes:
        for found in (changes.removed, changes.added):
            for (key, source), rows in list(found.items()):
                labels = self._errors(key, source, rows, changes if found is changes.added else Changes())
                found[key, source] = [labels] if len(labels) else []
        return changes

    def _errors(self, key: Key, source: str, rows: Sequence[Any], changes: Changes) -> Labels:
        """The errors of rows of one stream; those that have none are left out and counted."""
        error = np.array([np.nan if row.error is None else row.error for row in rows])
        missing = np.flatnonzero(np.isnan(error)).tolist()
        if len(missing) and (head := self._heads.get(key)) is None:
            _log.error("labels of a model without a deployment in the ledger", extra={"fields": key._asdict()})
            changes.errors["no_deployment"] += len(missing)
        elif len(missing):
            assert head is not None
            error[missing] = self._judge(head, [rows[place] for place in missing], changes)
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

    def _judge(self, head: Head, rows: Sequence[Any], changes: Changes) -> Any:
        evidence: list[bytes | None] = []
        values: list[bytes | None] = []
        for row in rows:
            evidence.append(self._content(row.evidence, row.evidence_ref, changes))
            values.append(self._content(row.value, row.value_ref, changes))
        errors = np.full(len(rows), np.nan)
        whole = [place for place in range(len(rows)) if evidence[place] is not None and values[place] is not None]
        rule = judging(head)
        try:
            errors[whole] = rule.errors([evidence[place] for place in whole], [values[place] for place in whole])  # type: ignore[misc]
        except Exception:  # whatever one of them is, the others are judged
            for place in whole:
                try:
                    errors[place] = rule.errors([evidence[place]], [values[place]])[0]  # type: ignore[list-item]
                except Exception:
                    changes.errors["evidence"] += 1
                    _log.exception("a label cannot be judged", extra={"fields": {"head": head.name}})
        return errors

    def _content(self, inline: bytes | None, reference: str | None, changes: Changes) -> bytes | None:
        if inline is not None or reference is None:
            return inline
        try:
            return self._fetch(reference)
        except (LookupError, ValueError) as error:  # others may pass: they end this reading, which is tried again
            changes.errors["store"] += 1
            _log.error("evidence or a label is lost: %s", error)
            return None


def _expected(row: Any) -> bool:
    """Whether the ledger holds the unit of a label, and whether one of this source was to come.

    A requested label of a unit that nobody was asked about is a volunteer's: its probability is unknown.
    """
    return row.time is not None and not (row.source == "requested" and row.state == UNASKED)


def _joined() -> Select[Any]:
    unit = and_(item.c.epoch == label.c.epoch, item.c.sequence == label.c.sequence)
    columns = (*_LABEL, *_UNIT, *_ASKED, item.c.evidence_ref)
    return select(*columns).select_from(label.outerjoin(item, unit)).order_by(label.c.epoch, label.c.sequence)


def _by_unit(connection: Connection, query: Select[Any]) -> Iterator[list[Row[Any]]]:
    """The rows of a query, unit by unit; never more than a chunk in memory."""
    found = connection.execution_options(stream_results=True, yield_per=_CHUNK).execute(query)
    for _, rows in groupby(found, lambda row: (row.epoch, row.sequence)):
        yield list(rows)


def _winners(rows: Iterable[Any]) -> dict[str, Any]:
    """The label of a unit that counts, by source: the last by version, time of observation, receipt, content."""
    found: dict[str, Any] = {}
    for row in rows:
        best = found.get(row.source)
        if best is None or rank(*_order(row)) > rank(*_order(best)):
            found[row.source] = row
    return found


def _order(row: Any) -> tuple[int, float | None, float, str]:
    return row.version, row.observed, row.received, row.digest

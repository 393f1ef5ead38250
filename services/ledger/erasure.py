"""Erase inputs, evidence and raw labels of units; keep their scores. By unit, or by a retention period.

Errors of labels are computed before, since that is impossible afterwards. A unit keeps its place in segments, and its
item and labels as tombstones.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, bindparam, func, insert, or_, select, tuple_, update

from models.label_errors import BadLabel, LabelRule
from services.ledger.contract import LedgerWriter, Place
from services.ledger.store import Store
from services.ledger.tables import OPEN, erasure, flag, item, label, opinion, request_event, segment
from services.ledger.unit_ids import Unit
from services.runtime.logging import get_logger

_log = get_logger(__name__)
PIECE = 500
"""Units of one transaction, so that other changes get their turn between."""
RETENTION = "retention"
_CONTENT = or_(
    item.c.payload.is_not(None),
    item.c.payload_ref.is_not(None),
    item.c.evidence.is_not(None),
    item.c.evidence_ref.is_not(None),
)
_REFERENCES = (
    *(item.c.payload_ref, item.c.evidence_ref, label.c.value_ref, opinion.c.value_ref, opinion.c.correction_ref),
)
_OPINION_CONTENT = ("value", "value_ref", "correction", "correction_ref", "digest", "lease", "lease_until", "holder")


class Erasure:
    """Erasure in one ledger and its store."""

    def __init__(
        self, writer: LedgerWriter, judging: Mapping[str, LabelRule | None], store: Store, clock: Callable[[], float]
    ) -> None:
        """``judging`` is by head; labels of heads that are not in it lose their values without an error."""
        self._writer = writer
        self._judging = judging
        self._store = store
        self._clock = clock
        self._retired: dict[int, int] = {}
        """Last flush without anything left to retire, by writer."""

    async def erase(self, units: Iterable[Unit], actor: str, reason: str) -> int:
        """Erase units now; return how many had anything to erase. Requests for their labels end as unlabelable.

        Raises:
            LedgerUnavailable: not all were erased; the call may be repeated.
        """
        ordered, count = sorted(set(units)), 0
        for start in range(0, len(ordered), PIECE):
            count += await self._erase(ordered[start : start + PIECE], actor, reason)
        return count

    async def retire(self, before: float) -> int:
        """Erase units decided before a time, and labels without a unit received before it; return how many.

        Raises:
            LedgerUnavailable: the rest is left for the next call.
        """
        total = 0
        for epoch, last in await self._writer.read(lambda connection: _old_flushes(connection, before)):
            while units := await self._writer.read(lambda c, e=epoch, f=last: self._old(c, e, f, before)):  # type: ignore[misc]
                total += await self._erase(units, "service", RETENTION)
            self._retired[epoch] = last - 1  # the last one may have younger units, too
        while units := await self._writer.read(lambda connection: _old_labels(connection, before)):
            total += await self._erase(units, "service", RETENTION)
        return total

    async def sweep(self) -> int:
        """Delete old files of the store that no row references; return how many."""
        loop = asyncio.get_running_loop()

        def named(references: list[str]) -> set[str]:
            return asyncio.run_coroutine_threadsafe(self._writer.read(lambda c: _named(c, references)), loop).result()

        return await loop.run_in_executor(None, self._store.sweep, named)

    async def _erase(self, units: Sequence[Unit], actor: str, reason: str) -> int:
        count, references = await self._writer.run(lambda c, p: self._change(c, p, units, actor, reason))
        if references:
            kept = await self._writer.read(lambda connection: _named(connection, references))
            gone = [reference for reference in references if reference not in kept]
            await asyncio.get_running_loop().run_in_executor(None, self._store.delete_old, gone)
        if count:
            await self._writer.forget()
        return count

    def _old(self, connection: Connection, epoch: int, last: int, before: float) -> list[Unit]:
        """Return a piece of a writer's items that are too old and still have content."""
        query = (
            select(item.c.epoch, item.c.sequence)
            .where(item.c.writer == epoch, item.c.flush > self._retired.get(epoch, 0), item.c.flush <= last)
            .where(item.c.time < before, _CONTENT)
            .order_by(item.c.flush)
            .limit(PIECE)
        )
        return [(row.epoch, row.sequence) for row in connection.execute(query)]

    def _change(
        self, connection: Connection, place: Place, units: Sequence[Unit], actor: str, reason: str
    ) -> tuple[int, list[str]]:
        """Erase units; return how many, and the references that they had. Runs in the writer's thread."""
        now = self._clock()
        of_items = tuple_(item.c.epoch, item.c.sequence).in_(units)
        of_labels = tuple_(label.c.epoch, label.c.sequence).in_(units)
        items = (
            connection.execute(select(item).where(of_items, or_(_CONTENT, item.c.erased.is_(None)))).mappings().all()
        )
        held = and_(of_labels, or_(label.c.value.is_not(None), label.c.value_ref.is_not(None)))
        labels = connection.execute(select(label).where(held)).mappings().all()
        touched = {(row["epoch"], row["sequence"]) for row in (*items, *labels)}
        if not touched:
            return 0, []
        self._judge(connection, items, labels)
        opinions = self._erase_opinions(connection, place, units, labels, now)
        _blank(connection, labels, now)
        _close(connection, place, [row for row in items if row["state"] in OPEN], actor, reason, now)
        empty = {"payload": None, "payload_ref": None, "evidence": None, "evidence_ref": None, "erased": now}
        connection.execute(update(item).where(of_items).values(empty))
        row = {"time": now, "actor": actor[:128], "reason": reason[:255], "units": len(touched)}
        connection.execute(insert(erasure).values(row | place.columns))
        columns = ("payload_ref", "evidence_ref", "value_ref", "correction_ref")
        rows = (*items, *labels, *opinions)
        references = {row[name] for row in rows for name in columns if row.get(name) is not None}
        return len(touched), sorted(references)

    def _judge(self, connection: Connection, items: Sequence[RowMapping], labels: Sequence[RowMapping]) -> None:
        """Compute errors of labels, which is impossible afterwards."""
        evidence = {(row["epoch"], row["sequence"], row["head"]): row for row in items}
        errors = []
        for row in labels:
            unit = evidence.get((row["epoch"], row["sequence"], row["head"]))
            if row["error"] is None and unit is not None:
                error = self._error(unit, row)
                if error is not None:
                    errors.append({"row": row["id"], "error": error})
        if errors:
            statement = update(label).where(label.c.id == bindparam("row")).values(error=bindparam("error"))
            connection.execute(statement, errors)

    def _erase_opinions(
        self, connection: Connection, place: Place, units: Sequence[Unit], labels: Sequence[RowMapping], now: float
    ) -> Sequence[RowMapping]:
        """Erase second opinions and notes of units; keep the differences from their labels. Return the old rows."""
        of_opinions = and_(tuple_(opinion.c.epoch, opinion.c.sequence).in_(units), opinion.c.erased.is_(None))
        opinions = connection.execute(select(opinion).where(of_opinions)).mappings().all()
        by_id = {row["id"]: row for row in labels}
        for row in opinions:
            compared = row["difference"]
            if compared is None and row["state"] == "labelled" and row["label"] in by_id:
                compared = self._difference(row, by_id[row["label"]])
            state = row["state"] if row["state"] not in OPEN else "unlabelable"
            values = dict.fromkeys(_OPINION_CONTENT) | {"erased": now, "difference": compared, "state": state}
            change = update(opinion).where(opinion.c.request == row["request"])
            connection.execute(change.values(values | place.columns))
        connection.execute(update(flag).where(tuple_(flag.c.epoch, flag.c.sequence).in_(units)).values(note=""))
        return opinions

    def _difference(self, opinion_row: RowMapping, label_row: RowMapping) -> float:
        """Return the difference of an opinion from its label; -1 where it cannot be computed."""
        rule = self._judging.get(opinion_row["head"])
        try:
            own = self._content(opinion_row["value"], opinion_row["value_ref"])
            value = self._content(label_row["value"], label_row["value_ref"])
            difference = math.nan if rule is None or own is None or value is None else rule.difference(value, own)
        except (BadLabel, LookupError, ValueError) as failure:
            _log.error("an opinion on %s loses its value without a difference: %s", opinion_row["head"], failure)
            return -1.0
        return difference if math.isfinite(difference) else -1.0

    def _error(self, unit: RowMapping, label_row: RowMapping) -> float | None:
        rules = self._judging.get(unit["head"])
        try:
            evidence = self._content(unit["evidence"], unit["evidence_ref"])
            value = self._content(label_row["value"], label_row["value_ref"])
            if rules is None or evidence is None or value is None:
                return None
            error = float(rules.errors([evidence], [value])[0])
        except (BadLabel, LookupError, ValueError) as failure:
            _log.error("a label of %s loses its value without an error: %s", unit["head"], failure)
            return None
        return error if math.isfinite(error) else None

    def _content(self, inline: bytes | None, reference: str | None) -> bytes | None:
        return self._store.get(reference) if reference is not None else inline


def _blank(connection: Connection, labels: Sequence[RowMapping], now: float) -> None:
    """Remove values and digests of labels: trying all numbers would reveal the one with a digest.

    Their order by digest is kept, so that the same one of a unit's labels still counts. Keys of callers end in a
    number sign and the version; others are digests of the content.
    """
    ordered = sorted(labels, key=lambda row: (row["epoch"], row["sequence"], row["digest"]))
    blank = [
        {"row": row["id"], "place": f"{place:08d}", "name": row["key"] if "#" in row["key"] else f"erased:{row['id']}"}
        for place, row in enumerate(ordered)
    ]
    change = update(label).where(label.c.id == bindparam("row"))
    change = change.values(value=None, value_ref=None, erased=now, digest=bindparam("place"), key=bindparam("name"))
    if blank:
        connection.execute(change, blank)


def _close(
    connection: Connection, place: Place, items: Sequence[RowMapping], actor: str, reason: str, now: float
) -> None:
    """End requests of erased units as unlabelable."""
    if not items:
        return
    units = [(row["epoch"], row["sequence"]) for row in items]
    state = {"state": "unlabelable", "holder": None, "lease": None, "lease_until": None}
    connection.execute(update(item).where(tuple_(item.c.epoch, item.c.sequence).in_(units)).values(state))
    event = place.columns | {
        "time": now,
        "state": "unlabelable",
        "actor": actor[:128],
        "reason": f"erased: {reason}"[:255],
    }
    connection.execute(insert(request_event), [event | {"epoch": e, "sequence": s} for e, s in units])


def _old_flushes(connection: Connection, before: float) -> list[tuple[int, int]]:
    """Return each writer with its last flush that has units from before a time."""
    last = func.max(segment.c.flush).label("last")
    query = select(segment.c.writer, last).where(segment.c.first_time < before).group_by(segment.c.writer)
    return [(row.writer, row.last) for row in connection.execute(query)]


def _old_labels(connection: Connection, before: float) -> list[Unit]:
    """Return a piece of the units whose labels are too old and have no item (any more) that will be retired."""
    held: ColumnElement[bool] = or_(label.c.value.is_not(None), label.c.value_ref.is_not(None))
    same = and_(item.c.epoch == label.c.epoch, item.c.sequence == label.c.sequence, item.c.time >= before)
    query = select(label.c.epoch, label.c.sequence).where(label.c.received < before, held)
    query = query.where(~select(item.c.epoch).where(same).exists()).distinct().limit(PIECE)
    return [(row.epoch, row.sequence) for row in connection.execute(query)]


def _named(connection: Connection, references: list[str]) -> set[str]:
    """Return those of some references that rows use."""
    named: set[str] = set()
    for start in range(0, len(references), PIECE):
        piece = references[start : start + PIECE]
        for column in _REFERENCES:
            named |= set(connection.scalars(select(column).where(column.in_(piece))))
    return named

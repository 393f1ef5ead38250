"""Units that could not be recorded, until a gap row tells every reader of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, insert

from services.ledger.journal import Journal, Lost
from services.ledger.outstanding import Outstanding
from services.ledger.tables import gap
from services.ledger.writer import Place, Writer


@dataclass(eq=False)
class _Loss:
    """Lost units of one reason; its identity is its place in ``Outstanding``."""

    lost: Lost


@dataclass(eq=False)
class Gaps:
    """Losses by reason. They also stand in the journal's head, so that a kill does not forget them."""

    outstanding: Outstanding
    journal: Journal | None = None
    _losses: dict[str, _Loss] = field(default_factory=dict)
    _written: dict[str, _Loss] = field(default_factory=dict)

    def add(self, time: float, units: int, reason: str, until: float | None = None) -> None:
        """Units decided at a time (or between two) are not in the ledger."""
        with self.outstanding.lock:
            loss = self._losses.get(reason)
            if loss is None:
                loss = self._losses[reason] = _Loss(Lost(time, time, 0))
                self.outstanding.add(loss, time)
            old = loss.lost
            if time < old.from_time:
                self.outstanding.add(loss, time)
            end = max(old.to_time, until or time)
            loss.lost = Lost(min(old.from_time, time), end, old.units + units)
            self._note()

    async def settle(self, writer: Writer) -> None:
        """Writes gap rows for all that was lost so far.

        Raises:
            LedgerUnavailable: they could not be written; they are kept.
        """
        if not self._losses:
            return
        failed = True
        try:
            await writer.settle(self._write)
            failed = False
        finally:
            with self.outstanding.lock:
                written, self._written = self._written, {}
                for reason, loss in written.items():
                    self.outstanding.remove(loss)
                    if failed:
                        self.add(loss.lost.from_time, loss.lost.units, reason, loss.lost.to_time)
                self._note()

    def _write(self, connection: Connection, place: Place) -> None:
        """Runs in the writer's thread."""
        with self.outstanding.lock:
            self._written, self._losses = self._losses, {}
            for loss in self._written.values():
                self.outstanding.written(loss, place)
            rows = [_row(loss.lost, reason) | place.columns for reason, loss in self._written.items()]
        connection.execute(insert(gap), rows)

    def _note(self) -> None:
        """Writes all that is lost into the journal's head."""
        if self.journal is None:
            return
        found = [loss.lost for loss in (*self._losses.values(), *self._written.values())]
        if not found:
            self.journal.note_lost(None)
            return
        total = Lost(
            min(one.from_time for one in found), max(one.to_time for one in found), sum(one.units for one in found)
        )
        self.journal.note_lost(replace(total, units=max(1, total.units)))


def _row(lost: Lost, reason: str) -> dict[str, object]:
    return {"from_time": lost.from_time, "to_time": lost.to_time, "units": lost.units, "reason": reason[:255]}


def write_gap(connection: Connection, place: Place, lost: Lost, reason: str) -> None:
    """One gap row."""
    connection.execute(insert(gap).values(_row(lost, reason) | place.columns))

"""Gaps: units that could not be recorded, until a row tells every reader of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, insert

from services.ledger.commit_queue import Watermark
from services.ledger.contract import Place
from services.ledger.tables import gap
from services.ledger.writer import Writer


@dataclass(frozen=True, slots=True)
class Lost:
    """Units that are not in the ledger, and when they were decided (seconds since 1970)."""

    from_time: float
    to_time: float
    units: int


@dataclass(eq=False)
class _Loss:
    """Lost units of one reason; its identity is its token in the ``Watermark``."""

    lost: Lost


@dataclass(eq=False)
class GapLog:
    """Losses by reason, also kept in the journal's head so that they survive a kill."""

    watermark: Watermark
    note: Callable[[Lost | None], None]
    """Keep all that is lost where a kill does not reach it; None: nothing is."""
    _losses: dict[str, _Loss] = field(default_factory=dict)
    _written: dict[str, _Loss] = field(default_factory=dict)

    def add(self, time: float, units: int, reason: str, until: float | None = None) -> None:
        """Add units decided at a time (or between two) that are not in the ledger."""
        with self.watermark.lock:
            loss = self._losses.get(reason)
            if loss is None:
                loss = self._losses[reason] = _Loss(Lost(time, time, 0))
                self.watermark.add(loss, time)
            old = loss.lost
            if time < old.from_time:
                self.watermark.add(loss, time)
            end = max(old.to_time, until or time)
            loss.lost = Lost(min(old.from_time, time), end, old.units + units)
            self._note()

    async def settle(self, writer: Writer) -> None:
        """Write gap rows for all that was lost so far.

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
            with self.watermark.lock:
                written, self._written = self._written, {}
                for reason, loss in written.items():
                    self.watermark.remove(loss)
                    if failed:
                        self.add(loss.lost.from_time, loss.lost.units, reason, loss.lost.to_time)
                self._note()

    def _write(self, connection: Connection, place: Place) -> None:
        """Write the rows; runs in the writer's thread."""
        with self.watermark.lock:
            self._written, self._losses = self._losses, {}
            for loss in self._written.values():
                self.watermark.written(loss, place)
            rows = [_row(loss.lost, reason) | place.columns for reason, loss in self._written.items()]
        connection.execute(insert(gap), rows)

    def _note(self) -> None:
        losses = [loss.lost for loss in (*self._losses.values(), *self._written.values())]
        if not losses:
            self.note(None)
            return
        total = Lost(
            min(lost.from_time for lost in losses),
            max(lost.to_time for lost in losses),
            sum(lost.units for lost in losses),
        )
        self.note(replace(total, units=max(1, total.units)))


def _row(lost: Lost, reason: str) -> dict[str, object]:
    return {"from_time": lost.from_time, "to_time": lost.to_time, "units": lost.units, "reason": reason[:255]}


def write_gap(connection: Connection, place: Place, lost: Lost, reason: str) -> None:
    """Write one gap row."""
    connection.execute(insert(gap).values(_row(lost, reason) | place.columns))

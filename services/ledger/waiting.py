"""Portions whose answers wait for a commit: all that wait go into one flush, and none waits beyond its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from services.ledger.decided import Decided
from services.ledger.deployments import Deployments
from services.ledger.items import Parts, by_key, keep_large, write_items, write_segments
from services.ledger.lost import Gaps
from services.ledger.outstanding import Outstanding
from services.ledger.store import INLINE_BYTES, Store
from services.ledger.writer import Place, Writer
from services.policy.audit_draws import Draws
from services.runtime.errors import LedgerUnavailable
from services.runtime.logging import get_logger

_log = get_logger(__name__)


@dataclass(eq=False)
class _Portion:
    decided: list[Decided]
    future: asyncio.Future[bool]
    time: float

    @property
    def units(self) -> int:
        return sum(len(one.uncertainty) for one in self.decided)


@dataclass(eq=False)
class _Batch:
    """What one flush takes of the portions that wait."""

    portions: list[_Portion] = field(default_factory=list)


class Waiting:
    """The portions of one process that wait for the writer."""

    def __init__(
        self,
        writer: Writer,
        outstanding: Outstanding,
        gaps: Gaps,
        parts: Parts,
        deployments: Deployments,
        store: Store,
        *,
        deadline_seconds: float,
        lost: Callable[[int, str], None],
    ) -> None:
        """``lost`` hears of units that could not be recorded, and of the reason in a word."""
        self._writer = writer
        self._outstanding = outstanding
        self._gaps = gaps
        self._parts = parts
        self._deployments = deployments
        self._store = store
        self._deadline_seconds = deadline_seconds
        self._lost = lost
        self._draws = Draws(writer.secret, writer.epoch)
        self._portions: list[_Portion] = []
        self._batch: _Batch | None = None
        """The flush that was asked for and has not begun."""

    async def durable(self, decided: list[Decided]) -> bool:
        """True when these units are committed; False, and a gap, where that does not come in time."""
        loop = asyncio.get_running_loop()
        portion = _Portion(decided, loop.create_future(), self._outstanding.clock())
        if self._writer.hindrance() is not None:
            self._lose(portion, "stalled" if self._writer.up else "down")
            return False
        try:
            await self.keep_large(decided)
        except OSError as error:
            _log.error("the store takes nothing: %s", error)
            self._lose(portion, "store")
            return False
        self._enqueue(portion)
        timer = loop.call_later(self._deadline_seconds, self._late, portion)
        try:
            return await asyncio.shield(portion.future)
        finally:
            timer.cancel()

    async def keep_large(self, decided: list[Decided]) -> None:
        """Stores what is too large for rows, beside the loop.

        Raises:
            OSError: the store takes nothing.
        """
        contents = (content for one in decided for content in (*one.evidence, *one.payload))
        if any(content is not None and len(content) > INLINE_BYTES for content in contents):
            await asyncio.get_running_loop().run_in_executor(None, keep_large, decided, self._store)

    def write(self, connection: Connection, place: Place, decided: list[Decided]) -> None:
        """Segments and items of one flush; runs in the writer's thread."""
        self._deployments.write(connection, place)
        write_segments(connection, place, by_key(decided), self._parts)
        write_items(connection, place, decided, self._draws)

    def _enqueue(self, portion: _Portion) -> None:
        """Joins the flush that was asked for, or asks for one."""
        with self._outstanding.lock:
            portion.time = self._outstanding.clock()
            for one in portion.decided:
                one.time = portion.time
            self._outstanding.add(portion, portion.time)
            self._portions.append(portion)
            if self._batch is not None:
                return
            batch = self._batch = _Batch()
        try:
            self._writer.submit(
                lambda connection, place: self._flush(connection, place, batch),
                lambda outcome, error: self._settle(batch, error),
            )
        except LedgerUnavailable as error:
            self._settle(batch, error)

    def _flush(self, connection: Connection, place: Place, batch: _Batch) -> None:
        """Runs in the writer's thread."""
        with self._outstanding.lock:
            batch.portions, self._portions, self._batch = self._portions, [], None
        self.write(connection, place, [one for portion in batch.portions for one in portion.decided])
        for portion in batch.portions:
            self._outstanding.written(portion, place)

    def _settle(self, batch: _Batch, error: BaseException | None) -> None:
        """The outcome of a flush."""
        with self._outstanding.lock:
            if self._batch is batch:  # it never began
                batch.portions, self._portions, self._batch = self._portions, [], None
        if error is not None and not isinstance(error, LedgerUnavailable):
            _log.error("units could not be written, by a defect", exc_info=error)
        for portion in batch.portions:
            if not portion.future.done():
                if error is not None:
                    self._lose(portion, "failed")
                portion.future.set_result(error is None)
            self._outstanding.remove(portion)

    def _late(self, portion: _Portion) -> None:
        """The answer waits no longer; its units are in no flush then, or (where one is under way) in a gap as well."""
        if portion.future.done():
            return
        self._lose(portion, "late")
        portion.future.set_result(False)
        with self._outstanding.lock:
            if portion in self._portions:
                self._portions.remove(portion)
                self._outstanding.remove(portion)

    def _lose(self, portion: _Portion, reason: str) -> None:
        self._gaps.add(portion.time, portion.units, reason)
        self._lost(portion.units, reason)

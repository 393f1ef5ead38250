"""Promotion: explored units that their caller acts on become decided ones, durably, with draws of their own, once."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from services.ledger.commit_queue import CommitQueue, Watermark
from services.ledger.contract import Committed, Place
from services.ledger.decided import Decided
from services.ledger.exploration_buffer import COMMITTED, HELD, UNDER_WAY, ExplorationBuffer, HeldPortion
from services.ledger.writer import Writer
from services.runtime.errors import LedgerUnavailable

Chosen = tuple[HeldPortion, NDArray[np.intp]]
"""Units of a held portion, counted from its first."""
Decide = Callable[[str, HeldPortion, int, int], Decided]
"""Return units of a head as decided ones: head, portion, and first and end of the units within the head."""
PIECE = 2000
"""Ids of one flush."""


class Promotion:
    """Commits of one process, one after the other, so that two of the same unit are one."""

    def __init__(
        self,
        writer: Writer,
        explored: ExplorationBuffer,
        watermark: Watermark,
        queue: CommitQueue,
        decide: Decide,
        count: Callable[[list[Decided]], None],
    ) -> None:
        """``count`` is called with what was committed."""
        self._writer = writer
        self._explored = explored
        self._watermark = watermark
        self._queue = queue
        self._decide = decide
        self._count = count
        self._turn = asyncio.Lock()

    async def commit(self, ids: Sequence[tuple[int, int]]) -> Committed:
        """Commit units; see ``Ledger.commit``. Many ids go in several flushes, so that answers get their turn."""
        known, unknown = 0, list[tuple[int, int]]()
        async with self._turn:
            for start in range(0, len(ids), PIECE):
                chosen, missing, count = self._find(ids[start : start + PIECE])
                unknown += missing
                known += count
                if chosen:
                    await self._write(chosen, [run for held, units in chosen for run in self._runs(held, units)])
        return Committed(known, tuple(unknown))

    def _find(self, ids: Sequence[tuple[int, int]]) -> tuple[list[Chosen], list[tuple[int, int]], int]:
        """Return units that are held and not committed yet, by portion; unknown ids; and how many are known."""
        by_portion: dict[int, tuple[HeldPortion, set[int]]] = {}
        unknown, known = [], set()
        for epoch, sequence in ids:
            held = self._explored.find(sequence) if epoch == self._writer.epoch else None
            if held is None:
                unknown.append((epoch, sequence))
                continue
            known.add(sequence)
            if held.states[sequence - held.first] == HELD:
                by_portion.setdefault(held.first, (held, set()))[1].add(sequence - held.first)
        chosen = [(held, np.array(sorted(units), np.intp)) for held, units in by_portion.values()]
        return chosen, unknown, len(known)

    def _runs(self, held: HeldPortion, units: NDArray[np.intp]) -> list[Decided]:
        """Return one run for the units that follow one another within a head."""
        runs = []
        for head, first in held.heads():
            start = first - held.first
            of_head = units[(units >= start) & (units < start + held.portion.ids[head].count)] - start
            for run in np.split(of_head, np.flatnonzero(np.diff(of_head) != 1) + 1):
                if len(run):
                    runs.append(self._decide(head, held, int(run[0]), int(run[-1]) + 1))
        return runs

    async def _write(self, chosen: list[Chosen], decided: list[Decided]) -> None:
        """Return when all is durable. While the outcome is in doubt nobody else commits: that would draw again.

        Raises:
            LedgerUnavailable: it was not written; the units are held as before.
        """
        try:
            await self._queue.keep_large(decided)
        except OSError as error:
            raise LedgerUnavailable("the store of large inputs cannot be written", code="ledger_unavailable") from error
        token = object()

        def write(connection: Connection, place: Place) -> None:
            with self._watermark.lock:
                now = self._watermark.clock()
                self._watermark.add(token, now)
                self._watermark.written(token, place)
            for part in decided:
                part.time = now
            self._queue.write(connection, place, decided)

        def done(_: Any, error: BaseException | None) -> None:
            self._watermark.remove(token)
            self._mark(chosen, COMMITTED if error is None else HELD)
            if error is None:
                self._count(decided)
            if not outcome.done():
                outcome.set_result(error)

        outcome: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        self._writer.queue.submit(write, done)
        self._mark(chosen, UNDER_WAY)
        if (failure := await outcome) is not None:
            raise failure

    @staticmethod
    def _mark(chosen: list[Chosen], state: int) -> None:
        for held, units in chosen:
            held.states[units] = state

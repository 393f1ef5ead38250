"""Explored units that their caller acts on become decided ones: durable, with draws of their own, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from services.ledger.decided import Decided
from services.ledger.explored import COMMITTED, HELD, UNDER_WAY, Explored, Held
from services.ledger.outstanding import Outstanding
from services.ledger.waiting import Waiting
from services.ledger.writer import Place, Writer
from services.request.pipeline import Committed
from services.runtime.errors import LedgerUnavailable

Chosen = tuple[Held, NDArray[np.intp]]
"""Units of a held portion, counted from its first."""
Decide = Callable[[str, Held, int, int], Decided]
"""Head, portion, and first and end of units within the head: those units as decided ones."""


PIECE = 2000
"""Ids of one flush."""


class Commits:
    """Commits of one process, one after the other, so that two of the same unit are one."""

    def __init__(
        self,
        writer: Writer,
        explored: Explored,
        outstanding: Outstanding,
        waiting: Waiting,
        decide: Decide,
        count: Callable[[list[Decided]], None],
    ) -> None:
        """``count`` hears of what was committed."""
        self._writer = writer
        self._explored = explored
        self._outstanding = outstanding
        self._waiting = waiting
        self._decide = decide
        self._count = count
        self._turn = asyncio.Lock()

    async def commit(self, ids: Sequence[tuple[int, int]]) -> Committed:
        """See ``services.request.pipeline.Ledger``. Many ids go in several flushes, so that answers get their turn between."""
        known, unknown = 0, list[tuple[int, int]]()
        async with self._turn:
            for start in range(0, len(ids), PIECE):
                chosen, strange, count = self._find(ids[start : start + PIECE])
                unknown += strange
                known += count
                if chosen:
                    await self._write(chosen, [one for held, units in chosen for one in self._runs(held, units)])
        return Committed(known, tuple(unknown))

    def _find(self, ids: Sequence[tuple[int, int]]) -> tuple[list[Chosen], list[tuple[int, int]], int]:
        """Units that are held and not committed yet, by portion; ids that are unknown; how many are known."""
        by_portion: dict[int, tuple[Held, set[int]]] = {}
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

    def _runs(self, held: Held, units: NDArray[np.intp]) -> list[Decided]:
        """A run for the units that follow one another within a head."""
        found = []
        for head, first in held.heads():
            start = first - held.first
            mine = units[(units >= start) & (units < start + held.portion.ids[head].count)] - start
            for run in np.split(mine, np.flatnonzero(np.diff(mine) != 1) + 1):
                if len(run):
                    found.append(self._decide(head, held, int(run[0]), int(run[-1]) + 1))
        return found

    async def _write(self, chosen: list[Chosen], decided: list[Decided]) -> None:
        """Returns when all is durable. While the outcome is in doubt nobody else commits: that would draw again.

        Raises:
            LedgerUnavailable: it was not written; the units are held as before.
        """
        try:
            await self._waiting.keep_large(decided)
        except OSError as error:
            raise LedgerUnavailable("the store of large inputs cannot be written", code="ledger_unavailable") from error
        token = object()

        def write(connection: Connection, place: Place) -> None:
            with self._outstanding.lock:
                now = self._outstanding.clock()
                self._outstanding.add(token, now)
                self._outstanding.written(token, place)
            for one in decided:
                one.time = now
            self._waiting.write(connection, place, decided)

        def done(_: Any, error: BaseException | None) -> None:
            self._outstanding.remove(token)
            self._mark(chosen, COMMITTED if error is None else HELD)
            if error is None:
                self._count(decided)
            if not outcome.done():
                outcome.set_result(error)

        outcome: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        self._writer.submit(write, done)
        self._mark(chosen, UNDER_WAY)
        if (failure := await outcome) is not None:
            raise failure

    @staticmethod
    def _mark(chosen: list[Chosen], state: int) -> None:
        for held, units in chosen:
            held.states[units] = state

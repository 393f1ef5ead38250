"""Durable ledger of one task: decisions are durable before their answer leaves, or the answer says that they are not.

Units go into the journal, and their answer leaves at once; the database follows within a second. What the journal does
not take waits for a commit: large contents, everything with ``power`` durability, and with a database on another host,
which outlives this one, deferred and audited units and those under a census. Such an answer that misses its deadline,
or meets a ledger that is down, leaves with ``recorded = false``; its units become a gap that readers see.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from models.head import Head
from models.label_errors import LabelRule, label_rule
from services.ledger.commit_queue import CommitQueue, Watermark
from services.ledger.contract import Change, Committed, LedgerWriter, Payload, Portion
from services.ledger.decided import Decided, Key
from services.ledger.deployments import Deployment, Deployments
from services.ledger.erasure import Erasure
from services.ledger.exploration_buffer import ExplorationBuffer, HeldPortion
from services.ledger.gap_log import GapLog
from services.ledger.items import Parts, write_tallies
from services.ledger.journal_flusher import FORGOTTEN, JournalFlusher
from services.ledger.promotion import Promotion
from services.ledger.recovery import take_over
from services.ledger.store import INLINE_BYTES, Store
from services.ledger.writer import Writer
from services.policy.audit_draws import Draws, propensity
from services.policy.decision import Decision
from services.runtime.errors import LedgerUnavailable
from services.runtime.logging import get_logger

_log = get_logger(__name__)
T = TypeVar("T")
TEND_SECONDS = 0.25
"""Between a recorded unit and the round of background work after it: the journal, gaps, counts of explored units."""
REST_SECONDS = 5.0
"""Between two rounds if nothing was recorded."""
TALLY_SECONDS = 1.0
TAKE_OVER_SECONDS = 60.0
ERASE_SECONDS = 3600.0
STOP_SECONDS = 10.0
_NONE: NDArray[np.intp] = np.zeros(0, np.intp)
_FIRST: NDArray[np.intp] = np.zeros(1, np.intp)


class Counts(Protocol):
    """Observer that counts what becomes of units."""

    def recorded(self, units: int) -> None: ...

    def unrecorded(self, units: int, reason: str) -> None:
        """``reason`` is one of a few words."""
        ...

    def audited(self, head: str, units: int) -> None: ...


@dataclass(frozen=True)
class Options:
    """Options of a ledger."""

    directory: Path
    """Directory of journals, on a local disk."""
    deadline_seconds: float = 0.25
    """Longest time that an answer waits for its commit."""
    journal: bool = True
    """False: every answer waits for its commit, as durability beyond a power loss needs it."""
    keep_payload: bool = False
    """True: the inputs of deferred and audited units are kept for labelling."""
    journal_bytes: int = 1 << 30
    """Limit of the journal while the database is down."""
    explore_bytes: int = 64 << 20
    explore_seconds: float = 900.0
    """ExplorationBuffer units can be committed for so long, and while they are no more than so many bytes."""
    census: frozenset[str] = frozenset()
    """Heads whose every unit gets a label: evidence of all of them is kept."""
    retention_seconds: float = math.inf
    """Inputs, evidence and raw labels of units are erased after so long."""


class DurableLedger:
    """Durable ledger of one task in one process; use it from one event loop."""

    def __init__(
        self,
        writer: Writer,
        watermark: Watermark,
        *,
        heads: Sequence[Head],
        deployments: Sequence[Deployment],
        store: Store,
        counts: Counts,
        options: Options,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``watermark`` is the one that the writer's ``complete_until`` belongs to."""
        self.writer = writer
        self.options = options
        self._tending: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._stirred = asyncio.Event()
        """Set where a round of background work has something to do."""
        self._watermark = watermark
        self._deployments = Deployments(deployments, watermark.clock)
        self._streams: dict[str, str] = {}
        self.explored = ExplorationBuffer(
            options.explore_bytes, options.explore_seconds, monotonic, streams=self._streams
        )
        self._edges: dict[str, Sequence[float] | None] = {}
        self.deploy(deployments)
        self._counts = counts
        self._judging = {head.name: _judging(head) for head in heads}
        self._draws = Draws(writer.secret, writer.epoch)
        self._parts = Parts()
        self._journal = JournalFlusher(watermark, self._parts)
        self._gaps = GapLog(watermark, self._journal.note_lost)
        self._commit_queue = CommitQueue(
            writer.queue,
            watermark,
            self._draws,
            self._parts,
            self._deployments,
            store,
            deadline_seconds=options.deadline_seconds,
            lost=self._lose,
        )
        self._promotion = Promotion(writer, self.explored, watermark, self._commit_queue, self._promoted, self._count)
        self.erasure = Erasure(self.current, self._judging, store, watermark.clock)

    @property
    def current(self) -> LedgerWriter:
        """Writer for changes and queries that have to see all units recorded before."""
        return _Current(self)

    @property
    def clock(self) -> Callable[[], float]:
        """Clock of all rows: seconds since 1970, never running back."""
        return self._watermark.clock

    @property
    def journal_bytes(self) -> int:
        """Size of the journal, bytes."""
        return self._journal.nbytes

    def deploy(self, deployments: Sequence[Deployment]) -> None:
        """Replace what is served: units from now on are written to its streams."""
        self._deployments.put(deployments)
        self._streams.update({deployment.head.name: deployment.model for deployment in deployments})
        self._edges.update({deployment.head.name: _edges(deployment) for deployment in deployments})
        self._stirred.set()

    async def start(self) -> None:
        """Open journal and database; a database that is down is tried again in the background.

        Raises:
            LedgerRefused: no retry will mend it.
        """
        if self.options.journal:
            self._journal.open(self.options.directory, self.writer, self.options.journal_bytes)
        await self.writer.start()
        with suppress(LedgerUnavailable):  # before there are units of it in the journal, which another process may move
            await self._write_deployments()
        self._stirred.set()
        self._tending = asyncio.create_task(self._tend())

    async def stop(self) -> None:
        """Write what is left; what the database does not take now stays in the journal for the next process."""
        self._ending.set()
        self._stirred.set()
        with suppress(LedgerUnavailable, TimeoutError):
            if self._tending is not None:  # to its end: cancelled, it would not know what was written
                await asyncio.wait_for(self._tending, STOP_SECONDS)
            await asyncio.wait_for(self._write_background(tallies=True), STOP_SECONDS)
        await self.writer.stop()
        self._journal.close()

    def record(self, portion: Portion, payload: Payload | None) -> bool | Awaitable[bool]:
        """Record a portion; return whether its units are durable, or an awaitable of that where it takes a commit."""
        self._stirred.set()
        if portion.purpose != "decide":
            self.explored.add(portion, payload, self._watermark.clock())
            return False
        decided = [self._decided(head, portion, payload) for head in portion.verdicts]
        if all(map(self._fits_journal, decided)) and self._journal.append(decided):
            self._count(decided)
            return True
        return self._committed(decided)

    def _fits_journal(self, decided: Decided) -> bool:
        if not len(decided.itemised):
            return True
        longest = max(map(len, filter(None, chain(decided.evidence, decided.payload))), default=0)
        return self.writer.local and longest <= INLINE_BYTES

    async def _committed(self, decided: list[Decided]) -> bool:
        """Return True once units are in the database."""
        recorded = await self._commit_queue.durable(decided)
        if recorded:
            self._count(decided)
        return recorded

    async def catch_up(self) -> None:
        """Return once everything that was recorded before is in the database.

        Raises:
            LedgerUnavailable: the database is down.
        """
        await self._journal.move(self.writer)

    async def commit(self, ids: Sequence[tuple[int, int]]) -> Committed:
        """Make explored units decided ones; see ``Ledger.commit``."""
        return await self._promotion.commit(ids)

    def _promoted(self, head: str, held: HeldPortion, start: int, end: int) -> Decided:
        return self._decided(head, held.portion, held.payload, start, end)

    def _decided(
        self, head: str, portion: Portion, payload: Payload | None, start: int = 0, end: int | None = None
    ) -> Decided:
        """Return units [start, end) of one head as decided ones.

        An audit is drawn for those within the threshold; evidence and inputs of drawn and deferred ones are kept.
        """
        verdict, first = portion.verdicts[head], portion.ids[head].first + start
        uncertainty, decisions = verdict.uncertainty[start:end], verdict.decisions[start:end]
        rate = propensity(verdict.policy, uncertainty)
        if len(decisions) == 1:  # the same as below, but faster
            requested = decisions[0] == Decision.DEFER.value or self._draws.uniform(first) < rate
            itemised = _FIRST if requested else _NONE
        else:
            drawn = self._draws.uniforms(first, len(decisions)) < rate
            itemised = np.flatnonzero((decisions == Decision.DEFER.value) | drawn)
        key = Key(head, self._streams.get(head, portion.model), verdict.policy.version, "decide")
        decided = self._whole(Decided(key, first, uncertainty, decisions, rate, itemised=itemised))
        decided.raw = None if verdict.raw is None else verdict.raw[start:end]
        if len(decided.itemised):
            self._keep(decided, portion, payload, decided.itemised + start)
        return decided

    def _whole(self, decided: Decided) -> Decided:
        """Itemise every unit under a census, where labels come without a request."""
        if decided.key.head not in self.options.census:
            return decided
        requested = np.zeros(len(decided.uncertainty), bool)
        requested[decided.itemised] = True
        return replace(decided, itemised=np.arange(len(requested)), requested=requested, census=True)

    def _keep(self, decided: Decided, portion: Portion, payload: Payload | None, units: NDArray[np.intp]) -> None:
        """Keep evidence and inputs of units, given by their places in the portion."""
        judging_rules = self._judging[decided.key.head]
        if judging_rules is not None:
            decided.evidence = judging_rules.evidence(portion.predictives[decided.key.head], units)
        decided.evidence = decided.evidence or (None,) * len(units)
        if payload is None or not self.options.keep_payload:
            return
        decided.payload_type, requested = payload.kind, decided.requested
        if requested is None:
            decided.payload = payload.pack(units)
        else:
            packed = iter(payload.pack(units[requested]))
            decided.payload = [next(packed) if keep else None for keep in requested.tolist()]

    def _lose(self, time: float, units: int, reason: str) -> None:
        self._gaps.add(time, units, reason)
        self._stirred.set()
        self._counts.unrecorded(units, reason)

    def _count(self, decided: list[Decided]) -> None:
        for part in decided:
            self._counts.recorded(len(part.uncertainty))
            if len(part.itemised):
                self._counts.audited(part.key.head, part.audited)

    async def _tend(self) -> None:
        tallied = taken_over = erased = -math.inf
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stirred.wait(), REST_SECONDS)
            with suppress(TimeoutError):  # what comes meanwhile is written in the same round
                await asyncio.wait_for(self._ending.wait(), TEND_SECONDS)
            if self.writer.queue.hindrance() is not None:
                continue
            self._stirred.clear()
            now = time.monotonic()
            try:
                if now - taken_over >= TAKE_OVER_SECONDS:
                    await take_over(self.writer, self.options.directory, self._watermark.clock)
                    taken_over = now
                await self._write_background(tallies=(tally := now - tallied >= TALLY_SECONDS))
                tallied = now if tally else tallied
                if self.explored.tallied:
                    self._stirred.set()  # their time comes
                if now - erased >= ERASE_SECONDS:
                    erased = now
                    await self._forget()
            except LedgerUnavailable:
                self._stirred.set()
            except Exception:
                self._stirred.set()
                _log.exception("work in the background of the ledger failed; it is tried again")

    async def forget_journal(self) -> None:
        """Drop what is in the database from the journal, which may hold inputs that have been erased."""
        await self._journal.forget()

    async def _forget(self) -> None:
        """Erase what is older than the retention period, and files that no row names."""
        if math.isfinite(self.options.retention_seconds):
            erased = await self.erasure.retire(self._watermark.clock() - self.options.retention_seconds)
            _log.info("inputs, evidence and raw labels of %d units were erased after their time", erased)
        await self.erasure.sweep()

    async def _write_deployments(self) -> None:
        if not self._deployments.known:
            written = self._deployments.current
            await self.writer.settle(self._deployments.write)
            self._deployments.known = written is self._deployments.current

    async def _write_background(self, *, tallies: bool) -> None:
        """Write deployments, gaps, the journal and counts of explored units."""
        await self._write_deployments()
        while self.writer.forgotten:
            start, end = self.writer.forgotten.pop()
            self._journal.reread()
            self._gaps.add(start, 0, FORGOTTEN, end)
        await self._gaps.settle(self.writer)
        await self._journal.move(self.writer)
        self.explored.forget()
        if tallies and (taken := self.explored.take_tallies()):
            rows = {key: tally.row(self._edges.get(key.head)) for key, tally in taken.items()}
            try:
                await self.writer.settle(lambda c, p: write_tallies(c, p, rows, self._parts))
            except BaseException:
                self.explored.give_back(taken)
                raise


class _Current:
    """Writer of a ledger that first moves the journal into the database."""

    def __init__(self, ledger: DurableLedger) -> None:
        self._ledger = ledger

    async def run(self, change: Change[T], *, seconds: float | None = None) -> T:
        await self._ledger.catch_up()
        return await self._ledger.writer.run(change, seconds=seconds)

    async def read(self, query: Callable[[Connection], T]) -> T:
        await self._ledger.catch_up()
        return await self._ledger.writer.read(query)

    async def forget(self) -> None:
        await self._ledger.forget_journal()
        await self._ledger.writer.forget()


def _judging(head: Head) -> LabelRule | None:
    """Return how labels of a head are judged; None where its error is not known: its units keep no evidence."""
    try:
        return label_rule(head)
    except LookupError as error:
        _log.warning("labels of the head %s will not be judged: %s", head.name, error)
        return None


def _edges(deployment: Deployment) -> Sequence[float] | None:
    """Return reference quantiles of the deciding measure."""
    calibration = deployment.calibration
    return None if calibration is None else calibration.reference.get(calibration.retention.measure)

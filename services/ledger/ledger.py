"""The ledger as the pipeline knows it: what was decided is durable before its answer leaves, or the answer says no.

Answered units go into the journal and leave at once; deferred and audited ones, and all of a head under a census, wait
for the commit of their items. What misses its time, or meets a ledger that is down, leaves with ``recorded = false``
and becomes a gap that readers see.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.label_errors import LabelRule, label_rule
from services.ledger.commits import Commits
from services.ledger.decided import Decided, Key
from services.ledger.deployments import Deployment, Deployments
from services.ledger.erasure import Erasure
from services.ledger.explored import Explored, Held
from services.ledger.items import Parts, write_tallies
from services.ledger.journalling import Journalling
from services.ledger.lost import Gaps
from services.ledger.outstanding import Outstanding
from services.ledger.recovery import FORGOTTEN, take_over
from services.ledger.store import Store
from services.ledger.waiting import Waiting
from services.ledger.writer import Writer
from services.policy.audit_draws import Draws, propensity
from services.policy.decision import Decision, Verdict
from services.request.pipeline import Committed, Payload, Portion
from services.runtime.errors import LedgerUnavailable
from services.runtime.logging import get_logger

_log = get_logger(__name__)
TEND_SECONDS = 0.25
"""Between two looks at what waits in the background: the journal, gaps, counts of explored units."""
TALLY_SECONDS = 1.0
TAKE_OVER_SECONDS = 60.0
ERASE_SECONDS = 3600.0
STOP_SECONDS = 10.0
_NONE: NDArray[np.intp] = np.zeros(0, np.intp)
_FIRST: NDArray[np.intp] = np.zeros(1, np.intp)


class Counts(Protocol):
    """Hears what becomes of units."""

    def recorded(self, units: int) -> None: ...

    def unrecorded(self, units: int, reason: str) -> None:
        """``reason`` is one of a few words."""
        ...

    def audited(self, head: str, units: int) -> None: ...


@dataclass(frozen=True)
class Options:
    """How a ledger is kept."""

    directory: Path
    """Of journals, on a local disk."""
    deadline_seconds: float = 0.25
    """An answer waits no longer for its commit."""
    journal: bool = True
    """False: every answer waits for its commit, as durability beyond a power loss needs it."""
    keep_payload: bool = False
    """Whether the inputs of deferred and audited units are kept for those who label."""
    journal_bytes: int = 1 << 30
    """What the journal may hold while the database is down."""
    explore_bytes: int = 64 << 20
    explore_seconds: float = 900.0
    """Explored units can be committed for so long, and while they are no more than so many bytes."""
    census: frozenset[str] = frozenset()
    """Heads whose every unit gets a label: evidence of all of them is kept."""
    retention_seconds: float = math.inf
    """Inputs, evidence and raw labels of units are erased after so long."""


class DurableLedger:
    """One task's ledger in one process; use it from one event loop."""

    def __init__(
        self,
        writer: Writer,
        outstanding: Outstanding,
        *,
        heads: Sequence[Head],
        deployments: Sequence[Deployment],
        store: Store,
        counts: Counts,
        options: Options,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``outstanding`` is what the writer's ``complete_until`` asks."""
        self.writer = writer
        self.options = options
        self._outstanding = outstanding
        self._deployments = Deployments(deployments, outstanding.clock)
        self._streams: dict[str, str] = {}
        self.explored = Explored(options.explore_bytes, options.explore_seconds, monotonic, streams=self._streams)
        self._edges: dict[str, Sequence[float] | None] = {}
        self.deploy(deployments)
        self._counts = counts
        self._judging = {head.name: _judging(head) for head in heads}
        self._draws = Draws(writer.secret, writer.epoch)
        self._parts = Parts()
        self._gaps = Gaps(outstanding)
        self._journalling = Journalling(outstanding, self._parts)
        self._waiting = Waiting(
            writer,
            outstanding,
            self._gaps,
            self._parts,
            self._deployments,
            store,
            deadline_seconds=options.deadline_seconds,
            lost=counts.unrecorded,
        )
        self._commits = Commits(writer, self.explored, outstanding, self._waiting, self._promoted, self._count)
        self.erasure = Erasure(writer, self._judging, store, outstanding.clock)
        self._tending: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since 1970, never running back: that of all rows."""
        return self._outstanding.clock

    @property
    def journal_bytes(self) -> int:
        """Size of the journal."""
        return self._journalling.nbytes

    def deploy(self, deployments: Sequence[Deployment]) -> None:
        """Replaces what is served: units from now on are written to its streams."""
        self._deployments.put(deployments)
        self._streams.update({one.head.name: one.model for one in deployments})
        self._edges.update({one.head.name: _edges(one) for one in deployments})

    async def start(self) -> None:
        """Opens journal and database; one that is down is tried again in the background.

        Raises:
            LedgerRefused: no retry will mend it.
        """
        if self.options.journal:
            self._journalling.open(self.options.directory, self.writer, self.options.journal_bytes)
            self._gaps.journal = self._journalling.journal
        await self.writer.start()
        self._tending = asyncio.create_task(self._tend())

    async def stop(self) -> None:
        """Writes what is left; what the database does not take now lies in the journal for the next process."""
        self._ending.set()
        with suppress(LedgerUnavailable, TimeoutError):
            if self._tending is not None:  # to its end: cancelled, it would not know what was written
                await asyncio.wait_for(self._tending, STOP_SECONDS)
            await asyncio.wait_for(self._write_background(tallies=True), STOP_SECONDS)
        await self.writer.stop()
        self._journalling.close()

    async def record(self, portion: Portion, payload: Payload | None) -> bool:
        """True when these units are durable."""
        if portion.purpose != "decide":
            self.explored.add(portion, payload, self._outstanding.clock())
            return False
        decided = [self._decided(head, verdict, portion, payload) for head, verdict in portion.verdicts.items()]
        itemised = any(len(one.itemised) for one in decided)
        recorded = (not itemised and self._journalling.append(decided)) or await self._waiting.durable(decided)
        if recorded:
            self._count(decided)
        return recorded

    async def commit(self, ids: Sequence[tuple[int, int]]) -> Committed:
        """See ``services.request.pipeline.Ledger``."""
        return await self._commits.commit(ids)

    def _decided(self, head: str, verdict: Verdict, portion: Portion, payload: Payload | None) -> Decided:
        """Units of one head, with draws for those within the threshold, and what is kept of drawn and deferred ones."""
        first, n = portion.ids[head].first, len(verdict.decisions)
        rate = propensity(verdict.policy, verdict.uncertainty)
        if n == 1:  # as below, quickly
            asked = verdict.decisions[0] == Decision.DEFER or self._draws.uniform(first) < rate
            itemised = _FIRST if asked else _NONE
        else:
            deferred = verdict.decisions == Decision.DEFER
            itemised = np.flatnonzero(deferred | (self._draws.uniforms(first, n) < rate))
        key = Key(head, self._streams.get(head, portion.model), verdict.policy.version, "decide")
        decided = self._whole(Decided(key, first, verdict.uncertainty, verdict.decisions, rate, itemised=itemised))
        decided.raw = verdict.raw
        if len(decided.itemised):
            self._keep(decided, portion, payload, decided.itemised)
        return decided

    def _promoted(self, head: str, held: Held, start: int, end: int) -> Decided:
        """Explored units of one head as decided ones."""
        verdict, ids = held.portion.verdicts[head], held.portion.ids[head]
        uncertainty, decisions = verdict.uncertainty[start:end], verdict.decisions[start:end]
        rate = propensity(verdict.policy, uncertainty)
        drawn = self._draws.uniforms(ids.first + start, end - start) < rate
        itemised = np.flatnonzero((decisions == Decision.DEFER) | drawn)
        key = Key(head, self._streams.get(head, held.portion.model), verdict.policy.version, "decide")
        decided = self._whole(Decided(key, ids.first + start, uncertainty, decisions, rate, itemised=itemised))
        decided.raw = None if verdict.raw is None else verdict.raw[start:end]
        if len(decided.itemised):
            self._keep(decided, held.portion, held.payload, decided.itemised + start)
        return decided

    def _whole(self, decided: Decided) -> Decided:
        """Under a census every unit is itemised, for its label will come unasked."""
        if decided.key.head not in self.options.census:
            return decided
        asked = np.zeros(len(decided.uncertainty), bool)
        asked[decided.itemised] = True
        return replace(decided, itemised=np.arange(len(asked)), asked=asked, census=True)

    def _keep(self, decided: Decided, portion: Portion, payload: Payload | None, units: NDArray[np.intp]) -> None:
        """Evidence and inputs of units, by their places in the portion."""
        judged = self._judging[decided.key.head]
        found = None if judged is None else judged.evidence(portion.predictives[decided.key.head], units)
        decided.evidence = found or (None,) * len(units)
        if payload is not None and self.options.keep_payload:
            asked = np.ones(len(units), bool) if decided.asked is None else decided.asked
            packed = iter(payload.pack(units[asked]))
            decided.payload = [next(packed) if one else None for one in asked.tolist()]
            decided.payload_type = payload.kind

    def _count(self, decided: list[Decided]) -> None:
        for one in decided:
            self._counts.recorded(len(one.uncertainty))
            if len(one.itemised):
                self._counts.audited(one.key.head, one.audited)

    async def _tend(self) -> None:
        tallied = taken_over = erased = -math.inf
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), TEND_SECONDS)
            if self.writer.hindrance() is not None:
                continue
            now = time.monotonic()
            try:
                if now - taken_over >= TAKE_OVER_SECONDS:
                    await take_over(self.writer, self.options.directory, self._outstanding.clock)
                    taken_over = now
                await self._write_background(tallies=(tally := now - tallied >= TALLY_SECONDS))
                tallied = now if tally else tallied
                if now - erased >= ERASE_SECONDS:
                    erased = now
                    await self._forget()
            except LedgerUnavailable:
                continue
            except Exception:
                _log.exception("work in the background of the ledger failed; it is tried again")

    async def _forget(self) -> None:
        """What is older than the retention period, and files that no row names."""
        if math.isfinite(self.options.retention_seconds):
            erased = await self.erasure.retire(self._outstanding.clock() - self.options.retention_seconds)
            _log.info("inputs, evidence and raw labels of %d units were erased after their time", erased)
        await self.erasure.sweep()

    async def _write_background(self, *, tallies: bool) -> None:
        """Deployments, gaps, the journal, counts of explored units."""
        if not self._deployments.known:
            written = self._deployments.current
            await self.writer.settle(self._deployments.write)
            self._deployments.known = written is self._deployments.current
        while self.writer.forgotten:
            start, end = self.writer.forgotten.pop()
            self._journalling.reread()
            self._gaps.add(start, 0, FORGOTTEN, end)
        await self._gaps.settle(self.writer)
        await self._journalling.move(self.writer)
        self.explored.forget()
        if tallies and (taken := self.explored.take_tallies()):
            rows = {key: tally.row(self._edges.get(key.head)) for key, tally in taken.items()}
            try:
                await self.writer.settle(lambda c, p: write_tallies(c, p, rows, self._parts))
            except BaseException:
                self.explored.give_back(taken)
                raise


def _judging(head: Head) -> LabelRule | None:
    """None where nothing is known of the head's error: its units keep no evidence."""
    try:
        return label_rule(head)
    except LookupError as error:
        _log.warning("labels of the head %s will not be judged: %s", head.name, error)
        return None


def _edges(deployment: Deployment) -> Sequence[float] | None:
    """Reference quantiles of the measure that decides."""
    calibration = deployment.calibration
    return None if calibration is None else calibration.reference.get(calibration.retention.measure)

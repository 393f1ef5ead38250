"""A ledger in use, with portions of toy heads, and its rows as they are read back."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Table, select

from models.calibration import Calibration, RetentionTable
from models.head import Head
from models.predictive import Gaussian
from services.ledger.commit_queue import Clock, Watermark
from services.ledger.contract import Payload, Portion, Purpose
from services.ledger.database import Database
from services.ledger.deployments import Deployment
from services.ledger.ledger import DurableLedger, Options
from services.ledger.segments import Runs, unpack
from services.ledger.store import Store
from services.ledger.unit_ids import UnitIds
from services.ledger.writer import Writer
from services.policy.decision import Decision, Policy, Verdict
from tests.ledger_reader import Reader, Snapshot

POWER = Head("power", "gaussian", "kW", "power, kW", "squared_error", "kW²", 1.0, "tvar", "variance", "varm")
TURN = Head("turn", "gaussian", "deg", "rate of turn, deg", "squared_error", "deg²", 1.0, "tvar", "variance", "varm")
MODEL = "toy:1"
EPOCH = 0x1234_5678_9ABC_DEF0
REFERENCE = tuple(np.linspace(0, 10, 103).tolist())
CALIBRATION = Calibration(RetentionTable("tvar", 1000, (0.9,), (9.0,)), {"tvar": REFERENCE})


@dataclass
class Tally:
    """What a ledger said of its units."""

    recorded_units: int = 0
    lost: list[tuple[int, str]] = field(default_factory=list)
    audited_units: int = 0
    failures: list[str] = field(default_factory=list)

    def recorded(self, units: int) -> None:
        self.recorded_units += units

    def unrecorded(self, units: int, reason: str) -> None:
        self.lost.append((units, reason))

    def audited(self, head: str, units: int) -> None:
        self.audited_units += units

    def flushed(self, seconds: float) -> None: ...

    def failed(self, reason: str) -> None:
        self.failures.append(reason)


@dataclass
class Recording:
    """A started ledger and the unit ids of its process."""

    ledger: DurableLedger
    database: Database
    tally: Tally
    next: int = 0

    async def decide(
        self, scores: Sequence[float], *, purpose: Purpose = "decide", rate: float = 0.0, **options: Any
    ) -> tuple[bool, UnitIds]:
        """One portion of one head; whether it was recorded, and its ids."""
        portion = self.portion({POWER.name: scores}, purpose, rate, **options)
        return await self.record(portion, inputs(len(scores))), portion.ids[POWER.name]

    async def record(self, portion: Portion, payload: Payload | None) -> bool:
        """Whether a portion was recorded, in the journal or after a commit."""
        recorded = self.ledger.record(portion, payload)
        return recorded if isinstance(recorded, bool) else await recorded

    def portion(
        self,
        scores: dict[str, Sequence[float]],
        purpose: Purpose = "decide",
        rate: float = 0.0,
        threshold: float = 1.0,
        caller: float | None = None,
        strata: tuple[tuple[float, float], ...] = (),
    ) -> Portion:
        """Units that are deferred above the threshold; audited at a rate."""
        verdicts, ids, predictives = {}, {}, {}
        for head, values in scores.items():
            u = np.asarray(values, np.float32)
            policy = Policy(head, MODEL, "toy", "tvar", threshold, "fixed", audit_rate=rate, audit_strata=strata)
            decisions = np.where(u <= np.float32(threshold), Decision.ANSWER, Decision.DEFER).astype(np.uint8)
            if caller is not None:
                decisions[(decisions == Decision.ANSWER) & (u > caller)] = Decision.CALLER_DEFERRED
            verdicts[head] = Verdict(policy, u, decisions, np.zeros(len(u), np.uint8))
            ids[head] = UnitIds(self.ledger.writer.epoch, self.next, len(u))
            predictives[head] = Gaussian(u * 100, u)
            self.next += len(u)
        count = len(next(iter(scores.values())))
        return Portion(0, count, predictives, verdicts, ids, None, MODEL, "toy", purpose)

    def read(self) -> Snapshot:
        """All that is in the ledger."""
        return read(self.database)

    def units(self) -> dict[tuple[int, int], int]:
        """How often each decided unit is in segments."""
        return counted(self.read())


def inputs(count: int) -> Payload:
    """Inputs of a portion: the item's number in four bytes."""
    return Payload("application/x-toy", lambda items: [int(number).to_bytes(4, "little") for number in items])


def read(database: Database) -> Snapshot:
    reader = Reader(database)
    try:
        return reader.read({})
    finally:
        reader.close()


def runs(snapshot: Snapshot, purpose: str = "decide") -> list[tuple[int, Runs]]:
    """Epoch and runs of each segment."""
    return [(row["writer"], unpack(row["body"])) for row in snapshot.segments if row["purpose"] == purpose]


def counted(snapshot: Snapshot) -> dict[tuple[int, int], int]:
    """How often each decided unit is in segments."""
    counts: dict[tuple[int, int], int] = {}
    for epoch, segment_runs in runs(snapshot):
        for sequence in segment_runs.sequence.tolist():
            counts[epoch, sequence] = counts.get((epoch, sequence), 0) + 1
    return counts


def scores_of(snapshot: Snapshot) -> dict[int, float]:
    """Score by sequence."""
    scores: dict[int, float] = {}
    for _, segment_runs in runs(snapshot):
        scores |= dict(zip(segment_runs.sequence.tolist(), segment_runs.uncertainty.tolist(), strict=True))
    return scores


def ids_of(ids: UnitIds, units: NDArray[np.intp] | Sequence[int] | None = None) -> list[tuple[int, int]]:
    """(epoch, sequence) of units."""
    return [(ids.epoch, ids.first + int(unit)) for unit in (range(ids.count) if units is None else units)]


def table(database: Database, which: Table) -> list[dict[str, Any]]:
    """All rows of a table."""
    engine = database.reading()
    try:
        with engine.begin() as connection:
            return [dict(row) for row in connection.execute(select(which)).mappings()]
    finally:
        engine.dispose()


def make(url: str, directory: Path, epoch: int = EPOCH, clock: Any = None, **options: Any) -> Recording:
    """A ledger that is not started."""
    tally = Tally()
    watermark = Watermark(clock or Clock())
    database = Database(url)
    writer = Writer(
        database,
        epoch=epoch,
        task="toy",
        clock=watermark.clock,
        complete_until=watermark.complete_until,
        watch=tally,
    )
    deployments = [Deployment("toy", MODEL, head, "toy", 1, (), CALIBRATION, None) for head in (POWER, TURN)]
    chosen = {"keep_payload": True, "deadline_seconds": 5.0} | options
    ledger = DurableLedger(
        writer,
        watermark,
        heads=(POWER, TURN),
        deployments=deployments,
        store=Store(str(directory / "store")),
        counts=tally,
        options=Options(directory=directory, **chosen),
    )
    return Recording(ledger, database, tally)


@asynccontextmanager
async def recording(url: str, directory: Path, epoch: int = EPOCH, **options: Any) -> AsyncIterator[Recording]:
    """A started ledger, stopped at the end."""
    recorder = make(url, directory, epoch, **options)
    await recorder.ledger.start()
    try:
        yield recorder
    finally:
        await recorder.ledger.stop()

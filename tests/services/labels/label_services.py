"""Label service on a real ledger, with units in it as a service would have written them."""

import random
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from models.head import Head
from models.schema import Feature, Schema
from services.labels.intake import Outcome
from services.labels.label_options import Options
from services.labels.label_types import Request
from services.labels.label_validation import SubmittedLabel
from services.labels.service import LabelService
from services.labels.submissions import Answer
from services.labels.waiting_requests import WaitingRequest
from services.ledger.commit_queue import Clock
from services.ledger.contract import Place
from services.ledger.database import Database
from services.ledger.erasure import Erasure
from services.ledger.store import Store
from services.ledger.tables import UNASKED, item, label, request_event
from services.ledger.unit_ids import Unit
from services.ledger.writer import Writer
from services.runtime.offload import Offload

EPOCH = 0x0123_4567_89AB_CDEF
POWER = Head("power", "gaussian", "kW", "power, kW", "squared_error", "kW²", 1.0, "tvar", "variance", "varm")
RAIN = Head("rain", "categorical", "1", "class", "error_rate", "1", 0.5, "confidence", "entropy", "mi", 9)
SCHEMA = Schema.of([Feature("speed", "m/s", 0, 20, "Speed."), Feature("wave", "m", 0, 15, "Waves.", nullable=True)])
OPTIONS = Options(census=("power",), request_days=30.0, callbacks=("http://127.0.0.1:9",))
DAY = 86_400.0


@dataclass
class Wall:
    """A clock that stands still until it is moved."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Memory(Store):
    """A store of large values, without a file system."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        self.kept[f"sha256:{len(self.kept)}"] = content
        return f"sha256:{len(self.kept) - 1}"

    def get(self, reference: str) -> bytes:
        return self.kept[reference]

    def delete_old(self, references: Iterable[str]) -> None:
        for reference in references:
            del self.kept[reference]


def eraser(writer: Writer, store: Store, clock: Callable[[], float]) -> Callable[[Any], Erasure]:
    """As ``LabelService`` takes it."""
    return lambda judgings: Erasure(writer, judgings, store, clock)


@dataclass
class Opened:
    """Label service and the parts that it uses."""

    label_service: LabelService
    writer: Writer
    wall: Wall
    store: Memory = field(default_factory=Memory)

    async def units(
        self, sequences: Sequence[int], *, audited: Callable[[int], bool] = lambda n: n % 2 == 0, **columns: Any
    ) -> list[Unit]:
        """Items as the ledger writes them: deferred with propensity 1, or audited with a small one."""
        rng = random.Random(sequences[0] if sequences else 0)
        rows = [
            {
                "epoch": self.writer.epoch,
                "sequence": sequence,
                "head": "power",
                "model": "toy:1",
                "policy": "power-1",
                "time": self.wall.now,
                "uncertainty": 0.5 if audited(sequence) else 9.0,
                "decision": 1 if audited(sequence) else 2,
                "propensity": 0.01 if audited(sequence) else 1.0,
                "evidence": struct.pack("<f", 1.0),
                "payload": struct.pack("<ff", 2.0, float("nan")),
                "payload_type": "application/x-demur-row-f32",
                "state": "requested",
                "census": 0,
                "priority": self.wall.now + 0.01 * rng.random(),
            }
            | columns
            for sequence in sequences
        ]

        def write(connection: Connection, place: Place) -> None:
            connection.execute(insert(item), [row | place.columns for row in rows])

        if rows:
            await self.writer.run(write)
        return [(self.writer.epoch, sequence) for sequence in sequences]

    async def rows(self, table: Any, *columns: str) -> list[tuple[Any, ...]]:
        """All rows of a table, by its primary key."""
        chosen = [table.c[name] for name in columns]
        query = select(*chosen).order_by(*table.primary_key.columns)
        return await self.writer.read(lambda connection: [tuple(row) for row in connection.execute(query)])

    async def states(self) -> list[str]:
        return [state for (state,) in await self.rows(item, "state")]

    async def events(self) -> list[tuple[Any, ...]]:
        """(sequence, state, actor, reason) of all changes."""
        return await self.rows(request_event, "sequence", "state", "actor", "reason")

    async def labels(self) -> list[tuple[Any, ...]]:
        return await self.rows(label, "sequence", "source", "version", "value")

    async def take(self, *labels: SubmittedLabel, actor: str = "tester") -> list[str]:
        """Outcomes in words; a rejected one's is its error code."""
        batch = await self.label_service.submit(labels, actor)
        words = [Outcome(value).name.lower() for value in batch.outcomes]
        for rejection in batch.rejected:
            words[rejection.at] = rejection.error.code
        return words


@asynccontextmanager
async def opened(
    url: str,
    *,
    heads: Sequence[Head] = (POWER,),
    options: Options = OPTIONS,
    epoch: int = EPOCH,
    wall: Wall | None = None,
) -> AsyncIterator[Opened]:
    wall = wall or Wall()
    writer = Writer(Database(url), epoch=epoch, task="toy", clock=Clock(wall))
    await writer.start()
    offload = Offload()
    store = Memory()
    try:
        label_service = LabelService(
            writer, store, heads, SCHEMA, options, offload=offload, clock=wall, eraser=eraser(writer, store, wall)
        )
        yield Opened(label_service, writer, wall, store)
        label_service.resolver.close()
    finally:
        await writer.stop()
        offload.close()


async def claim(ledger: Opened, actor: str = "anna", count: int = 1, **wishes: Any) -> list[Request]:
    return await ledger.label_service.reviews.claim(count=count, head="", actor=actor, seconds=600, **wishes)


async def submit(
    ledger: Opened, request: Request, value: object = 2.0, actor: str = "anna", seconds: float | None = None
) -> Outcome:
    claimed = request.claimed
    return await ledger.label_service.reviews.submit(Answer(claimed.request, claimed.lease, value, actor, seconds))


async def release(ledger: Opened, requests: Iterable[Request], actor: str = "anna") -> None:
    for request in requests:
        name, lease = request.claimed.request, request.claimed.lease
        await ledger.label_service.reviews.release(name, lease, actor=actor, reason="lunch")


async def waiting(ledger: Opened, actor: str = "anna") -> dict[str, WaitingRequest]:
    """List of waiting requests as a reviewer sees it, by the ids of the list."""
    page = await ledger.label_service.reviews.waiting(head="", actor=actor, limit=1000, after="")
    return {row.request: row for row in page.requests}


async def decided(ledger: Opened, sequences: Iterable[int]) -> None:
    """Units, one a minute."""
    for sequence in sequences:
        ledger.wall.now += 60
        await ledger.units([sequence])


async def known(ledger: Opened, count: int) -> None:
    """Units with a census label, five days before now."""
    units = await ledger.units(range(count), state=UNASKED, census=1)
    await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in units))
    ledger.wall.now += 5 * DAY


def scratch(tmp_path: Path) -> str:
    """URL of a SQLite ledger of its own, where the kind of database does not matter."""
    return f"sqlite:///{tmp_path / 'one.db'}"

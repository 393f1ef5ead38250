"""``kill -9`` at random moments under load, again and again, and what the ledger holds afterwards.

``python -m tests.fault.killing --kills 100 [--url URL] [--seed S]`` runs it alone. More load (labels, say) is another
``Caller``: it asks until the service dies, and later judges what the ledger holds.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import grpc
import httpx
import numpy as np
from numpy.typing import NDArray

from demur.v1 import common_pb2
from demur.v1.vessel_pb2 import VesselPredictRequest, VesselPredictResponse
from models import artefact
from services.ledger.database import Database
from services.policy.decision import Decision
from tests.ledger_reader import Snapshot
from tests.ports import free_ports
from tests.postgres import running_postgres
from tests.services.ledger.recording import counted, read

PROJECT = Path(__file__).resolve().parents[2]
REFERENCE = PROJECT / "artefacts" / "vessel" / "dnn-10"
HOST = "127.0.0.1"
START_SECONDS = 240.0
_PATIENCE_SECONDS = 120.0
"""Longest wait until enough was acknowledged for the last kill."""


@dataclass(frozen=True)
class Address:
    """Where a service listens."""

    http: str
    grpc: str


class Caller(Protocol):
    """One kind of load."""

    async def ask(self, address: Address, generator: random.Random) -> None:
        """Send calls until one fails, as it does when the service is killed; before that, it must not end."""
        ...

    def judge(self, snapshot: Snapshot) -> list[str]:
        """Return the faults of the ledger, in words."""
        ...


@dataclass
class Decisions:
    """Calls of one to a few hundred rows; some rows are deferred, some answered ones are audited."""

    rows: NDArray[np.float32]
    recorded: set[tuple[int, int]] = field(default_factory=set)
    """Units whose answer said recorded = true."""
    deferred: set[tuple[int, int]] = field(default_factory=set)
    """Those of them that were deferred."""
    unrecorded: set[tuple[int, int]] = field(default_factory=set)
    in_flight: int = 0
    """Rows of calls whose answer never came."""

    async def ask(self, address: Address, generator: random.Random) -> None:
        async with asyncio.TaskGroup() as both:
            both.create_task(self._ask_grpc(address.grpc, generator))
            both.create_task(self._ask_http(address.http, generator))

    async def _ask_grpc(self, address: str, generator: random.Random) -> None:
        async with grpc.aio.insecure_channel(address) as channel:
            predict = channel.unary_unary("/demur.v1.VesselService/Predict")

            async def call(request: bytes) -> bytes:
                answer: bytes = await predict(request, timeout=20)
                return answer

            await self._ask_by(call, generator)

    async def _ask_http(self, address: str, generator: random.Random) -> None:
        """Small calls share passes there: most are of one row."""
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(base_url=f"http://{address}", limits=limits, timeout=20) as client:

            async def call(request: bytes) -> bytes:
                headers = {"content-type": "application/protobuf"}
                answer = await client.post("/v1/predict", content=request, headers=headers)
                assert answer.status_code == 200, answer.text
                return answer.content

            await self._ask_by(call, generator)

    async def _ask_by(self, call: Callable[[bytes], Awaitable[bytes]], generator: random.Random) -> None:
        while True:
            count = 1 if generator.random() < 0.7 else generator.randrange(2, 300)
            start = generator.randrange(len(self.rows) - count)
            packed = common_pb2.PackedRows(row_count=count, values=self.rows[start : start + count].tobytes())
            self.in_flight += count
            answer = await call(VesselPredictRequest(rows=common_pb2.Rows(packed=packed)).SerializeToString())
            self.in_flight -= count
            self._note(VesselPredictResponse.FromString(answer))

    def _note(self, answer: VesselPredictResponse) -> None:
        deferral = answer.power.deferral
        ids = [(deferral.ids.epoch, deferral.ids.first + unit) for unit in range(deferral.ids.count)]
        if not answer.recorded:
            self.unrecorded |= set(ids)
            return
        self.recorded |= set(ids)
        self.deferred |= {
            identity for identity, decision in zip(ids, deferral.decisions, strict=True) if decision == Decision.DEFER
        }

    def judge(self, snapshot: Snapshot) -> list[str]:
        there = counted(snapshot)
        items = Counter((row["epoch"], row["sequence"]) for row in snapshot.items)
        faults = {
            "acknowledged units are missing": self.recorded - set(there),
            "units are in segments more than once": {unit for unit, times in there.items() if times > 1},
            "acknowledged deferrals have no item": self.deferred - set(items),
            "units have several items": {unit for unit, times in items.items() if times > 1},
            "items belong to no unit": set(items) - set(there),
        }
        wrong = [f"{len(units)} {words}, e.g. {min(units)}" for words, units in faults.items() if units]
        extra = len(set(there) - self.recorded - self.unrecorded)
        if extra > self.in_flight:
            wrong.append(f"{extra} units are in segments that were never answered; {self.in_flight} were in flight")
        lost = sum(row["units"] for row in snapshot.gaps)
        if self.unrecorded - set(there) and lost < len(self.unrecorded - set(there)):
            wrong.append(f"{len(self.unrecorded)} units were not recorded, gaps tell of {lost}")
        return wrong


@dataclass(frozen=True)
class Outcome:
    """State after all kills and one more start and stop."""

    kills: int
    wrong: tuple[str, ...]
    snapshot: Snapshot


def inputs() -> NDArray[np.float32]:
    """Return rows that the service accepts."""
    reference = artefact.read(REFERENCE, "vessel")
    with np.load(reference.path(reference.manifest.golden)) as arrays:
        rows = arrays["rows"]
    schema = reference.schema
    fitting: NDArray[np.float32] = rows[((rows >= schema.lower) & (rows <= schema.upper)).all(axis=1)]
    return np.ascontiguousarray(np.tile(fitting, (-(-2000 // len(fitting)), 1)), "<f4")


def endure(
    url: str,
    home: Path,
    callers: Sequence[Caller],
    *,
    kills: int,
    seed: int,
    most_seconds: float = 1.5,
    enough: Callable[[], bool] = lambda: True,
) -> Outcome:
    """Kill a real service repeatedly while callers send calls, each time at a random moment within so many seconds.

    Args:
        enough: the last kill waits until it returns true: a busy machine acknowledges little before random moments.
    """
    generator = random.Random(seed)
    wrong: list[str] = []
    for number in range(kills):
        process, address = _start(url, home)
        moment = generator.uniform(0.02, most_seconds)
        last = number == kills - 1
        wrong += asyncio.run(_load(process, address, callers, generator, moment, enough if last else lambda: True))
        sys.stdout.write(f"\r{number + 1} of {kills} kills") if sys.stdout.isatty() else None
    process, address = _start(url, home)
    asyncio.run(asyncio.sleep(2.5))  # the journal of the killed process is taken over soon after the start
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    snapshot = read(Database(url))
    wrong += [f"{path.name} is left" for path in (home / "ledger").glob("*.journal")]
    wrong += [f"writer {row['epoch']} is not ended" for row in snapshot.writers if row["ended"] is None]
    return Outcome(kills, tuple(wrong + [words for caller in callers for words in caller.judge(snapshot)]), snapshot)


async def _load(
    process: subprocess.Popen[bytes],
    address: Address,
    callers: Sequence[Caller],
    generator: random.Random,
    moment: float,
    enough: Callable[[], bool],
) -> list[str]:
    """Kill a service under load; return how callers failed before, in words."""
    tasks = [asyncio.create_task(caller.ask(address, generator)) for caller in callers for _ in range(4)]
    await asyncio.sleep(moment)
    end = time.monotonic() + _PATIENCE_SECONDS
    while not enough() and time.monotonic() < end:
        await asyncio.sleep(0.01)
    failed = [f"a call failed before the kill: {task.exception()!r}" for task in tasks if task.done()]
    _kill(process)
    await asyncio.wait(tasks, timeout=30)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return failed


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the service; it has no chance to clean up."""
    process.kill()
    process.wait()


def _start(url: str, home: Path) -> tuple[subprocess.Popen[bytes], Address]:
    """Start a service; return it with its address once it is ready."""
    ports = free_ports(2)
    settings = {
        "DEMUR_HOME": str(home),
        "DEMUR_LEDGER": url,
        "DEMUR_HTTP_PORT": str(ports[0]),
        "DEMUR_GRPC_PORT": str(ports[1]),
        "DEMUR_TARGET_RETENTION": "0.6",
        "DEMUR_AUDIT_RATE": "0.05",
        "DEMUR_LEDGER_DEADLINE_SECONDS": "5",
    }
    log = home / "serve.log"
    home.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", "serve", "vessel"],
            env=os.environ | settings,
            cwd=PROJECT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    end = time.monotonic() + START_SECONDS
    while not _ready(ports[0]):
        if process.poll() is not None or time.monotonic() > end:
            _kill(process)
            raise RuntimeError(f"the service did not become ready:\n{log.read_text()[-4000:]}")
        time.sleep(0.05)
    return process, Address(f"{HOST}:{ports[0]}", f"{HOST}:{ports[1]}")


def _ready(port: int) -> bool:
    import urllib.request

    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=1) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fault.killing", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--url", default="", help="ledger; default: a SQLite file; postgres: a server of its own")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="demur-kill-") as directory:
        home = Path(directory)
        if options.url == "postgres":
            with running_postgres() as server:
                outcome = _told(server.database(), home, options)
        else:
            outcome = _told(options.url or f"sqlite:///{home / 'ledger.db'}", home, options)
    return int(bool(outcome.wrong))


def _told(url: str, home: Path, options: argparse.Namespace) -> Outcome:
    callers = [Decisions(inputs())]
    start = time.perf_counter()
    outcome = endure(url, home, callers, kills=options.kills, seed=options.seed)
    (caller,) = callers
    sys.stdout.write(
        f"\n{options.kills} kills in {time.perf_counter() - start:.0f} s, {url.partition(':')[0]}: "
        f"{len(caller.recorded)} units acknowledged, {len(caller.deferred)} of them deferred, "
        f"{len(caller.unrecorded)} answered unrecorded, {caller.in_flight} in flight when killed; "
        f"in the ledger {len(counted(outcome.snapshot))} units, {len(outcome.snapshot.items)} items\n"
        f"wrong: {'; '.join(outcome.wrong) or 'nothing'}\n"
    )
    return outcome


if __name__ == "__main__":
    sys.exit(main())

"""Load generator with an open loop: requests leave when they are due, whatever became of earlier ones.

With callers it runs a closed loop instead. A closed loop sends the next request when the last is answered, so a slow
server gets fewer requests and looks better than it is. In an open loop the times are drawn beforehand (uniformly at
random), and latency counts from when a request was due, however late it left. One process with one event loop; requests
are prepared bytes, and only the outcome is read from answers, so that a core generates several times the load that a
core can answer.

``python -m benchmarks.open_loop`` reads a ``Plan`` as JSON on stdin and writes ``Ended`` to the file that it names.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import uvloop
from numpy.typing import NDArray

from benchmarks.connections import Http1Pool, Http2Pool, Log, Plan

_PATIENCE_SECONDS = 15.0
"""Time to wait for answers after the last request was sent."""
_TURN = 64
"""Number of requests that are sent before answers are read."""


@dataclass(frozen=True)
class Ended:
    """Outcomes of the requests of a plan, in the order in which they were due."""

    due: NDArray[np.float64]
    """Due time since the start, s, [n]."""
    sent: NDArray[np.float64]
    """Time at which the request was sent, s."""
    ended: NDArray[np.float64]
    """Time at which the request was answered, refused or given up, s."""
    code: NDArray[np.str_]
    """Outcome: ``OK``, a gRPC status, an HTTP status, or the failure of the connection."""
    hinted: NDArray[np.bool_]
    """True if the answer contains a retry delay."""
    cpu_share: float
    """Share of a core that the generator used."""

    @property
    def latency(self) -> NDArray[np.float64]:
        """Time from due to ended, s."""
        return self.ended - self.due

    @property
    def answered(self) -> NDArray[np.bool_]:
        """True for requests that were answered."""
        return self.code == "OK"

    @property
    def rate(self) -> float:
        """Answers a second, from the first request to the last answer."""
        return float(self.answered.sum() / self.ended[self.answered].max()) if self.answered.any() else 0.0

    def quantiles(self, *shares: float, since: float = 0.0) -> list[float]:
        """Return latency quantiles of answered requests that were due after ``since``, s; NaN if there is none."""
        latencies = self.latency[self.answered & (self.due >= since)]
        return [float(np.quantile(latencies, share)) if len(latencies) else float("nan") for share in shares]

    @property
    def late(self) -> float:
        """p99 of the delay between due and sent, s: a slow generator, or no free connection."""
        return float(np.nanquantile(self.sent - self.due, 0.99))


def generate(plan: Plan, cores: set[int]) -> Ended:
    """Run a plan in a process of its own on these cores."""
    with tempfile.TemporaryDirectory(prefix="demur-load-") as place:
        path = Path(place) / "ended.npz"
        job = asdict(plan) | {"body": b64encode(plan.body).decode(), "told": str(path)}
        subprocess.run(
            [sys.executable, "-m", "benchmarks.open_loop"],
            input=json.dumps(job).encode(),
            check=True,
            timeout=plan.seconds + _PATIENCE_SECONDS + 30,
            cwd=Path(__file__).resolve().parents[1],
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        with np.load(path) as arrays:
            return Ended(
                **{name: arrays[name] for name in arrays.files if name != "cpu_share"},
                cpu_share=float(arrays["cpu_share"]),
            )


async def run(plan: Plan) -> Ended:
    """Run a plan on this event loop."""
    pool_of = {"grpc": Http2Pool, "http": Http1Pool}[plan.protocol]
    return await (_closed if plan.callers else _open)(plan, pool_of)


async def _open(plan: Plan, pool_of: type[Http1Pool | Http2Pool]) -> Ended:
    count = max(1, round(plan.rate * plan.seconds))
    due = np.sort(np.random.default_rng(plan.seed).uniform(0, plan.seconds, count))
    moments = due.tolist()
    log = Log(count)
    pool = pool_of(plan, log)
    await pool.open()
    computed = time.process_time()
    log.start = time.perf_counter() + 0.05
    number = 0
    while number < count:
        await asyncio.sleep(max(0.0, moments[number] - log.now))
        now, last = log.now, number + _TURN
        while number < min(count, last) and moments[number] <= now:
            pool.ask(number)
            number += 1
    with suppress(TimeoutError):
        await asyncio.wait_for(log.over.wait(), _PATIENCE_SECONDS)
    return _ended(due, log, pool, count, time.process_time() - computed)


async def _closed(plan: Plan, pool_of: type[Http1Pool | Http2Pool]) -> Ended:
    """Run ``callers`` callers, each of which repeats its request when answered; requests sent within the time count."""
    log = Log(0)
    pool = pool_of(plan, log)
    await pool.open()
    computed = time.process_time()
    log.start = time.perf_counter()

    def again() -> None:
        if log.now < plan.seconds:
            pool.ask(log.add())

    log.heard = again
    for _ in range(plan.callers):
        again()
    await asyncio.sleep(plan.seconds)
    with suppress(TimeoutError):
        while log.left:
            log.over.clear()
            await asyncio.wait_for(log.over.wait(), _PATIENCE_SECONDS)
    count = len(log.code)
    return _ended(np.array(log.sent[:count]), log, pool, count, time.process_time() - computed)


def _ended(due: NDArray[np.float64], log: Log, pool: Http1Pool | Http2Pool, count: int, computed: float) -> Ended:
    spent = log.now
    ended = np.array(log.ended[:count])
    ended[np.isnan(ended)] = spent
    pool.close()
    return Ended(due, np.array(log.sent), ended, np.array(log.code), np.array(log.hinted, bool), computed / spent)


def main() -> int:
    job = json.load(sys.stdin)
    path = job.pop("told")
    plan = Plan(**job | {"body": b64decode(job["body"])})
    ended = uvloop.run(run(plan))
    np.savez(path, **{name: getattr(ended, name) for name in ended.__dataclass_fields__})
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Real service as a child process on chosen cores: start, CPU time, memory, stop."""

import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from benchmarks.inputs import threshold
from benchmarks.processes import PROJECT
from tests.ports import free_port

HOST = "127.0.0.1"
MIB = 1 << 20
START_SECONDS = 60.0
WITHOUT_LEDGER = " (no ledger)"
"""Ending of the names of cases that ask a service without a ledger."""


@dataclass(frozen=True)
class Service:
    """Running ``demur serve`` process."""

    process: psutil.Process
    http_port: int
    grpc_port: int
    task: str
    start_seconds: float = 0.0
    """Time from the command to the first positive readiness answer, s."""

    @property
    def grpc(self) -> str:
        return f"{HOST}:{self.grpc_port}"

    def cpu_seconds(self) -> float:
        """Return the CPU time so far of all processes of the service, s."""
        return sum(sum(process.cpu_times()[:2]) for process in self.tree())

    def resident_bytes(self) -> int:
        """Return the memory of the process that holds the model."""
        return int(max(process.memory_info().rss for process in self.tree()))

    def pss_mib(self) -> float:
        """Return the proportional memory (PSS) of all processes of the service, MiB."""
        return sum(float(process.memory_full_info().pss) for process in self.tree()) / MIB

    def tree(self) -> list[psutil.Process]:
        """Return all processes of the service."""
        return [self.process, *self.process.children(recursive=True)]


@contextmanager
def running(
    cores: set[int],
    task: str = "vessel",
    *,
    project: Path = PROJECT,
    environment: Mapping[str, str] | None = None,
    **settings: str,
) -> Iterator[Service]:
    """Serve a task on these cores until the end of the block.

    Args:
        project: the checkout that is served.
        environment: variables in addition to the settings.
        settings: names as in ``services.runtime.settings``; ports are free ones unless given.
    """
    with tempfile.TemporaryDirectory(prefix="demur-bench-") as home:
        ports = {name: settings.pop(name, "") or str(free_port()) for name in ("http_port", "grpc_port")}
        variables = {f"DEMUR_{name.upper()}": value for name, value in ({"home": home} | ports | settings).items()}
        log = Path(home) / "serve.log"
        start = time.monotonic()
        with log.open("wb") as output:
            child = subprocess.Popen(
                [sys.executable, "-m", "services.cli", "serve", task],
                env=os.environ | variables | dict(environment or {}),
                cwd=project,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )
        try:
            _wait_until_ready(child, int(ports["http_port"]), log)
            took = time.monotonic() - start
            yield Service(psutil.Process(child.pid), int(ports["http_port"]), int(ports["grpc_port"]), task, took)
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(45)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@dataclass(frozen=True)
class Pair:
    """Two services of one task on the same cores: one as users get it, and one without a ledger."""

    default: Service
    """Service with the default ledger."""
    bare: Service
    """The same without a ledger."""

    @property
    def task(self) -> str:
        return self.default.task

    def named(self) -> dict[str, Service]:
        """Return both by the ending of their cases' names."""
        return {"": self.default, WITHOUT_LEDGER: self.bare}


@contextmanager
def both(cores: set[int], task: str = "vessel") -> Iterator[Pair]:
    """Serve a task twice with default settings, once with the default ledger and once without one.

    The benchmarks' vessel rows cover the training range evenly, so the default policy would defer a quarter of them
    rather than five in a hundred, as it does with rows of the domain. The vessel task's threshold is therefore placed
    so that five in a hundred are deferred.
    """
    settings = {"fixed_threshold": repr(threshold(0.95))} if task == "vessel" else {}
    with running(cores, task, **settings) as default, running(cores, task, ledger="none", **settings) as bare:
        yield Pair(default, bare)


@contextmanager
def pinned(cores: set[int]) -> Iterator[None]:
    """Pin this process to some cores for the length of the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _wait_until_ready(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if child.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=1) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the service did not become ready:\n{log.read_text()[-4000:]}")


@dataclass
class Watched:
    """Samples by name, with the seconds since the watch began."""

    seconds: list[float] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)

    def last(self, name: str) -> float:
        return self.values[name][-1]

    def most(self, name: str) -> float:
        return max(self.values[name])

    def growth(self, name: str, settled: float = 0.1) -> float:
        """Return the growth from the end of the first tenth to the last sample but one, by a straight line."""
        count = len(self.seconds) - 1
        first = min(math.ceil(settled * count), count - 2)
        moments, values = np.array(self.seconds[first:count]), np.array(self.values[name][first:count])
        slope = np.polyfit(moments - moments[0], values, 1)[0]
        return float(slope * (moments[-1] - moments[0]))


def look(service: Service, *, series: bool = False) -> dict[str, float]:
    """Return MiB, open files and threads of the process that holds the model; ``series`` also reads its metrics.

    Open connections are counted separately from open files: their number is up to the callers.
    """
    process = max(service.tree(), key=lambda member: member.memory_info().rss)
    with process.oneshot():
        memory = process.memory_full_info()
        held = sum(each.status == psutil.CONN_ESTABLISHED for each in process.net_connections("tcp"))
        sample = {
            "RSS": memory.rss / MIB,
            "PSS": memory.pss / MIB,
            "open files": float(process.num_fds() - held),
            "connections": float(held),
            "threads": float(process.num_threads()),
        }
    if series:
        with urllib.request.urlopen(f"http://{HOST}:{service.http_port}/metrics", timeout=30) as answer:
            sample["metric series"] = float(sum(not line.startswith(b"#") for line in answer.read().splitlines()))
    return sample


@contextmanager
def watching(
    service: Service, every_seconds: float = 0.5, *, sample: Callable[[Service], Mapping[str, float]] = look
) -> Iterator[Watched]:
    """Sample a service from time to time until the end of the block, and once more after it."""
    watched, ended, start = Watched(), threading.Event(), time.monotonic()

    def note() -> None:
        watched.seconds.append(time.monotonic() - start)
        for name, value in sample(service).items():
            watched.values.setdefault(name, []).append(value)

    def follow() -> None:
        while not ended.wait(every_seconds):
            note()

    note()
    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        ended.set()
        thread.join()
        note()

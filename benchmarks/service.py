"""The real service as a child process on chosen cores: start, CPU time, memory, stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

HOST = "127.0.0.1"
START_SECONDS = 60.0
PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Service:
    """A running ``demur serve``."""

    process: psutil.Process
    http_port: int
    grpc_port: int
    task: str
    start_seconds: float = 0.0
    """From the command to the first answer that it is ready."""

    @property
    def grpc(self) -> str:
        return f"{HOST}:{self.grpc_port}"

    def cpu_seconds(self) -> float:
        """Computed so far by all its processes."""
        return sum(sum(one.cpu_times()[:2]) for one in self.tree())

    def resident_bytes(self) -> int:
        """Memory of the process that holds the model."""
        return int(max(one.memory_info().rss for one in self.tree()))

    def tree(self) -> list[psutil.Process]:
        """All its processes."""
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
    """Serves a task on these cores until the end of the block.

    Args:
        project: the checkout that is served.
        environment: variables beside the settings.
        settings: names as in ``services.runtime.settings``; ports are free ones unless given.
    """
    with tempfile.TemporaryDirectory(prefix="demur-bench-") as home:
        ports = {name: settings.pop(name, "") or str(free_port()) for name in ("http_port", "grpc_port")}
        given = {f"DEMUR_{name.upper()}": value for name, value in ({"home": home} | ports | settings).items()}
        log = Path(home) / "serve.log"
        start = time.monotonic()
        with log.open("wb") as output:
            child = subprocess.Popen(
                [sys.executable, "-m", "services.cli", "serve", task],
                env=os.environ | given | dict(environment or {}),
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


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def pinned(cores: set[int]) -> Iterator[None]:
    """This process on some cores for the length of the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class PeakMemory:
    """Samples the service's memory until closed."""

    def __init__(self, service: Service, every_seconds: float = 0.1) -> None:
        self.bytes = 0
        self._service = service
        self._every = every_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.is_set():
            self.bytes = max(self.bytes, self._service.resident_bytes())
            self._ended.wait(self._every)


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

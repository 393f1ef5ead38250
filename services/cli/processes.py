"""Processes of an installation: run files, the lock of `demur up`, and holders of ports."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from services.runtime.addresses import address
from services.runtime.settings import Settings

MONITOR = "monitor"
"""Name of the monitor's run file; services use their task."""
REVIEW = "review"
"""Name of the review console's run file."""
COMPANIONS = {MONITOR: ("monitor", "run"), REVIEW: ("review",)}
"""Processes beside the services to the commands that run them."""
SAME_START_SECONDS = 5.0
"""Largest difference between two times of the same start, which a change of the clock may cause."""


@dataclass(frozen=True)
class Running:
    """A service process as it announced itself."""

    task: str
    pid: int
    host: str
    http_port: int
    grpc_port: int
    model: str
    started: float
    """Start of the process, in seconds since 1970."""
    certificate: str = ""
    """Path of the certificate it serves with; empty for plain text."""
    probe_port: int = 0
    """Port of plain-text probes; 0 for none."""

    @property
    def http(self) -> str:
        return f"http{'s' * bool(self.certificate)}://{address(self.host, self.http_port)}"

    @property
    def probe(self) -> str:
        """URL of the readiness probe."""
        return f"http://{address(self.host, self.probe_port)}/readyz" if self.probe_port else f"{self.http}/readyz"

    @property
    def grpc(self) -> str:
        return address(self.host, self.grpc_port)


def grpc_target(task: str) -> str:
    """Return host:port of a task's gRPC service: as it announced itself, else as the settings say."""
    settings = Settings.read(task=task)
    running = announced(settings.home).get(task)
    return running.grpc if running else address(settings.host, settings.ports[1])


def announce(home: Path, running: Running) -> None:
    """Writes the run file of a service, whole or not at all: others read it at any time."""
    path = _run_file(home, running.task)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{running.pid}.part")
    part.write_bytes(msgspec.json.encode(running))
    part.replace(path)


def announced(home: Path) -> dict[str, Running]:
    """Return the run files of processes that are still alive, by task.

    Files of dead processes stay until the next service of that task replaces them: removing one could hit a file
    that has just been replaced.
    """
    services = {}
    for path in sorted((home / "run").glob("*.json")):
        try:
            running = msgspec.json.decode(path.read_bytes(), type=Running)
        except (OSError, msgspec.DecodeError):  # of another version, or damaged
            continue
        if alive(running.pid, running.started):
            services[running.task] = running
    return services


def started(pid: int) -> float:
    """Return the start time of a process, in seconds since 1970."""
    return float(psutil.Process(pid).create_time())


def alive(pid: int, since: float | None = None) -> bool:
    """Return whether a process exists and is not a zombie.

    Args:
        since: start in seconds since 1970; another process with the same id, which started later, does not count.
    """
    try:
        process = psutil.Process(pid)
        if since is not None and abs(process.create_time() - since) > SAME_START_SECONDS:
            return False
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False


def _run_file(home: Path, task: str) -> Path:
    return home / "run" / f"{task}.json"


class Held(Exception):
    """Another process holds the lock; ``pid`` is the process id in it, None if there is none (yet)."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"held by pid {pid}")
        self.pid = pid


@contextmanager
def hold(home: Path) -> Iterator[None]:
    """Hold the lock of a home directory and write this process id into it.

    Raises:
        Held: another process has it.
    """
    with _path(home).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise Held(_pid(file.read())) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
        file.truncate(0)


def check_free(home: Path) -> None:
    """Returns where nobody holds the lock. What the file says counts only while it is held: the kernel gives the
    process ids of the dead to others.

    Raises:
        Held: a process has it.
    """
    try:
        file = _path(home).open()
    except FileNotFoundError:
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Held(_pid(file.read())) from error


def _path(home: Path) -> Path:
    return home / "up.lock"


def _pid(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) > 1 else None


def holder(host: str, port: int) -> str | None:
    """Return the process that listens on a port, as ``pid 123 (command)``; None if the port is free."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            return None
        except OSError:
            pass
    try:
        for connection in psutil.net_connections("tcp"):
            port_here = getattr(connection.laddr, "port", None)  # an unbound socket has an empty address
            if connection.status == psutil.CONN_LISTEN and port_here == port and connection.pid:
                command = " ".join(psutil.Process(connection.pid).cmdline())
                return f"pid {connection.pid} ({command[:120]})"
    except psutil.Error:
        pass
    return "a process of another user"

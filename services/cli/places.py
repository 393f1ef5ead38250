"""Where this installation keeps its run files, and what runs there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from services.runtime.settings import address

MONITOR = "monitor"
"""Name under which the monitor announces itself, beside those of tasks."""
SAME_START_SECONDS = 5.0
"""Starts that are told less apart are one: the clock that they are derived from may be set meanwhile."""


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
    """When the process started, in seconds since 1970."""
    certificate: str = ""
    """Path of the one that it serves with; empty: plain text."""
    probe_port: int = 0
    """Where it answers probes in plain text; 0: nowhere."""

    @property
    def http(self) -> str:
        return f"http{'s' * bool(self.certificate)}://{address(self.host, self.http_port)}"

    @property
    def probe(self) -> str:
        """URL that says whether it is ready."""
        return f"http://{address(self.host, self.probe_port)}/readyz" if self.probe_port else f"{self.http}/readyz"

    @property
    def grpc(self) -> str:
        return address(self.host, self.grpc_port)


def announce(home: Path, running: Running) -> None:
    """Writes the run file of a service, whole or not at all: others read it at any time."""
    path = _run_file(home, running.task)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{running.pid}.part")
    part.write_bytes(msgspec.json.encode(running))
    part.replace(path)


def announced(home: Path) -> dict[str, Running]:
    """The run files of processes that are still alive, by task.

    Files of dead processes stay until the next service of that task replaces them: removing one could hit a file
    that has just been replaced.
    """
    found = {}
    for path in sorted((home / "run").glob("*.json")):
        try:
            running = msgspec.json.decode(path.read_bytes(), type=Running)
        except (OSError, msgspec.DecodeError):  # of another version, or damaged: as good as none
            continue
        if alive(running.pid, running.started):
            found[running.task] = running
    return found


def started(pid: int) -> float:
    """When a process started, in seconds since 1970."""
    return float(psutil.Process(pid).create_time())


def alive(pid: int, since: float | None = None) -> bool:
    """Whether a process exists and is no zombie; with ``since``, whether it also is the one that started then (in
    seconds since 1970), and not another one that was given the process id of the dead."""
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

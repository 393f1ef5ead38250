"""Where this installation keeps its run files, and what runs there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True)
class Running:
    """A service process as it announced itself."""

    task: str
    pid: int
    host: str
    http_port: int
    grpc_port: int
    model: str

    @property
    def http(self) -> str:
        return f"http://{self.host}:{self.http_port}"

    @property
    def grpc(self) -> str:
        return f"{self.host}:{self.grpc_port}"


def announce(home: Path, running: Running) -> None:
    """Writes the run file of a service."""
    path = _run_file(home, running.task)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(running))


def announced(home: Path) -> dict[str, Running]:
    """The run files of processes that are still alive, by task."""
    found = {}
    for path in sorted((home / "run").glob("*.json")):
        running = msgspec.json.decode(path.read_bytes(), type=Running)
        if alive(running.pid):
            found[running.task] = running
        else:
            path.unlink(missing_ok=True)
    return found


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except PermissionError:
        return True
    except FileNotFoundError:  # a system without /proc
        return True
    except ProcessLookupError:
        return False


def _run_file(home: Path, task: str) -> Path:
    return home / "run" / f"{task}.json"

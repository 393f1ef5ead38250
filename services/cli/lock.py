"""One ``demur up`` a home directory: a file lock that the kernel releases, whatever becomes of its holder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Held(Exception):
    """Somebody holds the lock; ``pid`` is what they wrote into it, None where that is no process id (yet)."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"held by pid {pid}")
        self.pid = pid


@contextmanager
def hold(home: Path) -> Iterator[None]:
    """Holds the lock and writes this process into it.

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

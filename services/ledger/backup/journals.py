"""Copies of journals: answers that were acknowledged and are not in segments yet."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from services.ledger.backup.archive import Copied
from services.ledger.journal import HEAD_BYTES, SUFFIX, unpacked


def copy_journals(directory: Path, ledger: bytes, target: Path) -> tuple[Copied, ...]:
    """Copies the journals of one ledger; to be called before its database is copied.

    Then each frame of a copy is in the copied database, or is to be moved there: what a journal drops in between is
    in segments by then.

    Args:
        ledger: digest of the ledger, see ``Database.digest``.

    Raises:
        OSError: one cannot be read.
    """
    target.mkdir(parents=True, exist_ok=True)
    found = []
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # all of it is in segments
            continue
        try:
            whole = _held(file)
            content = _content(file)
            if (head := unpacked(content)) is None or head[0].ledger != ledger:
                continue
            copy = os.open(target / path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(copy, "wb") as writing:  # noqa: PTH123 - of a descriptor
                writing.write(content)
            found.append(Copied(path.name, head[0].epoch, whole))
        finally:
            os.close(file)
    return tuple(found)


def _held(file: int) -> bool:
    """Whether its process is dead, so that nothing is appended any more; nobody takes it over meanwhile."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _content(file: int) -> bytes:
    """The whole file, of one time: emptying it changes its head."""
    while True:
        head = os.pread(file, HEAD_BYTES, 0)
        content, size = bytearray(head), os.fstat(file).st_size
        while len(content) < size and (part := os.pread(file, size - len(content), len(content))):
            content += part
        if os.pread(file, HEAD_BYTES, 0) == head:
            return bytes(content)

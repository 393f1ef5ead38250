"""Watched files: configuration that may be replaced at any time, and is reloaded then.

A mounted secret is swapped by a link, a renewal writes two files one after the other, and two writes may have the same
time. The files are small, so their content is compared, not their times.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

LOOK_SECONDS = 1.0
MOST_BYTES = 16 << 20


class Watched(Protocol):
    """Interface of an object that reloads files."""

    def reload(self) -> None:
        """Load the current content if it is valid; else report that and keep the old one.

        Runs in a thread, and raises no expected errors.
        """
        ...


async def follow(watched: Sequence[Watched], seconds: float = LOOK_SECONDS) -> None:
    """Reload periodically, forever."""
    while True:
        await asyncio.sleep(seconds)
        for files in watched:
            await asyncio.to_thread(files.reload)


def content(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: it cannot be read, or is too large.
    """
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(f"{path}: must have at most {MOST_BYTES} bytes")
    return data

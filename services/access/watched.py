"""Files that may be replaced at any time: read whole and again, since a name says little.

A mounted secret is swapped by a link, a renewal writes two files one after the other, a clock may stand still between
two writes. The files are small, so their content is compared, not their times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

LOOK_SECONDS = 1.0
MOST_BYTES = 16 << 20


class Watched(Protocol):
    """What follows files."""

    def look(self) -> None:
        """Takes what is there now, if it is good; else says so and keeps what it has. Runs in a thread; raises
        nothing that could be expected."""
        ...


async def follow(watched: Sequence[Watched], seconds: float = LOOK_SECONDS) -> None:
    """Looks for ever."""
    while True:
        await asyncio.sleep(seconds)
        for one in watched:
            await asyncio.to_thread(one.look)


def content(path: Path) -> bytes:
    """
    Raises:
        OSError: it cannot be read, or is larger than such a file can be.
    """
    with path.open("rb") as file:
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise OSError(f"{path} has more than {MOST_BYTES} bytes")
    return found

"""Flusher of the journal: what may hold erased inputs leaves the file, and a damaged file is reported as such."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from services.ledger.commit_queue import Watermark
from services.ledger.items import Parts
from services.ledger.journal import Identity, Journal
from services.ledger.journal_flusher import CUT_BYTES, JournalFlusher
from services.runtime.errors import LedgerUnavailable


class Mover:
    """Writer whose database takes all frames, once it may."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.reached = journal, 0
        self.open = asyncio.Event()
        self.open.set()

    async def settle(self, change: Any) -> int:
        _, reached = self.journal.read(self.reached, 1 << 20)
        await self.open.wait()
        self.reached = reached
        return reached


def made(folder: Path) -> tuple[JournalFlusher, Any]:
    flusher = JournalFlusher(Watermark(time.time), Parts())
    flusher.journal = Journal.create(folder, "vessel", Identity(1, b"s" * 32, b"l" * 16), 1 << 30)
    return flusher, Mover(flusher.journal)


def content(flusher: JournalFlusher) -> bytes:
    assert flusher.journal is not None
    return flusher.journal.path.read_bytes()


@pytest.mark.parametrize("later", [b"later", b"x" * (CUT_BYTES + 1)])
async def test_erased_inputs_leave_the_file_whatever_follows_them(tmp_path: Path, later: bytes) -> None:
    flusher, writer = made(tmp_path)
    assert flusher.journal is not None
    flusher.journal.append([b"secret"])
    await flusher.move(writer)
    flusher.journal.append([later])
    await flusher.forget()
    assert b"secret" not in content(flusher)
    assert later in content(flusher)


async def test_erased_inputs_leave_the_file_at_the_end_of_a_move_under_way(tmp_path: Path) -> None:
    flusher, writer = made(tmp_path)
    assert flusher.journal is not None
    flusher.journal.append([b"secret"])
    await flusher.move(writer)
    flusher.journal.append([b"later"])
    writer.open.clear()
    moving = asyncio.create_task(flusher.move(writer))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    forgetting = asyncio.create_task(flusher.forget())
    await asyncio.sleep(0)
    assert b"secret" in content(flusher), "the move reads the file"
    writer.open.set()
    await asyncio.wait_for(asyncio.gather(moving, forgetting), 10)
    assert b"secret" not in content(flusher)


async def test_a_damaged_file_is_an_unavailable_ledger(tmp_path: Path) -> None:
    flusher, writer = made(tmp_path)
    assert flusher.journal is not None
    flusher.journal.append([b"frame"])
    with flusher.journal.path.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    with pytest.raises(LedgerUnavailable, match="is damaged behind byte 0"):
        await flusher.move(writer)

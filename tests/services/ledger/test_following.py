"""Following a ledger: every row once, in any pieces, while it is written; and never its secrets."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from services.ledger.database import Database
from tests.ledger_reader import Cursor, Reader
from tests.services.ledger.recording import POWER, counted, read, recording


def places(rows) -> list[tuple[int, int, int]]:
    return [(row["writer"], row["flush"], row.get("part", row.get("sequence"))) for row in rows]


async def test_following_in_pieces_sees_every_row_once(ledger_url: str, tmp_path: Path) -> None:
    segments, items = [], []
    async with recording(ledger_url, tmp_path, epoch=1) as recorder:
        reader = Reader(Database(ledger_url))
        cursor: Cursor = {}

        async def follow() -> None:
            nonlocal cursor
            while True:
                snapshot = await asyncio.to_thread(reader.read, cursor, 3)
                segments.extend(snapshot.segments)
                items.extend(snapshot.items)
                cursor = snapshot.cursor
                if snapshot.complete:
                    return

        for number in range(30):
            await recorder.decide([0.5, 2.0] if number % 2 else [0.1])
            if number % 7 == 0:
                await follow()
    async with recording(ledger_url, tmp_path, epoch=2) as other:
        await other.decide([3.0])
    await follow()
    reader.close()
    whole = read(other.database)
    assert places(segments) == sorted(set(places(segments)))
    assert sorted(places(segments)) == sorted(places(whole.segments))
    assert sorted(places(items)) == sorted(places(whole.items))
    assert len(items) == 16
    assert len(counted(whole)) == 30 + 15 + 1
    assert {row["epoch"] for row in whole.writers} == {1, 2}
    assert all("secret" not in row for row in whole.writers)
    assert {row["head"] for row in whole.deployments} == {POWER.name, "turn"}


async def test_a_cursor_ahead_of_its_writer_is_told(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path, epoch=1) as recorder:
        await recorder.decide([2.0])
    reader = Reader(Database(ledger_url))
    snapshot = reader.read({1: 10_000})
    reader.close()
    assert snapshot.rolled_back == {1}
    assert not snapshot.segments


def test_a_ledger_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    reader = Reader(Database(f"sqlite:///{tmp_path / 'none.db'}"))
    with pytest.raises(DBAPIError):
        reader.read({})
    reader.close()
    assert not (tmp_path / "none.db").exists()

"""Taking over from a process that died: what it acknowledged is in segments, once, under its own epoch."""

import asyncio
from pathlib import Path

import pytest

from services.ledger import journal_flusher as journals
from services.ledger import ledger as ledgers
from services.ledger import recovery
from services.ledger.journal import Identity, Journal
from services.ledger.tables import gap, writer
from services.runtime.errors import LedgerUnavailable
from tests.services.ledger.recording import Recording, counted, make, read, recording, table
from tests.services.ledger.test_writer import until


async def dying(url: str, directory: Path, epoch: int, scores: list[float]) -> Recording:
    """A process that answers and then is no more: nothing of it is flushed or closed but by the kernel."""
    recorder = make(url, directory, epoch)
    await recorder.ledger.start()
    await until(lambda: recorder.ledger.writer.up)
    for score in scores:
        assert (await recorder.decide([score]))[0]
    return recorder


async def buried(recorder: Recording) -> None:
    """What the kernel does with a killed process: locks and connections end, nothing is written."""
    recorder.ledger._ending.set()
    await recorder.ledger._tending
    journal = recorder.ledger._journal.journal
    assert journal is not None
    journal.close()
    recorder.ledger.writer.queue.end()
    await asyncio.to_thread(recorder.ledger.writer._thread.join)
    recorder.database.release()


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happens in the background but the take-over."""
    monkeypatch.setattr(ledgers.DurableLedger, "_write_background", nothing)


async def nothing(self, *, tallies: bool) -> None: ...


async def revive(url: str, epoch: int) -> None:
    """The writer's row as a kill leaves it."""
    from sqlalchemy import update

    from services.ledger.database import Database

    engine = Database(url).writing()
    with engine.begin() as connection:
        connection.execute(update(writer).where(writer.c.epoch == epoch).values(ended=None))
    engine.dispose()


async def test_the_journal_of_a_dead_process_is_taken_over_once(ledger_url: str, tmp_path: Path, idle) -> None:
    dead = await dying(ledger_url, tmp_path, 1, [0.1, 0.2, 2.0, 0.3])
    await buried(dead)
    await revive(ledger_url, 1)
    for epoch in (2, 3):
        async with recording(ledger_url, tmp_path, epoch) as recorder:
            await until(lambda: not list(tmp_path.glob("*-0000000000000001.journal")))
            await asyncio.sleep(0.3)
    snapshot = read(recorder.database)
    assert counted(snapshot) == {(1, n): 1 for n in range(4)}
    rows = {row["epoch"]: row for row in snapshot.writers}
    assert rows[1]["ended"] is not None
    assert rows[1]["flush"] == (2 if dead.ledger.writer.local else 3), (
        "deployments, deferred units elsewhere, the journal"
    )
    assert [(row["writer"], row["sequence"], row["state"]) for row in snapshot.items] == [(1, 2, "requested")]
    assert {row["writer"] for row in snapshot.segments} == {1}
    assert not snapshot.gaps


async def test_what_a_process_left_in_its_journal_when_it_ended_is_taken_over(
    ledger_url: str, tmp_path: Path, idle
) -> None:
    """Its drain was too short for all that had waited for the database."""
    ended = await dying(ledger_url, tmp_path, 1, [0.1, 0.2, 0.3])
    ended.ledger._gaps.add(5.0, 3, "down", 7.0)
    await ended.ledger.stop()
    assert table(ended.database, writer)[0]["ended"] is not None
    assert not ended.units()
    for epoch in (2, 3):
        async with recording(ledger_url, tmp_path, epoch) as recorder:
            await until(lambda: not list(tmp_path.glob("*-0000000000000001.journal")))
    assert counted(read(recorder.database)) == {(1, n): 1 for n in range(3)}
    assert [row["units"] for row in table(recorder.database, gap)] == [3]


async def test_what_the_database_forgot_of_a_dead_process_is_a_gap_until_now(tmp_path: Path, idle) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    dead = await dying(url, tmp_path, 1, [0.1])
    journal = dead.ledger._journal.journal
    assert journal is not None
    journal.empty(journal.end)  # as if it were in segments
    await buried(dead)
    (row,) = table(dead.database, writer)
    async with recording(url, tmp_path, 2) as recorder:
        await until(lambda: not list(tmp_path.glob("*-0000000000000001.journal")))
    (lost,) = table(recorder.database, gap)
    assert lost["from_time"] == row["heartbeat"] < lost["to_time"]


async def test_a_kill_in_the_midst_of_taking_over_changes_nothing(
    ledger_url: str, tmp_path: Path, idle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "MOVE_BYTES", 300)
    dead = await dying(ledger_url, tmp_path, 1, [0.01 * n for n in range(40)])
    await buried(dead)
    await revive(ledger_url, 1)
    calls = 0
    real = recovery.recover

    def interrupted(*args):
        nonlocal calls
        calls += 1
        if calls >= 4:
            raise LedgerUnavailable("killed")
        return real(*args)

    monkeypatch.setattr(recovery, "recover", interrupted)
    async with recording(ledger_url, tmp_path, 2) as recorder:
        await until(lambda: calls >= 4)
    assert 0 < len(counted(read(recorder.database))) < 40
    monkeypatch.setattr(recovery, "recover", real)
    async with recording(ledger_url, tmp_path, 3) as recorder:
        await until(lambda: not list(tmp_path.glob("*-0000000000000001.journal")))
    assert counted(read(recorder.database)) == {(1, n): 1 for n in range(40)}


async def test_a_process_that_never_reached_its_database_is_taken_over(tmp_path: Path, postgres) -> None:
    url = postgres.database()
    postgres.stop()
    try:
        dead = make(url, tmp_path, 1, deadline_seconds=0.1)
        await dead.ledger.start()
        assert [(await dead.decide([score]))[0] for score in (0.1, 2.0, 0.2)] == [True, False, True]
        await buried(dead)
    finally:
        postgres.start()
    async with recording(url, tmp_path, 2) as recorder:
        await until(lambda: not list(tmp_path.glob("*-0000000000000001.journal")))
    assert counted(read(recorder.database)) == {(1, 0): 1, (1, 2): 1}
    (lost,) = table(recorder.database, gap)
    assert (lost["units"], lost["writer"]) == (1, 1)
    rows = {row["epoch"]: row for row in table(recorder.database, writer)}
    assert rows[1]["secret"] == dead.ledger.writer.secret


async def test_what_was_lost_is_not_forgotten_by_a_kill(ledger_url: str, tmp_path: Path, idle) -> None:
    dead = await dying(ledger_url, tmp_path, 1, [0.1])
    dead.ledger._gaps.add(5.0, 3, "down", 7.0)
    dead.ledger._gaps.add(6.0, 1, "late", 9.0)
    await buried(dead)
    await revive(ledger_url, 1)
    async with recording(ledger_url, tmp_path, 2) as recorder:
        await until(lambda: not list(tmp_path.glob("*-0000000000000001.journal")))
    (row,) = table(recorder.database, gap)
    assert (row["from_time"], row["to_time"], row["units"]) == (5.0, 9.0, 4)


async def test_journals_of_other_ledgers_and_of_the_living_are_left(ledger_url: str, tmp_path: Path, idle) -> None:
    other = await dying(f"sqlite:///{tmp_path / 'other.db'}", tmp_path, 1, [0.1])
    await buried(other)
    living = Journal.create(tmp_path, "toy", Identity(9, bytes(32), bytes(16)), 1000)
    async with recording(ledger_url, tmp_path, 2):
        await asyncio.sleep(0.6)
    left = sorted(path.name for path in tmp_path.glob("*.journal"))
    assert left == ["toy-0000000000000001.journal", "toy-0000000000000009.journal"]
    living.close()


async def test_a_journal_grows_no_larger_than_what_waits(ledger_url: str, tmp_path: Path, monkeypatch) -> None:

    monkeypatch.setattr(journals, "EMPTY_BYTES", 2000)
    async with recording(ledger_url, tmp_path) as recorder:
        largest = 0
        for _ in range(4):
            for _ in range(100):
                await recorder.decide([0.1])
            largest = max(largest, recorder.ledger.journal_bytes)
            await until(lambda: recorder.ledger.journal_bytes < 2000)
        assert largest > 2000
    assert counted(read(recorder.database)) == {(recorder.ledger.writer.epoch, n): 1 for n in range(400)}

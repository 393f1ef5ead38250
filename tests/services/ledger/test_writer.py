"""The writer: what is acknowledged is committed, neighbours of a failing change go on, a lost database comes back."""

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import OperationalError

from services.ledger.commit_queue import Clock
from services.ledger.contract import Place
from services.ledger.database import Database
from services.ledger.tables import gap, writer
from services.ledger.writer import Writer
from services.runtime.errors import LedgerUnavailable
from tests.postgres import Postgres

EPOCH = 0x7FFF_FFFF_FFFF_FFFE


@asynccontextmanager
async def writing(url: str, epoch: int = EPOCH, **options: Any) -> AsyncIterator[Writer]:
    ledger_writer = Writer(Database(url), epoch=epoch, task="toy", clock=Clock(), **options)
    await ledger_writer.start()
    try:
        yield ledger_writer
    finally:
        await ledger_writer.stop()


def note(units: int) -> Callable[[Connection, Place], int]:
    """A change that writes one row, and tells its flush."""

    def change(connection: Connection, place: Place) -> int:
        row = place.columns | {"from_time": 0.0, "to_time": 0.0, "units": units, "reason": "test"}
        connection.execute(insert(gap).values(row))
        return place.flush

    return change


async def noted(ledger_writer: Writer) -> list[tuple[int, int]]:
    """All rows: flush and units."""
    return await ledger_writer.read(lambda c: [tuple(row) for row in c.execute(select(gap.c.flush, gap.c.units))])


class Heard:
    """A watch that remembers."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def flushed(self, seconds: float) -> None: ...

    def failed(self, reason: str) -> None:
        self.failures.append(reason)


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        await asyncio.sleep(0.01)


def refused_at_once(ledger_writer: Writer, **options: Any) -> LedgerUnavailable:
    """The refusal of a change, which comes before anything is waited for: the event loop has no turn meanwhile."""
    with pytest.raises(LedgerUnavailable) as refusal:
        ledger_writer.run(note(3), **options).send(None)
    return refusal.value


async def test_what_returned_is_in_the_ledger_under_its_flush(ledger_url: str) -> None:
    async with writing(ledger_url) as ledger_writer:
        flushes = [await ledger_writer.run(note(units)) for units in range(3)]
        assert flushes == [1, 2, 3]
        assert await noted(ledger_writer) == [(1, 0), (2, 1), (3, 2)]
    async with writing(ledger_url, epoch=5) as other:
        row = await other.read(lambda c: c.execute(select(writer).where(writer.c.epoch == EPOCH)).mappings().one())
        assert (row["flush"], row["ended"] >= row["heartbeat"] >= row["started"]) == (3, True)


async def test_changes_that_wait_together_are_committed_together_and_in_order(ledger_url: str) -> None:
    async with writing(ledger_url) as ledger_writer:
        flushes = await asyncio.gather(*(ledger_writer.run(note(units)) for units in range(100)))
        assert flushes == sorted(flushes)
        assert len(set(flushes)) < 20
        assert [units for _, units in await noted(ledger_writer)] == list(range(100))


async def test_a_change_that_fails_fails_alone_and_leaves_nothing(ledger_url: str) -> None:
    def wrong(connection: Connection, place: Place) -> None:
        note(99)(connection, place)
        connection.execute(insert(writer).values(epoch=EPOCH, task="twice"))

    def defect(connection: Connection, place: Place) -> None:
        note(98)(connection, place)
        raise KeyError("a defect of the change")

    async with writing(ledger_url) as ledger_writer:
        changes = [note(1), wrong, note(2), defect, note(3)]
        outcomes = await asyncio.gather(*(ledger_writer.run(change) for change in changes), return_exceptions=True)
        assert [type(outcome).__name__ for outcome in outcomes] == ["int", "IntegrityError", "int", "KeyError", "int"]
        with pytest.raises(KeyError):
            await ledger_writer.run(defect)
        assert await ledger_writer.run(note(4)) == ledger_writer.flush
        assert [units for _, units in await noted(ledger_writer)] == [1, 2, 3, 4]


async def test_an_idle_writer_gives_signs_of_life_and_takes_no_flush(ledger_url: str) -> None:
    async with writing(ledger_url) as ledger_writer:
        await ledger_writer.run(note(0))
        heartbeat = select(writer.c.flush, writer.c.heartbeat)
        before = await ledger_writer.read(lambda c: c.execute(heartbeat).one())
        after, end = before, time.monotonic() + 60
        while after.heartbeat == before.heartbeat:
            assert time.monotonic() < end, "it gives no sign of life"
            await asyncio.sleep(0.1)
            after = await ledger_writer.read(lambda c: c.execute(heartbeat).one())
        assert after.flush == before.flush == 1
        assert before.heartbeat < after.heartbeat <= ledger_writer._clock()


async def test_a_second_process_is_told_who_writes(tmp_path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with writing(url):
        second = Writer(Database(url), epoch=2, task="toy", clock=Clock())
        await second.start()
        with pytest.raises(LedgerUnavailable, match=r"is written by the process \d+; only one process can write"):
            await second.run(note(1))
        await second.stop()
    async with writing(url, epoch=3) as third:
        assert await third.run(note(1)) == 1


async def test_time_never_runs_back() -> None:
    times = iter([5.0, 7.0, 3.0, 6.5, 8.0])
    clock = Clock(lambda: next(times))
    assert [clock() for _ in range(5)] == [5.0, 7.0, 7.0, 7.0, 8.0]


async def test_a_caller_that_gave_up_left_nothing_behind(ledger_url: str) -> None:
    begun, gone = threading.Event(), threading.Event()

    def slow(connection: Connection, place: Place) -> None:
        begun.set()
        assert gone.wait(60)

    async with writing(ledger_url) as ledger_writer:
        blocked = asyncio.create_task(ledger_writer.run(slow))
        assert await asyncio.to_thread(begun.wait, 60)
        with pytest.raises(LedgerUnavailable, match="did not commit in time"):
            await ledger_writer.run(note(1), seconds=0.05)
        gone.set()
        await blocked
        await ledger_writer.run(note(2))
        assert [units for _, units in await noted(ledger_writer)] == [2]


async def test_a_server_that_stops_refuses_at_once_and_comes_back(postgres: Postgres) -> None:
    url = postgres.database()
    async with writing(url) as ledger_writer:
        await ledger_writer.run(note(1))
        postgres.stop()
        try:
            with pytest.raises(LedgerUnavailable):
                await ledger_writer.run(note(2))
            assert refused_at_once(ledger_writer).retry_after_seconds > 0
        finally:
            postgres.start()
        await until(lambda: ledger_writer.up)
        await ledger_writer.run(note(4))
        assert [units for _, units in await noted(ledger_writer)] == [1, 4]


async def test_a_ledger_that_opens_and_takes_nothing_is_down_most_of_the_time(ledger_url: str) -> None:
    """As on a full disk: whoever watches would see it up otherwise, and the log would fill what is left."""

    def full(connection: Connection, place: Place) -> None:
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    heard = Heard()
    async with writing(ledger_url, watch=heard) as ledger_writer:
        up, looks, start = 0, 0, time.monotonic()
        while len(heard.failures) < 6:
            with suppress(LedgerUnavailable):
                await ledger_writer.run(full)
            up, looks = up + ledger_writer.up, looks + 1
            await asyncio.sleep(0.005)
        assert time.monotonic() - start > 0.05 * (1 + 2 + 4 + 8 + 16), "each wait is twice as long as the last"
        assert up < looks / 4
        await until(lambda: ledger_writer.up)
        await ledger_writer.run(note(1))
        failures = len(heard.failures)
        with pytest.raises(LedgerUnavailable):
            await ledger_writer.run(full)
        await until(lambda: len(heard.failures) > failures and ledger_writer.up)
        assert ledger_writer._delay <= 2 * 0.05, "after a success the waits begin anew"


async def test_a_server_that_hangs_costs_a_caller_no_more_than_its_time(postgres: Postgres) -> None:
    async with writing(postgres.database()) as ledger_writer:
        await ledger_writer.run(note(1))
        postgres.pause()
        try:
            with pytest.raises(LedgerUnavailable):
                await ledger_writer.run(note(2), seconds=0.2)
            await asyncio.sleep(1.2)
            assert "does not answer" in str(refused_at_once(ledger_writer, seconds=5))
        finally:
            postgres.resume()
        await until(lambda: ledger_writer.queue.hindrance() is None)
        await ledger_writer.run(note(4))
        units = [units for _, units in await noted(ledger_writer)]
        assert units in ([1, 4], [1, 2, 4])  # the second was under way when its caller gave up


@pytest.mark.parametrize("committed", [False, True])
async def test_a_commit_in_doubt_is_neither_lost_nor_repeated(ledger_url: str, committed: bool) -> None:
    """The connection breaks at the commit: before the server heard of it, or after it was done."""
    database = Database(ledger_url)
    ledger_writer = Writer(database, epoch=EPOCH, task="toy", clock=Clock())
    engines = database.writing
    breaks = itertools.count()

    def breaking() -> Any:
        engine = engines()
        commit = engine.dialect.do_commit

        def broken(connection: Any) -> None:
            with_note = connection.cursor().execute("SELECT count(*) FROM gap").fetchone()[0] if armed else 0
            if with_note and next(breaks) == 0:
                if committed:
                    commit(connection)
                raise engine.dialect.dbapi.OperationalError("the connection broke")
            commit(connection)

        engine.dialect.do_commit = broken
        return engine

    armed = False
    database.writing = breaking  # type: ignore[method-assign]
    await ledger_writer.start()
    armed = True
    try:
        if committed:
            assert await ledger_writer.run(note(1)) == 1
        else:
            with pytest.raises(LedgerUnavailable):
                await ledger_writer.run(note(1))
        await until(lambda: ledger_writer.up)
        await ledger_writer.run(note(2))
        assert [units for _, units in await noted(ledger_writer)] == ([1, 2] if committed else [2])
        total = await ledger_writer.read(lambda c: c.scalar(select(func.count()).select_from(gap)))
        assert total == (2 if committed else 1)
    finally:
        await ledger_writer.stop()

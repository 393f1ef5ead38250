"""Disks that are full, files that are locked or read-only, failures at every call: answers go on, and nothing that was
acknowledged is missing or doubled."""

import asyncio
import functools
import itertools
import os
import resource
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from services.ledger import items
from services.ledger import journal_flusher as journals
from services.ledger.journal import SUFFIX
from services.ledger.tables import gap
from services.runtime.errors import LedgerUnavailable
from tests.services.ledger.recording import Recording, counted, read, recording, table
from tests.services.ledger.test_writer import until


class Asked:
    """What a caller was told."""

    def __init__(self) -> None:
        self.recorded: set[int] = set()
        self.unrecorded: set[int] = set()
        self.deferred: set[int] = set()

    async def ask(self, found: Recording, scores: list[float], **options) -> None:
        recorded, ids = await found.decide(scores, **options)
        (self.recorded if recorded else self.unrecorded).update(range(ids.first, ids.first + ids.count))
        self.deferred.update(ids.first + unit for unit, score in enumerate(scores) if score > 1.0)

    def judge(self, found: Recording) -> None:
        """Of the ledger after its end: all that was acknowledged, once; and gaps for what was not."""
        snapshot = read(found.database)
        there = counted(snapshot)
        assert set(there.values()) <= {1}
        units = {sequence for _, sequence in there}
        assert self.recorded <= units
        assert units <= self.recorded | self.unrecorded
        assert sum(row["units"] for row in snapshot.gaps) >= len(self.unrecorded - units)
        items = {row["sequence"] for row in snapshot.items}
        assert len(items) == len(snapshot.items)
        assert self.recorded & self.deferred <= items <= units


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


async def test_a_full_disk_costs_records_not_answers(small_disk: Path) -> None:
    traffic = Asked()
    async with recording(f"sqlite:///{small_disk / 'ledger.db'}", small_disk, deadline_seconds=1.0) as recorder:
        await traffic.ask(recorder, [2.0, 0.1])
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        for number in range(30):
            await traffic.ask(recorder, [2.0] * 40)
            await traffic.ask(recorder, [0.1] * (1 + number))
        assert traffic.unrecorded
        assert recorder.tally.failures
        ballast.unlink()
        await until(lambda: recorder.ledger.writer.up)
        await until(lambda: bool(table(recorder.database, gap)))
        before = len(traffic.recorded)
        await traffic.ask(recorder, [2.0])
        await traffic.ask(recorder, [0.1])
        assert len(traffic.recorded) == before + 2
    traffic.judge(recorder)


async def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path) -> None:
    traffic = Asked()
    async with recording(f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path, deadline_seconds=1.0) as recorder:
        await traffic.ask(recorder, [2.0, 0.1])
        old, kind = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        largest = max(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, old[1]))
            for _ in range(200):  # until the journal may not grow either
                await traffic.ask(recorder, [2.0] * 200)
                await traffic.ask(recorder, [0.1])
                if traffic.unrecorded:
                    break
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
            signal.signal(signal.SIGXFSZ, kind)
        assert traffic.unrecorded
        await until(lambda: recorder.ledger.writer.up)
        await traffic.ask(recorder, [3.0])
        assert max(traffic.recorded) > max(traffic.unrecorded)
    traffic.judge(recorder)


@pytest.mark.parametrize("journal", [True, False])
async def test_a_file_that_another_program_holds_is_waited_for_no_longer_than_the_deadline(
    tmp_path: Path, journal: bool
) -> None:
    """With a journal nothing waits for the file; without one each answer waits until its deadline."""
    traffic = Asked()
    path = tmp_path / "ledger.db"
    async with recording(f"sqlite:///{path}", tmp_path, deadline_seconds=0.2, journal=journal) as recorder:
        await traffic.ask(recorder, [2.0])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        loop = asyncio.get_running_loop()
        for _ in range(3):
            start = loop.time()
            await traffic.ask(recorder, [2.0])
            await traffic.ask(recorder, [0.1])
            assert loop.time() - start < (0.3 if journal else 0.9)
        assert len(traffic.unrecorded) == (0 if journal else 6)
        other.execute("ROLLBACK")
        other.close()
        await until(lambda: recorder.ledger.writer.queue.hindrance() is None)
        if not journal:
            await until(lambda: bool(table(recorder.database, gap)))
        await traffic.ask(recorder, [2.0])
    traffic.judge(recorder)


async def test_a_directory_that_cannot_be_written_still_answers(tmp_path: Path) -> None:
    wall = tmp_path / "file"
    wall.write_text("no directory")
    async with recording(f"sqlite:///{wall / 'ledger.db'}", wall / "journals") as recorder:
        assert [(await recorder.decide([score]))[0] for score in (0.1, 2.0)] == [False, False]
        assert recorder.ledger.writer.queue.reason
        assert recorder.tally.failures
    assert recorder.tally.lost == [(1, "down"), (1, "down")]


async def test_a_failure_at_any_call_of_the_database_loses_and_doubles_nothing(ledger_url: str, tmp_path: Path) -> None:
    """The n-th call fails, for each n until a run needs no more calls."""
    for n in itertools.count():
        traffic = Asked()
        async with recording(ledger_url, tmp_path / str(n), epoch=n + 1, deadline_seconds=2.0) as recorder:
            await until(lambda: recorder.ledger.writer.up)
            failing = Failing(recorder, n)
            for scores in ([2.0, 0.1], [0.2], [0.3, 3.0]):
                await traffic.ask(recorder, scores, rate=0.3)
            with suppress(LedgerUnavailable):
                await recorder.ledger.catch_up()  # at the latest now: background work may be late on a busy machine
            await asyncio.sleep(0.3)
            failed = failing.failed
            failing.end()
            await until(lambda: recorder.ledger.writer.queue.hindrance() is None)
            await traffic.ask(recorder, [2.0])
            assert len(traffic.recorded) >= 1
        await take_over(ledger_url, tmp_path / str(n), epoch=n + 1_000_001)
        snapshot = read(recorder.database)
        mine = {sequence: times for (epoch, sequence), times in counted(snapshot).items() if epoch == n + 1}
        assert set(mine.values()) <= {1}, n
        assert traffic.recorded <= set(mine), n
        assert set(mine) <= traffic.recorded | traffic.unrecorded, n
        gaps = sum(row["units"] for row in snapshot.gaps if row["writer"] == n + 1)
        assert gaps >= len(traffic.unrecorded - set(mine)), n
        if not failed:
            assert n > 5
            return


async def take_over(ledger_url: str, directory: Path, epoch: int) -> None:
    """What the next process does, where a database that was too slow at the end left a journal behind."""
    left = list(directory.glob(f"*{SUFFIX}"))
    if left:
        async with recording(ledger_url, directory, epoch):
            await until(lambda: not any(path.exists() for path in left))


@pytest.mark.parametrize("short", [False, True])
async def test_a_failure_at_any_write_of_the_journal_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    """The n-th write fails, whole or after half of the bytes, for each n until a run needs no more writes."""
    monkeypatch.setattr(journals, "EMPTY_BYTES", 256)
    for n in itertools.count():
        traffic, directory = Asked(), tmp_path / str(n)
        async with recording(f"sqlite:///{directory / 'ledger.db'}", directory, deadline_seconds=2.0) as recorder:
            failing = FailingFiles(n, short=short)
            for scores in ([2.0, 0.1], [0.2] * 30, [0.3, 3.0], [0.4]):
                await traffic.ask(recorder, scores, rate=0.3)
                await recorder.ledger.catch_up()
            failing.end()
            await traffic.ask(recorder, [2.0])
        traffic.judge(recorder)
        assert not traffic.unrecorded, "the database took what the journal did not"
        if not failing.failed:
            assert n > 5
            return


class FailingFiles:
    """Makes the n-th write of files fail, or write half of its bytes."""

    def __init__(self, n: int, *, short: bool) -> None:
        self.failed = False
        self._left, self._short = n, short
        self._patch = pytest.MonkeyPatch()
        for name in ("pwrite", "write", "ftruncate"):
            self._patch.setattr(os, name, functools.partial(self._call, getattr(os, name), name))

    def _call(self, real: Any, name: str, file: int, content: Any, *rest: Any) -> Any:
        self._left -= 1
        if self._left != -1:
            return real(file, content, *rest)
        self.failed = True
        if not self._short or name == "ftruncate":
            raise OSError("the disk failed")
        return real(file, content[: len(content) // 2], *rest)

    def end(self) -> None:
        self._patch.undo()


class Failing:
    """Makes the n-th statement of the writer's connections fail as a lost connection would."""

    def __init__(self, found: Recording, n: int) -> None:
        self.failed = False
        self._left = n
        self._patch = pytest.MonkeyPatch()
        writing = found.database.writing
        dialects: set[type] = set()
        engine = writing()
        dialects.add(type(engine.dialect))
        self._error = engine.dialect.loaded_dbapi.OperationalError
        engine.dispose()
        for name in ("do_execute", "do_executemany", "do_commit"):
            self._wrap(type(engine.dialect), name)
        for name in ("_insert", "_copy"):  # statements of items go to the driver itself
            self._wrap(items, name)

    def _wrap(self, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*args, **options):
            if threading.current_thread().name == "ledger" and not self.failed:
                self._left -= 1
                if self._left < 0:
                    self.failed = True
                    raise self._error("the connection was lost")
            return real(*args, **options)

        self._patch.setattr(owner, name, call)

    def end(self) -> None:
        self._patch.undo()

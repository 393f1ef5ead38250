"""One thread and one connection that write a ledger: whatever waits is committed together, as one numbered flush.

A flush is committed or not, and the number in the row of the writer tells which, also where the connection broke while
the commit was under way. So nothing is written twice, and nothing that was acknowledged is missing.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from services.ledger.changes import Done, Entry, Place, apply, resolve, rolled_back, tell
from services.ledger.clock import Clock
from services.ledger.database import Database, LedgerHeld, LedgerRefused
from services.ledger.failures import kind, refused, unavailable, words
from services.ledger.migrations import migrate
from services.ledger.tables import writer as writers
from services.runtime.errors import LedgerUnavailable
from services.runtime.logging import get_logger

__all__ = ["Clock", "Place", "Writer"]

T = TypeVar("T")
_log = get_logger(__name__)

HEARTBEAT_SECONDS = 1.0
"""Between two words of an idle writer; readers call it late after several."""
WAIT_SECONDS = 10.0
"""How long a change waits for its commit where its caller names no time."""
STALLED_SECONDS = 1.0
"""A flush that takes longer makes new changes fail at once: a database that hangs must not hold answers back."""
_RETRY_SECONDS = (0.05, 2.0)
_PROGRESS = {
    "sqlite": "UPDATE writer SET flush = ?, heartbeat = ?, ended = ? WHERE epoch = ?",
    "postgresql": "UPDATE writer SET flush = %s, heartbeat = %s, ended = %s WHERE epoch = %s",
}
"""Of each flush; compiled once."""


class Watch(Protocol):
    """Hears how a writer fares, from its thread."""

    def flushed(self, seconds: float) -> None: ...

    def failed(self, reason: str) -> None:
        """A flush failed or the ledger could not be opened; ``reason`` is one of a few words."""
        ...


class _Nobody:
    def flushed(self, seconds: float) -> None: ...

    def failed(self, reason: str) -> None: ...


class Writer:
    """Commits changes in the order of their arrival; use ``run`` and ``read`` from event loops."""

    def __init__(
        self,
        database: Database,
        *,
        epoch: int,
        task: str,
        clock: Callable[[], float],
        complete_until: Callable[[Place], float] | None = None,
        watch: Watch | None = None,
    ) -> None:
        """
        Args:
            epoch: of this process, as in its unit ids.
            clock: seconds since 1970, never running back; see ``Clock``.
            complete_until: called in the writer's thread at the end of each transaction: all that was decided before
                this time is in the ledger once it is committed. Default: the clock.
        """
        self.epoch = epoch
        self.task = task
        self.secret = secrets.token_bytes(32)
        """Keys the audit draws of this epoch."""
        self.flush = 0
        """Number of the last flush that is known to be committed."""
        self.forgotten: list[tuple[float, float]] = []
        """Times from and to which the database lost flushes that it had confirmed (it crashed)."""
        self.reason = "the ledger is not open yet"
        """Why nothing can be written now; empty while the ledger is up."""
        self._database = database
        self._clock = clock
        self._started = clock()
        self._complete_until = complete_until or (lambda place: clock())
        self._watch: Watch = watch or _Nobody()
        self._waiting: deque[Entry] = deque()
        self._wake = threading.Condition()
        self._since: float | None = None
        """When the flush under way began, on the monotonic clock."""
        self._doubt: tuple[int, list[Entry]] | None = None
        self._delay = _RETRY_SECONDS[0]
        """Until a ledger that failed is opened again; grows until a change is written: one on a full disk opens."""
        self._ending = False
        self._refused: LedgerRefused | None = None
        self._tried = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="ledger-read")
        self._reading: Engine = database.reading()

    @property
    def up(self) -> bool:
        return not self.reason

    @property
    def ledger(self) -> bytes:
        """Digest of where the ledger is, 16 bytes."""
        return self._database.digest

    async def start(self, seconds: float = 5.0) -> None:
        """Opens the ledger in its thread. One that is down is tried again and again; ``up`` says how it stands.

        Raises:
            LedgerRefused: no retry will mend it.
        """
        self._thread.start()
        await asyncio.get_running_loop().run_in_executor(None, self._tried.wait, seconds)
        if self._refused is not None:
            raise self._refused

    async def stop(self, seconds: float = 10.0) -> None:
        """Writes what waits and marks the writer ended, if the database lets it within the time."""
        with self._wake:
            self._ending = True
            self._wake.notify()
        if self._thread.is_alive():
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join, seconds)
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._reading.pool.dispose()
        if not self._thread.is_alive():  # a thread that hangs in a commit still is the one that writes
            self._database.release()

    async def run(self, change: Callable[[Connection, Place], T], *, seconds: float | None = None) -> T:
        """Runs a change within the next flush and returns when that is committed.

        A change that fails, fails alone: its rows are taken back and its exception is raised here.

        Raises:
            LedgerUnavailable: the database is down, or did not commit in time. The change was not made, or (only when
                the time ran out while its commit was under way) it is in the ledger all the same.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        entry = self.submit(change, lambda outcome, error: resolve(future, outcome, error))
        late = unavailable("it did not commit in time")
        timer = loop.call_later(WAIT_SECONDS if seconds is None else seconds, resolve, future, None, late)
        try:
            return await future
        finally:
            timer.cancel()
            entry.withdrawn = True

    async def settle(self, change: Callable[[Connection, Place], T]) -> T:
        """As ``run``, but waits until the outcome is known, however long the database is away meanwhile.

        Raises:
            LedgerUnavailable: the change was not made, for sure (or the process ends in doubt).
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.submit(change, lambda outcome, error: resolve(future, outcome, error))
        return await future

    def submit(self, change: Callable[[Connection, Place], Any], done: Done) -> Entry:
        """As ``run``, but returns at once; ``done`` is called once, whenever the outcome is known.

        Raises:
            LedgerUnavailable: the database is down; ``done`` is not called then.
        """
        entry = Entry(change, asyncio.get_running_loop(), done)
        with self._wake:
            if (reason := self.hindrance()) is not None:
                raise unavailable(reason)
            self._waiting.append(entry)
            self._wake.notify()
        return entry

    async def forget(self) -> None:
        """Empties what the database wrote ahead, where erased content stands until then; see ``Database.forget``."""
        await asyncio.get_running_loop().run_in_executor(None, self._database.forget)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """What a query finds, in one state of the ledger; runs in a thread of its own.

        Raises:
            LedgerUnavailable: the database does not answer.
            InvalidInput: it cannot hold a value of the query.
        """
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, query)

    def hindrance(self) -> str | None:
        """Why a change that came now would not be made; None where it would."""
        if self.reason or self._ending:
            return self.reason or "the process is ending"
        since = self._since
        if since is not None and time.monotonic() - since > STALLED_SECONDS:
            return "the database does not answer"
        return None

    def _read(self, query: Callable[[Connection], T]) -> T:
        try:
            with self._reading.begin() as connection:
                return query(connection)
        except DBAPIError as error:
            if isinstance(error, OperationalError) or error.connection_invalidated:
                raise unavailable(words(error)) from error
            raise refused(error) from error
        finally:
            if self._ending:  # nobody else closes what came back to the pool after the end
                self._reading.pool.dispose()

    # What follows runs in the writer's thread.

    def _work(self) -> None:
        try:
            self._keep_serving()
        finally:
            if self._doubt is not None:
                self._settle(self._doubt[1], unavailable("the process ends before the outcome is known"))

    def _keep_serving(self) -> None:
        while True:
            try:
                with self._opened() as connection:
                    self._serve(connection)
                    return
            except LedgerRefused as error:
                self._refused = error
                self._down(str(error), "refused")
            except (SQLAlchemyError, LedgerHeld, OSError) as error:
                self._down(words(error), kind(error))
            except Exception as error:
                _log.exception("the ledger's writer failed by a defect; it is opened anew")
                self._down(f"a defect ({type(error).__name__})", "defect")
            finally:
                self._tried.set()
            with self._wake:
                if self._ending or self._refused is not None:
                    return
                self._wake.wait(self._delay)
            self._delay = min(2 * self._delay, _RETRY_SECONDS[1])

    @contextmanager
    def _opened(self) -> Iterator[Connection]:
        """A connection to a ledger of the newest schema in which this writer is known."""
        self._database.hold()
        engine = self._database.writing()
        try:
            migrate(engine, self._clock)
            with engine.connect() as connection:
                self._enter(connection)
                yield connection
        finally:
            engine.dispose()

    def _enter(self, connection: Connection) -> None:
        """Finds how far this writer came, which settles a commit that was in doubt."""
        with connection.begin():
            mine = select(writers.c.flush, writers.c.heartbeat).where(writers.c.epoch == self.epoch)
            row = connection.execute(mine.with_for_update()).one_or_none()  # waits for a commit that is under way
            if row is None:
                connection.execute(insert(writers).values(self._row()))
            else:  # changes nothing, and fails where nothing can be written
                connection.execute(update(writers).where(writers.c.epoch == self.epoch).values(flush=writers.c.flush))
        found = 0 if row is None else row.flush
        if self._doubt is not None:
            number, entries = self._doubt
            self._doubt = None
            self._settle(entries, None if found >= number else unavailable("the commit failed"))
        if found < self.flush:  # without a row nothing of this process is left
            self.forgotten.append((self._started if row is None else row.heartbeat, self._clock()))
        self.flush = max(self.flush, found)

    def _row(self) -> dict[str, Any]:
        now = self._clock()
        return {
            "epoch": self.epoch,
            "task": self.task,
            "host": socket.gethostname()[:255],
            "pid": os.getpid(),
            "started": now,
            "secret": self.secret,
            "flush": 0,
            "journal_end": 0,
            "heartbeat": now,
        }

    def _serve(self, connection: Connection) -> None:
        """Flushes until the end; returns then."""
        if self.reason:
            _log.info("the ledger is up")
            self.reason = ""
        self._tried.set()
        while True:
            with self._wake:
                if not self._waiting and not self._ending:
                    self._wake.wait(HEARTBEAT_SECONDS)
                entries = [entry for entry in self._waiting if not entry.withdrawn]
                self._waiting.clear()
                ending = self._ending and not entries
                self._since = time.monotonic()
            try:
                self._flush(connection, entries, ending)
            finally:
                with self._wake:
                    self._since = None
            if ending:
                self.reason = "the process is ending"
                return

    def _flush(self, connection: Connection, entries: list[Entry], ending: bool) -> None:
        start = time.perf_counter()
        place = Place(self.epoch, self.flush + bool(entries))
        try:
            transaction = connection.begin()
            if len(entries) == 1:  # nobody beside it to be kept apart from
                entries[0].outcome = entries[0].change(connection, place)
            else:
                for entry in entries:
                    apply(connection, place, entry)
            complete_until = self._complete_until(place)
            values = (place.flush, complete_until, self._clock() if ending else None, self.epoch)
            connection.exec_driver_sql(_PROGRESS[connection.dialect.name], values)
        except Exception as error:
            alive = rolled_back(connection)
            if alive and len(entries) == 1 and not isinstance(error, OperationalError):
                entries[0].error = refused(error)
                self._settle(entries, None)
                return
            with self._wake:  # who waits hears of it once the ledger counts as down
                self._waiting.extendleft(reversed(entries))
            raise
        try:
            transaction.commit()
        except Exception:
            self._doubt = (place.flush, entries)
            raise
        self.flush = place.flush
        self._since = None  # before anybody hears of it, and comes with the next change
        self._settle(entries, None)
        if entries:
            self._delay = _RETRY_SECONDS[0]
            self._watch.flushed(time.perf_counter() - start)

    def _settle(self, entries: list[Entry], lost: LedgerUnavailable | None) -> None:
        """Tells those who wait; one call a loop."""
        for loop in {entry.loop for entry in entries}:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(tell, [entry for entry in entries if entry.loop is loop], lost)

    def _down(self, told: str, reason: str) -> None:
        self._watch.failed(reason)
        if not self.reason or not self._tried.is_set():
            _log.error("the ledger is down, answers go on with recorded = false: %s", told)
        with self._wake:
            self.reason = told
            entries = list(self._waiting)
            self._waiting.clear()
        self._settle(entries, unavailable(told))

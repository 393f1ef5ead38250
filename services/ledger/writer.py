"""Writer of a ledger: one thread with one connection that commits whatever waits together, as one numbered flush.

A flush is committed or not, and the number in the row of the writer tells which, also where the connection broke while
the commit was under way. So nothing is written twice, and nothing that was acknowledged is missing.
"""

import asyncio
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from services.ledger.commit_queue import Entry, WriteQueue
from services.ledger.contract import Change, Place
from services.ledger.database import Database, LedgerHeld, LedgerRefused, error_kind, error_text, refused, unavailable
from services.ledger.migrations import migrate
from services.ledger.tables import writer as writers
from services.runtime.errors import LedgerUnavailable
from services.runtime.logging import get_logger

T = TypeVar("T")
_log = get_logger(__name__)

HEARTBEAT_SECONDS = 1.0
"""Between two heartbeats of an idle writer; readers call it late after several."""
WAIT_SECONDS = 10.0
"""Default time that a change waits for its commit."""
_RETRY_SECONDS = (0.05, 2.0)
_PROGRESS = {
    "sqlite": "UPDATE writer SET flush = ?, heartbeat = ?, ended = ? WHERE epoch = ?",
    "postgresql": "UPDATE writer SET flush = %s, heartbeat = %s, ended = %s WHERE epoch = %s",
}
"""Statement of each flush, by dialect."""


class Watch(Protocol):
    """Observer of a writer, called from its thread."""

    def flushed(self, seconds: float) -> None: ...

    def failed(self, reason: str) -> None:
        """A flush failed or the ledger could not be opened; ``reason`` is one of a few words."""
        ...


class _Nobody:
    def flushed(self, seconds: float) -> None: ...

    def failed(self, reason: str) -> None: ...


class Writer:
    """Promotion changes in the order of their arrival; use ``run`` and ``read`` from event loops."""

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
            complete_until: called in the writer's thread at the end of each transaction: everything decided before
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
        self.queue = WriteQueue()
        """Changes that wait; ``submit`` adds one without waiting for its outcome."""
        self._database = database
        self._clock = clock
        self._started = clock()
        self._complete_until = complete_until or (lambda place: clock())
        self._watch: Watch = watch or _Nobody()
        self._doubt: tuple[int, list[Entry]] | None = None
        self._delay = _RETRY_SECONDS[0]
        """Until a ledger that failed is opened again; grows until a change is written: one on a full disk opens."""
        self._refused: LedgerRefused | None = None
        self._tried = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="ledger-read")
        self._reading: Engine = database.reading()

    @property
    def up(self) -> bool:
        """True while the ledger can be written."""
        return self.queue.up

    @property
    def local(self) -> bool:
        """True if the database is a file on a disk of this host."""
        return self._database.path is not None

    @property
    def version(self) -> int | None:
        """Number that grows with every change of the ledger; None where other processes change it, too."""
        return self.flush if self.local else None

    @property
    def ledger(self) -> bytes:
        """Digest of the ledger's location, 16 bytes."""
        return self._database.digest

    async def start(self, seconds: float = 5.0) -> None:
        """Open the ledger in its thread. One that is down is tried again and again; see ``up``.

        Raises:
            LedgerRefused: no retry will mend it.
        """
        self._thread.start()
        await asyncio.get_running_loop().run_in_executor(None, self._tried.wait, seconds)
        if self._refused is not None:
            raise self._refused

    async def stop(self, seconds: float = 10.0) -> None:
        """Write what waits and mark the writer ended, if the database allows it within the time."""
        self.queue.end()
        if self._thread.is_alive():
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join, seconds)
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._reading.pool.dispose()
        if not self._thread.is_alive():  # a thread that hangs in a commit still is the one that writes
            self._database.release()

    async def run(self, change: Change[T], *, seconds: float | None = None) -> T:
        """Run a change within the next flush and return when that is committed.

        A change that fails, fails alone: its rows are taken back and its exception is raised here.

        Raises:
            LedgerUnavailable: the database is down, or did not commit in time. The change was not made, or (only when
                the time ran out while its commit was under way) it is in the ledger all the same.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        entry = self.queue.submit(change, lambda outcome, error: _resolve(future, outcome, error))
        late = unavailable("it did not commit in time")
        timer = loop.call_later(WAIT_SECONDS if seconds is None else seconds, _resolve, future, None, late)
        try:
            return await future
        finally:
            timer.cancel()
            entry.withdrawn = True

    async def settle(self, change: Change[T]) -> T:
        """Run a change as ``run`` does, but wait until the outcome is known, however long the database is away.

        Raises:
            LedgerUnavailable: the change was not made, for sure (or the process ends in doubt).
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.queue.submit(change, lambda outcome, error: _resolve(future, outcome, error))
        return await future

    async def forget(self) -> None:
        """Empty the database's write-ahead log, which still holds erased content; see ``Database.forget``."""
        await asyncio.get_running_loop().run_in_executor(None, self._database.forget)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Return the result of a query on one state of the ledger; it runs in a thread of its own.

        Raises:
            LedgerUnavailable: the database does not answer.
            InvalidInput: it cannot hold a value of the query.
        """
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, query)

    def _read(self, query: Callable[[Connection], T]) -> T:
        try:
            with self._reading.begin() as connection:
                return query(connection)
        except DBAPIError as error:
            if isinstance(error, OperationalError) or error.connection_invalidated:
                raise unavailable(error_text(error)) from error
            raise refused(error) from error
        finally:
            if self.queue.ending:  # nobody else closes what came back to the pool after the end
                self._reading.pool.dispose()

    # The methods below run in the writer's thread.

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
                self._down(error_text(error), error_kind(error))
            except Exception as error:
                _log.exception("the ledger's writer failed by a defect; it is opened anew")
                self._down(f"a defect ({type(error).__name__})", "defect")
            finally:
                self._tried.set()
            if self._refused is not None or not self.queue.wait(self._delay):
                return
            self._delay = min(2 * self._delay, _RETRY_SECONDS[1])

    @contextmanager
    def _opened(self) -> Iterator[Connection]:
        """Yield a connection to a ledger of the newest schema in which this writer has a row."""
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
        """Read how far this writer came, which settles a commit that was in doubt."""
        with connection.begin():
            mine = select(writers.c.flush, writers.c.heartbeat).where(writers.c.epoch == self.epoch)
            row = connection.execute(mine.with_for_update()).one_or_none()  # waits for a commit that is under way
            if row is None:
                connection.execute(insert(writers).values(self._row()))
            else:  # changes nothing, and fails where nothing can be written
                connection.execute(update(writers).where(writers.c.epoch == self.epoch).values(flush=writers.c.flush))
        flush = 0 if row is None else row.flush
        if self._doubt is not None:
            number, entries = self._doubt
            self._doubt = None
            self._settle(entries, None if flush >= number else unavailable("the commit failed"))
        if flush < self.flush:  # without a row nothing of this process is left
            self.forgotten.append((self._started if row is None else row.heartbeat, self._clock()))
        self.flush = max(self.flush, flush)

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
        """Flush until the end."""
        if not self.up:
            _log.info("the ledger is up")
            self.queue.reason = ""
        self._tried.set()
        while True:
            entries, ending = self.queue.take(HEARTBEAT_SECONDS)
            try:
                self._flush(connection, entries, ending)
            finally:
                self.queue.flushed()
            if ending:
                self.queue.reason = "the process is ending"
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
                    _apply(connection, place, entry)
            complete_until = self._complete_until(place)
            values = (place.flush, complete_until, self._clock() if ending else None, self.epoch)
            connection.exec_driver_sql(_PROGRESS[connection.dialect.name], values)
        except Exception as error:
            alive = _roll_back(connection)
            if alive and len(entries) == 1 and not isinstance(error, OperationalError):
                entries[0].error = refused(error)
                self._settle(entries, None)
                return
            self.queue.put_back(entries)
            raise
        try:
            transaction.commit()
        except Exception:
            self._doubt = (place.flush, entries)
            raise
        self.flush = place.flush
        self.queue.flushed()  # before any caller is told and comes with the next change
        self._settle(entries, None)
        if entries:
            self._delay = _RETRY_SECONDS[0]
            self._watch.flushed(time.perf_counter() - start)

    def _settle(self, entries: list[Entry], lost: LedgerUnavailable | None) -> None:
        """Tell the callers; one call per event loop."""
        for loop in {entry.loop for entry in entries}:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(_tell, [entry for entry in entries if entry.loop is loop], lost)

    def _down(self, text: str, reason: str) -> None:
        self._watch.failed(reason)
        if self.up or not self._tried.is_set():
            _log.error("the ledger is down, answers go on with recorded = false: %s", text)
        self._settle(self.queue.fail(text), unavailable(text))


def _apply(connection: Connection, place: Place, entry: Entry) -> None:
    """Make one change, or none of it."""
    connection.exec_driver_sql("SAVEPOINT change")
    try:
        entry.outcome = entry.change(connection, place)
    except Exception as error:
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT change")  # fails where the whole transaction is lost
        entry.error = unavailable(error_text(error)) if isinstance(error, OperationalError) else refused(error)
    connection.exec_driver_sql("RELEASE SAVEPOINT change")


def _resolve(future: asyncio.Future[T], outcome: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(outcome)
    else:
        future.set_exception(error)


def _roll_back(connection: Connection) -> bool:
    """Roll the transaction back; return False where the connection is broken."""
    try:
        connection.rollback()
    except SQLAlchemyError:
        return False
    return not connection.invalidated


def _tell(entries: list[Entry], lost: LedgerUnavailable | None) -> None:
    for entry in entries:
        entry.done(entry.outcome, lost or entry.error)

"""Queues between event loops and the writer's thread, and the watermark up to which the ledger is complete.

``CommitQueue`` gathers portions whose answers wait for a commit; ``WriteQueue`` holds all changes that wait for the
next flush of the writer; ``Watermark`` knows which decisions are on their way.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from services.ledger.contract import Change, Place
from services.ledger.database import unavailable
from services.ledger.decided import Decided
from services.ledger.deployments import Deployments
from services.ledger.items import Parts, by_key, keep_large, write_items, write_segments
from services.ledger.store import INLINE_BYTES, Store
from services.policy.audit_draws import Draws
from services.runtime.errors import LedgerUnavailable
from services.runtime.logging import get_logger

_log = get_logger(__name__)
STALLED_SECONDS = 1.0
"""A flush that takes longer makes new changes fail at once: a database that hangs must not hold answers back."""


@dataclass
class Clock:
    """Wall clock that never runs back, for all times of one writer; used by several threads."""

    wall: Callable[[], float] = time.time
    _last: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> float:
        """Return seconds since 1970."""
        with self._lock:
            self._last = max(self._last, self.wall())
            return self._last


class Watermark:
    """Times of decisions that are not in the ledger yet.

    ``lock`` makes taking the time of a decision and adding it here one step.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` never runs back."""
        self.clock = clock
        self.lock = threading.RLock()
        self._under_way: dict[object, tuple[float, Place | None]] = {}

    def add(self, token: object, time: float) -> None:
        """Add something decided at this time; call it under the lock in which the time was taken."""
        self._under_way[token] = time, None

    def written(self, token: object, place: Place) -> None:
        """Note that it is in the transaction of this place, which may still fail."""
        with self.lock:
            if token in self._under_way:
                self._under_way[token] = self._under_way[token][0], place

    def remove(self, token: object) -> None:
        """Remove what is in the ledger for good, or what something else stands for."""
        with self.lock:
            self._under_way.pop(token, None)

    def complete_until(self, place: Place) -> float:
        """Return the time before which every decision is in the ledger once this transaction is committed."""
        with self.lock:
            now = self.clock()
            return min((time for time, at in self._under_way.values() if at is not place), default=now)


Done = Callable[[Any, BaseException | None], None]
"""Callback on the caller's event loop: the result of a change, or why it was not made."""


@dataclass(eq=False, slots=True)
class Entry:
    """Change that waits for a flush."""

    change: Change[Any]
    loop: asyncio.AbstractEventLoop
    done: Done
    withdrawn: bool = False
    """True: nobody waits for it any more; if its flush has not begun, it is not made."""
    outcome: Any = None
    error: BaseException | None = None


class WriteQueue:
    """Changes that wait for the next flush, and whether the writer can make them; for any thread."""

    def __init__(self) -> None:
        self.reason = "the ledger is not open yet"
        """Why nothing can be written now; empty while the ledger is up."""
        self.ending = False
        self._entries: deque[Entry] = deque()
        self._wake = threading.Condition()
        self._since: float | None = None
        """Start of the flush under way, on the monotonic clock."""

    @property
    def up(self) -> bool:
        """True while the ledger is open."""
        return not self.reason

    def hindrance(self) -> str | None:
        """Return why a change that came now would not be made; None where it would."""
        if self.reason or self.ending:
            return self.reason or "the process is ending"
        since = self._since
        if since is not None and time.monotonic() - since > STALLED_SECONDS:
            return "the database does not answer"
        return None

    def submit(self, change: Change[Any], done: Done) -> Entry:
        """Add a change; ``done`` is called once, whenever the outcome is known.

        Raises:
            LedgerUnavailable: the database is down; ``done`` is not called then.
        """
        entry = Entry(change, asyncio.get_running_loop(), done)
        with self._wake:
            if (reason := self.hindrance()) is not None:
                raise unavailable(reason)
            self._entries.append(entry)
            self._wake.notify()
        return entry

    def end(self) -> None:
        """Refuse new changes from now on."""
        with self._wake:
            self.ending = True
            self._wake.notify()

    def take(self, seconds: float) -> tuple[list[Entry], bool]:
        """Begin a flush: return all changes that wait, after at most so many seconds, and whether it is the last."""
        with self._wake:
            if not self._entries and not self.ending:
                self._wake.wait(seconds)
            entries = [entry for entry in self._entries if not entry.withdrawn]
            self._entries.clear()
            self._since = time.monotonic()
            return entries, self.ending and not entries

    def flushed(self) -> None:
        """End a flush."""
        self._since = None

    def put_back(self, entries: list[Entry]) -> None:
        """Queue the changes of a failed flush again; their callers are told once the ledger counts as down."""
        with self._wake:
            self._entries.extendleft(reversed(entries))

    def fail(self, reason: str) -> list[Entry]:
        """Count the ledger as down; return all changes that waited."""
        with self._wake:
            self.reason = reason
            entries = list(self._entries)
            self._entries.clear()
            return entries

    def wait(self, seconds: float) -> bool:
        """Wait before another try; return whether there is to be one."""
        with self._wake:
            if not self.ending:
                self._wake.wait(seconds)
                return True
            return False


@dataclass(eq=False)
class _Portion:
    decided: list[Decided]
    future: asyncio.Future[bool]
    time: float

    @property
    def units(self) -> int:
        return sum(len(part.uncertainty) for part in self.decided)


@dataclass(eq=False)
class _Batch:
    """Portions that one flush takes."""

    portions: list[_Portion] = field(default_factory=list)


class CommitQueue:
    """Portions of one process whose answers wait for a commit: all that wait go into one flush."""

    def __init__(
        self,
        queue: WriteQueue,
        watermark: Watermark,
        draws: Draws,
        parts: Parts,
        deployments: Deployments,
        store: Store,
        *,
        deadline_seconds: float,
        lost: Callable[[float, int, str], None],
    ) -> None:
        """``lost`` is called with the time and number of units that could not be recorded, and the reason."""
        self._queue = queue
        self._watermark = watermark
        self._draws = draws
        self._parts = parts
        self._deployments = deployments
        self._store = store
        self._deadline_seconds = deadline_seconds
        self._lost = lost
        self._portions: list[_Portion] = []
        self._batch: _Batch | None = None
        """The flush that was requested and has not begun."""

    async def durable(self, decided: list[Decided]) -> bool:
        """Return True once these units are committed; False, and a gap, where that does not happen in time."""
        loop = asyncio.get_running_loop()
        portion = _Portion(decided, loop.create_future(), self._watermark.clock())
        if self._queue.hindrance() is not None:
            self._lose(portion, "stalled" if self._queue.up else "down")
            return False
        try:
            await self.keep_large(decided)
        except OSError as error:
            _log.error("the store takes nothing: %s", error)
            self._lose(portion, "store")
            return False
        self._enqueue(portion)
        timer = loop.call_later(self._deadline_seconds, self._late, portion)
        try:
            return await asyncio.shield(portion.future)
        finally:
            timer.cancel()

    async def keep_large(self, decided: list[Decided]) -> None:
        """Store what is too large for rows, beside the event loop.

        Raises:
            OSError: the store takes nothing.
        """
        contents = (content for part in decided for content in (*part.evidence, *part.payload))
        if any(content is not None and len(content) > INLINE_BYTES for content in contents):
            await asyncio.get_running_loop().run_in_executor(None, keep_large, decided, self._store)

    def write(self, connection: Connection, place: Place, decided: list[Decided]) -> None:
        """Write segments and items of one flush; runs in the writer's thread."""
        self._deployments.write(connection, place)
        write_segments(connection, place, by_key(decided), self._parts)
        write_items(connection, place, decided, self._draws)

    def _enqueue(self, portion: _Portion) -> None:
        """Join the flush that was requested, or request one."""
        with self._watermark.lock:
            portion.time = self._watermark.clock()
            for part in portion.decided:
                part.time = portion.time
            self._watermark.add(portion, portion.time)
            self._portions.append(portion)
            if self._batch is not None:
                return
            batch = self._batch = _Batch()
        try:
            self._queue.submit(
                lambda connection, place: self._flush(connection, place, batch),
                lambda outcome, error: self._settle(batch, error),
            )
        except LedgerUnavailable as error:
            self._settle(batch, error)

    def _flush(self, connection: Connection, place: Place, batch: _Batch) -> None:
        """Write what waits; runs in the writer's thread."""
        with self._watermark.lock:
            batch.portions, self._portions, self._batch = self._portions, [], None
        self.write(connection, place, [part for portion in batch.portions for part in portion.decided])
        for portion in batch.portions:
            self._watermark.written(portion, place)

    def _settle(self, batch: _Batch, error: BaseException | None) -> None:
        """Tell the portions of a flush its outcome."""
        with self._watermark.lock:
            if self._batch is batch:  # it never began
                batch.portions, self._portions, self._batch = self._portions, [], None
        if error is not None and not isinstance(error, LedgerUnavailable):
            _log.error("units could not be written, by a defect", exc_info=error)
        for portion in batch.portions:
            if not portion.future.done():
                if error is not None:
                    self._lose(portion, "failed")
                portion.future.set_result(error is None)
            self._watermark.remove(portion)

    def _late(self, portion: _Portion) -> None:
        """Let the answer go unrecorded: its units are in no flush, or (where one is under way) in a gap as well."""
        if portion.future.done():
            return
        self._lose(portion, "late")
        portion.future.set_result(False)
        with self._watermark.lock:
            if portion in self._portions:
                self._portions.remove(portion)
                self._watermark.remove(portion)

    def _lose(self, portion: _Portion, reason: str) -> None:
        self._lost(portion.time, portion.units, reason)

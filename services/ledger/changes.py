"""A change of a ledger that waits for its flush, and what its caller hears."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from services.ledger.failures import refused, unavailable, words
from services.runtime.errors import LedgerUnavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row is written: the epoch of the writer, and the number of its flush."""

    writer: int
    flush: int

    @property
    def columns(self) -> dict[str, int]:
        """As the columns of a row."""
        return {"writer": self.writer, "flush": self.flush}


Done = Callable[[Any, BaseException | None], None]
"""Hears, on its event loop, what a change returned, or why it was not made."""


@dataclass(eq=False, slots=True)
class Entry:
    """A change that waits."""

    change: Callable[[Connection, Place], Any]
    loop: asyncio.AbstractEventLoop
    done: Done
    withdrawn: bool = False
    """True: nobody waits for it any more; if its flush has not begun, it is not made."""
    outcome: Any = None
    error: BaseException | None = None


def apply(connection: Connection, place: Place, entry: Entry) -> None:
    """Makes one change, or none of it."""
    connection.exec_driver_sql("SAVEPOINT change")
    try:
        entry.outcome = entry.change(connection, place)
    except Exception as error:
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT change")  # fails where the whole transaction is lost
        entry.error = unavailable(words(error)) if isinstance(error, OperationalError) else refused(error)
    connection.exec_driver_sql("RELEASE SAVEPOINT change")


def resolve(future: asyncio.Future[T], outcome: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(outcome)
    else:
        future.set_exception(error)


def rolled_back(connection: Connection) -> bool:
    """Takes the transaction back; False where the connection is broken."""
    try:
        connection.rollback()
    except SQLAlchemyError:
        return False
    return not connection.invalidated


def tell(entries: list[Entry], lost: LedgerUnavailable | None) -> None:
    for entry in entries:
        entry.done(entry.outcome, lost or entry.error)

"""Losses stay known until a gap row tells of them, and are told once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from services.ledger.commit_queue import Watermark
from services.ledger.contract import Place
from services.ledger.gap_log import GapLog, Lost
from services.ledger.journal import Identity, Journal
from services.runtime.errors import LedgerUnavailable
from tests.services.ledger.recording import recording


class Away:
    """A writer whose database goes away in the midst of a gap's flush."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.meanwhile = meanwhile

    async def settle(self, change: Callable[[Connection, Place], Any]) -> Any:
        class Broken:
            def execute(self, *_: object) -> None:
                raise LedgerUnavailable("away")

        self.meanwhile()
        change(Broken(), Place(1, 1))  # type: ignore[arg-type]


async def test_a_gap_that_could_not_be_written_is_kept_with_what_came(ledger_url: str, tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, "lost", Identity(1, bytes(32), bytes(16)), 1000)
    watermark = Watermark(lambda: 100.0)
    gaps = GapLog(watermark, journal.note_lost)
    gaps.add(10.0, 3, "down")
    gaps.add(12.0, 1, "late")
    with pytest.raises(LedgerUnavailable):
        await gaps.settle(Away(lambda: gaps.add(11.0, 5, "down")))  # type: ignore[arg-type]
    assert watermark.complete_until(Place(1, 1)) == 10.0
    assert journal.lost == Lost(10.0, 12.0, 9)
    async with recording(ledger_url, tmp_path) as recorder:
        await gaps.settle(recorder.ledger.writer)
        await gaps.settle(recorder.ledger.writer)
        rows = sorted((row["reason"], row["from_time"], row["to_time"], row["units"]) for row in recorder.read().gaps)
    assert rows == [("down", 10.0, 11.0, 8), ("late", 12.0, 12.0, 1)]
    assert watermark.complete_until(Place(1, 2)) == 100.0
    assert journal.lost is None
    journal.close()


async def test_what_is_written_in_a_flush_counts_as_there_for_that_flush_only() -> None:
    watermark = Watermark(lambda: 100.0)
    place, later = Place(1, 1), Place(1, 1)
    with watermark.lock:
        watermark.add("a", 5.0)
        watermark.add("b", 7.0)
    watermark.written("a", place)
    assert watermark.complete_until(place) == 7.0
    assert watermark.complete_until(later) == 5.0, "the first flush failed; this one has its number"
    watermark.remove("a")
    watermark.remove("b")
    assert watermark.complete_until(later) == 100.0

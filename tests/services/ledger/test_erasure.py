"""Forgetting: contents go from database and store, numbers stay, and errors are known before."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert

from models.label_errors import label_rule
from services.labels.intake import take
from services.labels.label_validation import LabelRules, SubmittedLabel
from services.ledger import erasure as forgetting
from services.ledger.store import INLINE_BYTES, ORPHAN_SECONDS
from services.ledger.tables import erasure, item, label, request_event
from tests.services.ledger.recording import POWER, Recording, counted, inputs, read, recording, table
from tests.services.ledger.test_store import files


async def add_labels(recorder: Recording, values: dict[int, float], received: float | None = None) -> None:
    judged = label_rule(POWER)
    epoch = recorder.ledger.writer.epoch

    def change(connection: Any, place: Any) -> None:
        for sequence, value in values.items():
            row = {
                "epoch": epoch,
                "sequence": sequence,
                "head": POWER.name,
                "source": "requested",
                "actor": "a",
                "key": "k",
                "version": 1,
                "received": recorder.ledger.writer._clock() if received is None else received,
                "value": judged.label(value),
                "digest": "d",
            }
            connection.execute(insert(label).values(row | place.columns))

    await recorder.ledger.writer.run(change)


async def test_an_erased_unit_keeps_its_numbers_only(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        epoch = recorder.ledger.writer.epoch
        await recorder.decide([2.0, 3.0, 0.5])
        await add_labels(recorder, {0: 210.0, 1: 320.0, 2: 1.0})
        assert await recorder.ledger.erasure.erase([(epoch, 0), (epoch, 2), (epoch, 99)], "me", "asked for") == 2
        assert await recorder.ledger.erasure.erase([(epoch, 0), (epoch, 2)], "me", "again") == 0
    gone, left = sorted(table(recorder.database, item), key=lambda row: row["sequence"])
    assert (gone["payload"], gone["evidence"], gone["state"]) == (None, None, "unlabelable")
    assert gone["erased"] is not None
    assert (gone["uncertainty"], gone["propensity"], gone["decision"]) == (2.0, 1.0, 2)
    assert left["payload"] is not None
    assert left["erased"] is None
    labels = {row["sequence"]: row for row in table(recorder.database, label)}
    assert labels[0]["error"] == pytest.approx((210 - 200) ** 2)
    assert [labels[n]["value"] is None for n in range(3)] == [True, False, True]
    assert labels[1]["error"] is None, "the monitor's to compute"
    (event,) = table(recorder.database, request_event)
    assert (event["sequence"], event["state"], event["reason"]) == (0, "unlabelable", "erased: asked for")
    (record,) = table(recorder.database, erasure)
    assert (record["units"], record["actor"], record["reason"]) == (2, "me", "asked for")
    assert counted(read(recorder.database)) == {(epoch, n): 1 for n in range(3)}


async def test_nothing_is_left_of_a_label_that_its_value_could_be_found_by(ledger_url: str, tmp_path: Path) -> None:
    """Numbers are few: a digest of one is as good as the number."""
    async with recording(ledger_url, tmp_path) as recorder:
        epoch = recorder.ledger.writer.epoch
        await recorder.decide([2.0])
        rules = LabelRules({POWER.name: label_rule(POWER)}, frozenset())
        submitted = [
            SubmittedLabel((epoch, 0), float(value), key=key) for value, key in ((210, ""), (220, ""), (230, "mine"))
        ]
        rows, _ = rules.check(submitted, 0.0)
        await recorder.ledger.writer.run(lambda c, p: take(c, p, rows, actor="a", received=1.0))
        before = sorted(table(recorder.database, label), key=lambda row: row["id"])
        assert await recorder.ledger.erasure.erase([(epoch, 0)], "me", "asked for") == 1
    after = sorted(table(recorder.database, label), key=lambda row: row["id"])
    kept = str([list(row.values()) for row in after])
    for row in rows:
        assert row.digest not in kept
        assert row.key in kept if row.key == "mine#1" else row.key not in kept
    assert [row["error"] for row in after] == pytest.approx([100.0, 400.0, 900.0])
    assert np.argsort([row["digest"] for row in after]).tolist() == np.argsort([r["digest"] for r in before]).tolist()


async def test_units_beyond_their_time_are_erased_and_younger_ones_are_not(
    ledger_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "PIECE", 7)
    async with recording(ledger_url, tmp_path) as recorder:
        await recorder.decide(np.full(20, 2.0))
        await add_labels(recorder, dict.fromkeys(range(5), 210.0))
        await add_labels(recorder, {500: 1.0})  # of no unit
        cutoff = recorder.ledger.writer._clock() + 1e-4
        while recorder.ledger.writer._clock() <= cutoff:
            pass
        await recorder.decide(np.full(10, 3.0))
        await add_labels(recorder, {25: 1.0})
        assert await recorder.ledger.erasure.retire(cutoff) == 21
        assert await recorder.ledger.erasure.retire(cutoff) == 0
    rows = table(recorder.database, item)
    assert {row["sequence"] for row in rows if row["payload"] is None} == set(range(20))
    labels = {row["sequence"]: row for row in table(recorder.database, label)}
    assert {n for n, row in labels.items() if row["value"] is None} == {0, 1, 2, 3, 4, 500}
    assert all(labels[n]["error"] == pytest.approx(100.0) for n in range(5))
    assert sum(row["units"] for row in table(recorder.database, erasure)) == 21


async def test_large_contents_are_in_the_store_before_their_row_and_go_with_it(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        large = [bytes([n]) * (INLINE_BYTES + 1) for n in range(2)]
        portion = recorder.portion({POWER.name: [2.0, 3.0, 4.0]})
        payload = inputs(3).__class__("application/x-toy", lambda items: [large[min(int(n), 1)] for n in items])
        assert await recorder.record(portion, payload)
        epoch = recorder.ledger.writer.epoch
        rows = sorted(table(recorder.database, item), key=lambda row: row["sequence"])
        assert [row["payload"] for row in rows] == [None] * 3
        assert rows[0]["payload_ref"] != rows[1]["payload_ref"] == rows[2]["payload_ref"]
        store = recorder.ledger.erasure._store
        assert store.get(rows[1]["payload_ref"]) == large[1]
        wall = store._wall
        store._wall = lambda: wall() + ORPHAN_SECONDS + 10
        await recorder.ledger.erasure.erase([(epoch, 0), (epoch, 1)], "me", "asked for")
        assert len(files(tmp_path / "store")) == 1, "the third unit has it still"
        assert store.get(rows[2]["payload_ref"]) == large[1]
        await recorder.ledger.erasure.erase([(epoch, 2)], "me", "asked for")
        assert files(tmp_path / "store") == []


async def test_a_sweep_leaves_what_rows_name(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        portion = recorder.portion({POWER.name: [2.0]})
        large = b"x" * (INLINE_BYTES + 1)
        await recorder.record(portion, inputs(1).__class__("application/x-toy", lambda items: [large]))
        store = recorder.ledger.erasure._store
        store.put(b"orphan")
        wall = store._wall
        store._wall = lambda: wall() + ORPHAN_SECONDS + 10
        assert await recorder.ledger.erasure.sweep() == 1
        assert store.get(table(recorder.database, item)[0]["payload_ref"]) == large

"""Recording: what is acknowledged is in segments once, with an item where it was deferred or drawn."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection

from services.ledger.contract import Place
from services.ledger.tables import deployment, gap, writer
from services.policy.audit_draws import Draws
from services.policy.decision import Decision
from tests.services.ledger.recording import (
    POWER,
    TURN,
    counted,
    ids_of,
    inputs,
    read,
    recording,
    runs,
    scores_of,
    table,
)
from tests.services.ledger.test_writer import until


async def test_answered_units_are_in_segments_and_have_no_items(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        for score in (0.1, 0.2, 0.3):
            assert (await recorder.decide([score]))[0]
        assert (await recorder.decide([0.4, 0.5]))[0]
    snapshot = read(recorder.database)
    assert counted(snapshot) == {(recorder.ledger.writer.epoch, sequence): 1 for sequence in range(5)}
    assert scores_of(snapshot) == {n: np.float32(s) for n, s in enumerate([0.1, 0.2, 0.3, 0.4, 0.5])}
    assert not snapshot.items
    assert recorder.tally.recorded_units == 5


async def test_deferred_units_have_items_when_their_answer_leaves_or_once_a_file_has_caught_up(
    ledger_url: str, tmp_path: Path
) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        recorded, ids = await recorder.decide([0.5, 2.0, float("nan"), 0.7])
        assert recorded
        if recorder.ledger.writer.local:  # a database on another host has them before anything else happens
            assert recorder.read().items == []
            await recorder.ledger.catch_up()
        snapshot = recorder.read()
        assert [row["sequence"] for row in snapshot.items] == [ids.first + 1, ids.first + 2]
        assert [row["uncertainty"] for row in snapshot.items] == [2.0, None]
        for row in snapshot.items:
            assert (row["decision"], row["propensity"], row["state"]) == (Decision.DEFER, 1.0, "requested")
            assert (row["head"], row["model"]) == (POWER.name, "toy:1")
            assert row["payload"] == int(row["sequence"] - ids.first).to_bytes(4, "little")
            assert row["payload_type"] == "application/x-toy"
            assert 0 <= row["priority"] - row["time"] < 1
        assert np.frombuffer(snapshot.items[0]["evidence"], "<f4") == 200.0
        (segment,) = snapshot.segments
        assert (segment["count"], segment["deferred"], segment["purpose"]) == (4, 2, "decide")
        assert counted(snapshot) == {unit: 1 for unit in ids_of(ids)}


async def test_readers_know_how_far_the_ledger_is_although_callers_leave_while_it_catches_up(
    ledger_url: str, tmp_path: Path
) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        for turns in range(12):
            await recorder.decide([0.5])
            waiting = [asyncio.create_task(recorder.ledger.catch_up()) for _ in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
            waiting[0].cancel()
            waiting[turns % 2].cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        await recorder.ledger.catch_up()
        until_now = recorder.ledger._watermark.clock()
        await recorder.decide([0.5])
        await recorder.ledger.catch_up()
        snapshot = recorder.read()
        assert [row["heartbeat"] >= until_now for row in snapshot.writers] == [True]
        assert set(counted(snapshot).values()) == {1}
        assert len(counted(snapshot)) == 13


@pytest.mark.timeout(30)  # a waiter that never gives up its turn stops the event loop for ever
async def test_who_catches_up_in_the_turn_in_which_a_move_ends_does_not_wait_for_that_move(
    ledger_url: str, tmp_path: Path
) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        await recorder.decide([0.5])
        first = asyncio.create_task(recorder.ledger.catch_up())
        await asyncio.sleep(0)
        moving = recorder.ledger._journal._moving
        while moving is not None and not moving.done():  # its callbacks run after this task
            await asyncio.sleep(0)
        await recorder.decide([0.6])
        await recorder.ledger.catch_up()
        await first
        snapshot = recorder.read()
        assert len(counted(snapshot)) == 2
        assert set(counted(snapshot).values()) == {1}


async def test_the_measure_of_an_impossible_prediction_is_kept_beside_its_infinity(
    ledger_url: str, tmp_path: Path
) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        portion = recorder.portion({POWER.name: [0.5, np.inf, 2.0, np.inf]})
        verdict = replace(portion.verdicts[POWER.name], raw=np.array([0.5, 0.25, 2.0, np.nan], np.float32))
        assert await recorder.record(replace(portion, verdicts={POWER.name: verdict}), inputs(4))
    snapshot = recorder.read()
    assert [row["uncertainty"] for row in snapshot.items] == [np.inf, 2.0, np.inf]
    assert [row["raw_uncertainty"] for row in snapshot.items] == [0.25, None, None]
    assert scores_of(snapshot)[1] == np.inf


async def test_audited_units_are_those_of_the_keyed_draw(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        for size in (1, 1, 1, 1000, 500):
            assert (await recorder.decide(np.full(size, 0.5), rate=0.1))[0]
        secret = recorder.ledger.writer.secret
    snapshot = read(recorder.database)
    draws = Draws(secret, recorder.ledger.writer.epoch)
    expected = [
        sequence
        for first, count in ((0, 1), (1, 1), (2, 1), (3, 1000), (1003, 500))
        for sequence in (first + np.flatnonzero(draws.uniforms(first, count) < 0.1)).tolist()
    ]
    assert sorted(row["sequence"] for row in snapshot.items) == expected
    assert all((row["decision"], row["propensity"]) == (Decision.ANSWER, 0.1) for row in snapshot.items)
    assert all((run.propensities == 0.1).all() for _, run in runs(snapshot))
    assert recorder.tally.audited_units == len(expected) > 100
    assert table(recorder.database, writer)[0]["secret"] == secret


async def test_under_a_census_every_unit_has_an_item_and_only_some_are_asked_about(
    ledger_url: str, tmp_path: Path
) -> None:
    async with recording(ledger_url, tmp_path, census=frozenset({POWER.name})) as recorder:
        assert (await recorder.decide([0.5]))[0]
        assert (await recorder.decide([0.5, 2.0, 0.7]))[0]
        assert (await recorder.decide(np.full(500, 0.5), rate=0.1))[0]
        _, explored = await recorder.decide([0.1, 0.2, 3.0], purpose="explore")
        await recorder.ledger.commit([(recorder.ledger.writer.epoch, explored.first + offset) for offset in (1, 2)])
        drawn = np.flatnonzero(
            Draws(recorder.ledger.writer.secret, recorder.ledger.writer.epoch).uniforms(4, 500) < 0.1
        )
    snapshot = read(recorder.database)
    rows = {row["sequence"]: row for row in snapshot.items}
    assert sorted(rows) == [*range(504), explored.first + 1, explored.first + 2]
    assert all(row["census"] == 1 and row["evidence"] is not None for row in rows.values())
    requested = {sequence for sequence, row in rows.items() if row["state"] == "requested"}
    assert requested == {2, explored.first + 2, *(4 + drawn).tolist()}
    assert {row["state"] for sequence, row in rows.items() if sequence not in requested} == {"unasked"}
    assert {sequence for sequence, row in rows.items() if row["payload"] is not None} == requested
    assert recorder.tally.audited_units == len(drawn) > 20
    assert counted(snapshot) == {(recorder.ledger.writer.epoch, sequence): 1 for sequence in rows}


async def test_stratified_rates_are_logged_for_each_unit(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        scores = np.repeat([0.2, 0.6, 0.9, 2.0], 200)
        strata = ((0.5, 0.05), (0.8, 0.5))
        await recorder.decide(scores, rate=0.25, strata=strata)
        await recorder.decide([0.6], rate=0.25, strata=strata)
    snapshot = read(recorder.database)
    rates = np.concatenate([run.propensities for _, run in runs(snapshot)])
    expected = np.append(np.repeat([0.05, 0.5, 0.25, 1.0], 200), 0.5)
    np.testing.assert_array_equal(rates.astype(np.float32), expected.astype(np.float32))
    by_rate = {row["sequence"]: row["propensity"] for row in snapshot.items}
    assert all(np.float32(rate) == np.float32(expected[sequence]) for sequence, rate in by_rate.items())


async def test_a_caller_s_own_deferral_is_kept_apart_and_can_be_audited(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        await recorder.decide([0.2, 0.7, 2.0], caller=0.5)
        await recorder.decide([0.2, 0.7, 2.0], caller=0.5, rate=1.0)
        await recorder.decide([0.7], caller=0.5)
    snapshot = read(recorder.database)
    decisions = {n: d for _, run in runs(snapshot) for n, d in zip(run.sequence.tolist(), run.decisions, strict=True)}
    answer, defer, caller = Decision.ANSWER, Decision.DEFER, Decision.CALLER_DEFERRED
    assert [decisions[n] for n in range(7)] == [answer, caller, defer, answer, caller, defer, caller]
    assert sorted((row["sequence"], row["decision"]) for row in snapshot.items) == [
        (2, defer),
        (3, answer),
        (4, caller),
        (5, defer),
    ]


async def test_heads_of_a_portion_are_written_together(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        portion = recorder.portion({POWER.name: [0.5, 2.0], TURN.name: [3.0, 0.1]})
        assert await recorder.record(portion, inputs(2))
        portion = recorder.portion({POWER.name: [0.5], TURN.name: [0.1]})
        assert await recorder.record(portion, inputs(1))
    snapshot = read(recorder.database)
    counts: dict[int, dict[str, int]] = {}
    for row in snapshot.segments:
        counts.setdefault(row["flush"], {})[row["head"]] = row["count"]
    assert all(of_flush[POWER.name] == of_flush[TURN.name] for of_flush in counts.values())
    assert sum(of_flush[POWER.name] for of_flush in counts.values()) == 3
    assert [(row["head"], row["sequence"]) for row in snapshot.items] == [(POWER.name, 1), (TURN.name, 2)]
    assert counted(snapshot) == {(recorder.ledger.writer.epoch, n): 1 for n in range(6)}


async def test_what_is_served_is_told_once(ledger_url: str, tmp_path: Path) -> None:
    for epoch in (1, 2):
        async with recording(ledger_url, tmp_path, epoch) as recorder:
            await recorder.decide([2.0])
    rows = table(recorder.database, deployment)
    assert [(row["head"], row["writer"], row["flush"]) for row in rows] == [("power", 1, 1), ("turn", 1, 1)]
    assert '"acceptable":1.0' in rows[0]["document"]


async def test_answers_under_load_are_all_there_once(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        generator = np.random.default_rng(1)

        async def ask() -> None:
            for _ in range(40):
                recorded, _ = await recorder.decide(generator.exponential(0.4, generator.integers(1, 20)), rate=0.05)
                assert recorded

        await asyncio.gather(*(ask() for _ in range(16)))
    snapshot = read(recorder.database)
    assert counted(snapshot) == {(recorder.ledger.writer.epoch, n): 1 for n in range(recorder.next)}
    for _, run in runs(snapshot):
        deferred = set(run.sequence[run.decisions == Decision.DEFER].tolist())
        assert deferred <= {row["sequence"] for row in snapshot.items}
    assert not snapshot.gaps
    assert not list(tmp_path.glob("*.journal"))


async def test_the_heartbeat_never_promises_what_is_on_its_way(ledger_url: str, tmp_path: Path) -> None:
    """At each flush, all units decided before the heartbeat are in segments."""
    async with recording(ledger_url, tmp_path) as recorder:
        decided: list[tuple[float, int]] = []
        clock = recorder.ledger.writer._clock

        async def ask(score: float) -> None:
            for _ in range(150):
                before = clock()
                _, ids = await recorder.decide([score])
                decided.append((before, ids.first))
                await asyncio.sleep(0.001)

        async def look() -> None:
            for _ in range(20):
                await asyncio.sleep(0.02)
                snapshot = await asyncio.to_thread(recorder.read)
                heartbeat = snapshot.writers[0]["heartbeat"]
                there = {sequence for _, sequence in counted(snapshot)}
                missing = [unit for time, unit in decided if time < heartbeat - 0.05 and unit not in there]
                held = [t for _, run in runs(snapshot) for t in run.time.tolist()]
                assert all(t is not None for t in held)
                assert not missing or heartbeat <= min(t for t, unit in decided if unit in missing) + 0.05

        await asyncio.gather(ask(0.1), ask(2.0), ask(0.3), look())


async def test_a_dead_ledger_answers_at_once_and_leaves_a_gap(tmp_path: Path, postgres) -> None:
    async with recording(postgres.database(), tmp_path, deadline_seconds=0.25) as recorder:
        assert (await recorder.decide([2.0]))[0]
        postgres.stop()
        try:
            await until(lambda: not recorder.ledger.writer.up)
            loop = asyncio.get_running_loop()
            start = loop.time()
            assert [(await recorder.decide([score]))[0] for score in (2.0, 0.5, 3.0)] == [False, True, False]
            assert loop.time() - start < 0.1
        finally:
            postgres.start()
        await until(lambda: recorder.ledger.writer.up)
        assert (await recorder.decide([2.0]))[0]
        await until(lambda: bool(table(recorder.database, gap)))
        rows = table(recorder.database, gap)
        assert (sum(row["units"] for row in rows), {row["reason"] for row in rows}) == (2, {"down"})
    snapshot = read(recorder.database)
    assert set(counted(snapshot).values()) == {1}
    assert {sequence for _, sequence in counted(snapshot)} == {0, 2, 4}
    assert recorder.tally.lost == [(1, "down"), (1, "down")]


async def test_an_answer_waits_no_longer_than_its_time(tmp_path: Path, postgres) -> None:
    async with recording(postgres.database(), tmp_path, deadline_seconds=0.2) as recorder:
        assert (await recorder.decide([2.0]))[0]
        postgres.pause()
        try:
            loop = asyncio.get_running_loop()
            start = loop.time()
            assert not (await recorder.decide([2.0]))[0]
            assert 0.15 < loop.time() - start < 0.6
            assert (await recorder.decide([0.5]))[0]
        finally:
            postgres.resume()
        await until(lambda: bool(table(recorder.database, gap)))
    snapshot = read(recorder.database)
    assert sum(row["units"] for row in snapshot.gaps) == 1
    there = counted(snapshot)
    assert set(there.values()) == {1}
    assert {(recorder.ledger.writer.epoch, 0), (recorder.ledger.writer.epoch, 2)} <= set(there)


async def test_what_has_to_outlive_the_host_is_committed_before_it_is_answered(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path, journal=False) as recorder:
        for number in range(1, 4):
            assert (await recorder.decide([0.1]))[0]
            assert len(recorder.units()) == number
        assert not list(tmp_path.glob("*.journal"))


async def test_a_deadline_that_passes_while_others_are_written_costs_these_units_only(tmp_path: Path) -> None:
    """A flush that is under way is slow; what came meanwhile is taken back whole."""
    begun, go = threading.Event(), threading.Event()

    def held(connection: Connection, place: Place) -> None:
        begun.set()
        go.wait(60)

    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with recording(url, tmp_path, deadline_seconds=2.0, journal=False) as recorder:
        await recorder.decide([2.0])
        slow = asyncio.create_task(recorder.ledger.writer.run(held, seconds=60))
        await asyncio.to_thread(begun.wait, 60)
        assert not (await recorder.decide([2.0]))[0]
        go.set()
        await slow
        assert (await recorder.decide([2.0]))[0]
    snapshot = read(recorder.database)
    assert {sequence for _, sequence in counted(snapshot)} == {0, 2}
    assert [(row["units"], row["reason"]) for row in snapshot.gaps] == [(1, "late")]

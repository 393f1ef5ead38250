"""ExplorationBuffer units: they leave no trace but counts, until their caller commits to them, which counts once."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from services.ledger.segments import unpack_histogram
from services.policy.audit_draws import Draws
from services.policy.decision import Decision
from services.runtime.errors import LedgerUnavailable
from tests.services.ledger.recording import POWER, TURN, counted, ids_of, inputs, read, recording, runs
from tests.services.ledger.test_writer import until


async def test_exploring_makes_no_items_and_no_units_but_is_counted(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        for purpose in ("explore", "explore", "replay"):
            recorded, _ = await recorder.decide([0.1, 0.5, 20.0, 7.0], purpose=purpose, rate=1.0)
            assert not recorded
    snapshot = read(recorder.database)
    assert not snapshot.items
    assert counted(snapshot) == {}
    by_purpose: dict[str, list[int]] = {}
    for row in snapshot.segments:
        counts = by_purpose.setdefault(row["purpose"], [0, 0, 0])
        counts[0] += row["count"]
        counts[1] += row["deferred"]
        counts[2] += int(unpack_histogram(row["body"]).sum())
    assert by_purpose == {"explore": [8, 4, 8], "replay": [4, 2, 4]}


async def test_committed_units_are_decided_units_with_items_and_draws(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        _, first = await recorder.decide([0.1, 2.0, 0.3, 3.0], purpose="explore", rate=0.5)
        _, second = await recorder.decide(np.linspace(0, 2, 100), purpose="explore", rate=0.5)
        chosen = [*ids_of(first, [1, 2]), *ids_of(second, range(0, 100, 2))]
        committed = await recorder.ledger.commit(chosen)
        assert (committed.units, committed.unknown) == (52, ())
        snapshot = recorder.read()  # durable when it returns
        secret, epoch = recorder.ledger.writer.secret, recorder.ledger.writer.epoch
    assert counted(snapshot) == {unit_id: 1 for unit_id in chosen}
    draws = Draws(secret, epoch)
    for _, one in runs(snapshot):
        assert (one.propensities[one.decisions == Decision.ANSWER] == 0.5).all()
    expected = {first.first + 1}
    for unit in (first.first + 2, *(second.first + np.arange(0, 100, 2)).tolist()):
        score = 0.3 if unit == first.first + 2 else np.linspace(0, 2, 100, dtype=np.float32)[unit - second.first]
        if score > 1.0 or (draws.uniform(unit) < 0.5 and unit != first.first + 2):
            expected.add(unit)
    if draws.uniforms(first.first + 1, 2)[1] < 0.5:
        expected.add(first.first + 2)  # of a run of two: drawn with its neighbour
    assert {row["sequence"] for row in snapshot.items} == expected
    one = next(row for row in snapshot.items if row["sequence"] == first.first + 1)
    assert one["payload"] == (1).to_bytes(4, "little")
    assert np.frombuffer(one["evidence"], "<f4") == 200.0


async def test_committing_again_is_committing_once(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        _, ids = await recorder.decide([0.1, 2.0, 0.3], purpose="explore", rate=0.5)
        calls = [recorder.ledger.commit(ids_of(ids)) for _ in range(5)]
        for committed in await asyncio.gather(*calls):
            assert (committed.units, committed.unknown) == (3, ())
        await recorder.ledger.commit(ids_of(ids, [1]))
        await recorder.ledger.commit(ids_of(ids, [2, 2, 0]))
    snapshot = read(recorder.database)
    assert counted(snapshot) == {unit: 1 for unit in ids_of(ids)}
    assert len({row["sequence"] for row in snapshot.items}) == len(snapshot.items)


async def test_heads_are_committed_by_their_own_ids(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        portion = recorder.portion({POWER.name: [0.5, 2.0], TURN.name: [3.0, 0.1]}, "explore")
        await recorder.record(portion, inputs(2))
        turn = portion.ids[TURN.name]
        assert (await recorder.ledger.commit(ids_of(turn))).units == 2
    snapshot = read(recorder.database)
    assert {(row["head"], row["count"]) for row in snapshot.segments if row["purpose"] == "decide"} == {(TURN.name, 2)}
    assert [(row["head"], row["sequence"]) for row in snapshot.items] == [(TURN.name, turn.first)]


async def test_units_that_are_not_held_are_named(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        _, explored = await recorder.decide([0.1], purpose="explore")
        _, replayed = await recorder.decide([0.2], purpose="replay")
        _, decided = await recorder.decide([0.3])
        strange = [*ids_of(replayed), *ids_of(decided), (77, explored.first), (explored.epoch, 10**9)]
        committed = await recorder.ledger.commit([*strange, *ids_of(explored)])
        assert (committed.units, committed.unknown) == (1, tuple(strange))


async def test_what_is_old_or_too_much_is_let_go(ledger_url: str, tmp_path: Path) -> None:
    now = 0.0
    async with recording(ledger_url, tmp_path, explore_bytes=50_000, explore_seconds=10.0) as recorder:
        explored = recorder.ledger.explored
        explored._clock = lambda: now  # type: ignore[assignment]
        ids = [(await recorder.decide(np.zeros(100), purpose="explore"))[1] for _ in range(40)]
        assert 0 < explored.nbytes <= 50_000
        assert 0 < explored.units < 4000
        assert (await recorder.ledger.commit(ids_of(ids[0]))).units == 0
        assert (await recorder.ledger.commit(ids_of(ids[-1]))).units == 100
        now = 11.0
        assert (await recorder.ledger.commit(ids_of(ids[-2]))).units == 0
        assert (explored.units, explored.nbytes) == (0, 0)


async def test_a_commit_that_fails_changes_nothing_and_can_be_repeated(tmp_path: Path, postgres) -> None:
    async with recording(postgres.database(), tmp_path) as recorder:
        _, ids = await recorder.decide([0.1, 2.0], purpose="explore")
        postgres.stop()
        try:
            with pytest.raises(LedgerUnavailable):
                await recorder.ledger.commit(ids_of(ids))
        finally:
            postgres.start()
        await until(lambda: recorder.ledger.writer.up)
        assert (await recorder.ledger.commit(ids_of(ids))).units == 2
    assert counted(read(recorder.database)) == {unit: 1 for unit in ids_of(ids)}


async def test_many_scattered_units_are_committed_in_pieces_and_answers_go_on(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        ids = []
        for _ in range(40):
            ids += ids_of((await recorder.decide(np.full(250, 0.5), purpose="explore", rate=0.01))[1])
        chosen = [ids[n] for n in np.random.default_rng(1).permutation(10_000)[:6000]]
        committing = asyncio.create_task(recorder.ledger.commit(chosen))
        assert (await recorder.decide([2.0]))[0]
        committed = await committing
        assert (committed.units, committed.unknown) == (6000, ())
    assert {unit for unit in counted(read(recorder.database)) if unit[1] < 10_000} == set(chosen)

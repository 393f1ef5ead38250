"""What is acknowledged is in the ledger once, whatever comes twice, late, out of order, wrong, or for nobody."""

import asyncio
import io
import itertools
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, text

from models.tasks.lesion.spec import LESIONS
from services.labels.intake import PIECE, take
from services.labels.label_options import Options
from services.labels.label_precedence import rank
from services.labels.label_validation import PackedLabels, SubmittedLabel
from services.ledger.tables import item, label
from services.runtime.errors import InvalidInput, TooLarge
from tests.services.labels.label_services import EPOCH, POWER, RAIN, Wall, opened, scratch


async def test_labels_are_kept_as_they_came_and_end_their_requests(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        units = await ledger.units(range(3))
        outcomes = await ledger.take(
            SubmittedLabel(units[0], 7.5, observed=1.0), SubmittedLabel("0123456789abcdef-1", 8), actor="anna"
        )
        assert outcomes == ["accepted", "accepted"]
        assert await ledger.labels() == [
            (0, "requested", 1, struct.pack("<d", 7.5)),
            (1, "requested", 1, struct.pack("<d", 8)),
        ]
        assert await ledger.states() == ["labelled", "labelled", "requested"]
        assert await ledger.events() == [(0, "labelled", "anna", ""), (1, "labelled", "anna", "")]
        (columns,) = {*await ledger.rows(label, "actor", "received", "head", "writer")}
        assert columns == ("anna", ledger.wall.now, "power", EPOCH)


async def test_the_same_label_again_is_a_duplicate_by_key_or_by_content(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        unnamed = SubmittedLabel(unit, 1.0)
        named = SubmittedLabel(unit, 1.0, key="scan-17")
        assert await ledger.take(unnamed, unnamed, named, named) == ["accepted", "duplicate", "superseded", "duplicate"]
        ledger.wall.now += 100
        assert await ledger.take(unnamed, named) == ["duplicate", "duplicate"]
        assert len(await ledger.labels()) == 2
        assert len(await ledger.events()) == 1


async def test_a_key_names_one_value_and_a_correction_is_a_version(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        first, wrong = SubmittedLabel(unit, 1.0, key="k"), SubmittedLabel(unit, 2.0, key="k")
        right = SubmittedLabel(unit, 2.0, key="k", version=2)
        assert await ledger.take(first, wrong, right) == ["accepted", "key_reused", "corrected"]
        assert await ledger.take(first, wrong, right) == ["duplicate", "key_reused", "duplicate"]
        batch = await ledger.label_service.submit([wrong], "x")
        assert "key = k: version 1" in batch.rejected[0].error.message
        (resolution,) = await ledger.label_service.resolve([unit])
        assert (resolution.value, resolution.version) == (2.0, 2)


async def test_what_is_older_is_kept_and_does_not_count(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        later, earlier = SubmittedLabel(unit, 2.0, observed=200.0), SubmittedLabel(unit, 1.0, observed=100.0)
        assert await ledger.take(later) == ["accepted"]
        assert await ledger.take(earlier) == ["superseded"]
        assert (await ledger.label_service.resolve([unit]))[0].value == 2.0


VERSIONS = [SubmittedLabel((EPOCH, 0), float(v), version=v, observed=o) for v, o in [(1, 50.0), (1, 90.0), (2, 10.0)]]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_conflicting_labels_have_one_winner_in_every_order(order: tuple[int, ...], tmp_path: Path) -> None:
    async with opened(scratch(tmp_path)) as ledger:
        (unit,) = await ledger.units([0])
        for index in order:
            await ledger.take(VERSIONS[index])
            ledger.wall.now += 1
        (resolution,) = await ledger.label_service.resolve([unit])
        assert (resolution.version, resolution.observed) == (2, 10.0)


STORED = st.tuples(
    st.integers(1, 3),
    st.none() | st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from(["a", "b", "c"]),
)


@given(st.lists(STORED, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_labels_is_total_and_knows_no_arrival(
    labels: list[tuple[int, float | None, float, str]], rng: Any
) -> None:
    shuffled = list(labels)
    rng.shuffle(shuffled)
    ranks = [rank(*stored) for stored in shuffled]
    assert max(ranks, default=None) == max((rank(*stored) for stored in labels), default=None)
    for label_row in labels:
        equal = [other for other in labels if rank(*other) == rank(*label_row)]
        assert {(version, received, digest) for version, _, received, digest in equal} == {
            (label_row[0], *label_row[2:])
        }


@settings(max_examples=25, deadline=None)
@given(data=st.data())
async def test_any_history_in_any_batches_gives_one_state(data: Any, tmp_path_factory: Any) -> None:
    """Re-ordered, repeated, split into batches: the same labels are there, and the same one counts."""
    values = st.builds(
        SubmittedLabel,
        st.sampled_from([(EPOCH, 0), (EPOCH, 1)]),
        st.sampled_from([1.0, 2.0]),
        version=st.integers(1, 2),
        observed=st.sampled_from([None, 5.0, 6.0]),
    )
    labels = data.draw(st.lists(values, min_size=1, max_size=6))
    again = data.draw(st.permutations([*labels, *data.draw(st.lists(st.sampled_from(labels), max_size=3))]))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(again)), max_size=3)) | {0, len(again)})
    states = []
    for batches in ([labels], [again[start:end] for start, end in itertools.pairwise(cuts)]):
        async with opened(scratch(tmp_path_factory.mktemp("l"))) as ledger:
            await ledger.units([0, 1])
            for batch in batches:
                await ledger.take(*batch)
            rows = await ledger.rows(label, "sequence", "key", "version", "observed", "value")
            resolutions = await ledger.label_service.resolve([(EPOCH, 0), (EPOCH, 1)])
            states.append((sorted(rows, key=repr), resolutions, await ledger.states()))
    assert states[0] == states[1]


async def test_one_bad_label_never_loses_its_neighbours(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        unit, other = await ledger.units([0, 1])
        await ledger.units([5], erased=1.0)
        bad = [
            (SubmittedLabel("nonsense", 1.0), "bad_unit"),
            (SubmittedLabel((-1, 0), 1.0), "bad_unit"),
            (SubmittedLabel((2**63, 0), 1.0), "bad_unit"),
            (SubmittedLabel(unit, "seven"), "bad_label"),
            (SubmittedLabel(unit, float("nan")), "bad_label"),
            (SubmittedLabel(unit, 1.0, source="guess"), "unknown_source"),
            (SubmittedLabel(unit, 1.0, head="speed"), "unknown_head"),
            (SubmittedLabel(unit, 1.0, version=0), "bad_version"),
            (SubmittedLabel(unit, 1.0, version=2**31), "bad_version"),
            (SubmittedLabel(unit, 1.0, observed=-1.0), "bad_time"),
            (SubmittedLabel(unit, 1.0, observed=ledger.wall.now + 1000), "bad_time"),
            (SubmittedLabel(unit, 1.0, observed=float("nan")), "bad_time"),
            (SubmittedLabel(unit, 1.0, key="two words"), "bad_key"),
            (SubmittedLabel(unit, 1.0, key="k" * 49), "bad_key"),
            (SubmittedLabel((EPOCH, 5), 1.0), "unit_erased"),
        ]
        outcomes = await ledger.take(
            SubmittedLabel(unit, 1.0), *(submitted for submitted, _ in bad), SubmittedLabel(other, 2.0)
        )
        assert outcomes == ["accepted", *(code for _, code in bad), "accepted"]
        assert len(await ledger.labels()) == 2
        batch = await ledger.label_service.submit([submitted for submitted, _ in bad], "x")
        for rejection in batch.rejected:
            assert rejection.error.index == rejection.at
            assert rejection.error.field in rejection.error.message or rejection.error.code in ("bad_label", "bad_unit")


async def test_a_label_of_an_unknown_unit_waits_for_it(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        early = SubmittedLabel((EPOCH, 9), 1.0)
        assert await ledger.take(early) == ["orphan"]
        assert await ledger.take(early) == ["duplicate"]
        await ledger.units([8, 9])
        claimed = await ledger.label_service.reviews.claim(count=5, head="", actor="b", seconds=60)
        assert len(claimed) == 1, "nobody is asked for what is known"
        assert await ledger.states() == ["claimed", "labelled"]
        assert (await ledger.label_service.resolve([(EPOCH, 9)]))[0].value == 1.0
        assert (9, "labelled", "service", "the label was there") in await ledger.events()


async def test_a_census_is_declared_and_a_volunteer_counts_for_nothing(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        unit, answered = (await ledger.units([0]))[0], (EPOCH, 77)
        outcomes = await ledger.take(
            SubmittedLabel(unit, 5.0, source="volunteered"),
            SubmittedLabel(answered, 6.0, source="census"),
            SubmittedLabel((999, 1), 6.0, source="census"),
        )
        assert outcomes == ["accepted", "accepted", "orphan"], "an answered unit has no item, its process is known"
        volunteered, census = await ledger.label_service.resolve([unit, answered])
        assert volunteered.status == "pending"
        assert (census.status, census.source, census.value) == ("resolved", "census", 6.0)
        assert await ledger.states() == ["requested"]
    async with opened(ledger_url, options=Options()) as ledger:
        assert await ledger.take(SubmittedLabel(unit, 5.0, source="census")) == ["census_not_declared"]
    with pytest.raises(LookupError, match="DEMUR_CENSUS = 'wind': must name heads"):
        async with opened(ledger_url, options=Options(census=("wind",))):
            pass


async def test_heads_are_named_where_there_are_several(ledger_url: str) -> None:
    async with opened(ledger_url, heads=(POWER, RAIN)) as ledger:
        (unit,) = await ledger.units([0])
        outcomes = await ledger.take(
            SubmittedLabel(unit, 1.0), SubmittedLabel(unit, 3, head="rain"), SubmittedLabel(unit, 1.0, head="power")
        )
        assert outcomes == ["head_needed", "wrong_head", "accepted"]


async def test_a_late_label_ends_what_nobody_hoped_for(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        for sequence, state in enumerate(("skipped", "expired", "unlabelable", "claimed")):
            await ledger.units([sequence], state=state)
        assert await ledger.take(*(SubmittedLabel((EPOCH, n), 1.0) for n in range(4))) == ["accepted"] * 4
        assert set(await ledger.states()) == {"labelled"}
        assert await ledger.take(SubmittedLabel((EPOCH, 0), 2.0, version=2)) == ["corrected"]
        assert len(await ledger.events()) == 4, "a correction changes no request"


async def test_large_values_go_to_the_store_and_come_back(ledger_url: str) -> None:
    mask = np.random.default_rng(0).random((24, 24, 24)) < 0.5  # hardly smaller when packed
    file = io.BytesIO()
    np.save(file, mask)
    async with opened(ledger_url, heads=(LESIONS,), options=Options()) as ledger:
        (unit,) = await ledger.units([0], head="lesions", payload=None)
        assert await ledger.take(SubmittedLabel(unit, file.getvalue())) == ["accepted"]
        assert await ledger.rows(label, "value", "value_ref") == [(None, "sha256:0")]
        (resolution,) = await ledger.label_service.resolve([unit])
        assert (np.load(io.BytesIO(resolution.value)) == mask).all()


async def test_two_processes_take_the_same_labels_once(postgres: Any) -> None:
    url = postgres.database()
    wall = Wall()
    async with opened(url, wall=wall) as ledger, opened(url, epoch=7, wall=wall) as other:
        units = await ledger.units(range(200))
        same = [SubmittedLabel(unit, 1.0, key="k") for unit in units]
        clash = [SubmittedLabel(unit, 2.0, key="k") for unit in units]
        rounds = await asyncio.gather(ledger.take(*same), other.take(*same), other.take(*clash), ledger.take(*clash))
        assert len(await ledger.labels()) == 200
        for values, outcomes in zip((1.0, 1.0, 2.0, 2.0), rounds, strict=True):
            kept = {sequence: struct.unpack("<d", value)[0] for sequence, _, _, value in await ledger.labels()}
            for (_, sequence), word in zip(units, outcomes, strict=True):
                assert (word == "key_reused") == (kept[sequence] != values), "nobody is told what is not so"


@contextmanager
def statements() -> Iterator[list[str]]:
    """Statements that are sent to any database meanwhile; one for many rows counts once."""
    collected: list[str] = []

    def sent(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        collected.append(statement)

    event.listen(Engine, "before_cursor_execute", sent)
    try:
        yield collected
    finally:
        event.remove(Engine, "before_cursor_execute", sent)


async def test_a_census_by_the_thousand_takes_a_few_statements_a_piece(ledger_url: str) -> None:
    count = 20 * PIECE + 1
    async with opened(ledger_url) as ledger:
        packed = PackedLabels(np.array([EPOCH], "u8"), np.arange(count, dtype="u8"), np.arange(count) / 7.0)
        with statements() as sent:
            outcomes = await ledger.take(*packed.labels())
        assert set(outcomes) == {"accepted"}
        assert len(sent) < 20 * (20 + 1), "7 to 8 for each of 21 pieces"
        assert set(await ledger.take(*packed.labels())) == {"duplicate"}
        (told_last,) = await ledger.label_service.resolve([(EPOCH, count - 1)])
        assert told_last.value == (count - 1) / 7.0


async def test_a_batch_beyond_the_limit_is_refused_whole(tmp_path: Path) -> None:
    async with opened(scratch(tmp_path), options=Options(most_labels=2)) as ledger:
        with pytest.raises(TooLarge, match=r"labels = 3: must be in \[1, 2\]"):
            await ledger.take(*[SubmittedLabel((EPOCH, n), 1.0) for n in range(3)])
        assert await ledger.labels() == []


def test_packed_arrays_have_one_length() -> None:
    packed = PackedLabels(np.zeros(1, "u8"), np.zeros(3, "u8"), np.zeros(2))
    with pytest.raises(InvalidInput, match="values = 2: must be 3 values"):
        packed.labels()


async def test_many_processes_in_one_batch_are_a_few_statements(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([4])
        labels = [SubmittedLabel((epoch, 4), 1.0) for epoch in range(1000)]
        with statements() as sent:
            assert await ledger.take(*labels, SubmittedLabel(unit, 1.0)) == ["orphan"] * 1000 + ["accepted"]
        assert len(sent) < 20
        assert set(await ledger.take(*labels, SubmittedLabel(unit, 1.0))) == {"duplicate"}
        assert await ledger.rows(item, "state") == [("labelled",)]


async def test_who_loses_a_race_for_a_key_is_told(postgres: Any) -> None:
    """Both saw no such key; the one that commits later finds the other's label."""
    url, wall = postgres.database(), Wall()
    async with opened(url, wall=wall) as ledger, opened(url, epoch=7, wall=wall) as other:
        units = await ledger.units([0, 1])
        rows = {value: [SubmittedLabel(unit, value, key="k") for unit in units] for value in (1.0, 2.0)}
        rows[2.0][1] = SubmittedLabel(units[1], 1.0, key="k")

        def slowly(connection: Any, place: Any) -> Any:
            checked, _ = ledger.label_service.rules.check(rows[1.0], wall.now)
            taken = take(connection, place, checked, actor="a", received=wall.now)
            written.set()
            waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
            end = time.monotonic() + 60
            while not connection.execute(waiting).scalar_one() and time.monotonic() < end:
                time.sleep(0.01)  # until the other has looked for the key, and waits for this transaction to end
            return taken

        written = threading.Event()
        first = asyncio.create_task(ledger.writer.run(slowly, seconds=60))
        await asyncio.to_thread(written.wait, 60)
        assert await other.take(*rows[2.0]) == ["key_reused", "accepted"]
        await first
        assert [struct.unpack("<d", value)[0] for *_, value in await ledger.labels()] == [1.0, 1.0]

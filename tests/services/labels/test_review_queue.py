"""Review queue: no request is claimed twice or lost, and none reveals whether it is an audit."""

import asyncio
import inspect
import struct
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.labels import request_expiry, review_queue
from services.labels.intake import Outcome
from services.labels.label_types import Request
from services.labels.label_validation import SubmittedLabel
from services.labels.request_expiry import draw_second_phase, end_leases, expire
from services.labels.service import LabelService
from services.labels.submissions import Answer
from services.ledger.commit_queue import Clock
from services.ledger.database import Database
from services.ledger.tables import label, request_event
from services.ledger.writer import Writer
from services.runtime.errors import Conflict, DemurError, InvalidInput, NotFound
from services.runtime.offload import Offload
from tests.services.labels.label_services import (
    DAY,
    EPOCH,
    OPTIONS,
    POWER,
    RAIN,
    SCHEMA,
    Memory,
    Opened,
    Wall,
    eraser,
    opened,
    scratch,
)


async def claimed(ledger: Opened, count: int = 1, actor: str = "anna", seconds: float = 600.0) -> list[Request]:
    return await ledger.label_service.reviews.claim(count=count, head="", actor=actor, seconds=seconds)


async def refused(code: str, call: Any) -> DemurError:
    with pytest.raises(DemurError) as caught:
        await call
    assert caught.value.code == code, caught.value
    return caught.value


async def test_a_request_says_what_is_asked_and_nothing_else(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        (review,) = await claimed(ledger)
        assert set(asdict(review.claimed)) == {
            "request",
            "lease",
            "lease_until",
            "due",
            "must_complete",
            "head",
            "payload",
            "payload_ref",
            "payload_type",
            "queue",
        }
        assert review.input is not None
        assert [(c["name"], c["value"], c["unit"]) for c in review.input["columns"]] == [
            ("speed", 2.0, "m/s"),
            ("wave", None, "m"),
        ]
        assert review.claimed.due == ledger.wall.now + 30 * DAY
        assert f"{EPOCH:016x}" not in review.claimed.request
        assert await ledger.states() == ["claimed"]
        assert await ledger.events() == [(0, "claimed", "anna", "")]


def test_the_feed_reads_no_column_that_tells_what_a_unit_is() -> None:
    source = inspect.getsource(review_queue) + inspect.getsource(request_expiry)
    for column in ("decision", "uncertainty", "propensity", "evidence", "model", "policy"):
        assert f"item.c.{column}" not in source


async def test_neither_order_nor_ids_tell_audits_from_deferrals(tmp_path: Path) -> None:
    """Rank correlations of everything that is handed out with being audited are those of chance."""
    count = 400
    rng = np.random.default_rng(7)
    is_audited = rng.random(count) < 0.5
    async with opened(scratch(tmp_path)) as ledger:
        await ledger.units(range(count), audited=lambda n: bool(is_audited[n]))
        handed: list[Request] = []
        while part := await claimed(ledger, 100):
            handed += part
        review_queue = (await ledger.label_service.reviews.queues()).queue
    assert len(handed) == count
    units = [review_queue.ids.unit(review.claimed.request) for review in handed]
    flags = np.array([is_audited[unit[1]] for unit in units if unit is not None], float)
    sequences = np.array([unit[1] for unit in units if unit is not None], float)
    visible = {
        "order": np.arange(count),
        "id": np.array([int(review.claimed.request[:12], 16) for review in handed]),
        "lease": np.array([int(review.claimed.lease[:12], 16) for review in handed]),
    }
    for name, values in visible.items():
        ranks = np.argsort(np.argsort(values))
        for secret in (flags, sequences):
            assert abs(np.corrcoef(ranks, secret)[0, 1]) < 4 / count**0.5, name
    same = [asdict(review.claimed) | {"request": "", "lease": ""} for review in handed]
    assert all(document == same[0] for document in same), "everything else is the same for all"
    assert np.corrcoef(np.argsort(np.argsort(flags)), flags)[0, 1] > 0.5, "the measure can see a correlation"


async def test_submitting_labels_and_ends_the_request_in_one_flush(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units(range(4))
        (review,) = await claimed(ledger)
        request, lease = review.claimed.request, review.claimed.lease
        assert (
            await ledger.label_service.reviews.submit(Answer(request, lease, 4.5, "anna", observed=9.0))
            is Outcome.ACCEPTED
        )
        ((sequence, flush, actor, observed),) = await ledger.rows(label, "sequence", "flush", "actor", "observed")
        assert (actor, observed) == ("anna", 9.0)
        assert (sequence, "labelled", flush) in await ledger.rows(request_event, "sequence", "state", "flush")
        assert (
            await ledger.label_service.reviews.submit(Answer(request, lease, 4.5, "anna", observed=9.0))
            is Outcome.DUPLICATE
        )
        await refused(
            "already_labelled", ledger.label_service.reviews.submit(Answer(request, lease, 5.0, "anna", observed=9.0))
        )
        assert len(await ledger.labels()) == 1
        assert (await ledger.label_service.reviews.counts())["power"] == dict.fromkeys(
            ("claimed", "skipped", "expired", "unlabelable"), 0
        ) | {"requested": 3, "labelled": 1}


async def test_a_bad_label_leaves_the_request_as_it_was(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        (review,) = await claimed(ledger)
        error = await refused(
            "bad_label",
            ledger.label_service.reviews.submit(
                Answer(review.claimed.request, review.claimed.lease, "x", "a", observed=None)
            ),
        )
        assert error.index == -1
        assert await ledger.states() == ["claimed"]
        assert await ledger.labels() == []


async def test_what_the_holder_may_do_others_may_not(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        (review,) = await claimed(ledger)
        request, lease, label_service = review.claimed.request, review.claimed.lease, ledger.label_service
        for wrong in ("", "0" * 32, lease[:-1]):
            await refused("lease_lost", label_service.reviews.extend(request, wrong, seconds=60))
            await refused("lease_lost", label_service.reviews.release(request, wrong, actor="b"))
            await refused(
                "lease_lost", label_service.reviews.skip(request, wrong, reason="r", unlabelable=False, actor="b")
            )
            await refused("lease_lost", label_service.reviews.submit(Answer(request, wrong, 1.0, "b", observed=None)))
        for nobody in ("", "x", "0" * 32, "f" * 32):
            await refused("no_request", label_service.reviews.release(nobody, lease, actor="b"))
        ledger.wall.now += 500
        assert (await label_service.reviews.extend(request, lease, seconds=600)).lease_until == ledger.wall.now + 600
        assert (await label_service.reviews.release(request, lease, actor="anna")).state == "requested"
        await refused("lease_lost", label_service.reviews.release(request, lease, actor="anna"))
        (again,) = await claimed(ledger, actor="ben")
        assert again.claimed.request == request
        assert again.claimed.lease != lease
        ended = await label_service.reviews.skip(
            request, again.claimed.lease, reason="blurred", unlabelable=False, actor="ben"
        )
        assert (ended.state, ended.lease_until) == ("skipped", None)
        assert await claimed(ledger) == []
        assert [event[1:] for event in await ledger.events()] == [
            ("claimed", "anna", ""),
            ("requested", "anna", ""),
            ("claimed", "ben", ""),
            ("skipped", "ben", "blurred"),
        ]


async def test_a_lease_that_is_over_goes_to_the_next_and_its_holder_is_told(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        (mine,) = await claimed(ledger, seconds=60)
        ledger.wall.now += 59
        assert await claimed(ledger) == []
        ledger.wall.now += 2
        (other,) = await claimed(ledger, actor="ben", seconds=60)
        assert other.claimed.request == mine.claimed.request
        late = ledger.label_service.reviews.submit(
            Answer(mine.claimed.request, mine.claimed.lease, 1.0, "anna", observed=None)
        )
        await refused("lease_lost", late)
        assert (0, "requested", "service", "the lease is over") in await ledger.events()


async def test_another_value_under_a_lease_is_refused_without_naming_the_unit(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        (mine,) = await claimed(ledger)

        def answer(value: float) -> Any:
            return ledger.label_service.reviews.submit(
                Answer(mine.claimed.request, mine.claimed.lease, value, "anna", observed=None)
            )

        assert await answer(1.0) is Outcome.ACCEPTED
        assert await answer(1.0) is Outcome.DUPLICATE
        error = await refused("already_labelled", answer(2.0))
        assert isinstance(error, Conflict)
        assert f"{EPOCH:016x}" not in f"{vars(error)}"


async def test_a_late_answer_is_taken_where_nobody_else_began(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        (mine,) = await claimed(ledger, seconds=60)
        ledger.wall.now += 100
        await ledger.writer.run(lambda c, p: end_leases(c, p, ledger.wall.now))
        assert await ledger.states() == ["requested"]
        answer = ledger.label_service.reviews.submit(
            Answer(mine.claimed.request, mine.claimed.lease, 1.0, "anna", observed=None)
        )
        assert await answer is Outcome.ACCEPTED
        assert await ledger.states() == ["labelled"]


async def test_requests_expire_and_erased_ones_are_gone(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        await ledger.units([1], erased=1.0)
        await ledger.units([2], due=ledger.wall.now + 10 * DAY)
        review_queue = (await ledger.label_service.reviews.queues()).queue
        ledger.wall.now += 11 * DAY
        assert await ledger.writer.run(lambda c, p: expire(c, p, review_queue.request_seconds, ledger.wall.now)) == 1
        assert await ledger.states() == ["requested", "requested", "expired"]
        ledger.wall.now += 20 * DAY
        assert await claimed(ledger, 5) == [], "what is about to expire is not handed out"
        assert await ledger.writer.run(lambda c, p: expire(c, p, review_queue.request_seconds, ledger.wall.now)) == 1
        assert await ledger.states() == ["expired", "requested", "expired"]
        assert await ledger.writer.run(lambda c, p: expire(c, p, review_queue.request_seconds, ledger.wall.now)) == 0


async def test_a_share_of_the_unanswered_is_drawn_once_and_has_to_be_completed(ledger_url: str) -> None:
    count = 300
    async with opened(ledger_url) as ledger:
        await ledger.units(range(count), state="skipped")
        await ledger.units(range(count, 2 * count), state="expired")
        review_queue = (await ledger.label_service.reviews.queues()).queue

        async def draw() -> int:
            return await ledger.writer.run(
                lambda c, p: draw_second_phase(c, p, review_queue.ids.key, 0.25, ledger.wall.now)
            )

        assert await draw() == 2 * count
        states = await ledger.states()
        assert 100 < states.count("requested") < 200
        events = await ledger.rows(request_event, "sequence", "state", "propensity", "reason")
        assert len(events) == 2 * count
        assert {propensity for _, _, propensity, _ in events} == {0.25}
        drawn = {sequence for sequence, _, _, reason in events if reason == "second phase: drawn"}
        assert drawn == {n for n, state in enumerate(states) if state == "requested"}
        assert await draw() == 0, "nobody is drawn twice"
        (review,) = await claimed(ledger)
        assert review.claimed.must_complete
        assert review.claimed.due is None
        request, lease = review.claimed.request, review.claimed.lease
        await refused(
            "must_complete", ledger.label_service.reviews.skip(request, lease, reason="r", unlabelable=False, actor="a")
        )
        ledger.wall.now += 400 * DAY
        await ledger.writer.run(lambda c, p: end_leases(c, p, ledger.wall.now))
        assert await ledger.writer.run(lambda c, p: expire(c, p, review_queue.request_seconds, ledger.wall.now)) == 0
        assert len(await claimed(ledger, 100)) == 100


async def test_heads_are_asked_for_by_name(ledger_url: str) -> None:
    async with opened(ledger_url, heads=(POWER, RAIN)) as ledger:
        await ledger.units([0, 1])
        await ledger.units([2], head="rain")
        (review,) = await ledger.label_service.reviews.claim(count=5, head="rain", actor="a", seconds=60)
        assert review.head == RAIN
        assert len(await claimed(ledger, 5)) == 2
        with pytest.raises(InvalidInput, match="must be one of power, rain"):
            await ledger.label_service.reviews.claim(count=1, head="wind", actor="a", seconds=60)


@pytest.mark.parametrize(("count", "seconds"), [(0, 60), (101, 60), (1, 0.5), (1, 1e6), (1, float("nan"))])
async def test_counts_and_times_have_ranges(count: int, seconds: float, tmp_path: Path) -> None:
    async with opened(scratch(tmp_path)) as ledger:
        await refused(
            "out_of_range", ledger.label_service.reviews.claim(count=count, head="", actor="a", seconds=seconds)
        )


async def test_claimers_in_one_process_never_share_a_request(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units(range(120))
        parts = await asyncio.gather(*(claimed(ledger, 5) for _ in range(40)))
        requests = [review.claimed.request for part in parts for review in part]
        assert len(requests) == len(set(requests)) == 120


def in_thread(work: Callable[[], Any], into: list[Any]) -> threading.Thread:
    thread = threading.Thread(target=lambda: into.append(asyncio.run(work())))
    thread.start()
    return thread


async def test_claimers_in_many_processes_never_share_a_request(postgres: Any) -> None:
    """Writers of their own, in threads of their own: what replicas of a service are to the database."""
    url, wall = postgres.database(), Wall()
    async with opened(url, wall=wall) as ledger:
        await ledger.units(range(150))
        await ledger.label_service.reviews.queues()

        def replica(epoch: int) -> Callable[[], Any]:
            async def work() -> list[str]:
                writer = Writer(Database(url), epoch=epoch, task="toy", clock=Clock(wall))
                await writer.start()
                offload = Offload()
                store = Memory()
                forget = eraser(writer, store, wall)
                label_service = LabelService(
                    writer, store, (POWER,), SCHEMA, OPTIONS, offload=offload, clock=wall, eraser=forget
                )
                mine: list[str] = []
                while part := await label_service.reviews.claim(count=3, head="", actor=str(epoch), seconds=600):
                    mine += [review.claimed.request for review in part]
                await writer.stop()
                offload.close()
                return mine

            return work

        got: list[list[str]] = []
        threads = [in_thread(replica(epoch), got) for epoch in range(1, 5)]
        await asyncio.to_thread(lambda: [thread.join(60) for thread in threads])
        requests = [request for part in got for request in part]
        assert len(requests) == len(set(requests)) == 150
        assert sum(bool(part) for part in got) > 1, "several of them got some"
        assert await ledger.states() == ["claimed"] * 150


async def test_a_label_beside_the_feed_takes_the_request_away(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        (review,) = await claimed(ledger)
        assert await ledger.take(SubmittedLabel(unit, 1.0)) == ["accepted"]
        with pytest.raises(Conflict):
            await ledger.label_service.reviews.extend(review.claimed.request, review.claimed.lease, seconds=60)
        with pytest.raises(NotFound):
            await ledger.label_service.reviews.extend("f" * 32, review.claimed.lease, seconds=60)
        assert struct.unpack("<d", (await ledger.labels())[0][3])[0] == 1.0

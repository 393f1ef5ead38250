"""Second opinions, known units and adjudications: who gets them, what they cost, and that nobody can tell them."""

import struct
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.labels.intake import Outcome
from services.labels.label_types import Request
from services.labels.label_validation import SubmittedLabel
from services.labels.periodic_jobs import PeriodicJobs
from services.labels.submissions import Answer
from services.ledger.tables import UNASKED, label, opinion
from services.runtime.errors import DemurError
from tests.services.labels.label_services import DAY, OPTIONS, Opened, claim, opened, scratch, submit

ALWAYS = replace(OPTIONS, second_opinions=1.0)


async def refused(code: str, call: Any) -> None:
    with pytest.raises(DemurError) as caught:
        await call
    assert caught.value.code == code, caught.value


async def jobs(ledger: Opened) -> None:
    await PeriodicJobs(ledger.label_service).end_leases_and_notify()


async def opinions(ledger: Opened) -> list[tuple[Any, ...]]:
    return sorted(await ledger.rows(opinion, "sequence", "kind", "state", "author", "actor", "difference"))


async def test_another_reviewer_labels_the_unit_again_and_both_are_compared(ledger_url: str) -> None:
    async with opened(ledger_url, options=ALWAYS) as ledger:
        await ledger.units([0])
        (first,) = await claim(ledger, "anna")
        assert await submit(ledger, first, 4.0, "anna", seconds=12.5) is Outcome.ACCEPTED
        assert await claim(ledger, "anna") == [], "nobody is asked for a second opinion on an own label"
        (second,) = await claim(ledger, "ben")
        assert second.claimed.request != first.claimed.request
        assert second.input == first.input
        same = dict.fromkeys(("request", "lease"), "")
        assert asdict(second.claimed) | same == asdict(first.claimed) | same
        assert await submit(ledger, second, 7.0, "ben") is Outcome.ACCEPTED
        assert await submit(ledger, second, 7.0, "ben") is Outcome.DUPLICATE
        await refused("already_labelled", submit(ledger, second, 8.0, "ben"))
        await jobs(ledger)
        assert await opinions(ledger) == [(0, "second", "labelled", "anna", "ben", 9.0)]
        assert [value for *_, value in await ledger.rows(label, "sequence", "seconds")] == [12.5]
        assert len(await ledger.labels()) == 1, "the label that resolves the unit is the first one"


async def test_the_set_share_of_units_is_drawn(tmp_path: Path) -> None:
    async with opened(scratch(tmp_path), options=replace(OPTIONS, second_opinions=0.25)) as ledger:
        await ledger.units(range(400))
        while part := await claim(ledger, "anna", 100):
            for request in part:
                await submit(ledger, request, 1.0, "anna")
        assert 70 < len(await opinions(ledger)) < 130


async def test_a_label_is_no_known_unit_for_who_has_labelled_the_unit(tmp_path: Path) -> None:
    async with opened(scratch(tmp_path), options=replace(OPTIONS, known_units=1.0)) as ledger:
        (unit,) = await ledger.units([0], census=1)
        (request,) = await claim(ledger, "anna", 1)
        await submit(ledger, request, 1.0, "anna")
        await ledger.take(SubmittedLabel(unit, 2.0, "census"))
        await ledger.units(range(100, 103))
        assert [row[1] for row in await opinions(ledger)] == []
        for request in await claim(ledger, "anna", 1):
            await submit(ledger, request, 1.0, "anna")
        assert await opinions(ledger) == []
        await claim(ledger, "ben", 1)
        assert [row[1] for row in await opinions(ledger)] == ["known"]


async def test_second_opinions_are_spread_over_the_queue(tmp_path: Path) -> None:
    async with opened(scratch(tmp_path), options=ALWAYS) as ledger:
        await ledger.units(range(100))
        for request in await claim(ledger, "anna", 100):
            await submit(ledger, request, 1.0, "anna")
        await ledger.units(range(100, 400))
        handed: list[Request] = []
        while part := await claim(ledger, "ben", 20):
            handed += part
            for request in part:
                await submit(ledger, request, 1.0, "ben")
        ids = (await ledger.label_service.reviews.queues()).ids
        is_second = np.array(
            [(ids.unit(request.claimed.request) or (0, 0))[0] != ledger.writer.epoch for request in handed]
        )
        assert len(handed) == 400
        assert is_second.sum() == 100
        halves = [half.mean() for half in np.split(is_second, 2)]
        assert min(halves) > 0.12, halves
        same = [asdict(request.claimed) | dict.fromkeys(("request", "lease"), "") for request in handed]
        assert all(document == same[0] for document in same)


async def test_skipped_and_released_opinions_behave_like_requests(ledger_url: str) -> None:
    async with opened(ledger_url, options=ALWAYS) as ledger:
        await ledger.units([0, 1])
        for request in await claim(ledger, "anna", 2):
            await submit(ledger, request, 1.0, "anna")
        reviews = ledger.label_service.reviews
        one, other = await claim(ledger, "ben", 2)
        assert (await reviews.extend(one.claimed.request, one.claimed.lease, seconds=900)).state == "claimed"
        assert (await reviews.release(one.claimed.request, one.claimed.lease, actor="ben")).state == "requested"
        skipped = await reviews.skip(
            other.claimed.request, other.claimed.lease, reason="blurred", unlabelable=False, actor="ben"
        )
        assert skipped.state == "skipped"
        await refused("lease_lost", submit(ledger, one, 1.0, "ben"))
        (again,) = await claim(ledger, "ben", 5)
        ledger.wall.now += 601
        await jobs(ledger)
        assert await submit(ledger, again, 1.0, "ben") is Outcome.ACCEPTED, "late, and nobody else began"
        ledger.wall.now += 31 * DAY
        await PeriodicJobs(ledger.label_service).expire_and_redraw()
        assert [row[2] for row in await opinions(ledger)] in (["labelled", "skipped"], ["skipped", "labelled"])


async def test_a_third_reviewer_decides_between_labels_that_differ(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(ALWAYS, adjudicate={"power": 4.0})) as ledger:
        await ledger.units([0, 1])
        values = {}
        for request in await claim(ledger, "anna", 2):
            await submit(ledger, request, 1.0, "anna")
        for request, value in zip(await claim(ledger, "ben", 2), (2.0, 9.0), strict=True):
            values[request.claimed.request] = value
            await submit(ledger, request, value, "ben")
        await jobs(ledger)
        reviews = ledger.label_service.reviews
        assert [await reviews.adjudications(actor) for actor in ("anna", "ben", "cleo")] == [0, 0, 1]
        assert await claim(ledger, "anna", queue="adjudication") == []
        assert await claim(ledger, "cleo") == [], "it is not in the blind queue"
        (case,) = await claim(ledger, "cleo", queue="adjudication")
        assert sorted(map(float, case.answers)) == [1.0, 9.0]  # type: ignore[arg-type]
        assert await submit(ledger, case, 8.5, "cleo") is Outcome.CORRECTED
        (unit,) = [
            (epoch, sequence)
            for epoch, sequence, kind in await ledger.rows(opinion, "epoch", "sequence", "kind")
            if kind == "adjudication"
        ]
        (resolution,) = await ledger.label_service.resolve([unit])
        assert (resolution.value, resolution.version) == (8.5, 2)


async def test_known_units_come_with_other_requests_and_once_for_each_reviewer(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        known = await ledger.units(range(3), state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        assert await claim(ledger, "anna", 10) == [], "not without requests that wait"
        await ledger.units(range(100, 140))
        handed = await claim(ledger, "anna", 40)
        await submit_all(ledger, handed, 5.0, "anna")
        await jobs(ledger)
        rows = await opinions(ledger)
        assert [row[:5] for row in rows] == [(n, "known", "labelled", "", "anna") for n in range(3)]
        assert {row[5] for row in rows} == {9.0}
        assert len(handed) == 40
        await ledger.units(range(200, 240))
        await submit_all(ledger, await claim(ledger, "anna", 40), 5.0, "anna")
        assert len(await opinions(ledger)) == 3, "anna has seen all of them"
        await ledger.units(range(300, 340))
        await submit_all(ledger, await claim(ledger, "ben", 40), 5.0, "ben")
        assert len(await opinions(ledger)) == 6


async def submit_all(ledger: Opened, requests: list[Request], value: float, actor: str) -> None:
    for request in requests:
        await submit(ledger, request, value, actor)


async def test_a_blind_correction_of_the_label_is_compared_anew_and_one_of_the_opinion_is_kept(ledger_url: str) -> None:
    async with opened(ledger_url, options=ALWAYS) as ledger:
        await ledger.units([0])
        (first,) = await claim(ledger, "anna")
        await submit(ledger, first, 4.0, "anna")
        (second,) = await claim(ledger, "ben")
        await submit(ledger, second, 7.0, "ben")
        await jobs(ledger)
        reviews = ledger.label_service.reviews
        claimed = first.claimed
        assert await reviews.correct(Answer(claimed.request, claimed.lease, 6.0, "anna")) is Outcome.CORRECTED
        await jobs(ledger)
        assert [row[5] for row in await opinions(ledger)] == [1.0]
        claimed = second.claimed
        assert await reviews.correct(Answer(claimed.request, claimed.lease, 9.0, "ben")) is Outcome.CORRECTED
        assert await reviews.correct(Answer(claimed.request, claimed.lease, 9.0, "ben")) is Outcome.DUPLICATE
        await jobs(ledger)
        assert [row[5] for row in await opinions(ledger)] == [1.0], "the first opinion counts"


async def test_repeated_and_corrected_answers_are_those_of_a_request(ledger_url: str) -> None:
    async with opened(ledger_url, options=ALWAYS) as ledger:
        await ledger.units([0])
        reviews = ledger.label_service.reviews

        async def answer(request: Request, actor: str, value: float, first: bool) -> str:
            own = Answer(request.claimed.request, request.claimed.lease, value, actor)
            try:
                return str(await (reviews.submit(own) if first else reviews.correct(own)))
            except DemurError as error:
                return str(error.code)

        before = [(2.0, True), (3.0, False), (2.0, True), (3.0, True), (3.0, False), (2.0, False)]
        after = [(2.0, False), (7.0, False), (7.0, False), (2.0, True)]
        outcomes = []
        for actor in ("anna", "ben"):
            (request,) = await claim(ledger, actor)
            own = [await answer(request, actor, *step) for step in before]
            await reviews.reveal(request.claimed.request, request.claimed.lease)
            outcomes.append(own + [await answer(request, actor, *step) for step in after])
        assert outcomes[0] == outcomes[1]


async def test_a_correction_of_an_adjudication_counts(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(ALWAYS, adjudicate={"power": 4.0})) as ledger:
        (unit,) = await ledger.units([0])
        for actor, value in (("anna", 1.0), ("ben", 9.0)):
            (request,) = await claim(ledger, actor)
            await submit(ledger, request, value, actor)
        await jobs(ledger)
        (case,) = await claim(ledger, "cleo", queue="adjudication")
        await submit(ledger, case, 8.5, "cleo")
        own = Answer(case.claimed.request, case.claimed.lease, 5.0, "cleo")
        assert await ledger.label_service.reviews.correct(own) is Outcome.CORRECTED
        (resolved,) = await ledger.label_service.resolve([unit])
        assert resolved.value == 5.0
        (kept,) = [row[1:] for row in await ledger.rows(opinion, "kind", "label", "value") if row[0] == "adjudication"]
        assert kept in [row for row in await ledger.rows(label, "id", "value")]
        assert kept[1] == struct.pack("<d", 5.0)
        await ledger.label_service.reviews.reveal(case.claimed.request, case.claimed.lease)
        assert await ledger.label_service.reviews.correct(replace(own, value=6.0)) is Outcome.CORRECTED
        assert ("adjudication", *kept) in await ledger.rows(opinion, "kind", "label", "value"), (
            "what was judged blindly"
        )


async def test_erased_units_keep_the_difference_and_nothing_else(ledger_url: str) -> None:
    async with opened(ledger_url, options=ALWAYS) as ledger:
        units = await ledger.units([0, 1])
        for request in await claim(ledger, "anna", 2):
            await submit(ledger, request, 4.0, "anna")
        one, other = await claim(ledger, "ben", 2)
        await submit(ledger, one, 7.0, "ben")
        await ledger.label_service.erase(units, actor="operator", reason="asked for")
        rows = await ledger.rows(opinion, "state", "difference", "value", "value_ref", "digest")
        assert sorted(rows) == [("labelled", 9.0, None, None, None), ("unlabelable", None, None, None, None)]
        for request in (one, other):
            await refused("no_request", submit(ledger, request, 1.0, "ben"))


async def test_known_units_are_compared_with_the_newest_census_label(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        (unit,) = await ledger.units([0], state=UNASKED, census=1)
        for version, value in ((1, 2.0), (2, 3.0)):
            await ledger.take(SubmittedLabel(unit, value, "census", key="k", version=version, observed=ledger.wall.now))
        earlier = ledger.wall.now - DAY
        await ledger.take(SubmittedLabel(unit, 4.0, "census", key="other", version=2, observed=earlier))
        await ledger.units(range(100, 104))
        await claim(ledger, count=4)
        ((compared,),) = await ledger.rows(opinion, "label")
        labels = await ledger.rows(label, "id", "version", "value")
        assert [row[1:] for row in labels if row[0] == compared] == [(2, struct.pack("<d", 3.0))]

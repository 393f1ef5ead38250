"""Predictions are shown to reviewers after their label only; labels that come later are marked as assisted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from services.labels.intake import Outcome
from services.labels.label_types import Request
from services.labels.submissions import Answer
from services.ledger.tables import flag, item, label
from services.runtime.errors import DemurError
from tests.services.labels.label_services import OPTIONS, claim, opened, scratch


def answer(request: Request, value: object, actor: str = "anna") -> Answer:
    return Answer(request.claimed.request, request.claimed.lease, value, actor, seconds=2.0)


async def refused(code: str, call: Any) -> None:
    with pytest.raises(DemurError) as caught:
        await call
    assert caught.value.code == code, caught.value


async def test_the_prediction_is_shown_after_the_label_and_corrections_are_assisted(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        units = await ledger.units([1])
        (request,) = await claim(ledger)
        reviews, (name, lease) = ledger.label_service.reviews, (request.claimed.request, request.claimed.lease)
        await refused("wrong_state", reviews.reveal(name, lease))
        await refused("wrong_state", reviews.correct(answer(request, 2.0)))
        assert await reviews.submit(answer(request, 4.0)) is Outcome.ACCEPTED
        await refused("lease_lost", reviews.reveal(name, "0" * 32))
        assert await reviews.correct(answer(request, 3.0)) is Outcome.CORRECTED
        shown = await reviews.reveal(name, lease)
        assert (shown.prediction, shown.error, shown.uncertainty, shown.deferred) == (1.0, 4.0, 9.0, True)
        assert await reviews.correct(answer(request, 1.0)) is Outcome.CORRECTED
        assert await reviews.correct(answer(request, 1.0)) is Outcome.DUPLICATE
        assert await ledger.rows(label, "version", "assisted", "seconds") == [(1, 0, 2.0), (2, 0, 2.0), (3, 1, 2.0)]
        (resolution,) = await ledger.label_service.resolve(units)
        assert resolution.value == 1.0


async def test_drafts_are_of_deferred_units_only_and_their_labels_are_assisted(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, drafts=True)) as ledger:
        await ledger.units(range(6))  # the even ones are audits
        drafts = await claim(ledger, count=6, queue="drafts")
        ids = (await ledger.label_service.reviews.queues()).ids
        assert {ids.unit(draft.claimed.request) for draft in drafts} == {(ledger.writer.epoch, n) for n in (1, 3, 5)}
        assert [draft.draft for draft in drafts] == [1.0] * 3
        one, other, _ = drafts
        reviews = ledger.label_service.reviews
        assert await reviews.submit(answer(one, 1.5)) is Outcome.ACCEPTED
        await reviews.release(other.claimed.request, other.claimed.lease, actor="anna", reason="lunch")
        audits = await claim(ledger, count=6)
        assert len(audits) == 3, "nothing whose draft she gave back"
        listed = await reviews.waiting(head="", actor="anna", limit=10, after="")
        of_list = {ids.of_list.text(ids.unit(r.claimed.request) or (0, 0)) for r in (*audits, drafts[2])}
        assert {row.request for row in listed.requests} == of_list
        for request in audits:
            await reviews.release(request.claimed.request, request.claimed.lease, actor="anna", reason="lunch")
        blind = await claim(ledger, "ben", count=6)
        assert [request.draft for request in blind] == [None] * 4
        (again,) = [request for request in blind if request.claimed.request == other.claimed.request]
        assert await reviews.submit(answer(again, 2.5, "ben")) is Outcome.ACCEPTED
        assert await ledger.rows(label, "actor", "assisted") == [("anna", 1), ("ben", 0)]


async def test_who_saw_a_draft_gives_no_second_opinion_on_it(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, drafts=True, second_opinions=1.0)) as ledger:
        await ledger.units([1])
        reviews = ledger.label_service.reviews
        (draft,) = await claim(ledger, queue="drafts")
        await reviews.release(draft.claimed.request, draft.claimed.lease, actor="anna", reason="lunch")
        (request,) = await claim(ledger, "ben")
        assert await reviews.submit(answer(request, 1.5, "ben")) is Outcome.ACCEPTED
        assert await claim(ledger) == []
        assert len(await claim(ledger, "carl")) == 1


async def test_where_drafts_are_off_again_a_label_by_who_saw_one_is_assisted(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, drafts=True)) as ledger:
        await ledger.units([1, 3])
        reviews = ledger.label_service.reviews
        (draft,) = await claim(ledger, queue="drafts")
        await reviews.release(draft.claimed.request, draft.claimed.lease, actor="anna", reason="lunch")
        object.__setattr__(reviews.options, "drafts", False)
        for request in await claim(ledger, count=2):
            await reviews.submit(answer(request, 1.5))
        assert sorted(await ledger.rows(label, "assisted")) == [(0,), (1,)]


async def test_own_words_do_not_say_that_somebody_saw_a_draft(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, drafts=True)) as ledger:
        await ledger.units([1])
        (request,) = await claim(ledger)
        name, lease = request.claimed.request, request.claimed.lease
        await ledger.label_service.reviews.release(name, lease, actor="anna", reason="with its prediction")
        assert len(await claim(ledger)) == 1


async def test_drafts_cannot_be_chosen(tmp_path: Path) -> None:
    """Else a request that is named and does not come would be known as an audit."""
    async with opened(scratch(tmp_path), options=replace(OPTIONS, drafts=True)) as ledger:
        await ledger.units(range(2))
        named = tuple(request.claimed.request for request in await claim(ledger, count=2))
        for request in named:
            await refused("no_drafts", claim(ledger, "ben", queue="drafts", requests=(request,)))


async def test_without_the_setting_there_are_no_drafts(tmp_path: Path) -> None:
    async with opened(scratch(tmp_path)) as ledger:
        await refused("no_drafts", claim(ledger, queue="drafts"))


async def test_named_requests_are_claimed_where_they_are_open(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units(range(5))
        reviews = ledger.label_service.reviews
        page = await reviews.waiting(head="", actor="anna", limit=3, after="")
        rest = await reviews.waiting(head="power", actor="anna", limit=3, after=page.next or "")
        names = [request.request for request in (*page.requests, *rest.requests)]
        assert (len(page.requests), len(rest.requests), rest.next, len(set(names))) == (3, 2, None, 5)
        mine = await claim(ledger, count=5, requests=(names[3], "0" * 32, "x"))
        assert [request.claimed.due for request in mine] == [(*page.requests, *rest.requests)[3].due]
        assert await claim(ledger, "ben", requests=(names[3],)) == []
        assert await claim(ledger, "ben", requests=()) == []
        listed = await reviews.waiting(head="", actor="anna", limit=5, after="")
        assert [(row.state, row.mine) for row in listed.requests if row.request == names[3]] == [("claimed", True)]
        listed = await reviews.waiting(head="", actor="ben", limit=5, after="")
        assert [row.mine for row in listed.requests] == [False] * 5
        await refused("bad_cursor", reviews.waiting(head="", actor="a", limit=5, after="nothing"))


async def test_inputs_and_flags_need_the_lease(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units([0])
        (request,) = await claim(ledger)
        reviews, (name, lease) = ledger.label_service.reviews, (request.claimed.request, request.claimed.lease)
        kind, content = await reviews.input(name, lease)
        assert (kind, len(content)) == ("application/x-demur-row-f32", 8)
        await refused("lease_lost", reviews.input(name, "0" * 32))
        await refused("lease_lost", reviews.flag(name, "0" * 32, note="odd", actor="ben"))
        await refused("bad_note", reviews.flag(name, lease, note=" ", actor="anna"))
        await reviews.flag(name, lease, note="odd", actor="anna")
        await reviews.submit(answer(request, 1.0))
        await reviews.flag(name, lease, note="odder", actor="anna")
        assert await ledger.rows(flag, "actor", "note") == [("anna", "odd"), ("anna", "odder")]
        assert (await reviews.input(name, lease))[1] == content
        assert await ledger.rows(item, "revealed") == [(None,)]

"""Opinions that were given back come again as they were, or go to others, and no reviewer can tell them."""

from dataclasses import replace

import pytest

from services.labels.label_types import Request
from services.labels.label_validation import SubmittedLabel
from services.labels.periodic_jobs import PeriodicJobs
from services.labels.review_queue import ClaimSpec
from services.ledger.contract import Place
from services.ledger.database import Database
from services.ledger.tables import opinion
from services.runtime.errors import Conflict
from tests.postgres import Postgres
from tests.services.labels.label_services import (
    DAY,
    OPTIONS,
    Opened,
    claim,
    decided,
    known,
    opened,
    release,
    submit,
    waiting,
)


@pytest.fixture
def mixed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opinions come in as many places as there are, not at random."""
    monkeypatch.setattr("services.labels.review_queue._successes", lambda trials, share: trials if share else 0)


async def _given_back(ledger: Opened) -> tuple[Request, int]:
    """Return the second opinion of ben on a label of anna, which he gave back, and the sequence of what it shows."""
    await ledger.units([0])
    (first,) = await claim(ledger, count=1)
    await submit(ledger, first)
    await decided(ledger, range(100, 104))
    handed = await claim(ledger, "ben", 4)
    ((name, sequence),) = await ledger.rows(opinion, "request", "shown_sequence")
    (second,) = (request for request in handed if request.claimed.request == name)
    await release(ledger, handed, "ben")
    return second, sequence


async def test_what_was_given_back_comes_again_as_it_was(ledger_url: str) -> None:
    """Opinions, too, with the same content, time and place; and by the name that the list has."""
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        await known(ledger, 40)
        await decided(ledger, range(100, 140))
        contents: dict[float | None, set[object]] = {}
        for _ in range(5):
            handed = await claim(ledger, count=16)
            for request in handed:
                contents.setdefault(request.claimed.due, set()).add(request.claimed.request)
            await release(ledger, handed)
        rows = await ledger.rows(opinion, "sequence", "state")
        assert 1 <= len(rows) <= 16, "no known unit was requested twice"
        assert {len(names) for names in contents.values()} == {1}, contents
        named = (await ledger.label_service.reviews.waiting(head="", actor="anna", limit=16, after="")).requests
        for row in named:
            (request,) = await ledger.label_service.reviews.claim(
                count=1, head="", actor="anna", seconds=600, requests=(row.request,)
            )
            assert {request.claimed.request} == contents[row.due]


@pytest.mark.usefixtures("mixed_in")
async def test_an_opinion_comes_again_with_its_request_whoever_claims(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        second, _ = await _given_back(ledger)
        handed = await claim(ledger, "cleo", 4)
        assert len(handed) == 4
        assert [(one.claimed.due, one.input) for one in handed if one.claimed.request == second.claimed.request] == [
            (second.claimed.due, second.input)
        ]
        assert len(await ledger.rows(opinion, "request")) == 1


@pytest.mark.usefixtures("mixed_in")
async def test_who_may_not_give_an_opinion_gets_the_request_that_it_shows_last(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        second, sequence = await _given_back(ledger)
        ids = (await ledger.label_service.reviews.queues()).ids
        others = await claim(ledger, count=3)
        assert second.claimed.due not in {request.claimed.due for request in others}
        (last,) = await claim(ledger, count=2)
        assert (last.claimed.due, ids.unit(last.claimed.request)) == (
            second.claimed.due,
            (ledger.writer.epoch, sequence),
        )


@pytest.mark.usefixtures("mixed_in")
async def test_a_request_is_kept_for_who_may_give_the_opinion_that_shows_it_for_some_days(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        second, _ = await _given_back(ledger)
        await decided(ledger, range(200, 204))
        ledger.wall.now += 6 * DAY
        kept = await claim(ledger, count=4)
        assert second.claimed.due not in {request.claimed.due for request in kept}
        await release(ledger, kept)
        ledger.wall.now += 2 * DAY
        assert second.claimed.due in {request.claimed.due for request in await claim(ledger, count=4)}


@pytest.mark.usefixtures("mixed_in")
async def test_an_opinion_whose_request_has_ended_goes_to_others_under_another_id(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        second, sequence = await _given_back(ledger)
        await ledger.take(SubmittedLabel((ledger.writer.epoch, sequence), 2.0, "requested"))
        for _ in range(8):
            await release(ledger, await claim(ledger, "ben", 3), "ben")
        assert await ledger.rows(opinion, "request", "state") == [(second.claimed.request, "requested")]
        handed = await claim(ledger, "cleo", 3)
        ids = {request.claimed.request for request in handed}
        assert {(name in ids, state) for name, state in await ledger.rows(opinion, "request", "state")} == {
            (False, "expired"),
            (True, "claimed"),
        }
        with pytest.raises(Conflict, match="has ended"):
            await submit(ledger, second, actor="ben")


@pytest.mark.usefixtures("mixed_in")
async def test_names_that_differ_in_case_are_two_reviewers(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        _, sequence = await _given_back(ledger)
        await ledger.take(SubmittedLabel((ledger.writer.epoch, sequence), 2.0, "requested"))
        await claim(ledger, "Ben", 3)
        assert ("Ben",) in await ledger.rows(opinion, "holder")


@pytest.mark.usefixtures("mixed_in")
async def test_a_unit_is_in_a_claim_once(ledger_url: str) -> None:
    """As a second opinion that comes again, as a known unit, and as one whose census label was corrected."""
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0, known_units=1.0)) as ledger:
        units = await ledger.units([0, 1])
        for request in await claim(ledger, count=2):
            await submit(ledger, request)
        await decided(ledger, range(100, 106))
        await release(ledger, await claim(ledger, "ben", 1), "ben")
        for version, value in ((1, 2.0), (2, 3.0)):
            await ledger.take(*(SubmittedLabel(unit, value, "census", key="k", version=version) for unit in units))
        assert len(await claim(ledger, "cleo", 6)) == 6
        claimed = [row[0] for row in await ledger.rows(opinion, "sequence", "holder") if row[1] == "cleo"]
        assert sorted(claimed) == [0, 1]


@pytest.mark.usefixtures("mixed_in")
async def test_a_request_that_a_draw_opened_again_keeps_no_opinion(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0, second_phase=1.0)) as ledger:
        second, _ = await _given_back(ledger)
        for request in await claim(ledger, count=4):
            name, lease = request.claimed.request, request.claimed.lease
            await ledger.label_service.reviews.skip(name, lease, reason="dark", unlabelable=False, actor="anna")
        await PeriodicJobs(ledger.label_service).expire_and_redraw()
        await decided(ledger, range(200, 203))
        handed = await claim(ledger, "cleo", 7)
        assert [row for row in await ledger.rows(opinion, "holder", "state") if row[0] == "cleo"] == [
            ("cleo", "claimed")
        ]
        assert second.claimed.request not in {request.claimed.request for request in handed}


@pytest.mark.usefixtures("mixed_in")
async def test_an_opinion_expires_with_the_deadline_that_it_shows(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        await ledger.units([0])
        (first,) = await claim(ledger, count=1)
        await submit(ledger, first)
        ledger.wall.now += 29 * DAY
        await decided(ledger, [100, 101])
        before = await claim(ledger, "ben", 2)
        await release(ledger, before, "ben")
        ledger.wall.now += 2 * DAY
        await PeriodicJobs(ledger.label_service).expire_and_redraw()
        again = await claim(ledger, "ben", 2)
        assert [one.claimed.request for one in again] == [one.claimed.request for one in before]
        ((name,),) = await ledger.rows(opinion, "request")
        ledger.wall.now += 2 * DAY
        await PeriodicJobs(ledger.label_service).end_leases_and_notify()
        for request in again:
            await submit(ledger, request, actor="ben")
        assert (name, "labelled") in await ledger.rows(opinion, "request", "state")


@pytest.mark.usefixtures("mixed_in")
async def test_requests_that_have_ended_are_kept_for_nobody(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        _, sequence = await _given_back(ledger)
        opinions = (await ledger.label_service.reviews.queues()).queue.opinions
        for expected in ({(ledger.writer.epoch, sequence)}, set()):
            kept = await ledger.writer.read(
                lambda connection: opinions.reserved(connection, ("power",), "anna", ledger.wall.now)
            )
            assert kept == expected
            await ledger.take(SubmittedLabel((ledger.writer.epoch, sequence), 2.0, "requested"))


async def test_a_claim_in_another_process_leaves_what_it_does_not_take(postgres: Postgres) -> None:
    """While one claim is not committed, another gets the requests behind it, and no opinion alone."""
    postgresql_url = postgres.database()
    async with opened(postgresql_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        await ledger.units(range(20))
        for request in await claim(ledger, count=20):
            await submit(ledger, request)
        await decided(ledger, range(100, 130))
        await release(ledger, await claim(ledger, "ben", 15), "ben")
        listed = [row.due for row in (await waiting(ledger, "cleo")).values()]
        queue = (await ledger.label_service.reviews.queues()).queue
        place, spec = Place(ledger.writer.epoch, 10**6), ClaimSpec(1, ("power",))
        with Database(postgresql_url).writing().begin() as connection:
            (mine,) = queue.claim(connection, place, spec, actor="anna", seconds=600, now=ledger.wall.now)
            theirs = await claim(ledger, "cleo", 40)
        assert [request.claimed.due for request in theirs] == [due for due in listed if due != mine.due]

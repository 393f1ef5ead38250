"""Opinions look like requests wherever requests are counted or listed."""

from dataclasses import replace

import pytest

from services.labels.label_types import Request
from services.labels.label_validation import SubmittedLabel
from services.labels.periodic_jobs import PeriodicJobs
from services.labels.review_queue import ClaimSpec
from services.labels.submissions import Answer
from services.labels.waiting_requests import WaitingRequest
from services.ledger.contract import Place
from services.ledger.database import Database
from services.ledger.tables import UNASKED, label, opinion
from services.runtime.errors import Conflict
from tests.postgres import Postgres
from tests.services.labels.label_services import DAY, OPTIONS, POWER, RAIN, Opened, opened


async def _counts(ledger: Opened) -> tuple[int, int]:
    counts = (await ledger.label_service.reviews.counts())["power"]
    return counts["requested"], counts["claimed"]


async def _list(ledger: Opened, actor: str) -> dict[str, WaitingRequest]:
    page = await ledger.label_service.reviews.waiting(head="", actor=actor, limit=1000, after="")
    return {row.request: row for row in page.requests}


async def _listed(ledger: Opened, actor: str) -> list[float | None]:
    """Times of expiry of the listed requests that the reviewer holds, in the order of the list."""
    return [row.due for row in (await _list(ledger, actor)).values() if row.mine]


async def _claim(ledger: Opened, count: int, actor: str = "anna") -> list[Request]:
    return await ledger.label_service.reviews.claim(count=count, head="", actor=actor, seconds=600)


async def _submit(ledger: Opened, request: Request, actor: str = "anna") -> None:
    name, lease = request.claimed.request, request.claimed.lease
    await ledger.label_service.reviews.submit(Answer(name, lease, 2.0, actor, seconds=1.0))


async def _with_known(ledger: Opened, count: int) -> None:
    known = await ledger.units(range(count), state=UNASKED, census=1)
    await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
    ledger.wall.now += 5 * DAY


async def test_a_claim_of_known_units_looks_like_any_other(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        await _with_known(ledger, 3)
        await ledger.units(range(100, 140))
        ledger.wall.now += 60
        assert await _counts(ledger) == (40, 0)
        handed = await _claim(ledger, 3)
        assert await _counts(ledger) == (37, 3)
        assert await ledger.states() == ["unasked"] * 3 + ["requested"] * 40, "all three are known"
        mine = await _listed(ledger, "anna")
        assert mine == [request.claimed.due for request in handed]
        assert {request.claimed.due for request in handed} == {ledger.wall.now - 60 + 30 * DAY}, "of the others"
        page = await ledger.label_service.reviews.waiting(head="", actor="ben", limit=100, after="")
        assert len(page.requests) == 40
        assert sum(row.state == "claimed" for row in page.requests) == 3


async def test_the_list_goes_on_behind_a_stand_in(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        known = await ledger.units(range(3), state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        await ledger.units(range(100, 105))
        await _claim(ledger, 3)
        rows, after = [], ""
        while True:
            page = await ledger.label_service.reviews.waiting(head="", actor="anna", limit=1, after=after)
            rows += page.requests
            if page.next is None:
                break
            after = page.next
        assert len({row.request for row in rows}) == 5
        assert sum(row.mine for row in rows) == 3
        assert [row.time for row in rows] == sorted(row.time for row in rows)


async def _decided(ledger: Opened, sequences: range) -> None:
    """One unit a minute."""
    for sequence in sequences:
        ledger.wall.now += 60
        await ledger.units([sequence])


async def test_times_stay_the_same_while_others_claim(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        await _with_known(ledger, 40)
        await _decided(ledger, range(100, 140))
        seen: dict[str, list[tuple[float | None, float]]] = {}
        handed = await _claim(ledger, 8)
        for _ in range(6):
            page = await ledger.label_service.reviews.waiting(head="", actor="anna", limit=100, after="")
            assert len({row.time for row in page.requests}) == len(page.requests) == 40, "as many as were decided"
            assert [row.time for row in page.requests] == sorted(row.time for row in page.requests)
            for row in page.requests:
                if row.mine:
                    seen.setdefault(row.request, []).append((row.due, row.time))
            assert len(await ledger.label_service.reviews.claim(count=5, head="", actor="ben", seconds=600)) == 5
        assert sum(state == "unasked" for state in await ledger.states()) >= 1
        assert len(seen) == len(handed) == 8
        assert all(len(times) == 6 and len(set(times)) == 1 for times in seen.values()), seen
        assert sorted(times[0][0] or 0 for times in seen.values()) == [request.claimed.due for request in handed]


async def test_a_claim_of_opinions_and_requests_shows_the_times_of_the_next_requests_in_order(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        await _with_known(ledger, 40)
        await _decided(ledger, range(100, 140))
        first = ledger.wall.now - 39 * 60
        ids = (await ledger.label_service.reviews.queues()).ids
        places = []
        for part in range(4):
            handed = await _claim(ledger, 8)
            expiry = [request.claimed.due for request in handed]
            assert expiry == [first + 30 * DAY + 60 * n for n in range(8 * part, 8 * part + 8)]
            requests = [request.claimed.request for request in handed]
            places += [n for n, name in enumerate(requests) if (ids.unit(name) or (0, 0))[0] != ledger.writer.epoch]
        assert len(set(places)) > 4, "opinions are anywhere"


async def test_a_request_that_is_hidden_comes_back_with_the_label_or_the_end_of_the_lease(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        known = await ledger.units(range(2), state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        await ledger.units(range(100, 102))
        reviews = ledger.label_service.reviews
        assert len(await _claim(ledger, 2)) == 2
        assert await reviews.claim(count=2, head="", actor="ben", seconds=600) == []
        assert await _counts(ledger) == (0, 2)
        ledger.wall.now += 601
        for request in await _claim(ledger, 4):
            await _submit(ledger, request)
        ids = (await reviews.queues()).ids
        left = [ids.unit(request.claimed.request) for request in await _claim(ledger, 4)]
        assert set(left) == {(ledger.writer.epoch, 100), (ledger.writer.epoch, 101)}


async def test_a_place_that_somebody_answered_is_kept(ledger_url: str) -> None:
    """The request whose times are shown is labelled from elsewhere: another one is hidden, and the times stay."""
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        known = await ledger.units([0], state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        await _decided(ledger, range(100, 103))
        (request,) = await _claim(ledger, 1)
        before = await _listed(ledger, "anna")
        await ledger.take(SubmittedLabel((ledger.writer.epoch, 100), 2.0, "requested"))
        assert await _listed(ledger, "anna") == before == [request.claimed.due]
        assert await _counts(ledger) == (1, 1)


async def test_the_requests_behind_those_places_are_hidden_then(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        known = await ledger.units(range(4), state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        await _decided(ledger, range(100, 106))
        times = [row.due for row in (await _list(ledger, "anna")).values()]
        handed = await _claim(ledger, 4)
        await ledger.take(*(SubmittedLabel((ledger.writer.epoch, n), 2.0, "requested") for n in (100, 103)))
        await _release(ledger, handed[1:3])
        rows = [(times.index(row.due), row.state) for row in (await _list(ledger, "anna")).values()]
        assert rows == [(0, "claimed"), (2, "requested"), (3, "claimed"), (5, "requested")]


async def _release(ledger: Opened, requests: list[Request], actor: str = "anna") -> None:
    for request in requests:
        name, lease = request.claimed.request, request.claimed.lease
        await ledger.label_service.reviews.release(name, lease, actor=actor, reason="lunch")


async def test_the_list_before_and_after_a_claim_tells_no_opinion(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        await _with_known(ledger, 40)
        await _decided(ledger, range(100, 140))
        before = await _list(ledger, "ben")
        handed = await _claim(ledger, 16)
        assert 1 <= sum(state == "requested" for state in await ledger.states()) - 24 <= 15, "opinions and requests"
        for actor in ("anna", "ben"):
            after = await _list(ledger, actor)
            assert list(after) == list(before)
            changed = [row for name, row in after.items() if row != before[name]]
            assert [row.due for row in changed] == [request.claimed.due for request in handed]
            assert {(row.state, row.mine) for row in changed} == {("claimed", actor == "anna")}


async def test_what_was_given_back_comes_again_as_it_was(ledger_url: str) -> None:
    """Opinions, too, with the same content, time and place; and by the name that the list has."""
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        await _with_known(ledger, 40)
        await _decided(ledger, range(100, 140))
        contents: dict[float | None, set[object]] = {}
        for _ in range(5):
            handed = await _claim(ledger, 16)
            for request in handed:
                contents.setdefault(request.claimed.due, set()).add(request.claimed.request)
            await _release(ledger, handed)
        rows = await ledger.rows(opinion, "sequence", "state")
        assert 1 <= len(rows) <= 16, "no known unit was requested twice"
        assert {len(names) for names in contents.values()} == {1}, contents
        named = (await ledger.label_service.reviews.waiting(head="", actor="anna", limit=16, after="")).requests
        for row in named:
            (request,) = await ledger.label_service.reviews.claim(
                count=1, head="", actor="anna", seconds=600, requests=(row.request,)
            )
            assert {request.claimed.request} == contents[row.due]


@pytest.fixture
def mixed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opinions come in as many places as there are, not at random."""
    monkeypatch.setattr("services.labels.review_queue._successes", lambda trials, share: trials if share else 0)


async def _given_back(ledger: Opened) -> tuple[Request, int]:
    """Return the second opinion of ben on a label of anna, which he gave back, and the sequence of what it shows."""
    await ledger.units([0])
    (first,) = await _claim(ledger, 1)
    await _submit(ledger, first)
    await _decided(ledger, range(100, 104))
    handed = await _claim(ledger, 4, "ben")
    ((name, sequence),) = await ledger.rows(opinion, "request", "shown_sequence")
    (second,) = (request for request in handed if request.claimed.request == name)
    await _release(ledger, handed, "ben")
    return second, sequence


@pytest.mark.usefixtures("mixed_in")
async def test_an_opinion_comes_again_with_its_request_whoever_claims(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        second, _ = await _given_back(ledger)
        handed = await _claim(ledger, 4, "cleo")
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
        others = await _claim(ledger, 3)
        assert second.claimed.due not in {request.claimed.due for request in others}
        (last,) = await _claim(ledger, 2)
        assert (last.claimed.due, ids.unit(last.claimed.request)) == (
            second.claimed.due,
            (ledger.writer.epoch, sequence),
        )


@pytest.mark.usefixtures("mixed_in")
async def test_a_request_is_kept_for_who_may_give_the_opinion_that_shows_it_for_some_days(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        second, _ = await _given_back(ledger)
        await _decided(ledger, range(200, 204))
        ledger.wall.now += 6 * DAY
        kept = await _claim(ledger, 4)
        assert second.claimed.due not in {request.claimed.due for request in kept}
        await _release(ledger, kept)
        ledger.wall.now += 2 * DAY
        assert second.claimed.due in {request.claimed.due for request in await _claim(ledger, 4)}


@pytest.mark.usefixtures("mixed_in")
async def test_an_opinion_whose_request_has_ended_goes_to_others_under_another_id(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        second, sequence = await _given_back(ledger)
        await ledger.take(SubmittedLabel((ledger.writer.epoch, sequence), 2.0, "requested"))
        for _ in range(8):
            await _release(ledger, await _claim(ledger, 3, "ben"), "ben")
        assert await ledger.rows(opinion, "request", "state") == [(second.claimed.request, "requested")]
        handed = await _claim(ledger, 3, "cleo")
        ids = {request.claimed.request for request in handed}
        assert {(name in ids, state) for name, state in await ledger.rows(opinion, "request", "state")} == {
            (False, "expired"),
            (True, "claimed"),
        }
        with pytest.raises(Conflict, match="has ended"):
            await _submit(ledger, second, "ben")


async def test_units_of_a_second_phase_stand_for_none(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0, second_phase=1.0)) as ledger:
        await _with_known(ledger, 3)
        await ledger.units([100])
        ledger.wall.now += 31 * DAY
        await PeriodicJobs(ledger.label_service).expire_and_redraw()
        (request,) = await _claim(ledger, 3)
        assert request.claimed.must_complete, "the request itself"
        assert request.claimed.due is None


async def test_a_request_of_each_head_is_shown_by_opinions_of_that_head(ledger_url: str) -> None:
    async with opened(ledger_url, heads=(POWER, RAIN), options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        await ledger.units(range(4), head="rain")
        for request in await _claim(ledger, 4):
            await _submit(ledger, request)
        await _decided(ledger, range(100, 103))
        ledger.wall.now += 60
        await ledger.units([103], head="rain")
        times = [row.due for row in (await _list(ledger, "ben")).values()]
        handed = await ledger.label_service.reviews.claim(count=3, head="", actor="ben", seconds=600)
        assert [request.claimed.due for request in handed] == times[:3], "the oldest come first"


async def test_all_that_is_left_takes_no_request_away(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        await ledger.units(range(3))
        for request in await _claim(ledger, 3):
            await _submit(ledger, request)
        await ledger.units(range(10, 12))
        handed = await ledger.label_service.reviews.claim(count=5, head="", actor="ben", seconds=600)
        assert len(handed) == 5 - sum(state == "requested" for (state,) in await ledger.rows(opinion, "state")) - sum(
            state == "requested" for state in (await ledger.states())[3:]
        )
        assert len(handed) >= 3
        assert await _counts(ledger) == (0, 2)


@pytest.mark.usefixtures("mixed_in")
async def test_names_that_differ_in_case_are_two_reviewers(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        _, sequence = await _given_back(ledger)
        await ledger.take(SubmittedLabel((ledger.writer.epoch, sequence), 2.0, "requested"))
        await _claim(ledger, 3, "Ben")
        assert ("Ben",) in await ledger.rows(opinion, "holder")


@pytest.mark.usefixtures("mixed_in")
async def test_a_unit_is_in_a_claim_once(ledger_url: str) -> None:
    """As a second opinion that comes again, as a known unit, and as one whose census label was corrected."""
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0, known_units=1.0)) as ledger:
        units = await ledger.units([0, 1])
        for request in await _claim(ledger, 2):
            await _submit(ledger, request)
        await _decided(ledger, range(100, 106))
        await _release(ledger, await _claim(ledger, 1, "ben"), "ben")
        for version, value in ((1, 2.0), (2, 3.0)):
            await ledger.take(*(SubmittedLabel(unit, value, "census", key="k", version=version) for unit in units))
        assert len(await _claim(ledger, 6, "cleo")) == 6
        claimed = [row[0] for row in await ledger.rows(opinion, "sequence", "holder") if row[1] == "cleo"]
        assert sorted(claimed) == [0, 1]


async def test_known_units_are_compared_with_the_newest_census_label(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        (unit,) = await ledger.units([0], state=UNASKED, census=1)
        for version, value in ((1, 2.0), (2, 3.0)):
            await ledger.take(SubmittedLabel(unit, value, "census", key="k", version=version))
        await ledger.units(range(100, 104))
        await _claim(ledger, 4)
        ((compared,),) = await ledger.rows(opinion, "label")
        assert [row[1] for row in await ledger.rows(label, "id", "version") if row[0] == compared] == [2]


@pytest.mark.usefixtures("mixed_in")
async def test_a_request_that_a_draw_opened_again_keeps_no_opinion(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0, second_phase=1.0)) as ledger:
        second, _ = await _given_back(ledger)
        for request in await _claim(ledger, 4):
            name, lease = request.claimed.request, request.claimed.lease
            await ledger.label_service.reviews.skip(name, lease, reason="dark", unlabelable=False, actor="anna")
        await PeriodicJobs(ledger.label_service).expire_and_redraw()
        await _decided(ledger, range(200, 203))
        handed = await _claim(ledger, 7, "cleo")
        assert [row for row in await ledger.rows(opinion, "holder", "state") if row[0] == "cleo"] == [
            ("cleo", "claimed")
        ]
        assert second.claimed.request not in {request.claimed.request for request in handed}


@pytest.mark.usefixtures("mixed_in")
async def test_an_opinion_expires_with_the_deadline_that_it_shows(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        await ledger.units([0])
        (first,) = await _claim(ledger, 1)
        await _submit(ledger, first)
        ledger.wall.now += 29 * DAY
        await _decided(ledger, [100, 101])
        before = await _claim(ledger, 2, "ben")
        await _release(ledger, before, "ben")
        ledger.wall.now += 2 * DAY
        await PeriodicJobs(ledger.label_service).expire_and_redraw()
        again = await _claim(ledger, 2, "ben")
        assert [one.claimed.request for one in again] == [one.claimed.request for one in before]
        ledger.wall.now += 2 * DAY
        await PeriodicJobs(ledger.label_service).end_leases_and_notify()
        for request in again:
            await _submit(ledger, request, "ben")
        assert {state for (state,) in await ledger.rows(opinion, "state")} >= {"labelled"}


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
        for request in await _claim(ledger, 20):
            await _submit(ledger, request)
        await _decided(ledger, range(100, 130))
        await _release(ledger, await _claim(ledger, 15, "ben"), "ben")
        listed = [row.due for row in (await _list(ledger, "cleo")).values()]
        queue = (await ledger.label_service.reviews.queues()).queue
        place, spec = Place(ledger.writer.epoch, 10**6), ClaimSpec(1, ("power",))
        with Database(postgresql_url).writing().begin() as connection:
            (mine,) = queue.claim(connection, place, spec, actor="anna", seconds=600, now=ledger.wall.now)
            theirs = await _claim(ledger, 40, "cleo")
        assert [request.claimed.due for request in theirs] == [due for due in listed if due != mine.due]

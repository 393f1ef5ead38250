"""Opinions look like requests wherever requests are counted or listed."""

from dataclasses import replace

from services.labels.label_validation import SubmittedLabel
from services.labels.periodic_jobs import PeriodicJobs
from services.ledger.tables import UNASKED, opinion
from tests.services.labels.label_services import (
    DAY,
    OPTIONS,
    POWER,
    RAIN,
    Opened,
    claim,
    decided,
    known,
    opened,
    release,
    submit,
    waiting,
)


async def _counts(ledger: Opened) -> tuple[int, int]:
    counts = (await ledger.label_service.reviews.counts())["power"]
    return counts["requested"], counts["claimed"]


async def _listed(ledger: Opened, actor: str) -> list[float | None]:
    """Times of expiry of the listed requests that the reviewer holds, in the order of the list."""
    return [row.due for row in (await waiting(ledger, actor)).values() if row.mine]


async def test_a_claim_of_known_units_looks_like_any_other(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        await known(ledger, 3)
        await ledger.units(range(100, 140))
        ledger.wall.now += 60
        assert await _counts(ledger) == (40, 0)
        handed = await claim(ledger, count=3)
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
        await claim(ledger, count=3)
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


async def test_times_stay_the_same_while_others_claim(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        await known(ledger, 40)
        await decided(ledger, range(100, 140))
        seen: dict[str, list[tuple[float | None, float]]] = {}
        handed = await claim(ledger, count=8)
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
        await known(ledger, 40)
        await decided(ledger, range(100, 140))
        first = ledger.wall.now - 39 * 60
        ids = (await ledger.label_service.reviews.queues()).ids
        places = []
        for part in range(4):
            handed = await claim(ledger, count=8)
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
        assert len(await claim(ledger, count=2)) == 2
        assert await reviews.claim(count=2, head="", actor="ben", seconds=600) == []
        assert await _counts(ledger) == (0, 2)
        ledger.wall.now += 601
        for request in await claim(ledger, count=4):
            await submit(ledger, request)
        ids = (await reviews.queues()).ids
        left = [ids.unit(request.claimed.request) for request in await claim(ledger, count=4)]
        assert set(left) == {(ledger.writer.epoch, 100), (ledger.writer.epoch, 101)}


async def test_a_place_that_somebody_answered_is_kept(ledger_url: str) -> None:
    """The request whose times are shown is labelled from elsewhere: another one is hidden, and the times stay."""
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        known = await ledger.units([0], state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        await decided(ledger, range(100, 103))
        (request,) = await claim(ledger, count=1)
        before = await _listed(ledger, "anna")
        await ledger.take(SubmittedLabel((ledger.writer.epoch, 100), 2.0, "requested"))
        assert await _listed(ledger, "anna") == before == [request.claimed.due]
        assert await _counts(ledger) == (1, 1)


async def test_the_requests_behind_those_places_are_hidden_then(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        known = await ledger.units(range(4), state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        await decided(ledger, range(100, 106))
        times = [row.due for row in (await waiting(ledger, "anna")).values()]
        handed = await claim(ledger, count=4)
        await ledger.take(*(SubmittedLabel((ledger.writer.epoch, n), 2.0, "requested") for n in (100, 103)))
        await release(ledger, handed[1:3])
        rows = [(times.index(row.due), row.state) for row in (await waiting(ledger, "anna")).values()]
        assert rows == [(0, "claimed"), (2, "requested"), (3, "claimed"), (5, "requested")]


async def test_the_list_before_and_after_a_claim_tells_no_opinion(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=0.5)) as ledger:
        await known(ledger, 40)
        await decided(ledger, range(100, 140))
        before = await waiting(ledger, "ben")
        handed = await claim(ledger, count=16)
        assert 1 <= sum(state == "requested" for state in await ledger.states()) - 24 <= 15, "opinions and requests"
        for actor in ("anna", "ben"):
            after = await waiting(ledger, actor)
            assert list(after) == list(before)
            changed = [row for name, row in after.items() if row != before[name]]
            assert [row.due for row in changed] == [request.claimed.due for request in handed]
            assert {(row.state, row.mine) for row in changed} == {("claimed", actor == "anna")}


async def test_units_of_a_second_phase_stand_for_none(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0, second_phase=1.0)) as ledger:
        await known(ledger, 3)
        await ledger.units([100])
        ledger.wall.now += 31 * DAY
        await PeriodicJobs(ledger.label_service).expire_and_redraw()
        (request,) = await claim(ledger, count=3)
        assert request.claimed.must_complete, "the request itself"
        assert request.claimed.due is None


async def test_a_request_of_each_head_is_shown_by_opinions_of_that_head(ledger_url: str) -> None:
    async with opened(ledger_url, heads=(POWER, RAIN), options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        await ledger.units(range(4), head="rain")
        for request in await claim(ledger, count=4):
            await submit(ledger, request)
        await decided(ledger, range(100, 103))
        ledger.wall.now += 60
        await ledger.units([103], head="rain")
        times = [row.due for row in (await waiting(ledger, "ben")).values()]
        handed = await ledger.label_service.reviews.claim(count=3, head="", actor="ben", seconds=600)
        assert [request.claimed.due for request in handed] == times[:3], "the oldest come first"


async def test_all_that_is_left_takes_no_request_away(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, second_opinions=1.0)) as ledger:
        await ledger.units(range(3))
        for request in await claim(ledger, count=3):
            await submit(ledger, request)
        await ledger.units(range(10, 12))
        handed = await ledger.label_service.reviews.claim(count=5, head="", actor="ben", seconds=600)
        assert len(handed) == 5 - sum(state == "requested" for (state,) in await ledger.rows(opinion, "state")) - sum(
            state == "requested" for state in (await ledger.states())[3:]
        )
        assert len(handed) >= 3
        assert await _counts(ledger) == (0, 2)

"""Opinions look like requests wherever requests are counted or listed."""

from dataclasses import replace

from services.labels.label_types import Request
from services.labels.label_validation import SubmittedLabel
from services.ledger.tables import UNASKED
from tests.services.labels.label_services import DAY, OPTIONS, Opened, opened


async def _counts(ledger: Opened) -> tuple[int, int]:
    counts = (await ledger.label_service.reviews.counts())["power"]
    return counts["requested"], counts["claimed"]


async def _listed(ledger: Opened, actor: str) -> dict[str, float | None]:
    """Time of expiry of the listed requests that the reviewer holds."""
    page = await ledger.label_service.reviews.waiting(head="", actor=actor, limit=100, after="")
    return {row.request: row.due for row in page.requests if row.mine}


async def _claim(ledger: Opened, count: int) -> list[Request]:
    return await ledger.label_service.reviews.claim(count=count, head="", actor="anna", seconds=600)


async def test_a_claim_of_known_units_looks_like_any_other(ledger_url: str) -> None:
    async with opened(ledger_url, options=replace(OPTIONS, known_units=1.0)) as ledger:
        known = await ledger.units(range(3), state=UNASKED, census=1)
        await ledger.take(*(SubmittedLabel(unit, 2.0, "census") for unit in known))
        ledger.wall.now += 5 * DAY
        await ledger.units(range(100, 140))
        ledger.wall.now += 60
        assert await _counts(ledger) == (40, 0)
        handed = await _claim(ledger, 3)
        assert await _counts(ledger) == (37, 3)
        assert await ledger.states() == ["unasked"] * 3 + ["requested"] * 40, "all three are known"
        mine = await _listed(ledger, "anna")
        assert mine == {request.claimed.request: request.claimed.due for request in handed}
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

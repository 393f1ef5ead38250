"""What became of units: what callers are told, and when those who wait are."""

import asyncio
from typing import Any

import pytest

from services.labels.label_validation import SubmittedLabel
from services.labels.resolution import Resolution, Resolver
from services.labels.resolution_view import ResolutionView
from services.ledger.tables import label
from services.runtime.errors import InvalidInput, LedgerUnavailable, NotFound
from tests.services.labels.label_services import EPOCH, Wall, opened

LONG = 600.0
"""Seconds to wait: more than the test may take."""


async def test_every_state_has_its_status(ledger_url: str) -> None:
    states = ("requested", "claimed", "skipped", "expired", "unlabelable")
    async with opened(ledger_url) as ledger:
        for sequence, state in enumerate(states):
            await ledger.units([sequence], state=state)
        await ledger.units([5], erased=1.0)
        units = [(EPOCH, n) for n in (4, 3, 2, 1, 0, 5, 6, 0)]
        resolutions = await ledger.label_service.resolve(units)
        assert [resolution.unit for resolution in resolutions] == units
        assert [(resolution.status, resolution.state) for resolution in resolutions] == [
            ("unresolved", "unlabelable"),
            ("unresolved", "expired"),
            ("unresolved", "skipped"),
            ("pending", "claimed"),
            ("pending", "requested"),
            ("erased", "requested"),
            ("unknown", ""),
            ("pending", "requested"),
        ]
        with pytest.raises(NotFound, match="unit = 0123456789abcdef-6"):
            await ledger.label_service.resolve_one((EPOCH, 6), 0)


async def test_who_was_asked_counts_before_a_census(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        await ledger.take(SubmittedLabel(unit, 9.0, source="census", version=9))
        assert (await ledger.label_service.resolve([unit]))[0].value == 9.0
        await ledger.take(SubmittedLabel(unit, 1.0))
        (resolution,) = await ledger.label_service.resolve([unit])
        assert (resolution.value, resolution.source, resolution.state) == (1.0, "requested", "labelled")


async def test_a_unit_under_a_census_waits_for_its_label_without_a_request(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0], audited=lambda n: True, state="unasked", census=1)
        (resolution,) = await ledger.label_service.resolve([unit])
        assert (resolution.status, resolution.state) == ("pending", "")
        assert await ledger.label_service.reviews.counts() == {}
        assert await ledger.label_service.reviews.claim(count=5, head="", actor="ann", seconds=60) == []
        await ledger.take(SubmittedLabel(unit, 9.0, source="census"))
        (resolution,) = await ledger.label_service.resolve([unit])
        assert (resolution.status, resolution.value, resolution.state) == ("resolved", 9.0, "")


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers may wait longer than a test may take."""
    monkeypatch.setattr("services.labels.service.MOST_WAIT_SECONDS", LONG)


@pytest.mark.usefixtures("patience")
async def test_who_waits_is_told_at_once_and_who_waits_in_vain_in_time(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: dict[float | None, asyncio.Timeout] = {}
    timeout = asyncio.timeout

    def kept(seconds: float | None) -> asyncio.Timeout:
        ends[seconds] = timeout(seconds)
        return ends[seconds]

    async with opened(ledger_url) as ledger:
        first, second = await ledger.units([0, 1])
        ledger.label_service.resolver._poll_seconds = LONG
        monkeypatch.setattr(asyncio, "timeout", kept)
        waiting = [asyncio.create_task(ledger.label_service.resolve([first], LONG)) for _ in range(50)]
        both = asyncio.create_task(ledger.label_service.resolve([first, second], LONG - 1))
        async with timeout(60):  # neither by a poll nor when the time is over
            while len(ledger.label_service.resolver._waiting.get(first, ())) < 51:
                await asyncio.sleep(0.01)
            await ledger.take(SubmittedLabel(first, 3.0))
            assert {resolutions[0].value for resolutions in await asyncio.gather(*waiting)} == {3.0}
            ends[LONG - 1].reschedule(asyncio.get_running_loop().time())
            assert [resolution.status for resolution in await both] == ["resolved", "pending"]
        assert ledger.label_service.resolver._waiting == {}


@pytest.mark.usefixtures("patience")
async def test_a_request_that_ends_without_a_label_ends_the_wait(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        waiting = asyncio.create_task(ledger.label_service.resolve([unit], LONG))
        (request,) = await ledger.label_service.reviews.claim(count=1, head="", actor="a", seconds=60)
        claimed = request.claimed
        await ledger.label_service.reviews.skip(
            claimed.request, claimed.lease, reason="r", unlabelable=False, actor="a"
        )
        async with asyncio.timeout(60):
            ((resolution,)) = await waiting
        assert (resolution.status, resolution.state) == ("unresolved", "skipped")


@pytest.mark.usefixtures("patience")
async def test_labels_that_came_through_another_process_are_seen(postgres: Any) -> None:
    url, wall = postgres.database(), Wall()
    async with opened(url, wall=wall) as ledger, opened(url, epoch=7, wall=wall) as other:
        (unit,) = await ledger.units([0])
        waiting = asyncio.create_task(ledger.label_service.resolve([unit], LONG))
        await asyncio.sleep(0.05)
        await other.take(SubmittedLabel(unit, 2.0))
        async with asyncio.timeout(60):
            assert (await waiting)[0].value == 2.0


async def test_watching_yields_each_unit_once(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        units = await ledger.units(range(3))
        await ledger.take(SubmittedLabel(units[1], 1.0))
        resolutions: list[ResolutionView] = []

        async def watch() -> None:
            resolutions.extend([resolution async for resolution in ledger.label_service.watch(units)])

        watching = asyncio.create_task(watch())
        await asyncio.sleep(0.1)
        assert [resolution.unit for resolution in resolutions] == []
        await ledger.take(SubmittedLabel(units[2], 2.0), SubmittedLabel(units[0], 0.0))
        async with asyncio.timeout(60):
            await watching
        assert sorted(resolution.unit for resolution in resolutions) == units
        assert resolutions[0].unit == units[1]


async def test_one_poll_serves_all_and_a_ledger_that_is_down_is_asked_again() -> None:
    looks: list[int] = []
    units = [(1, n) for n in range(100)]
    state = {"down": False, "labelled": False}

    async def read(query: Any) -> list[Resolution]:
        raise NotImplementedError

    resolver = Resolver(read, poll_seconds=0.01)

    async def get(requested: Any) -> list[Resolution]:
        looks.append(len(requested))
        if state["down"]:
            raise LedgerUnavailable("down")
        return [Resolution(unit, "resolved" if state["labelled"] else "pending") for unit in requested]

    resolver.get = get  # type: ignore[method-assign]
    waiting = [asyncio.create_task(resolver.wait([unit], LONG)) for unit in units]
    await asyncio.sleep(0.1)
    assert max(looks) == 100
    first = len(looks)
    state["down"] = True
    await asyncio.sleep(0.1)
    assert first < len(looks) < first + 20
    state.update(down=False, labelled=True)
    async with asyncio.timeout(60):
        assert all(resolutions[0].final for resolutions in await asyncio.gather(*waiting))
    await asyncio.sleep(0.05)
    last = len(looks)
    await asyncio.sleep(0.05)
    assert len(looks) == last, "nobody waits, nobody looks"


async def test_questions_have_bounds(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        for units, wait in (([], 0.0), ([(EPOCH, n) for n in range(10_001)], 0.0), ([(EPOCH, 0)], 60.5)):
            with pytest.raises(InvalidInput) as caught:
                await ledger.label_service.resolve(units, wait)
            assert caught.value.code == "out_of_range"


async def test_an_erased_unit_is_forgotten_and_takes_no_more_labels(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        unit, other = await ledger.units([0, 1])
        census = (EPOCH, 50)
        await ledger.take(SubmittedLabel(unit, 4.0), SubmittedLabel(census, 6.0, source="census"))
        assert await ledger.label_service.erase([unit, census], actor="officer", reason="asked to") == 2
        assert await ledger.label_service.erase([unit, census], actor="officer", reason="asked to") == 0
        resolutions = await ledger.label_service.resolve([unit, other, census])
        assert [resolution.status for resolution in resolutions] == ["erased", "pending", "unknown"]
        late = (SubmittedLabel(unit, 5.0, version=2), SubmittedLabel(census, 7.0, source="census"))
        assert await ledger.take(*late) == ["unit_erased", "unit_erased"]
        assert [value for *_, value in await ledger.labels()] == [None, None]
        errors = await ledger.rows(label, "sequence", "error")
        assert errors == [(0, 9.0), (50, None)], "(4 kW - 1 kW) squared, computed before"
        with pytest.raises(InvalidInput, match="must not be empty to"):
            await ledger.label_service.erase([other], actor="officer", reason=" ")

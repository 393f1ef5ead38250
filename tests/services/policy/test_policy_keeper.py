"""Policies in the ledger: compare and set, one history, and the same policy on every replica within two seconds."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.calibration import Calibration, retention_table
from services.ledger import policies
from services.ledger.commit_queue import Clock
from services.ledger.database import Database
from services.ledger.writer import Writer
from services.policy import sync
from services.policy.changes import PolicyChange
from services.policy.decision import DEFER_ALL, Policy, PolicyBook
from services.policy.log import Bound
from services.policy.sync import POLL_SECONDS, QUALIFICATION, SETTINGS, PolicyKeeper
from services.runtime.errors import Conflict, InvalidInput

BOUND = Bound("toy", "m:1", "cpu")
POLICY = Policy("power", "m:1", "cpu", "tvar", 2.0, "fixed")
QUALIFIED = replace(POLICY, profile="cuda", threshold=1.0)
UNQUALIFIED = replace(QUALIFIED, threshold=DEFER_ALL, mode="defer_all", reason="being qualified")
CALIBRATION = Calibration(retention_table("tvar", np.arange(1, 1001, dtype=np.float32)), {})


@asynccontextmanager
async def writing(url: str, epoch: int = 1) -> AsyncIterator[Writer]:
    writer = Writer(Database(url), epoch=epoch, task="toy", clock=Clock())
    await writer.start()
    try:
        yield writer
    finally:
        await writer.stop()


@asynccontextmanager
async def keeping(
    writer: Writer, policy: Policy = POLICY, bound: Bound = BOUND
) -> AsyncIterator[tuple[PolicyKeeper, PolicyBook]]:
    book = PolicyBook({policy.head: policy})
    keeper = PolicyKeeper(book, writer, policies, bound, {policy.head: CALIBRATION}, time.time, audit_floor=0.2)
    await keeper.start()
    try:
        while not await keeper.history(policy.head):
            await asyncio.sleep(0.01)
        yield keeper, book
    finally:
        await keeper.stop()


async def reached(book: PolicyBook, threshold: float, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while book["power"].threshold != threshold:
        assert time.monotonic() < end, "the change did not arrive in time"
        await asyncio.sleep(0.01)


async def test_a_change_holds_on_every_replica_within_two_seconds(ledger_url: str) -> None:
    """Two processes on PostgreSQL; SQLite has one, whose two books stand for two."""
    async with AsyncExitStack() as stack:
        ledger_writer = other = await stack.enter_async_context(writing(ledger_url))
        if ledger_url.startswith("postgresql"):
            other = await stack.enter_async_context(writing(ledger_url, 2))
        keeper, book = await stack.enter_async_context(keeping(ledger_writer))
        _, far = await stack.enter_async_context(keeping(other))
        await keeper.set(PolicyChange("power", threshold=3.0, author="ada", reason="calm sea"))
        assert book["power"].threshold == 3.0
        await reached(far, 3.0)


async def test_every_change_is_an_event(ledger_url: str) -> None:
    async with writing(ledger_url) as writer, keeping(writer) as (keeper, _):
        await keeper.set(PolicyChange("power", threshold=3.0, author="ada", reason="calm sea"))
        await keeper.set(PolicyChange("power", target_retention=0.9, author="bo"))
        events = await keeper.history("power")
    assert [(event.number, event.author) for event in events] == [(3, "bo"), (2, "ada"), (1, SETTINGS)]
    assert events[1].reason == "calm sea"
    assert events[0].policy.threshold == 901.0
    assert events[2].policy == POLICY


async def test_a_change_made_for_another_policy_is_refused(ledger_url: str) -> None:
    async with writing(ledger_url) as writer, keeping(writer) as (keeper, book):
        seen = book["power"].version
        await keeper.set(PolicyChange("power", expected=seen, threshold=3.0))
        with pytest.raises(Conflict) as refused:
            await keeper.set(PolicyChange("power", expected=seen, threshold=4.0))
        assert refused.value.allowed == book["power"].version
        assert book["power"].threshold == 3.0


async def test_of_changes_at_once_for_the_same_policy_one_wins(ledger_url: str) -> None:
    async with writing(ledger_url) as writer, keeping(writer) as (keeper, book):
        seen = book["power"].version
        wishes = [keeper.set(PolicyChange("power", expected=seen, threshold=float(k))) for k in range(10, 18)]
        outcomes = await asyncio.gather(*wishes, return_exceptions=True)
        assert sum(not isinstance(outcome, Exception) for outcome in outcomes) == 1
        assert all(isinstance(outcome, Conflict) for outcome in outcomes if isinstance(outcome, Exception))


async def test_an_operators_word_outlives_a_restart_and_new_settings(ledger_url: str) -> None:
    async with writing(ledger_url) as writer:
        async with keeping(writer) as (keeper, _):
            await keeper.set(PolicyChange("power", threshold=3.0, author="ada"))
        async with keeping(writer, replace(POLICY, threshold=9.0)) as (keeper, book):
            await reached(book, 3.0)
            assert len(await keeper.history("power")) == 2


async def test_new_settings_count_where_no_operator_has_spoken(ledger_url: str) -> None:
    async with writing(ledger_url) as writer:
        async with keeping(writer):
            pass
        async with keeping(writer, replace(POLICY, threshold=9.0)) as (keeper, book):
            while len(events := await keeper.history("power")) < 2:
                await asyncio.sleep(0.01)
            assert events[0].policy.threshold == book["power"].threshold == 9.0


async def test_a_policy_holds_for_its_artefact_only(ledger_url: str) -> None:
    async with writing(ledger_url) as writer:
        async with keeping(writer) as (keeper, _):
            await keeper.set(PolicyChange("power", threshold=3.0))
        newer = replace(POLICY, model="m:2")
        async with keeping(writer, newer, replace(BOUND, model="m:2")) as (keeper, book):
            await keeper.refresh()
            assert book["power"] == newer


async def test_an_unknown_head_is_named(ledger_url: str) -> None:
    async with writing(ledger_url) as writer, keeping(writer) as (keeper, _):
        with pytest.raises(InvalidInput, match="must be power"):
            await keeper.set(PolicyChange("speed", threshold=3.0))
        with pytest.raises(InvalidInput, match="must be power"):
            await keeper.history("speed")


async def test_a_text_that_the_database_cannot_hold_is_the_callers(ledger_url: str) -> None:
    """SQLite keeps a NUL, PostgreSQL does not; neither fails by it."""
    async with writing(ledger_url) as writer, keeping(writer) as (keeper, _):
        with pytest.raises(InvalidInput, match="must be power" if ledger_url.startswith("sqlite") else "NUL"):
            await keeper.history("\0")


def carry(policy: Policy) -> tuple[Policy, str]:
    return replace(policy, profile="cuda", threshold=policy.threshold - 0.5), "with a guard of 0.5"


@asynccontextmanager
async def carrying(
    writer: Writer, profile: str = "cuda", *, qualified: bool = True
) -> AsyncIterator[tuple[PolicyKeeper, PolicyBook]]:
    """A process under another profile, whose own default is 1, or, before it is qualified, to defer everything."""
    own = QUALIFIED if qualified else UNQUALIFIED
    book = PolicyBook({"power": replace(own, profile=profile)})
    keeper = PolicyKeeper(
        book,
        writer,
        policies,
        replace(BOUND, profile=profile),
        {"power": CALIBRATION},
        time.time,
        audit_floor=0.2,
        carry=carry if qualified else None,
        provisional=() if qualified else ("power",),
    )
    await keeper.start()
    try:
        yield keeper, book
    finally:
        await keeper.stop()


async def turns(count: int = 3) -> None:
    """Some turns of a keeper that follows the log."""
    await asyncio.sleep(count * POLL_SECONDS)


async def test_an_operators_policy_is_carried_to_another_profile_as_an_event(ledger_url: str) -> None:
    """What `settings` said under the first profile is not; a policy of the second profile's operator stays."""
    async with writing(ledger_url) as writer:
        async with keeping(writer) as (keeper, _):
            await keeper.set(PolicyChange("power", threshold=3.0, author="ada"))
        async with carrying(writer) as (keeper, book):
            await reached(book, 2.5)
            (event, *_) = await keeper.history("power")
            assert event.author == QUALIFICATION
            assert "with a guard of 0.5" in event.reason
            assert " of cpu" in event.reason
            await keeper.set(PolicyChange("power", threshold=9.0, author="bo"))
        async with carrying(writer) as (_, book):
            await reached(book, 9.0)
        async with carrying(writer, "cuda-2") as (_, book):
            await reached(book, 8.5)  # the newest word of an operator, whatever profile it was for
        async with carrying(writer, "cuda-2,power=mae") as (_, book):
            await turns()
            assert book["power"].threshold == 1.0, "what was set for one measure does not hold for another"


async def test_a_process_that_is_not_qualified_defers_alone(ledger_url: str) -> None:
    """Neither does it make other replicas of its profile defer, nor do their thresholds hold on it."""
    async with (
        writing(ledger_url) as writer,
        carrying(writer) as (keeper, answering),
        carrying(writer, qualified=False) as (late, deferring),
    ):
        await told(keeper, QUALIFIED)
        await turns()
        assert (answering["power"].threshold, deferring["power"].mode) == (1.0, "defer_all")
        assert len(await keeper.history("power")) == 1
        await keeper.set(PolicyChange("power", threshold=5.0, author="ada"))
        await reached(deferring, 5.0)  # an operator means all processes of the profile
        late.adopt([replace(QUALIFIED, threshold=0.9)], carry)
        await turns()
        assert answering["power"].threshold == deferring["power"].threshold == 5.0


async def test_a_late_verdict_carries_an_operators_policy_at_once(ledger_url: str) -> None:
    async with writing(ledger_url) as writer:
        async with keeping(writer) as (keeper, _):
            await keeper.set(PolicyChange("power", threshold=3.0, author="ada"))
        async with carrying(writer, qualified=False) as (keeper, book):
            await turns()
            assert book["power"].mode == "defer_all"
            keeper.adopt([QUALIFIED], carry)
            assert book["power"].threshold == 2.5, "and not for a moment what settings say"
            await reached(book, 2.5)
            await told(keeper, book["power"])


async def told(keeper: PolicyKeeper, policy: Policy) -> None:
    """Waits until a policy is the newest entry of the log."""
    while not (events := await keeper.history("power")) or events[0].policy.version != policy.version:
        await asyncio.sleep(0.01)


async def test_a_verdict_that_comes_late_is_in_force_at_once_and_told(ledger_url: str) -> None:
    late = replace(POLICY, threshold=1.5, reason="carried")
    async with writing(ledger_url) as writer, keeping(writer) as (keeper, book):
        keeper.adopt([late], None)
        assert book["power"] == late
        while (events := await keeper.history("power"))[0].policy.version != late.version:
            await asyncio.sleep(0.01)
        assert [event.author for event in events] == [SETTINGS, SETTINGS]
        await keeper.set(PolicyChange("power", threshold=3.0, author="ada"))
        keeper.adopt([replace(late, threshold=1.0)], None)
        await asyncio.sleep(0)
        assert book["power"].threshold == 3.0


async def test_a_ledger_that_nobody_else_writes_is_read_after_changes_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "ALONE_SECONDS", 0.02)
    late = replace(POLICY, threshold=1.5, reason="carried")
    async with writing(f"sqlite:///{tmp_path / 'ledger.db'}") as writer, keeping(writer) as (keeper, _):
        keeper._version = lambda: writer.version
        await told(keeper, POLICY)
        await asyncio.sleep(2 * POLL_SECONDS)
        reads: list[object] = []
        refresh = keeper.refresh

        async def counted() -> None:
            reads.append(None)
            await refresh()

        monkeypatch.setattr(keeper, "refresh", counted)
        await asyncio.sleep(0.3)
        assert reads == []
        keeper.adopt([late], None)
        await told(keeper, late)
        await asyncio.sleep(0.3)
        assert 1 <= len(reads) <= 2, "its own change, and no more"

"""Neighbours in time: which units they are, that they tell nothing of a decision, and what the call costs."""

import inspect
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from services.labels import neighbours as module
from services.labels.label_types import Request
from services.labels.neighbours import MOST_A_SIDE, Neighbours
from services.labels.submissions import Answer
from services.ledger.tables import UNASKED
from tests.services.labels.label_services import EPOCH, OPTIONS, POWER, RAIN, Opened, opened, scratch

STEP_SECONDS = 61.0
FORBIDDEN = ("request", "unit", "decision", "uncertainty", "propensity", "state", "reason", f"{EPOCH:016x}")


async def add(ledger: Opened, count: int, first: int = 0, **columns: Any) -> None:
    """Add units, one every 61 s; the speed of each is its sequence number."""
    for sequence in range(first, first + count):
        own = {"payload": struct.pack("<ff", sequence, float("nan"))} | columns
        await ledger.units([sequence], **own)
        ledger.wall.now += STEP_SECONDS


async def claim(ledger: Opened, sequence: int, actor: str = "anna") -> Request:
    ids = (await ledger.label_service.reviews.queues()).ids
    name = ids.of_list.text((ledger.writer.epoch, sequence))
    (request,) = await ledger.label_service.reviews.claim(count=1, head="", actor=actor, seconds=600, requests=(name,))
    return request


async def around(ledger: Opened, request: Request) -> Neighbours:
    return await ledger.label_service.reviews.neighbours(request.claimed.request, request.claimed.lease)


def speeds(neighbours: Neighbours) -> tuple[list[float | None], list[float | None]]:
    before, after = ([row.values[0] for row in side] for side in (neighbours.before, neighbours.after))
    return before, after


async def test_the_nearest_of_the_same_head_come_in_the_order_of_time(ledger_url: str) -> None:
    async with opened(ledger_url, heads=(POWER, RAIN)) as ledger:
        await add(ledger, 40)
        await add(ledger, 1, 40, head="rain")
        shown = await around(ledger, await claim(ledger, 20))
        assert shown.names == ("speed", "wave")
        assert speeds(shown) == (list(range(8, 20)), list(range(21, 33)))
        assert [row.seconds for row in shown.before[:2] + shown.before[-1:]] == [-730, -670, -61], "two digits"
        assert [row.seconds for row in shown.after[:1] + shown.after[-1:]] == [61, 730]
        assert {row.values[1] for row in (*shown.before, *shown.after)} == {None}, "missing"
        assert speeds(await around(ledger, await claim(ledger, 1))) == ([0], list(range(2, 14)))
        assert speeds(await around(ledger, await claim(ledger, 38))) == (list(range(26, 38)), [39])
        assert speeds(await around(ledger, await claim(ledger, 40))) == ([], []), "of another head"


async def test_only_readable_rows_with_a_request_are_neighbours(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        for sequence, columns in enumerate(
            (
                {"state": UNASKED, "census": 1},
                {"state": "labelled"},
                {"payload": None},
                {"payload": None, "payload_ref": ledger.store.put(struct.pack("<ff", 4.0, 0.0))},
                {"payload": None, "payload_ref": "sha256:nowhere"},
                {"payload": b"\0" * 12},
                {"payload_type": "text/plain"},
                {"erased": 1.0},
                {},
            )
        ):
            await add(ledger, 1, sequence, **columns)
        assert speeds(await around(ledger, await claim(ledger, 8))) == ([1, 4], [])
        await add(ledger, MOST_A_SIDE, 9, payload=None)
        await add(ledger, 1, 21)
        assert speeds(await around(ledger, await claim(ledger, 21))) == ([1, 4, 8], []), "behind those without inputs"


async def test_there_are_none_for_other_inputs_and_after_the_label(tmp_path: Path) -> None:
    async with opened(scratch(tmp_path)) as ledger:
        await add(ledger, 2)
        await add(ledger, 1, 2, payload_type="text/plain")
        await add(ledger, 1, 3, payload=None, payload_type=None)
        for sequence in (2, 3):
            assert await around(ledger, await claim(ledger, sequence)) == Neighbours()
        request = await claim(ledger, 1)
        assert speeds(await around(ledger, request)) == ([0], [])
        await ledger.label_service.reviews.submit(Answer(request.claimed.request, request.claimed.lease, 4.5, "anna"))
        assert await around(ledger, request) == Neighbours()


def test_no_column_is_read_that_tells_what_a_unit_is() -> None:
    source = inspect.getsource(module)
    for column in ("decision", "uncertainty", "propensity", "evidence", "model", "policy", "priority", "census"):
        assert f"c.{column}" not in source


def shape(neighbours: Neighbours) -> Any:
    """Keys and distances of an answer as a reviewer receives it."""
    document = msgspec.to_builtins(neighbours)
    rows = [row for side in ("before", "after") for row in document[side]]
    assert document.keys() == {"names", "before", "after"}
    assert all(row.keys() == {"seconds", "values"} for row in rows)
    return document["names"], [(row["seconds"], len(row["values"])) for row in rows]


async def test_audits_and_deferrals_get_the_same_answer(ledger_url: str) -> None:
    """Units of one ledger, alternately audited and deferred, have answers of the same shape and with the same keys."""
    async with opened(ledger_url) as ledger:
        await add(ledger, 100)
        answers = [await around(ledger, await claim(ledger, sequence)) for sequence in (50, 51)]
        for answer in answers:
            text = msgspec.json.encode(answer).decode()
            assert not [word for word in FORBIDDEN if word in text]
        assert shape(answers[0]) == shape(answers[1])
        assert len(answers[0].before) == len(answers[0].after) == MOST_A_SIDE


async def test_where_opinions_are_mixed_in_there_are_none_for_any_request(tmp_path: Path) -> None:
    async with opened(scratch(tmp_path), options=replace(OPTIONS, second_opinions=0.05)) as ledger:
        await add(ledger, 3)
        assert await around(ledger, await claim(ledger, 1)) == Neighbours()

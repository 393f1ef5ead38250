"""Tables of intervals: each answer has that of the artefact that gave it, also across a promotion."""

import asyncio
from typing import Any

import numpy as np
import pytest

import demur
from demur._rows.requests import FOREIGN_ANSWERS
from tests.clients.conftest import LEVELS, MULTIPLIERS

OTHER = (1.5, 3.0)


def multipliers(answer: demur.Answer) -> list[float]:
    return np.round(answer.intervals.multipliers, 6).tolist()


def promote(vessel: Any) -> None:
    """Serve another artefact from now on."""
    vessel.model, vessel.multipliers = "vessel:2", OTHER


def test_the_table_is_described_once_and_sent_with_no_answer(client, vessel, rows):
    answers = [client.vessel.predict(rows(3)), *client.vessel.stream([rows(2), rows(5)])]
    assert [multipliers(answer) for answer in answers] == [list(MULTIPLIERS)] * 3
    assert answers[0].intervals.levels == pytest.approx(LEVELS)
    assert vessel.tables_sent == 0
    assert vessel.calls.count("Describe") == 1
    (head,) = client.vessel.describe().heads
    assert head.intervals == answers[0].intervals


def test_a_promotion_between_two_calls(client, vessel, rows):
    before = client.vessel.predict(rows(3))
    promote(vessel)
    after = client.vessel.predict(rows(3))
    assert (after.model, multipliers(after)) == ("vessel:2", list(OTHER))
    assert (before.model, multipliers(before)) == ("vessel:1", list(MULTIPLIERS))
    np.testing.assert_allclose(after.interval(0.9)[1] - after.mean, 3 * np.sqrt(after.total), rtol=1e-3)


def test_the_new_table_is_described_once_it_is_settled(client, vessel, rows):
    client.vessel.predict(rows(1))
    promote(vessel)
    for _ in range(2 * FOREIGN_ANSWERS):
        assert multipliers(client.vessel.predict(rows(1))) == list(OTHER)
    assert vessel.tables_sent == FOREIGN_ANSWERS
    assert vessel.calls.count("Describe") == 2


def test_replicas_of_two_artefacts_are_not_described_again_and_again(client, vessel, rows):
    expected = {"vessel:1": list(MULTIPLIERS), "vessel:2": list(OTHER)}
    for number in range(4 * FOREIGN_ANSWERS):
        vessel.model, vessel.multipliers = ("vessel:1", MULTIPLIERS) if number % 2 == 0 else ("vessel:2", OTHER)
        answer = client.vessel.predict(rows(1))
        assert multipliers(answer) == expected[answer.model]
    assert vessel.calls.count("Describe") == 1


def test_a_promotion_within_a_stream(client, vessel, rows):
    def batches():
        yield rows(2)
        promote(vessel)
        yield from (rows(2), rows(2))

    first, *others = client.vessel.stream(batches(), window=1)
    assert multipliers(first) == list(MULTIPLIERS)
    assert [(answer.model, multipliers(answer)) for answer in others] == [("vessel:2", list(OTHER))] * 2
    assert vessel.tables_sent == 2
    assert [multipliers(answer) for answer in client.vessel.stream([rows(1)])] == [list(OTHER)]
    assert (vessel.tables_sent, vessel.calls.count("Describe")) == (2, 2)


def test_another_calibration_of_the_same_artefact(client, vessel, rows):
    client.vessel.predict(rows(1))
    vessel.multipliers = OTHER  # model and profile stay the same
    assert multipliers(client.vessel.predict(rows(1))) == list(OTHER)


def test_a_table_that_goes_away(client, vessel, rows):
    client.vessel.predict(rows(1))
    vessel.singular = True
    assert client.vessel.predict(rows(1)).intervals == demur.Intervals((), ())


def test_a_service_of_version_0_1_sends_the_table_with_each_answer(client, vessel, rows):
    vessel.of_version_0_1 = True
    for number in range(3 * FOREIGN_ANSWERS):
        if number == FOREIGN_ANSWERS:
            promote(vessel)
        expected = MULTIPLIERS if number < FOREIGN_ANSWERS else OTHER
        assert multipliers(client.vessel.predict(rows(1))) == list(expected)
    assert [multipliers(answer) for answer in client.vessel.stream([rows(1)])] == [list(OTHER)]
    assert vessel.calls.count("Describe") == 1


def test_the_asynchronous_client_does_the_same(target, vessel, rows):
    async def ask() -> list[demur.Answer]:
        async with demur.aconnect(target) as client:
            answers = [await client.vessel.predict(rows(2))]
            promote(vessel)
            answers.append(await client.vessel.predict(rows(2)))
            return [*answers, *[answer async for answer in client.vessel.stream([rows(1)])]]

    assert [multipliers(answer) for answer in asyncio.run(ask())] == [list(MULTIPLIERS), list(OTHER), list(OTHER)]
    assert vessel.tables_sent == 2

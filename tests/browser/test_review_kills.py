"""No label is lost or doubled and no unit is stuck, whatever is killed, reloaded or cut off while people work."""

import struct
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select

from services.ledger.tables import item, label, opinion
from services.ledger.unit_ids import Unit
from tests.browser.chromium import installed
from tests.browser.review_trial import REVIEWERS, Reviewer, Trial, disturb, finish, send_situations
from tests.services.review.consoles import consoles


def _run(folder: Path, units: int, events: int, seconds: float, seed: int) -> None:
    program = installed()
    home = folder / "home"
    home.mkdir()
    settings = {"DEMUR_AUDIT_RATE": "1", "DEMUR_VESSEL_SECOND_OPINIONS": "0.05"}
    with consoles(home, **settings) as running:
        numbers = send_situations(running, units)
        trial = Trial(running, program, folder)
        reviewers = [Reviewer(trial, name) for name in REVIEWERS]
        for reviewer in reviewers:
            reviewer.start()
        disturb(trial, reviewers, events, seed, _print)
        finish(trial, reviewers, seconds, _print)
        _print(
            f"events {dict(trial.events)}, answers {dict(trial.answers)}, while down: {trial.problems.most_common(5)}"
        )
        _check(trial, numbers)


def _check(trial: Trial, numbers: dict[Unit, int]) -> None:
    with trial.engine.connect() as connection:
        units = {(row.epoch, row.sequence): row.state for row in connection.execute(select(item))}
        labels = connection.execute(select(label).where(label.c.source == "requested")).all()
        opinions = connection.execute(select(opinion)).all()
    assert units.keys() == numbers.keys()
    assert Counter(units.values()) == {"labelled": len(numbers)}, "no unit is stuck"
    assert Counter((row.epoch, row.sequence) for row in labels) == Counter(numbers.keys()), "one label for each unit"
    given = [row for row in opinions if row.state == "labelled"]
    for row in (*labels, *given):
        assert struct.unpack("<d", row.value)[0] == numbers[row.epoch, row.sequence]
    assert max(Counter((row.epoch, row.sequence) for row in given).values(), default=0) <= 1
    lapsed = trial.lapsed_opinions()
    assert {row.request for row in opinions if row.state not in ("labelled", "expired")} == lapsed
    newest = {(row.epoch, row.sequence): row.number for row in sorted(opinions, key=lambda row: row.number)}
    assert all(row.number < newest[row.epoch, row.sequence] for row in opinions if row.state == "expired"), "renewed"
    assert all(row.actor != row.author for row in given)
    assert len({row.actor for row in labels}) == 3
    counts = f"{len(given)} second opinions, {len(lapsed)} that nobody may give"
    _print(f"{len(labels)} labels, {counts}, {len(numbers)} units")


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_some_kills(tmp_path: Path) -> None:
    _run(tmp_path, 100, 12, 400, 1)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_thousand_kills_over_five_thousand_units(tmp_path: Path) -> None:
    _run(tmp_path, 5000, 1000, 1800, 2)

"""A killed service loses nothing that it acknowledged, and doubles nothing."""

from pathlib import Path

import pytest

from tests.fault.killing import Decisions, endure, inputs


def judged(url: str, home: Path, kills: int) -> None:
    decisions = Decisions(inputs())
    outcome = endure(url, home, [decisions], kills=kills, seed=kills)
    assert outcome.wrong == ()
    assert len(decisions.recorded) > 10 * kills
    assert len(decisions.deferred) > kills
    assert len(outcome.snapshot.writers) == kills + 1


def test_a_few_kills(ledger_url: str, tmp_path: Path) -> None:
    judged(ledger_url, tmp_path / "home", 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_kills(ledger_url: str, tmp_path: Path) -> None:
    judged(ledger_url, tmp_path / "home", 100)

"""A killed service that answers as fast as it can loses no unit that it acknowledged, and doubles none."""

from pathlib import Path

import pytest

from tests.fault.killing import Decisions, endure, inputs

KILLS = 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_kills(ledger_url: str, tmp_path: Path) -> None:
    decisions = Decisions(inputs())
    outcome = endure(ledger_url, tmp_path / "home", [decisions], kills=KILLS, seed=KILLS)
    assert outcome.wrong == ()
    assert len(decisions.recorded) > 10 * KILLS
    assert len(decisions.deferred) > KILLS
    assert len(outcome.snapshot.writers) == KILLS + 1

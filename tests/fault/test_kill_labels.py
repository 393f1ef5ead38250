"""A killed service loses nothing that it acknowledged, and doubles nothing: units, labels and changes of requests."""

from pathlib import Path

import pytest

from tests.fault.killing import Decisions, endure, inputs
from tests.fault.labelling import Labelling


def check_after_kills(url: str, home: Path, kills: int) -> None:
    decisions, labelling = Decisions(inputs()), Labelling()

    def enough() -> bool:
        enough_decisions = len(decisions.recorded) > 10 * kills and len(decisions.deferred) > kills
        enough_labels = len(labelling.labelled) > kills and len(labelling.given) > 10 * kills
        return enough_decisions and enough_labels and bool(labelling.skipped)

    outcome = endure(url, home, [decisions, labelling], kills=kills, seed=kills, enough=enough)
    assert outcome.wrong == ()
    assert len(outcome.snapshot.writers) == kills + 1
    assert enough(), (len(decisions.recorded), len(decisions.deferred), labelling)
    labels, units = len(outcome.snapshot.labels), len(decisions.recorded)
    print(
        f"{kills} kills: acknowledged {len(labelling.given)} labels, {len(labelling.labelled)} answers of requests, "
        f"{len(labelling.skipped)} skips and {units} units; {labels} labels in the ledger"
    )


def test_a_few_kills(ledger_url: str, tmp_path: Path) -> None:
    check_after_kills(ledger_url, tmp_path / "home", 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_kills(ledger_url: str, tmp_path: Path) -> None:
    check_after_kills(ledger_url, tmp_path / "home", 100)

"""The in-process part of the benchmarks runs and reports; how fast is not judged here."""

import json
import os
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.harness import Figure, interleaved, table


@pytest.mark.long
def test_in_process_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cores = os.sched_getaffinity(0)
    report = tmp_path / "figures.json"
    assert main(["--quick", "--only", "ensembles", "stages", "--json", str(report)]) == 0
    assert os.sched_getaffinity(0) == cores
    shown = capsys.readouterr().out
    written = json.loads(report.read_text())
    assert {"cpu", "cores", "numpy"} <= written["machine"].keys()
    assert written["figures"]
    for figure in written["figures"]:
        assert figure["value"] > 0
        assert figure["name"] in shown


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure("p", "n", 1.0, "ms", at_most=1.0), True),
        (Figure("p", "n", 1.1, "ms", at_most=1.0), False),
        (Figure("p", "n", 0.9, "x", at_least=0.85), True),
        (Figure("p", "n", 0.8, "x", at_least=0.85), False),
        (Figure("p", "n", 0.8, "x"), None),
    ],
)
def test_targets(figure: Figure, met: bool | None) -> None:
    assert figure.met is met
    assert ("MISSED" in table([figure])) is (met is False)


def test_turns_are_shared() -> None:
    calls: list[str] = []
    timed = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 0.01, warm_up=0)
    assert len(timed["a"].seconds) == len(timed["b"].seconds) == calls.count("a") == calls.count("b")


def test_a_figure_without_a_ledger_stands_beside_the_one_with_it() -> None:
    """Only the default service is judged."""
    figure = Figure("p", "n", 2.0, "ms", at_most=1.5, bare=1.25)
    line = table([figure]).splitlines()[-1]
    assert line.split() == ["n", "2.000", "1.250", "ms", "≤", "1.5", "MISSED"]
    assert figure.met is False

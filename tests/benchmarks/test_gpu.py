"""What a machine with a GPU is asked, asked of this CPU in small sizes, and what the committed record says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu import page
from benchmarks.gpu.parts import PARTS, Outcome
from benchmarks.gpu.record import COMPARED, Record, outdated, pinned, read

PROJECT = Path(__file__).resolve().parents[2]
PAGES = PROJECT / "docs" / "gpu"
QUICK = [part.name for part in PARTS if part.name != "tests"]
"""The part `tests` starts services, as this suite does anyway."""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.gpu",
        "--work",
        str(folder / "work"),
        "--out",
        str(folder / "out"),
        *words,
    ]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


@pytest.mark.timeout(600)
def test_every_part_runs_on_a_cpu_and_is_kept(tmp_path: Path) -> None:
    done = run(tmp_path, "--provider", "cpu", "--quick", "--only", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    record = read(tmp_path / "out" / "record.json")
    assert {name: record.parts[name].state for name in QUICK} == dict.fromkeys(QUICK, "done")
    differences = {task: told["largest_difference"] for task, told in record.parts["export"].found.items()}
    assert max(differences.values()) < 1e-4, differences
    assert all(told["largest_relative_difference"] < 1e-6 for told in record.parts["training"].found.values())
    for task in ("vessel", "weather", "motion", "lesion", "translation"):
        assert record.parts[f"qualify-{task}"].found["measured"] > 0
    text = (tmp_path / "out" / "README.md").read_text()
    assert "**No GPU was at hand.**" in text
    assert text == page.text(record)

    again = run(tmp_path, "--provider", "cpu", "--quick", "--only", "device", "rates")
    assert again.stdout.strip() == str(tmp_path / "out" / "README.md"), "what is done is not done again"


def test_a_machine_without_a_device_is_told_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path, "--provider", "cuda", "--quick", "--only", "device", "rows")
    assert done.returncode == 0, done.stderr
    record = read(tmp_path / "out" / "record.json")
    assert record.parts["device"].state == "done"
    assert record.parts["rows"].state == "missing"
    assert record.parts["rows"].reason
    assert record.parts["rows"].reason in done.stdout


def test_a_failed_part_does_not_end_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMUR_ARTEFACTS", str(tmp_path / "nothing"))
    done = run(tmp_path, "--provider", "cpu", "--quick", "--only", "qualify-vessel", "device")
    assert done.returncode == 1
    record = read(tmp_path / "out" / "record.json")
    assert (record.parts["qualify-vessel"].state, record.parts["device"].state) == ("failed", "done")
    assert "**failed**" in (tmp_path / "out" / "README.md").read_text()


def test_the_committed_record_is_of_the_pinned_versions_or_the_page_says_so() -> None:
    record = read(PAGES / "record.json")
    text = (PAGES / "README.md").read_text()
    assert text == page.text(record), "run `make gpu` again, or `python -m benchmarks.gpu --provider cpu`"
    for name, (then, now) in outdated(record, pinned()).items():
        assert f"{name} {then} (pinned now: {now})" in text
    if record.provider == "cpu":
        assert "No GPU was at hand" in text
    else:
        assert {"vessel", "weather", "motion", "lesion", "translation"} <= {
            name.removeprefix("qualify-") for name, part in record.parts.items() if part.state == "done"
        }


def test_another_version_is_named() -> None:
    record = Record("cuda", False, "2026-01-01T00:00:00+00:00", 1.0, dict.fromkeys(COMPARED, "0.1"), {})
    pins = pinned()
    assert set(COMPARED) <= set(pins)
    assert outdated(record, pins) == {name: ("0.1", pins[name]) for name in COMPARED}
    assert f"{COMPARED[0]} 0.1 (pinned now: {pins[COMPARED[0]]})" in page.text(record)
    same = replace(record, versions=pins)
    assert not outdated(same, pins)
    assert "Other versions" not in page.text(same)


def test_floors_are_shown_with_what_they_are_floors_of() -> None:
    found = {"seconds": 2.0, "floor_seconds": 0.5, "over_floor": 4.0}
    record = Record(
        "cuda", False, "2026-01-01T00:00:00+00:00", 1.0, pinned(), {"rows": Outcome("done", 3.0, "", found)}
    )
    assert "| rows | 2 | 0.5 | 4 x |" in page.text(record)
    assert json.loads(json.dumps(found)) == found

"""Checks and benchmarks for a machine with a GPU, run on this CPU in small sizes."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from benchmarks import machine
from benchmarks.gpu import floors, measures, page, suites, training
from benchmarks.gpu import qualify as gpu_qualify
from benchmarks.gpu.parts import PARTS, Outcome, Part, PartFailed, Setting
from benchmarks.gpu.record import Record, pinned, read, tags
from benchmarks.gpu.work import Work, answer
from models.executors.device import Device
from services.app.assembly import profile, qualify
from services.runtime.settings import TASKS, Settings
from tests.services.qualification.variants import disordered, replayable, scaled, variant

pytestmark = pytest.mark.long

PROJECT = Path(__file__).resolve().parents[2]
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


def test_a_part_runs_on_a_cpu_and_is_kept(tmp_path: Path) -> None:
    done = run(tmp_path, "--provider", "cpu", "--quick", "--only", "device")
    assert done.returncode == 0, done.stdout + done.stderr
    record = read(tmp_path / "out" / "record.json")
    assert record.parts["device"].state == "done"
    assert (tmp_path / "out" / "README.md").read_text() == page.text(record)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_part_runs_on_a_cpu_and_is_kept(tmp_path: Path) -> None:
    done = run(tmp_path, "--provider", "cpu", "--quick", "--only", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    record = read(tmp_path / "out" / "record.json")
    assert {name: record.parts[name].state for name in QUICK} == dict.fromkeys(QUICK, "done")
    for task, figures in record.parts["export"].found.items():
        assert figures["largest_difference"] <= figures["tolerance"] < 1e-2, task
    for task, figures in record.parts["training"].found.items():
        assert figures["largest_relative_difference"] <= figures["tolerance"] < 1e-2, task
    for task in ("vessel", "weather", "motion", "lesion", "translation"):
        assert record.parts[f"qualify-{task}"].found["measured"] > 0
    text = (tmp_path / "out" / "README.md").read_text()
    assert "**Not run on a GPU.**" in text
    assert "a million" not in text
    assert "released size" not in text
    assert text == page.text(record)
    assert record.time == max(part.time for part in record.parts.values()) > ""
    assert record.seconds == pytest.approx(sum(part.seconds for part in record.parts.values()), abs=0.1)
    for name in ("1_rows", "1000_rows"):
        times = record.parts["service"].found[name]
        assert times["first_over_p50"] == times["first_ms"] / times["p50_ms"]
    for part in PARTS:
        if part.name in QUICK:
            outcome = record.parts[part.name]
            assert outcome.artefacts == tags(part.artefacts)
            assert outcome.found.get("artefact") in {None, *outcome.artefacts.values()}

    again = run(tmp_path, "--provider", "cpu", "--quick", "--only", "device", "rates")
    assert again.stdout.strip() == str(tmp_path / "out" / "README.md"), "what is done is not done again"
    assert read(tmp_path / "out" / "record.json") == record, "with its times"


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


@pytest.mark.slow
def test_failing_tests_fail_their_part_and_are_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k no_test_has_this_name")
    first = run(tmp_path, "--provider", "cpu", "--quick", "--only", "device", "tests")
    assert first.returncode == 1, first.stderr
    assert "failed: tests\n" in first.stdout
    record = read(tmp_path / "out" / "record.json")
    assert record.parts["device"].state == "done", "the others go on"
    assert record.parts["tests"].state == "failed"
    assert "without a summary" in record.parts["tests"].reason
    assert "deselected" in (tmp_path / "work" / "cpu-quick" / suites.LOG).read_text()
    assert "**Failed parts:** tests." in (tmp_path / "out" / "README.md").read_text()

    other = run(tmp_path, "--provider", "cpu", "--quick", "--only", "device")
    assert (other.returncode, "tests:" in other.stdout) == (1, False), "kept, and still on the page"
    assert "**Failed parts:** tests." in (tmp_path / "out" / "README.md").read_text()
    again = run(tmp_path, "--provider", "cpu", "--quick", "--only", "tests")
    assert "tests of services" in again.stdout, "run again"


PASSED = "..\n2 passed in 1.0s\n"
FAILED = """F.
ERROR    services.request.pipeline:pipeline.py:359 a log line
FAILED tests/a.py::test_a - assert 1 == 2
1 failed, 1 passed, 3 skipped in 1.0s
"""


def test_tests_pass_with_a_summary_and_exit_code_0_only() -> None:
    assert suites.judged(["a"], 0, PASSED, "") == {"tests": ["a"], "counts": {"passed": 2}, "failed": []}
    with pytest.raises(PartFailed, match="1 failed, 1 passed, 3 skipped: tests/a.py::test_a$") as error:
        suites.judged(["a"], 1, FAILED, "")
    assert error.value.found["counts"] == {"failed": 1, "passed": 1, "skipped": 3}
    with pytest.raises(PartFailed, match="2 passed: pytest ended with exit code 1"):
        suites.judged(["a"], 1, PASSED, "")
    with pytest.raises(PartFailed, match="exit code 3 and without a summary: no output"):
        suites.judged(["a"], 3, "", "")
    with pytest.raises(PartFailed, match="without a summary: INTERNALERROR"):
        suites.judged(["a"], 0, "", "INTERNALERROR")


def test_what_cuda_does_not_take_is_left_out_there_and_says_why(tmp_path: Path) -> None:
    part = next(part for part in PARTS if part.name == "qualify-translation")
    outcome = Work(tmp_path, "cuda", quick=True, versions={}).run(part, "cuda", quick=True, unavailable="")
    assert (outcome.state, "eight bits" in outcome.reason) == ("missing", True)
    assert suites.chosen(Setting(Device(provider="cpu"), False, tmp_path)) == list(suites.FULL)
    assert "tests/e2e/test_translation.py" not in suites.chosen(Setting(Device(provider="cuda"), False, tmp_path))


def test_services_of_the_tests_are_on_the_device_but_for_what_cuda_does_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`demur up` starts services of all tasks or none, each with the settings of its task."""
    seen: list[dict[str, str]] = []

    def passed(command: list[str], *, env: dict[str, str], **options: Any) -> subprocess.CompletedProcess[str]:
        seen.append(env)
        return subprocess.CompletedProcess(command, 0, PASSED, "")

    monkeypatch.setattr("benchmarks.gpu.suites.subprocess.run", passed)
    monkeypatch.setenv("DEMUR_VESSEL_PROVIDER", "cpu")
    monkeypatch.setenv("DEMUR_TASK", "vessel")
    for provider, on_cpu in (("cuda", {"translation"}), ("cpu", set(TASKS))):
        figures = suites.run(Setting(Device(provider=provider), False, tmp_path / "tests"))  # type: ignore[arg-type]
        assert {task for task in TASKS if Settings.read(seen[-1], task=task).provider == "cpu"} == on_cpu
        assert "DEMUR_TASK" not in seen[-1]
        assert figures.get("on_cpu") == (["translation"] if provider == "cuda" else None)
    for text in ("README.md", "docs/settings.md", "docs/qualification.md"):
        assert "DEMUR_TRANSLATION_PROVIDER=cpu" in (PROJECT / text).read_text(), text


def test_a_refused_device_fails_its_part_with_the_figures(tmp_path: Path) -> None:
    source = replayable(tmp_path / "source")
    timed = {"units": 1}
    for change, refused in ((scaled(1.5), False), (disordered, True)):
        changed = variant(source, tmp_path / str(refused), change)
        record = qualify(changed, Settings(task="vessel"), tmp_path / "records").record()
        if not refused:
            assert gpu_qualify.judged(changed, record, timed)["verdict"] == "mapped"
            continue
        with pytest.raises(PartFailed, match="refused: power") as error:
            gpu_qualify.judged(changed, record, timed)
        assert (error.value.found["verdict"], error.value.found["units"]) == ("refused", 1)
        at_home = msgspec.structs.replace(record, profile=profile(Settings(task="vessel"), source))
        figures = gpu_qualify.judged(source, at_home, timed)
        assert (figures["verdict"], figures["calibrated_under_it"]) == ("refused", True)
        shown = page.text(
            Record(
                "cpu",
                False,
                "2026-01-01T00:00:00+00:00",
                1.0,
                pinned(),
                {"qualify-vessel": Outcome("done", found=figures | {"artefact": source.tag, "seconds_a_unit": {}})},
            )
        )
        assert "a service takes the artefact's own thresholds" in shown


def test_an_export_that_differs_by_more_than_rounding_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(Device(), True, tmp_path)
    compare = training.EXPORTS["vessel"]
    monkeypatch.setattr(training, "EXPORTS", {"vessel": compare})
    figures = training.exports(setting)["vessel"]
    assert 0 < figures["largest_difference"] <= figures["tolerance"] < 1e-4

    def wrong(place: Any, setting: Setting) -> training.Compared:
        compared = compare(place, setting)
        return replace(compared, network=compared.network * np.float32(1 + 1e-3))  # as with TF32

    monkeypatch.setattr(training, "EXPORTS", {"vessel": wrong})
    part = Part("export", "", "benchmarks.gpu.training:exports")
    assert answer(tmp_path, part, setting).state == "failed"
    kept = Outcome(**json.loads((tmp_path / "export.answer").read_text()))
    assert kept.found["vessel"]["largest_difference"] > kept.found["vessel"]["tolerance"]
    assert "vessel: largest difference" in kept.reason


def test_training_that_differs_by_more_than_rounding_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(Device(), True, tmp_path)
    make = training.CASES["vessel"]
    made: list[training.Case] = []

    def other(quick: bool) -> training.Case:
        case = make(quick)
        if made:  # the second is the device's
            for parameter in case.network.parameters():
                parameter.data.mul_(1 + 1e-2)
        made.append(case)
        return case

    monkeypatch.setattr(training, "CASES", {"vessel": other})
    with pytest.raises(PartFailed, match="vessel: largest relative difference .*, allowed") as error:
        training.steps(setting)
    assert error.value.found["vessel"]["step_seconds"] > 0


def test_a_difference_that_is_not_a_number_fails() -> None:
    assert math.isnan(training.relative_difference([1.0, 2.0], [1.0, math.nan]))
    assert training.relative_difference([1.0, -2.0], [1.0, -2.5]) == 0.25
    with pytest.raises(PartFailed, match="a: x nan"):
        training.within({"a": {"x": math.nan, "tolerance": 1.0}}, "x")


def test_tolerances_follow_type_and_size() -> None:
    assert training.tolerance(100) == pytest.approx(10 * np.finfo(np.float32).eps)
    assert training.tolerance(400) == 2 * training.tolerance(100)
    assert training.tolerance(100, tf32=True) == 2**13 * training.tolerance(100)


def test_a_benchmark_without_rates_says_what_to_run(tmp_path: Path) -> None:
    setting = Setting(Device(), True, tmp_path / "rows")
    with pytest.raises(RuntimeError, match="run the part `rates` first"):
        measures._over(1.0, floors.Work(1.0, 1.0), setting)


@pytest.mark.parametrize(
    ("release", "number"),
    [("6.18.44-fc-v669", "6.18.44"), ("5.15.0-91-generic", "5.15.0"), ("6.1.0.el9", "6.1.0"), ("23.1.0", "23.1.0")],
)
def test_a_kernel_is_named_by_its_version_alone(release: str, number: str) -> None:
    assert machine.kernel(release) == number


def test_a_process_that_crashes_after_its_answer_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a CUDA library may do when the process ends."""
    work = Work(tmp_path, "cpu", quick=True, versions={})
    part = next(part for part in PARTS if part.name == "device")
    state = "done"

    def crashed(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        (work.folder / "device.answer").write_text(json.dumps({"state": state, "reason": state, "found": {"a": 1}}))
        return subprocess.CompletedProcess(command, -11, "", "")

    monkeypatch.setattr("benchmarks.gpu.work.subprocess.run", crashed)
    assert work.run(part, "cpu", quick=True, unavailable="").reason == "exit code -11"
    state = "failed"
    assert work.run(part, "cpu", quick=True, unavailable="").reason == "failed"
    kept = work.kept(part)
    assert kept is not None
    assert (kept.state, kept.reason, kept.found) == ("failed", "failed", {"a": 1})


def test_a_replay_is_timed_for_a_while_only() -> None:
    class Units:
        units, most_batch = 200, 64

        def __init__(self) -> None:
            self.asked: list[tuple[int, int, int]] = []

        def __call__(self, first: int, count: int, batch: int) -> Any:
            self.asked.append((first, count, batch))
            return {}

    whole, part = Units(), Units()
    assert gpu_qualify.seconds_a_unit(whole, 200, 7, most_seconds=300) > 0
    assert whole.asked == [(0, 64, 7), (64, 64, 7), (128, 64, 7), (192, 8, 7)]
    gpu_qualify.seconds_a_unit(part, 200, 7, most_seconds=0)
    assert part.asked == [(0, 64, 7)]

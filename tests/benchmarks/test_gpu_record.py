"""Record and page of a run on a GPU: what is committed, what is kept from run to run, and what the page makes of it."""

import json
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from benchmarks import service, wire
from benchmarks.gpu import facts, floors, measures, page
from benchmarks.gpu import record as records
from benchmarks.gpu.parts import PARTS, Outcome, Part, Setting
from benchmarks.gpu.record import Record, gathered, outdated, pinned, read, replaced, write
from benchmarks.gpu.work import Work
from models import artefact
from models.executors import nvidia
from models.executors.device import Device
from services.tasks import DEFAULT_MODELS

PROJECT = Path(__file__).resolve().parents[2]
PAGES = PROJECT / "docs" / "gpu"
DAY = "2026-01-01T00:00:00+00:00"


def check(record: Record, text: str) -> None:
    """What a committed record and its page are held to."""
    assert text == page.text(record), "run `make gpu` again, or `python -m benchmarks.gpu --provider cpu`"
    assert not record.quick
    for name, (then, now) in outdated(record, pinned()).items():
        assert f"{name} {then} (pinned now: {now})" in text
    for then, now in replaced(record).items():
        assert f"{then} (shipped now: {now})" in text
    if record.provider == "cpu":
        assert "**Not run on a GPU.**" in text
        assert "the CUDA path is covered only by tests with a simulated session" in text
    for part in PARTS:
        if record.provider == "cuda" and part.not_on_cuda:
            assert f"**Not qualified on CUDA:** {', '.join(part.artefacts)}: {part.not_on_cuda}" in text
        else:
            assert record.parts[part.name].state == "done", part.name


def on_cuda(record: Record, **parts: Outcome) -> Record:
    """The same outcomes as of a GPU, which does not run all parts."""
    absent = {part.name: Outcome("missing", reason=part.not_on_cuda) for part in PARTS if part.not_on_cuda}
    return replace(record, provider="cuda", parts={**record.parts, **absent, **parts})


def cuda(**parts: Outcome) -> Record:
    return Record("cuda", False, DAY, 1.0, pinned(), parts)


def test_the_committed_record_is_of_today_or_the_page_says_so() -> None:
    record = read(PAGES / "record.json")
    check(record, (PAGES / "README.md").read_text())
    for part in PARTS:
        if (tag := record.parts[part.name].found.get("artefact")) is not None:
            assert tag.partition(":")[0] in part.artefacts, part.name


def test_a_record_of_a_gpu_can_be_committed() -> None:
    """Of what CUDA does not run, it needs nothing but that the page says so."""
    record = on_cuda(read(PAGES / "record.json"))
    text = page.text(record)
    check(record, text)
    assert "Not qualified on CUDA:** translation-transformer-3: the default artefact computes in eight bits" in text
    assert "`DEMUR_TRANSLATION_PROVIDER=cpu`" in text
    for state in ("missing", "failed"):
        without = on_cuda(record, rows=Outcome(state, reason="why"))
        with pytest.raises(AssertionError, match="rows"):
            check(without, page.text(without))


def test_another_version_of_any_pinned_library_is_named() -> None:
    pins = pinned()
    names = {name for name in facts.PACKAGES if name in pins}
    assert {"onnxruntime-gpu", "torch", "monai", "onnx", "numpy", "catboost"} <= names
    record = replace(cuda(), versions=dict.fromkeys(names, "0.1") | {"unknown": "0.1"})
    assert outdated(record, pins) == {name: ("0.1", pins[name]) for name in names}
    for name in names:
        assert f"{name} 0.1 (pinned now: {pins[name]})" in page.text(record)
    same = replace(record, versions=pins | {"torch": f"{pins['torch']}+cpu"})
    assert not outdated(same, pins), "builds are not compared"
    assert "Other versions" not in page.text(same)
    for version, differs in ((pins["onnxruntime-gpu"], False), ("0.1", True)):
        assert bool(outdated(replace(record, versions={"onnxruntime": version}), pins)) == differs, (
            "its pin's other name"
        )


def test_an_artefact_that_is_no_longer_shipped_is_named() -> None:
    now = records.tag("vessel-dnn-10")
    assert now == artefact.read(PROJECT / "artefacts" / "vessel" / "dnn-10").tag
    then, gone = "vessel-dnn-10:0123456789abcdef", "vessel-none-3:0123456789abcdef"
    record = cuda(
        service=Outcome("done", found={}, artefacts={"a": then}), tests=Outcome("failed", found={"artefact": gone})
    )
    assert replaced(record) == {then: now, gone: "-"}
    assert f"**Other artefacts than those shipped today were run:** {then} (shipped now: {now})" in page.text(record)
    for name in DEFAULT_MODELS.values():
        same = cuda(service=Outcome("done", artefacts=records.tags([name])))
        assert not replaced(same)
    assert "Other artefacts" not in page.text(same)


def test_a_part_is_kept_while_its_libraries_and_artefacts_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(tmp_path, "cpu", quick=False, versions={"numpy": "1"})
    uses, alone = (next(part for part in PARTS if part.name == name) for name in ("qualify-vessel", "device"))
    done = Outcome("done", 1.0, "", {"a": 1}, DAY)
    for part in (uses, alone):
        work.keep(part, replace(done, artefacts=records.tags(part.artefacts)))
        assert work.kept(part) == replace(done, artefacts=records.tags(part.artefacts))
        assert Work(tmp_path, "cpu", quick=False, versions={"numpy": "2"}).kept(part) is None
    monkeypatch.setattr("benchmarks.gpu.work.tags", lambda names: {name: f"{name}:other" for name in names})
    assert (work.kept(uses) is None, work.kept(alone) is None) == (True, False)
    work.keep(alone, replace(done, time=""))
    assert work.kept(alone) is None, "kept by a version that did not note when"


def test_parts_that_use_artefacts_name_them() -> None:
    named = {part.name: set(part.artefacts) for part in PARTS if part.artefacts}
    assert named.pop("tests") == set(DEFAULT_MODELS.values())
    assert {f"qualify-{task}": {name} for task, name in DEFAULT_MODELS.items()}.items() <= named.items()
    assert set(named) == {f"qualify-{task}" for task in DEFAULT_MODELS} | {"rows", "scan", "service"}
    assert all(records.tag(name) for names in named.values() for name in names)
    assert named["rows"] == {f"vessel-{measures.VESSEL}"}


def test_a_record_is_of_the_time_of_its_newest_part_and_of_all_their_seconds(tmp_path: Path) -> None:
    parts = {
        "device": Outcome("done", 2.5, found={}, time="2026-01-02T00:00:00+00:00"),
        "rows": Outcome("failed", 480.0, "why", time="2026-01-04T00:00:00+00:00"),
        "scan": Outcome("missing"),
    }
    record = gathered("cuda", False, {}, parts)
    assert (record.time, record.seconds) == ("2026-01-04T00:00:00+00:00", 482.5)
    write(tmp_path, record)
    assert read(tmp_path / "record.json") == record
    del parts["device"]
    assert " on 2026-01-04; the record" in page.text(gathered("cuda", False, {}, parts))
    assert "--provider" not in page.text(gathered("cuda", False, {}, {})).splitlines()[2]


def test_days_of_a_run_are_named_by_its_parts(tmp_path: Path) -> None:
    parts = {
        name: Outcome("failed", 1.0, "why", time=f"2026-01-0{day}T00:00:00+00:00")
        for name, day in (("rows", 2), ("scan", 4))
    }
    assert "`) from 2026-01-02 to 2026-01-04; the record" in page.text(gathered("cuda", False, {}, parts))


def test_a_record_of_before_parts_had_times_is_read(tmp_path: Path) -> None:
    part = {"state": "failed", "seconds": 1.0, "reason": "why", "found": {}}
    old = {"provider": "cpu", "quick": False, "time": DAY, "seconds": 0.0, "versions": {}, "parts": {"rows": part}}
    (tmp_path / "record.json").write_text(json.dumps(old))
    record = read(tmp_path / "record.json")
    assert record.parts["rows"] == Outcome("failed", 1.0, "why")
    assert " on 2026-01-01; the record" in page.text(record)


def test_floors_are_shown_with_what_they_are_floors_of() -> None:
    figures = {"seconds": 2.0, "floor_seconds": 0.5, "over_floor": 4.0}
    text = page.text(cuda(rows=Outcome("done", 3.0, "", figures)))
    assert "| rows | 2 | 0.5 | 4 x | - |" in text
    assert "the least times that this device could need for the same work, by the rates measured above" in text
    assert "H200" not in text


@pytest.mark.parametrize("name", floors.H200_SECONDS)
def test_devices_with_the_processors_of_an_h200_have_its_floors_too(name: str) -> None:
    least = floors.H200_SECONDS[name]
    figures = {"seconds": 3 * least, "floor_seconds": least / 2, "over_floor": 6.0}
    device = {"machine": {}, "libraries": {}, "instruction_set": "avx2", "profile": "p", "architecture": "sm_90"}
    record = cuda(device=Outcome("done", found=device), **{name: Outcome("done", found=figures)})
    text = page.text(record)
    assert "| floor of an H200, s | over that floor | target |" in text
    assert f"| {name} | {3 * least:.4g} | {least / 2:.3g} | 6 x | {least:.3g} | 3 x | - |" in text
    assert "by the published peak rates of an H200: 67 TFLOP/s in float32" in text
    for other in ("sm_80", "sm_90.1g.18gb", "unknown"):
        parts = record.parts | {"device": Outcome("done", found=device | {"architecture": other})}
        assert "H200" not in page.text(replace(record, parts=parts)), other
    for other in (replace(record, provider="cpu"), replace(record, quick=True)):
        assert "H200" not in page.text(other)


def test_floors_of_an_h200_follow_from_its_rates() -> None:
    """To a tenth, as rates are rounded; of scans, bytes weigh as much as products."""
    float32, tf32, moved = 67e12, 400e12, 4.8e12
    special = 132 * 16 * 1.98e9
    expected = {
        "rows": 1e6 * floors.VESSEL_ROW.flop / float32 + 2 * 7.1e9 / special,
        "transformer": 4096 * 2.7e9 / tf32,
        "scan": floors.SCAN.flop / tf32,
        "translation": 26 * floors.TRANSLATION_STEP_BYTES["fp16"] / moved,
    }
    for name, seconds in expected.items():
        assert floors.H200_SECONDS[name] == pytest.approx(seconds, rel=0.1), name
    assert floors.MOTION.flop / tf32 < floors.H200_SECONDS["motion"]


def test_targets_are_judged_in_full_size_on_a_gpu_only() -> None:
    figures = {
        "seconds": 0.5,
        "device_memory_gib": 12.5,
        "floor_seconds": 0.25,
        "over_floor": 2.0,
        "targets": {"seconds": 0.8, "device_memory_gib": 12.0},
    }
    record = cuda(scan=Outcome("done", 3.0, "", figures))
    judged = "| scan | 0.5 | 0.25 | 2 x | ≤ 0.8 s: met (0.5 s), ≤ 12 GiB: **missed** (12.5 GiB) |"
    alone = "| scan | 0.5 | 0.25 | 2 x | ≤ 0.8 s, ≤ 12 GiB |"
    assert judged in page.text(record)
    for other in (replace(record, provider="cpu"), replace(record, quick=True)):
        assert alone in page.text(other)
        assert "not judged" in page.text(other)
    for nothing in (None, 0.0):
        unknown = cuda(scan=Outcome("done", 3.0, "", figures | {"device_memory_gib": nothing}))
        assert "≤ 0.8 s: met (0.5 s), ≤ 12 GiB: not told |" in page.text(unknown)


def test_a_quick_run_names_the_sizes_that_it_ran() -> None:
    record = replace(cuda(rows=Outcome("done")), quick=True)
    assert "4096 vessel rows" in page.text(record)
    assert "a million" not in page.text(record)
    assert "a million vessel rows" in page.text(replace(record, quick=False))


def test_what_the_tests_did_not_run_on_the_device_is_said() -> None:
    figures: dict[str, Any] = {"tests": [], "counts": {"passed": 2}, "failed": [], "on_cpu": ["translation"]}
    text = page.text(cuda(tests=Outcome("done", found=figures)))
    assert "| 2 passed; translation was served on the CPU |" in text
    assert "the toys of the other contract tests compute on the CPU" in text


def test_memory_is_the_largest_increase_that_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def largest(*used: int | None, provider: Any = "cuda") -> float | None:
        readings = iter(used)
        monkeypatch.setattr(nvidia, "used_memory_bytes", lambda index: {3: lambda: next(readings)}[index]())
        memory = measures._Memory(Device(provider=provider, index=3))
        for _ in used[1:]:
            memory.look()
        return memory.gib()

    assert largest(5 << 30, 9 << 30, 8 << 30) == 4.0
    assert largest(5 << 30, None, 8 << 30) == 3.0
    for nothing in ((None, None), (None, 8 << 30), (5 << 30, 5 << 30), (5 << 30, 4 << 30), (5 << 30, None)):
        assert largest(*nothing) is None, nothing
    assert largest(5 << 30, 9 << 30, provider="cpu") is None


def test_the_first_call_of_a_service_is_timed_without_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    @contextmanager
    def running(*words: Any, **settings: Any) -> Any:
        yield SimpleNamespace(grpc="nowhere:1", start_seconds=1.0)

    ready = SimpleNamespace(result=lambda seconds: done.append("connected"))
    monkeypatch.setattr(service, "running", running)
    monkeypatch.setattr(grpc, "insecure_channel", lambda target: nullcontext(target))
    monkeypatch.setattr(grpc, "channel_ready_future", lambda channel: ready)
    monkeypatch.setattr(wire, "stub", lambda channel, task: lambda body: done.append("asked"))
    figures = measures.service(Setting(Device(), True, tmp_path))
    assert done[:2] == ["connected", "asked"]
    assert done.count("connected") == 1
    times = figures["1_rows"]
    assert times["first_over_p50"] == pytest.approx(times["first_ms"] / times["p50_ms"])
    shown = {"p50_ms": 2.0, "first_ms": 3.0, "p99_ms": 4.0, "first_over_p50": 1.5}
    text = page.text(cuda(service=Outcome("done", found={"1_rows": shown, "start_seconds": 1.0})))
    assert "1 rows: p50 2.00 ms, first 3.00 ms (1.5 x)" in text


def test_a_part_that_cannot_run_has_no_time(tmp_path: Path) -> None:
    part = Part("absent", "", "none:none", needs=("no_package_of_this_name",))
    outcome = Work(tmp_path, "cpu", quick=True, versions={}).run(part, "cpu", quick=True, unavailable="")
    assert (outcome.state, outcome.time, outcome.artefacts) == ("missing", "", {})

"""How many cores are ours in a container."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from services import system


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"cpu.max": "max 100000\n"}, math.inf),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu.max": "nonsense"}, math.inf),
        ({}, math.inf),
    ],
)
def test_limits_of_both_kinds_of_cgroups(tmp_path: Path, files: dict[str, str], limit: float) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert system.cpu_limit(tmp_path) == limit


@pytest.mark.parametrize(("limit", "cores"), [(math.inf, 8), (1.5, 2), (0.2, 1), (20.0, 8)])
def test_cores_are_those_of_the_machine_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit: float, cores: int
) -> None:
    monkeypatch.setattr(system, "cpu_limit", lambda: limit)
    monkeypatch.setattr(system.os, "sched_getaffinity", lambda _: set(range(8)))
    assert system.available_cores() == cores


@pytest.mark.parametrize(("parent", "asked"), [(0, False), (1, True), (77, True)])
def test_the_first_process_of_a_container_does_not_end_with_its_runtime(
    monkeypatch: pytest.MonkeyPatch, parent: int, asked: bool
) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        def prctl(self, *given: int) -> None:
            calls.append((given[0], given[1]))

    monkeypatch.setattr(system.os, "getppid", lambda: parent)
    monkeypatch.setattr(system.ctypes, "CDLL", lambda _: Library())
    system.die_with_parent()
    assert bool(calls) == asked

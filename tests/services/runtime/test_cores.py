"""A container's CPU limit counts, in whole cores, however its control groups are mounted."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.runtime.cores import available_cores, quotas
from services.runtime.settings import Settings

ALLOWED = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
POD = "/kubepods/burstable/pod1/main"


def system(root: Path, line: str, files: dict[str, str]) -> Path:
    """A root directory with the control group of this process, and files below sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(f"12:pids:/elsewhere\n{line}\n")
    (root / "sys/fs/cgroup").mkdir(parents=True)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


CASES = {
    "version 2, as a container sees it": ("0::/", {"cpu.max": "150000 100000"}, [1.5]),
    "version 2, no limit": ("0::/", {"cpu.max": "max 100000"}, []),
    "version 2, something else": ("0::/", {"cpu.max": "many 0"}, []),
    "version 2, limits above count": (
        f"0::{POD}",
        {f"{POD[1:]}/cpu.max": "max 100000", "kubepods/cpu.max": "800000 100000", "cpu.max": "max 100000"},
        [8.0],
    ),
    "version 2, a path of the host that is not mounted": (f"0::{POD}", {"cpu.max": "400000 200000"}, [2.0]),
    "version 2, a path outside of what is mounted": ("0::/../other", {"cpu.max": "50000 100000"}, [0.5]),
    "version 2 beside version 1": ("0::/a", {"unified/a/cpu.max": "300000 100000", "cpu.max": "1 1"}, [3.0]),
    "version 1": (
        "3:cpu,cpuacct:/a/b",
        {
            "cpu,cpuacct/a/b/cpu.cfs_quota_us": "250000",
            "cpu,cpuacct/a/b/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/a/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
        },
        [2.5],
    ),
    "version 1, mounted by one name": (
        f"3:cpuacct,cpu:{POD}",
        {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"},
        [1.0],
    ),
    "version 1, of another controller": ("3:cpuset:/a", {"cpuset/a/cpu.cfs_quota_us": "1"}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_quota_is_found(tmp_path: Path, case: str) -> None:
    line, files, expected = CASES[case]
    assert [*quotas(system(tmp_path, line, files))] == expected


@pytest.mark.parametrize(("quota", "cores"), [("50000", 1), ("100000", 1), ("199999", 1), ("max", ALLOWED)])
def test_lanes_are_whole_cores_and_one_at_least(tmp_path: Path, quota: str, cores: int) -> None:
    assert available_cores(system(tmp_path, "0::/", {"cpu.max": f"{quota} 100000"})) == cores


def test_a_quota_beyond_the_cores_adds_none(tmp_path: Path) -> None:
    assert available_cores(system(tmp_path, "0::/", {"cpu.max": f"{(ALLOWED + 3) * 100000} 100000"})) == ALLOWED


def test_without_control_groups_cores_are_those_of_the_machine(tmp_path: Path) -> None:
    assert available_cores(tmp_path) == ALLOWED


@pytest.fixture
def group() -> Iterator[Path]:
    """A real control group with a quota, below that of this process; skipped where it may not be made."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            folder = Path("/sys/fs/cgroup", controllers, path.lstrip("/"), f"demur-{os.getpid()}")
            break
    else:
        folder = Path("/sys/fs/cgroup", path.lstrip("/"), f"demur-{os.getpid()}")
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield folder
    folder.rmdir()


def test_a_real_control_group_limits_the_lanes_of_a_service(group: Path) -> None:
    first = group / "cpu.cfs_quota_us"
    quota = first if first.exists() else group / "cpu.max"
    if not quota.exists():
        pytest.skip("the controller of CPU time is not enabled here")
    quota.write_text("100000" if first.exists() else "100000 100000")
    joined = f"import os; open({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))"
    code = f"{joined}; from services.runtime.settings import Settings; print(Settings().lane_count)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert (result.returncode, result.stdout.strip()) == (0, "1"), result.stderr
    assert Settings().lane_count == available_cores()

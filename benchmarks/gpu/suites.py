"""Tests of whole services on the device: the command line, both protocols, hostile input, real data.

Services started by tests take the provider from the environment, and so do the default artefacts of
``tests/contract/test_default_artefacts.py``. The toy models of the other modules of tests/contract compute on the CPU
on every machine: they test the protocols on this machine, not the device.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.gpu.parts import MOST_SECONDS, PartFailed, Setting
from services.runtime.settings import TASKS

ROOT = Path(__file__).resolve().parents[2]
FULL = (
    "tests/e2e/test_weather.py",
    "tests/e2e/test_motion.py",
    "tests/e2e/test_lesion.py",
    "tests/e2e/test_translation.py",
    "tests/e2e/test_bad_input.py",
    "tests/e2e/test_real_rows.py",
    "tests/contract",
)
ON_CPU = ("translation",)
"""Tasks whose services stay on the CPU in a run on CUDA: their default artefact computes in eight bits, which ONNX
Runtime's CUDA provider does not take, and `demur up` starts all tasks or none.
"""
NOT_ON_CUDA = ("tests/e2e/test_translation.py",)
"""Tests of only such tasks."""
QUICK = ("tests/e2e/test_real_rows.py",)
LOG = "tests.log"
"""Output of pytest, in the folder of kept parts."""
_FAILED = re.compile(r"(?:FAILED|ERROR) (\S.*)")
"""Pattern of failed tests in the summary; captured log lines have more spaces after their level."""
_SUMMARY = re.compile(r"(\d+) (passed|failed|skipped|error|errors)")


def run(setting: Setting) -> dict[str, Any]:
    """Run the tests; return the numbers of passed and skipped tests, and the services left on the CPU.

    Raises:
        PartFailed: a test failed, or there is no summary to show that they ran.
    """
    tests = chosen(setting)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not statistical",
        *tests,
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(setting, os.environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS - 20,
    )
    (setting.folder.parent / LOG).write_text(done.stdout + done.stderr)
    results = judged(tests, done.returncode, done.stdout, done.stderr)
    return results | {"on_cpu": list(ON_CPU)} if setting.device.provider == "cuda" else results


def environment(setting: Setting, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return variables under which services of all tasks start, on the device if it takes their default artefact.

    Args:
        inherited: variables of this process; the providers of single tasks are left out.
    """
    own = {f"DEMUR_{task.upper()}_PROVIDER" for task in TASKS}
    variables = {name: value for name, value in inherited.items() if name not in {*own, "DEMUR_TASK"}}
    variables |= {"DEMUR_PROVIDER": setting.device.provider, "DEMUR_QUALIFY": "auto"}
    if setting.device.provider == "cuda":
        variables |= {f"DEMUR_{task.upper()}_PROVIDER": "cpu" for task in ON_CPU}
    return variables


def chosen(setting: Setting) -> list[str]:
    """Return the files and folders of tests to run."""
    left_out = NOT_ON_CUDA if setting.device.provider == "cuda" else ()
    return [name for name in (QUICK if setting.quick else FULL) if name not in left_out]


def judged(tests: list[str], code: int, stdout: str, stderr: str) -> dict[str, Any]:
    """Return the results of a pytest run.

    Args:
        code: exit status of pytest.

    Raises:
        PartFailed: a test failed, or there is no summary to show that they ran.
    """
    lines = stdout.strip().splitlines()
    summary = _SUMMARY.findall(lines[-1]) if lines else []
    counts = {name.removesuffix("s") if name == "errors" else name: int(count) for count, name in summary}
    failed = [match[1] for line in lines if (match := _FAILED.match(line))]
    results = {"tests": tests, "counts": counts, "failed": failed}
    if not counts:
        last = (stderr.strip() or stdout.strip() or "no output").splitlines()[-1]
        raise PartFailed(f"pytest ended with exit code {code} and without a summary: {last}", results)
    if failed or code:
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        names = ", ".join(name.partition(" - ")[0] for name in failed) or f"pytest ended with exit code {code}"
        raise PartFailed(f"{listed}: {names}", results)
    return results

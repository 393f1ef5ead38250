"""Every decoder on made-up input: typed refusals or results, in bounded time and memory; a hundred thousand cases.

Longer runs by hand: ``python -m tests.fuzz --times 100 --seed 1``.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.engine import case_of, fuzz, ready, tried
from tests.fuzz.table import TARGETS
from tests.fuzz.target import Decoder, Target

SHORTER = 3
"""Divisor of the cases in CI."""
SEED = int(os.environ.get("DEMUR_FUZZ_SEED", "0"))
CORPUS = Path(__file__).parent / "corpus"
PROJECT = Path(__file__).resolve().parents[2]
_TOGETHER = [name for name, target in TARGETS.items() if not target.apart]


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", _TOGETHER)
def test_a_decoder_refuses_in_words_or_reads(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    failures = fuzz(name, target, tmp_path, cases=math.ceil(target.cases / SHORTER), seed=SEED)
    assert not failures, "\n\n".join(map(str, failures))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", _TOGETHER)
def test_a_decoder_refuses_in_words_or_reads_all_cases(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    failures = fuzz(name, target, tmp_path, cases=target.cases, seed=SEED)
    assert not failures, "\n\n".join(map(str, failures))


@pytest.mark.long
@pytest.mark.timeout(300)
def test_decoders_of_other_peoples_libraries_end_no_process() -> None:
    """They are tried in a process of their own, which a broken library may take along."""
    names = [word for name, target in TARGETS.items() if target.apart for word in ("--target", name)]
    command = [sys.executable, "-m", "tests.fuzz", *names, "--seed", str(SEED)]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stdout[-8000:]}\n{run.stderr[-2000:]}"


def test_the_cases_are_a_hundred_thousand() -> None:
    assert sum(target.cases for target in TARGETS.values()) >= 100_000


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_a_bug_once_is_none(file: Path, tmp_path: Path) -> None:
    with ready(TARGETS[file.parent.name], tmp_path) as decoder:
        error = tried(decoder, file.read_bytes())
    assert error is None, error


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (lambda case: int(case), "ValueError"),
        (lambda case: [0] * (1 << 28) if len(case) > 4 else None, "MemoryError"),
        (lambda case: _spin() if len(case) > 4 else None, "TooSlow"),
    ],
    ids=["an error without a type", "memory by claim", "no end"],
)
def test_what_is_wrong_with_a_decoder_is_found(read, wrong: str, tmp_path: Path) -> None:
    decoder = Decoder([b"1", b"95"], read, (), most_seconds=0.1, most_bytes=64 << 20)
    failures = fuzz("any", Target(1, lambda folder: decoder), tmp_path, cases=20, seed=0)
    assert wrong in {failure.error.partition(":")[0] for failure in failures}
    assert all(f"--seed 0 --case {failure.number}" in str(failure) for failure in failures)


def test_a_case_is_made_of_its_number_alone(tmp_path: Path) -> None:
    decoder = TARGETS["json-vessel"].opened(tmp_path)
    assert case_of(decoder, "json-vessel", 3, 77) == case_of(decoder, "json-vessel", 3, 77)
    assert case_of(decoder, "json-vessel", 3, 77) != case_of(decoder, "json-vessel", 4, 77)


def _spin() -> None:
    while True:
        pass

"""Long runs by hand: ``python -m tests.fuzz --target json-vessel --cases 1000000 --seed 7``; without a target, all."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.engine import Failure, case_of, fuzz, ready, shrunk, told, tried
from tests.fuzz.table import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="one or more; default: all")
    parser.add_argument("--cases", type=int, help="of each target; default: as many as in CI")
    parser.add_argument("--times", type=float, default=1.0, help="default cases times this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run this one case of a target, and show all of what is wrong")
    parser.add_argument("--list", action="store_true", help="show targets and their cases")
    options = parser.parse_args()
    names = options.target or list(TARGETS)
    if options.list:
        print("\n".join(f"{name:24} {TARGETS[name].cases:7,}" for name in names))
        print(f"{'all':24} {sum(TARGETS[name].cases for name in names):7,}")
        return 0
    if options.case is not None:
        return _one(names, options.seed, options.case)
    failed = 0
    for name in names:
        cases = options.cases or round(TARGETS[name].cases * options.times)
        failed += len(_many(name, cases, options.seed))
    return 1 if failed else 0


def _many(name: str, cases: int, seed: int) -> list[Failure]:
    start = last = time.monotonic()

    def progress(done: int, failures: list[Failure]) -> None:
        nonlocal last
        if (now := time.monotonic()) - last > 2 and sys.stderr.isatty():
            last = now
            print(f"\r{name}: {done:,} of {cases:,}, {len(failures)} failures", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        failures = fuzz(name, TARGETS[name], Path(folder), cases=cases, seed=seed, progress=progress)
    seconds = time.monotonic() - start
    print(
        f"{name:24} {cases:9,} cases {seconds:7.1f} s {1e3 * seconds / max(cases, 1):6.2f} ms  {len(failures)} failures"
    )
    for failure in failures:
        print(f"\n{failure}\n")
    return failures


def _one(names: list[str], seed: int, number: int) -> int:
    (name,) = names
    with tempfile.TemporaryDirectory() as folder, ready(TARGETS[name], Path(folder)) as decoder:
        case = case_of(decoder, name, seed, number)
        error = tried(decoder, case)
        if error is None:
            print(f"{name}: case {number} of seed {seed} ({len(case)} bytes) is read, or refused")
            return 0
        smallest = shrunk(decoder, Failure(name, seed, number, case, *told(error)))
    print(f"smallest case: {smallest!r}")
    raise error


if __name__ == "__main__":
    sys.exit(main())

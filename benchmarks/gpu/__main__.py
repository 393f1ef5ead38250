"""Asks a machine with a GPU everything at once, part by part, and writes docs/gpu.

    make gpu
    python -m benchmarks.gpu [--provider cuda|cpu] [--only PART ...] [--quick] [--out docs/gpu] [--again]

Uses what is installed and names what is missing. Each part takes at most eight minutes; those that are done are kept
(`.demur/gpu`) and not run again. With ``--provider cpu`` the same runs on a CPU, with ``--quick`` in small sizes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

try:
    from benchmarks.gpu import facts, page
    from benchmarks.gpu.parts import PARTS, Outcome, Part, Setting
    from benchmarks.gpu.record import Record, write
    from benchmarks.gpu.work import Work, answer, scratch
    from models.executors.device import Device
except ModuleNotFoundError as error:
    sys.exit(
        f"{error.name} is missing; install the project first: pip install -e clients/python -e '.[cuda,train,dev]'"
    )

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Runs the parts; 1 where one failed, 0 where all that can run here are done."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [part.name for part in PARTS]
    parser.add_argument("--provider", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", nargs="+", choices=names, metavar="PART", default=names, help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="small sizes, in some minutes on a CPU")
    parser.add_argument("--again", action="store_true", help="run parts again that are done")
    parser.add_argument("--work", type=Path, default=ROOT / ".demur" / "gpu")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "gpu", help="folder of record and page")
    parser.add_argument("--one", choices=names, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        return _one(next(part for part in PARTS if part.name == given.one), given)
    return _all(given)


def _all(given: argparse.Namespace) -> int:
    versions = {name: told for name in facts.PACKAGES if (told := facts.installed(name))}
    work = Work(given.work, given.provider, given.quick, versions)
    unavailable = facts.unavailable(Device(provider=given.provider))
    if unavailable:
        sys.stdout.write(f"ONNX Runtime has no session on {given.provider}: {unavailable}\n")
    start = time.perf_counter()
    outcomes: dict[str, Outcome] = {}
    for number, part in enumerate(PARTS, 1):
        kept = work.kept(part)
        if part.name not in given.only or (kept is not None and not given.again):
            if kept is not None:
                outcomes[part.name] = kept
            continue
        sys.stdout.write(f"{number:>2}/{len(PARTS)} {part.name}: {part.about} … ")
        sys.stdout.flush()
        outcomes[part.name] = found = work.run(part, given.provider, given.quick, unavailable)
        sys.stdout.write(f"{found.state} in {found.seconds:.0f} s{': ' + found.reason if found.reason else ''}\n")
    record = Record(
        provider=given.provider,
        quick=given.quick,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.perf_counter() - start, 1),
        versions=versions,
        parts=outcomes,
    )
    write(given.out, record)
    (given.out / "README.md").write_text(page.text(record))
    sys.stdout.write(f"{given.out / 'README.md'}\n")
    return int(any(found.state == "failed" for found in outcomes.values()))


def _one(part: Part, given: argparse.Namespace) -> int:
    """Runs a part here; its files go when it ends."""
    folder = scratch(given.work, part)
    try:
        answer(given.work, part, part.run(Setting(Device(provider=given.provider), given.quick, folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks and benchmarks to run on a machine with a GPU, part by part; writes docs/gpu.

    make gpu
    python -m benchmarks.gpu [--provider cuda|cpu] [--only PART ...] [--quick] [--out docs/gpu] [--again]

The command uses the installed packages and names missing ones. Each part takes at most eight minutes. Outcomes of
finished parts are kept (`.demur/gpu`) and not measured again with the same libraries and shipped artefacts; failed
parts run again. ``--provider cpu`` runs the same parts on a CPU, ``--quick`` in small sizes. The exit code is 1 if a
part on the page has failed: an error, a test, a refused device, or numbers that differ by more than rounding explains.
"""

import argparse
import shutil
import sys
from pathlib import Path

try:
    from benchmarks import harness
    from benchmarks.gpu import facts, page
    from benchmarks.gpu.parts import PARTS, Outcome, Part, Setting
    from benchmarks.gpu.record import gathered, write
    from benchmarks.gpu.work import Work, answer, scratch
    from models.executors.device import Device
except ModuleNotFoundError as error:
    sys.exit(
        f"{error.name} is missing; install the project first: pip install -e clients/python -e '.[cuda,train,dev]'"
    )

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run the parts; return 1 if one failed, 0 if all that can run here are done."""
    names = [part.name for part in PARTS]
    parser = harness.parser("gpu", __doc__, parts=names)
    parser.add_argument("--provider", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="small sizes, in some minutes on a CPU")
    parser.add_argument("--again", action="store_true", help="run parts again that are done")
    parser.add_argument("--work", type=Path, default=ROOT / ".demur" / "gpu")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "gpu", help="folder of record and page")
    parser.add_argument("--one", choices=names, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        return _one(next(part for part in PARTS if part.name == options.one), options)
    return _all(options)


def _all(options: argparse.Namespace) -> int:
    versions = {name: version for name in facts.PACKAGES if (version := facts.installed(name))}
    work = Work(options.work, options.provider, options.quick, versions)
    unavailable = facts.unavailable(Device(provider=options.provider))
    if unavailable:
        sys.stdout.write(f"ONNX Runtime has no session on {options.provider}: {unavailable}\n")
    outcomes: dict[str, Outcome] = {}
    for number, part in enumerate(PARTS, 1):
        kept = work.kept(part)
        done = kept is not None and kept.state == "done"
        if part.name not in options.only or (done and not options.again):
            if kept is not None:
                outcomes[part.name] = kept
            continue
        sys.stdout.write(f"{number:>2}/{len(PARTS)} {part.name}: {part.title(quick=options.quick)} … ")
        sys.stdout.flush()
        outcomes[part.name] = outcome = work.run(part, options.provider, options.quick, unavailable)
        reason = f": {outcome.reason}" if outcome.reason else ""
        sys.stdout.write(f"{outcome.state} in {outcome.seconds:.0f} s{reason}\n")
    record = gathered(options.provider, options.quick, versions, outcomes)
    write(options.out, record)
    (options.out / "README.md").write_text(page.text(record))
    if record.failed:
        sys.stdout.write(f"failed: {', '.join(record.failed)}\n")
    sys.stdout.write(f"{options.out / 'README.md'}\n")
    return int(bool(record.failed))


def _one(part: Part, options: argparse.Namespace) -> int:
    """Run a part in this process; its files are deleted when it ends."""
    folder = scratch(options.work, part)
    try:
        outcome = answer(options.work, part, Setting(Device(provider=options.provider), options.quick, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return int(outcome.state == "failed")


if __name__ == "__main__":
    sys.exit(main())

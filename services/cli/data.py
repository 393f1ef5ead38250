"""``demur data TASK simulate``: a task's data set from its simulator, in the official format."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from services.cli.output import CommandError, ProgressLine, print_json
from services.tasks import WORKBENCHES

EXAMPLE = "demur data vessel simulate --scale 0.05 --out data/vessel"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", choices=sorted(WORKBENCHES))
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    simulate = actions.add_parser("simulate", help="draw the canonical splits from the simulator")
    simulate.add_argument("--out", type=Path, required=True, help="directory for the files")
    simulate.add_argument("--scale", type=float, default=1.0, help="share of the canonical row counts, (0, 1]")
    simulate.add_argument("--seed", type=int, default=0, help="equal seeds draw equal files")
    simulate.add_argument("--generalisation", type=int, default=0, metavar="ROWS", help="also draw this many rows")
    simulate.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Writes the files and says where."""
    bench = importlib.import_module(WORKBENCHES[given.task])
    try:
        written = bench.simulate_files(
            given.out, given.scale, given.seed, given.generalisation, ProgressLine(f"simulating {given.task}")
        )
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from error
    if given.json:
        print_json({"files": [str(path) for path in written], "datasheet": bench.DATASHEET})
    else:
        print("\n".join(f"{path}  {path.stat().st_size / 1e6:.1f} MB" for path in written))
        print(f"what these are: {bench.DATASHEET}")
    return 0

"""Motion artefacts on real traffic, offline: errors, retention, decisions, city by city.

    python -m benchmarks.motion_real [ARTEFACT ...] [--work DIR] [--out docs/quality]

Reads ../shared/data/motion (or DEMUR_TEST_DATA/motion) and writes docs/quality/motion-real.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.handwritten import rewrite
from benchmarks.motion_real import data, judge, page


def main(arguments: Sequence[str] | None = None) -> int:
    """0; 1 where the data are not there."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.motion_real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "artefacts", nargs="*", type=Path, metavar="ARTEFACT", help="folders; default: all of artefacts/motion"
    )
    parser.add_argument("--work", type=Path, default=data.ROOT / ".demur" / "motion-real", help="converted scenes")
    parser.add_argument("--out", type=Path, default=data.ROOT / "docs" / "quality")
    asked = parser.parse_args(arguments)
    try:
        source = data.folder()
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    directories = asked.artefacts or sorted(
        path.parent for path in (data.ROOT / "artefacts" / "motion").glob("*/manifest.json")
    )
    asked.work.mkdir(parents=True, exist_ok=True)
    converted = data.prepared(source, asked.work)
    found = {}
    for directory in directories:
        one = judge.opened(directory)
        real = list(data.requests(source, converted, one.recipe.grid))
        found[one.name] = judge.lines(real, judge.judged(one, real))
        sys.stderr.write(f"{one.name}: {len(real)} requests\n")
    asked.out.mkdir(parents=True, exist_ok=True)
    target = asked.out / "motion-real.md"
    rewrite(target, page.document(real, found, judge.steady(real)) + "\n")
    sys.stdout.write(target.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

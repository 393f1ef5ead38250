"""Lesion artefacts on real scans, offline: scores, structural uncertainty, remarks and decisions.

    python -m benchmarks.lesion_real [ARTEFACT ...] [--out docs/quality] [--pictures DIR]

Reads ../shared/data/lesion (or DEMUR_TEST_DATA/lesion) and writes docs/quality/lesion-real.md. Pictures show patients:
they are drawn where they are asked for, and are no part of the page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.handwritten import rewrite
from benchmarks.lesion_real import judge, page
from benchmarks.lesion_real.data import ROOT, folder, scans


def main(arguments: Sequence[str] | None = None) -> int:
    """0; 1 where the data are not there."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lesion_real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "artefacts", nargs="*", type=Path, metavar="ARTEFACT", help="folders; default: all of artefacts/lesion"
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="scans whose name has one of these words")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "quality")
    parser.add_argument("--pictures", type=Path, help="folder for a picture an artefact, outside the repository")
    asked = parser.parse_args(arguments)
    try:
        source = folder()
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    chosen = [one for one in scans(source) if not asked.only or any(word in one.name for word in asked.only)]
    found = {}
    asked.out.mkdir(parents=True, exist_ok=True)
    for directory in asked.artefacts or sorted(
        path.parent for path in (ROOT / "artefacts" / "lesion").glob("*/manifest.json")
    ):
        one = judge.opened(directory)
        results = judge.results(one, chosen, asked.threads, say)
        found[one.name] = one, results
        if asked.pictures:
            asked.pictures.mkdir(parents=True, exist_ok=True)
            page.draw(results, asked.pictures / f"lesion-real-{one.name}.png", one.name)
    target = asked.out / "lesion-real.md"
    rewrite(target, page.document(found) + "\n")
    sys.stdout.write(target.read_text())
    return 0


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())

"""Motion artefacts on real traffic, offline: errors, retention, decisions, city by city.

    python -m studies.motion_real [ARTEFACT ...] [--work DIR] [--out docs/quality]

Reads ../shared/data/motion (or DEMUR_TEST_DATA/motion) and writes docs/quality/motion-real.md.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from studies import pages
from studies.jobs import say
from studies.motion_real import judge, page


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; return 1 if the data are missing."""
    parser = pages.parser("motion_real", __doc__, out=pages.QUALITY, work="motion-real")
    parser.add_argument(
        "artefacts", nargs="*", type=Path, metavar="ARTEFACT", help="folders; default: all of artefacts/motion"
    )
    options = parser.parse_args(arguments)
    try:
        source = judge.folder()
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    options.work.mkdir(parents=True, exist_ok=True)
    converted = judge.prepared(source, options.work)
    judged = {}
    for directory in options.artefacts or pages.reference_artefacts("motion"):
        opened = judge.opened(directory)
        real = list(judge.requests(source, converted, opened.recipe.grid))
        judged[opened.name] = judge.lines(real, judge.judged(opened, real))
        say(f"{opened.name}: {len(real)} requests")
    target = options.out / "motion-real.md"
    pages.write(target, page.document(real, judged, judge.steady(real)))
    sys.stdout.write(target.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

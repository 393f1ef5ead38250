"""Lesion artefacts on real scans, offline: scores, structural uncertainty, remarks and decisions.

    python -m studies.lesion_real [ARTEFACT ...] [--out docs/quality] [--pictures DIR]

Reads ../shared/data/lesion (or DEMUR_TEST_DATA/lesion) and writes docs/quality/lesion-real.md. Pictures show patients:
they are drawn only on request, and are not part of the page.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from studies import pages
from studies.jobs import say
from studies.lesion_real import judge, page


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; return 1 if the data are missing."""
    parser = pages.parser("lesion_real", __doc__, out=pages.QUALITY)
    parser.add_argument(
        "artefacts", nargs="*", type=Path, metavar="ARTEFACT", help="folders; default: all of artefacts/lesion"
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="scans whose name has one of these words")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pictures", type=Path, help="folder for a picture an artefact, outside the repository")
    options = parser.parse_args(arguments)
    try:
        scans = judge.scans(pages.real_data("lesion"))
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    chosen = [scan for scan in scans if not options.only or any(word in scan.name for word in options.only)]
    judged = {}
    for directory in options.artefacts or pages.reference_artefacts("lesion"):
        opened = judge.opened(directory)
        results = judge.results(opened, chosen, options.threads, say)
        judged[opened.name] = opened, results
        if options.pictures:
            page.draw(results, options.pictures / f"lesion-real-{opened.name}.png", opened.name)
    target = options.out / "lesion-real.md"
    pages.write(target, page.document(judged))
    sys.stdout.write(target.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

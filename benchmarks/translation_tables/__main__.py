"""Tables 4 and 5 of Shifts 1.0's translation task with small models on open data.

    python -m benchmarks.translation_tables --members TRAINING_FOLDER [--parts FOLDER] [--data DEMUR_TEST_DATA]

Takes finished members of ``demur train translation``'s kept folder (weights, pieces, fingerprints of what they were
trained on) and real pairs, and writes docs/quality/translation.md with its pictures and docs/translation-examples.md.
Takes half an hour on two free cores; what is translated lies in the folder of parts and is not translated again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.handwritten import rewrite
from benchmarks.jobs import run, say
from benchmarks.translation_tables import data, examples, figures, page, translate
from benchmarks.translation_tables.findings import Findings
from benchmarks.translation_tables.nearness import Nearness
from benchmarks.translation_tables.plan import Plan
from benchmarks.translation_tables.tokens import tokenisation
from models.evaluation.judged import BadFile
from models.training.training_folder import claim

QUICK = {"cap": 30, "public": 30, "compared": 30}
"""Minutes, to see that everything runs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0; 1 where data or members are not there or do not fit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.translation_tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Plan()
    parts = data.ROOT / ".demur" / "translation-tables"
    parser.add_argument("--parts", type=Path, default=parts, help="where translated sets are kept, and logs")
    parser.add_argument("--members", type=Path, required=True, help="folder of a training, with its finished members")
    parser.add_argument("--data", type=Path, help="folder of real data; default: DEMUR_TEST_DATA")
    parser.add_argument(
        "--out", type=Path, default=data.ROOT / "docs" / "quality", help="of the page; examples go above"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=default.seeds, help="of the members")
    parser.add_argument("--preset", default=default.preset, help="by which they were trained")
    parser.add_argument("--cap", type=int, default=default.cap, help="lines of a domain, at most")
    parser.add_argument("--public", type=int, default=default.public, help="lines of a public test set, at most")
    parser.add_argument("--compared", type=int, default=default.compared, help="lines in float32, too")
    parser.add_argument("--quick", action="store_true", help="a few lines of each set, to see that it runs")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread, side by side")
    asked = parser.parse_args(arguments)
    given = {"cap": asked.cap, "public": asked.public, "compared": asked.compared}
    plan = Plan(**(QUICK if asked.quick else given), preset=asked.preset, seeds=tuple(asked.seeds))
    try:
        write(plan, data.folder(asked.data), asked.members, asked.parts, asked.out, asked.workers)
    except (LookupError, BadFile, ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def write(plan: Plan, source: Path, members: Path, parts: Path, out: Path, workers: int) -> None:
    """Translates what is not translated yet, and writes both pages.

    Raises:
        BadFile, ValueError: as ``data.read``, ``data.check_trained_on`` and ``translate.ensemble``, or parts of other
            members, data or settings.
    """
    known = data.read(source, plan)
    data.check_trained_on(members, known.folder)
    ensemble = translate.ensemble(plan, members)
    claim(
        parts,
        {
            "plan": repr(plan),
            "members": translate.fingerprint(ensemble),
            "data": known.fingerprint,
            "tokens": tokenisation().name,
        },
    )
    near = Nearness(plan, data.TATOEBA, source, parts)
    jobs = translate.translatings(plan, list(known.sets), source, members, parts)
    run([*jobs, near], workers, parts / "logs")
    say("judging")
    found = Findings(plan, known, ensemble, parts, near.found())
    told = found.page()
    out.mkdir(parents=True, exist_ok=True)
    figures.draw_retention(found.drawn(), out / page.RETENTION_PICTURE)
    figures.draw_deferral(found.ranks(), found.decisions, found.policy.threshold, out / page.DEFERRAL_PICTURE)
    rewrite(out / "translation.md", page.document(told))
    quoted = {name: found.ensemble(name) for name in examples.QUOTED}
    above = examples.limit(found.ensemble("in").kept)
    rewrite(
        out.parent / "translation-examples.md",
        examples.page(quoted, above, found.policy.threshold, found.model_lines),
    )
    for one in (*told.relations, *told.own):
        sys.stdout.write(f"{'holds' if one.holds else 'FAILS'} {one.statement} | {one.found}\n")


if __name__ == "__main__":
    sys.exit(main())

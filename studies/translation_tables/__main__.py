"""Tables 4 and 5 of Shifts 1.0's translation task with small models on open data.

    python -m studies.translation_tables --members TRAINING_FOLDER [--parts FOLDER] [--data DEMUR_TEST_DATA]

Takes finished members of ``demur train translation``'s kept folder (weights, pieces, fingerprints of their training
data) and real pairs, and writes docs/quality/translation.md with its pictures and docs/translation-examples.md.
Takes half an hour on two free cores; translated sets stay in the folder of parts and are not translated again.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.training.training_folder import claim
from studies import pages
from studies.jobs import run, say
from studies.statements import report
from studies.translation_tables import data, examples, figures, page, translate
from studies.translation_tables.findings import Findings
from studies.translation_tables.plan import Plan
from studies.translation_tables.translate import tokenisation

QUICK = {"cap": 30, "public": 30, "compared": 30}
"""Smallest plan, which takes minutes and shows that everything runs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; return 1 if data or members are missing or do not fit, else 0."""
    parser = pages.parser("translation_tables", __doc__, out=pages.QUALITY)
    default = Plan()
    parts = pages.ROOT / ".demur" / "translation-tables"
    parser.add_argument("--parts", type=Path, default=parts, help="where translated sets are kept, and logs")
    parser.add_argument("--members", type=Path, required=True, help="folder of a training, with its finished members")
    parser.add_argument("--data", type=Path, help="folder of real data; default: DEMUR_TEST_DATA")
    parser.add_argument("--seeds", type=int, nargs="+", default=default.seeds, help="of the members")
    parser.add_argument("--preset", default=default.preset, help="by which they were trained")
    parser.add_argument("--cap", type=int, default=default.cap, help="lines of a domain, at most")
    parser.add_argument("--public", type=int, default=default.public, help="lines of a public test set, at most")
    parser.add_argument("--compared", type=int, default=default.compared, help="lines in float32, too")
    parser.add_argument("--quick", action="store_true", help="a few lines of each set, to see that it runs")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread, side by side")
    options = parser.parse_args(arguments)
    chosen = {"cap": options.cap, "public": options.public, "compared": options.compared}
    plan = Plan(**(QUICK if options.quick else chosen), preset=options.preset, seeds=tuple(options.seeds))
    try:
        write(plan, data.folder(options.data), options.members, options.parts, options.out, options.workers)
    except (LookupError, BadFile, ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def write(plan: Plan, source: Path, members: Path, parts: Path, out: Path, workers: int) -> None:
    """Translate the sets that are not translated yet, and write both pages.

    Raises:
        BadFile, ValueError: as in ``data.read``, ``data.check_trained_on`` and ``translate.ensemble``; or parts of
        other
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
    near = data.nearness(plan, data.TATOEBA, source, parts)
    jobs = translate.translatings(plan, list(known.sets), source, members, parts)
    run([*jobs, near], workers, parts / "logs")
    say("judging")
    results = Findings(plan, known, ensemble, parts, frozenset(near.target.read_text().split("\n")) - {""})
    findings = results.page()
    figures.draw_retention(results.drawn(), out / page.RETENTION_PICTURE)
    figures.draw_deferral(results.ranks(), results.decisions, results.policy.threshold, out / page.DEFERRAL_PICTURE)
    pages.write(out / "translation.md", page.document(findings))
    quoted = {name: results.ensemble(name) for name in examples.QUOTED}
    above = examples.limit(results.ensemble("in").kept)
    text = examples.page(quoted, above, results.policy.threshold, results.model_lines)
    pages.write(out.parent / "translation-examples.md", text)
    report((*findings.relations, *findings.own))


if __name__ == "__main__":
    sys.exit(main())

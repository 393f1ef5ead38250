"""Builder of the reference artefacts of the lesion task from the members of ``studies.lesion_tables``.

    python -m studies.lesion_reference [--work DIR] [--out DIR] [--families unet unetr] [--threads 2]
    python -m studies.lesion_reference --judge [--work DIR] [--out DIR] [--families unet unetr]

Thresholds are tuned on dev_in, everything else is calibrated on unused in-domain scans; the model card evaluates the
scans of the other splits in the work folder, which are those of docs/quality/lesion.md. The command takes minutes
(U-Net) to an hour (UNETR) on two cores. ``--judge`` evaluates existing artefacts and rewrites their figures and cards;
graphs, recipe, golden window and calibration stay as they are.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from models import artefact as artefacts
from models import building, card, replay
from models.building import Provenance
from models.executors.device import Device
from models.tasks.lesion import spec
from models.tasks.lesion.artefact import build, calibration, recipe
from models.tasks.lesion.artefact.build import TUNING
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data import examples, official
from models.tasks.lesion.inference import members as members_of
from models.tasks.lesion.training.train import assembled
from models.training.checkpoints import finished
from simulators.lesion.dataset import LICENCE, SIMULATOR
from studies import pages
from studies.jobs import say
from studies.lesion_tables.plan import Plan
from studies.served import progress, report

JUDGED = ("eval_in", "dev_out", "eval_out")
SCORES = ("ndsc", "dice", "lesion_f1", "voxel_r_aac")
QUALITY = "## Quality"


def main() -> None:
    parser = pages.parser("lesion_reference", __doc__, out=pages.ARTEFACTS / "lesion", work="lesion-tables")
    parser.add_argument("--families", nargs="+", default=["unet", "unetr"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--judge", action="store_true", help="only judge the artefacts that are there")
    options = parser.parse_args()
    plan = Plan()
    known = {case.id: case for case in official.cases(options.work / "data")}
    tune = [known[entry.id] for entry in plan.entries("dev_in")]
    judge = {split: [known[e.id] for e in plan.entries(split) if e.id in known] for split in JUDGED}
    if options.judge:
        for family in options.families:
            rejudge(options.out / f"{family}-{plan.members}", tune, judge, options.work, options.threads)
        return
    train = [known[entry.id] for entry in plan.entries("train")]
    for family in options.families:
        settings = plan.settings(family)
        trained = [finished(options.work / "members" / f"{family}-{seed}", seed) for seed in range(plan.members)]
        if None in trained:
            raise SystemExit(f"{options.work} has not all members of {family}: run studies.lesion_tables --parts train")
        ensemble = assembled(
            family, [member for member in trained if member is not None], settings, seed=plan.seed, preset=plan.preset
        )
        name = f"{family}-{len(ensemble.graphs)}"
        artefact = build.build(
            ensemble,
            Recipe(),
            options.out / name,
            train=train,
            tune=tune,
            calibration=[known[entry.id] for entry in plan.calibrating()],
            judge=judge,
            provenance=Provenance(f"{SIMULATOR}, seed {plan.seed}", LICENCE),
            threads=options.threads,
            progress=progress(name),
        )
        report(artefact)


def rejudge(
    directory: Path,
    tune: Sequence[official.Case],
    judge: Mapping[str, Sequence[official.Case]],
    work: Path,
    threads: int,
) -> None:
    """Evaluate an artefact on these scans, and rewrite its figures and model card.

    Results of scans that were evaluated before are read from the work folder.

    Raises:
        SystemExit: the scans in the work folder are not those that the artefact was made with.
    """
    artefact = artefacts.read(directory, "lesion")
    manifest = artefact.manifest
    made = next(source.fingerprint for source in manifest.sources if source.role == TUNING)
    if examples.fingerprint(tune) != made:
        raise SystemExit(
            f"{work}: dev_in has another fingerprint than {directory} was tuned on; simulate the same seed"
        )
    plan, members = recipe.read(artefact), members_of.members(artefact, device=Device(threads=1))
    kept = work / f"judged-{artefacts.name(manifest)}.json"
    scores: dict[str, dict[str, float]] = json.loads(kept.read_text()) if kept.exists() else {}
    for case in (case for cases in judge.values() for case in cases):
        if case.id not in scores:
            (verdict,) = build.judged([case], members, plan, threads=threads)
            scores[case.id] = verdict.scores
            kept.write_text(json.dumps(scores, indent=1))
            say(f"{directory.name}: {len(scores)} judged, {case.id} {verdict.scores}")
    quality = {split: calibration.quality([scores[case.id] for case in cases]) for split, cases in judge.items()}
    known = manifest.quality["calibration"]
    calibrated = {"scans": float(_rows(manifest, "calibration")), **{name: known[name] for name in SCORES}}
    manifest = msgspec.structs.replace(manifest, quality={"calibration": calibrated, **quality})
    files: dict[str, bytes | Path] = {name: artefact.path(name).read_bytes() for name in manifest.files}
    before = artefact.path(building.CARD).read_text()
    own = replay.without_section(before)
    judged = "".join(card.text(manifest, spec.HEADS, spec.CARD).partition(QUALITY)[1:])
    files[building.CARD] = f"{own.partition(QUALITY)[0]}{judged}{before[len(own) :]}".encode()
    report(artefacts.share(artefacts.write(directory, manifest, files)))


def _rows(manifest: artefacts.Manifest, role: str) -> int:
    return next(source.rows for source in manifest.sources if source.role == role)


if __name__ == "__main__":
    main()

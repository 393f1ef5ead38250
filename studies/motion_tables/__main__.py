"""Tables 6, 7, 20 and 21 of Shifts 1.0's motion task on simulated traffic.

    python -m studies.motion_tables --served artefacts/motion [--workers 2] [--work DIR]
    python -m studies.motion_tables [--parts simulate train imagine judge diagnostics page] [--families bc dim]
    python -m studies.motion_tables --parts page

Puts the figures of the evaluated families into studies/motion_tables/recorded.json, with the run that they come from,
and writes docs/quality/motion.md from it, with a picture beside it; the last command writes the page only. With
``--served``, families with an artefact there are evaluated by that artefact, and only the others are trained. Takes
about an hour on two cores without it. Finished results stay in the work folder and are not computed again; a killed
training continues from its last saved state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import machine
from models.artefact import Artefact, read
from models.manifest import Source
from models.provenance import PROVENANCE
from models.tasks.motion.data import gathering
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.training import shares
from models.tasks.motion.training.shares import DEV
from models.training.training_folder import claim
from models.workbench import Progress
from simulators.motion import dataset
from studies import pages
from studies.jobs import run, say
from studies.motion_tables import judge, page, record
from studies.motion_tables.diagnostics import DEEP, diagnostics
from studies.motion_tables.members import Imagined, imagining, load, trainings
from studies.motion_tables.plan import BACKBONES, FAMILIES, METHODS, ROWS, SIZES, Plan, Row
from studies.motion_tables.record import Run
from studies.motion_tables.relations import relations
from studies.statements import report

PARTS = ("simulate", "train", "imagine", "judge", "diagnostics", "page")
SPLITS = ("dev", "eval")
RECORD = Path(__file__).parent / "recorded.json"
QUICK = Plan(scale=0.02, preset="tiny")
"""Plan of a minute or two that shows that everything runs: the fewest scenes with in-domain ones of dev to evaluate."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = pages.parser("motion_tables", __doc__, out=pages.QUALITY, work="motion-tables")
    parser.add_argument("--record", type=Path, default=RECORD, help="figures of all rows, and the runs they are of")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="all by default, in this order")
    parser.add_argument("--served", type=Path, help="folder of artefacts that are judged instead of trained members")
    parser.add_argument(
        "--families", nargs="+", choices=tuple(FAMILIES.values()), default=tuple(FAMILIES.values()), help="default: all"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread, side by side")
    parser.add_argument("--quick", action="store_true", help="tiny networks and a few scenes; needs a --record")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the canonical numbers of scenes")
    parser.add_argument("--effort", type=float, default=1.0, help="multiplies the steps of training")
    options = parser.parse_args(arguments)
    plan = QUICK if options.quick else Plan(options.seed, options.scale, effort=options.effort)
    if {"judge", "page"} & set(options.parts):
        try:
            record.load(options.record, plan)
        except ValueError as error:
            parser.error(str(error))
    artefacts = served(options.served, plan) if options.served else {}
    chosen = {name: artefact for name, artefact in artefacts.items() if name in options.families}
    runs = Runs(plan, options.work, options.workers, tuple(options.families), chosen, options.record, options.out)
    for part in PARTS:
        if part in options.parts:
            say(f"part {part}")
            getattr(runs, part)()


@dataclass(frozen=True)
class Runs:
    """Runner of all parts on one work folder."""

    plan: Plan
    work: Path
    workers: int
    families: Sequence[str]
    """Families to train, imagine and evaluate."""
    artefacts: Mapping[str, Artefact]
    """Artefact by family that is evaluated in place of trained members."""
    record: Path
    """File of the figures from which the page is written."""
    out: Path
    """Folder of the page and its picture."""

    def __post_init__(self) -> None:
        sizes = ("seed", "scale", "preset", "members", "effort")
        claim(self.work, {name: repr(getattr(self.plan, name)) for name in sizes})

    def simulate(self) -> None:
        """Draw all scenes and store their requests as examples."""
        if not (self._data / PROVENANCE).exists():
            dataset.simulate(self._data, self.plan.scale, self.plan.seed, processes=self.workers, progress=_seldom())
        self._stored()

    def train(self) -> None:
        """Train the members of the families that have no artefact."""
        jobs = [
            job
            for job in trainings(self.plan, self._stored(), self.work / "members")
            if job.folder.name in self.families and job.folder.name not in self.artefacts
        ]
        run(jobs, self.workers, self.work / "logs")

    def imagine(self) -> None:
        """Compute plans and scores of all families on both splits."""
        stored = self._stored()
        jobs = [
            imagining(
                self.plan,
                family,
                split,
                stored,
                self.work / "members",
                self.artefacts[family].directory if family in self.artefacts else None,
                self._imagined(family, split),
            )
            for family in self.families
            for split in SPLITS
        ]
        run(jobs, self.workers, self.work / "logs")

    def judge(self) -> None:
        """Put figures of the families' rows into the record, and draw the picture."""
        imagined = {(split, f): load(self._imagined(f, split)) for split in SPLITS for f in self.families}
        rows = [row for row in ROWS if row.family in self.families]
        results = {(split, row): judge.row(imagined[split, row.family], row) for split in SPLITS for row in rows}
        compared = {
            (split, row, name): judge.row(imagined[split, row.family], row, name)["full"]
            for split in SPLITS
            for row in rows
            if row.operator == "MA" and row.size == max(SIZES)
            for name in judge.MEASURES
        }
        drawn = {
            row: judge.curves(judge.judged(imagined["eval", row.family], tuple(range(row.size)), row.operator))
            for row in (Row(METHODS[0], backbone, "MA", size) for backbone in BACKBONES for size in SIZES[::2])
            if row.family in self.families
        }
        if len(drawn) == len(BACKBONES) * len(SIZES[::2]):
            page.draw(drawn, self.out / page.PICTURE)
        kept = record.load(self.record, self.plan)
        kept.merged(self._run(imagined), results, compared).save(self.record)

    def diagnostics(self) -> None:
        """Put figures of deep ensembles that explain the tables into the record, if all deep ensembles are chosen."""
        families = [FAMILIES[backbone, DEEP] for backbone in BACKBONES]
        if not set(families) <= set(self.families):
            return
        imagined = {(split, family): load(self._imagined(family, split)) for split in SPLITS for family in families}
        kept = record.load(self.record, self.plan)
        replace(kept, diagnostics=diagnostics(imagined, machine.line())).save(self.record)

    def page(self) -> None:
        """Write the page from the record alone."""
        kept = record.load(self.record, self.plan)
        pages.write(self.out / "motion.md", page.document(kept))
        report(relations(kept.results))

    @property
    def _data(self) -> Path:
        return self.work / "data"

    def _stored(self) -> dict[str, Path]:
        return gathering.gathered(self._data, self.work / "examples", OFFICIAL, _seldom())

    def _imagined(self, family: str, split: str) -> Path:
        origin = "trained"
        if (artefact := self.artefacts.get(family)) is not None:
            origin = artefact.manifest.files[artefact.manifest.executor.file][:12]
        return self.work / "imagined" / f"{family}-{split}-{origin}.npz"

    def _run(self, found: Mapping[tuple[str, str], Imagined]) -> Run:
        requests = {}
        for split in SPLITS:
            cities, numbers = np.unique(found[split, self.families[0]].group, return_counts=True)
            requests[split] = {str(city): int(number) for city, number in zip(cities, numbers, strict=True)}
        dev = Examples.load(self._stored()[DEV], OFFICIAL)
        notes = (*self._member_notes(), *self._scene_notes(dev))
        return Run(machine.line(), requests, len(shares.choosing(dev)), left_out=True, notes=notes)

    def _scene_notes(self, dev: Examples) -> list[str]:
        """Return notes on whether the artefacts' own scenes are evaluated here: other processors may draw others."""
        if not self.artefacts:
            return []
        here = shares.calibrating(dev).fingerprint
        same = [source.fingerprint == here for each in self.artefacts.values() for source in _calibration(each)]
        return [
            "The in-domain dev scenes are, by fingerprint, those that calibrated the artefacts."
            if all(same)
            else "The scenes were drawn anew on another processor than the artefacts' own: by fingerprint they are not "
            "theirs bit for bit, as sums are rounded otherwise. A test holds figures against the artefacts' cards."
        ]

    def _member_notes(self) -> list[str]:
        names = [f"`motion/{artefact.directory.name}`" for artefact in self.artefacts.values()]
        if not names:
            return ["All members were trained for this page; no artefact that is served is judged."]
        return [
            f"The families of {' and '.join(names)} are judged by these artefacts: what is served is what is judged."
        ]


def served(folder: Path, plan: Plan) -> dict[str, Artefact]:
    """Return the artefacts of a folder that are a plan's ensembles, by family.

    Raises:
        ValueError: an artefact of a family of the tables was trained by another plan.
        ArtefactError: an artefact is damaged.
    """
    artefacts = {}
    for family in FAMILIES.values():
        place = folder / f"{family}-{plan.members}"
        if not place.exists():
            continue
        artefact = read(place, "motion")
        trained = {"seed": artefact.manifest.training["seed"], "preset": artefact.manifest.training["preset"]}
        if trained != (settings := {"seed": plan.seed, "preset": plan.preset}) or artefact.manifest.seeds != plan.seeds:
            raise ValueError(
                f"{place} was trained with {trained} and seeds {artefact.manifest.seeds}, the tables ask {settings}"
            )
        artefacts[family] = artefact
    return artefacts


def _calibration(artefact: Artefact) -> list[Source]:
    return [source for source in artefact.manifest.sources if source.role == "calibration"]


def _seldom() -> Progress:
    last = [-1]

    def tell(done: float, what: str) -> None:
        if int(20 * done) > last[0]:
            last[0] = int(20 * done)
            say(f"{done:.0%} {what}")

    return tell


if __name__ == "__main__":
    main()

"""Tables 2, 4, 5, 8, 9, 10 and 11 of Shifts 2.0's lesion task on simulated sites.

    python -m studies.lesion_tables [--workers 2] [--parts simulate train judge sites page] [--work DIR]

Writes docs/quality/lesion.md and three pictures beside it. Takes hours on two cores. Finished results stay in the work
folder and are not computed again; a killed training continues from its last saved state. If that folder is gone,
``studies.lesion_tables.printed`` checks the paper's statements on the page's own tables.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from models import artefact as artefacts
from models.artefact import Artefact
from models.training.training_folder import claim
from studies import pages
from studies.jobs import run, say
from studies.lesion_tables import across, canonical, experiment, page, relations
from studies.lesion_tables.experiment import Experiment
from studies.lesion_tables.plan import ROWS, SPLITS, UNET_ENSEMBLE, UNETR_ENSEMBLE, Plan, Row
from studies.statements import report

ARTEFACTS = pages.ARTEFACTS / "lesion"
SITE_SIZES = ("members", "steps", "tests", "train")
ENSEMBLES = {UNET_ENSEMBLE: "unet", UNETR_ENSEMBLE: "unetr"}
"""Families of the artefacts that ``studies.lesion_reference`` builds from the same members, by row."""
PARTS = ("simulate", "train", "judge", "sites", "page")
QUICK = Plan(
    preset="tiny",
    members=2,
    effort=0.5,
    window=48,
    train=4,
    dev_in=4,
    eval_in=4,
    dev_out=2,
    eval_out=2,
    calibration=4,
    site_members=2,
    site_channels=(4, 8, 16),
    site_steps=5,
    site_tests=1,
    site_train=1,
)
"""Smallest plan, which takes seconds and shows that everything runs."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = pages.parser("lesion_tables", __doc__, out=pages.QUALITY, work="lesion-tables")
    parser.add_argument("--data", type=Path, help="simulated scans of the same seed; default: data in the work folder")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="all by default, in this order")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread, side by side")
    parser.add_argument("--without-sites", action="store_true", help="a page without Tables 4 and 5")
    parser.add_argument("--quick", action="store_true", help="tiny networks and a few scans, to see that it runs")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the canonical numbers of judged scans")
    sizes = (
        "seed",
        "members",
        "train",
        *SPLITS,
        "calibration",
        "site_members",
        "site_steps",
        "site_tests",
        "site_train",
    )
    for name in sizes:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, help=f"default {getattr(Plan(), name)}")
    parser.add_argument("--preset", help=f"of networks and training; default {Plan().preset}")
    parser.add_argument("--effort", type=float, help="multiplies the steps of training; default 1")
    options = parser.parse_args(arguments)
    plan, sites = planned(options), not options.without_sites
    runs = Runs(plan, options.work, options.data or options.work / "data", options.workers)
    parts = {
        "simulate": lambda: runs.simulate(sites),
        "train": runs.train,
        "judge": runs.judge,
        "sites": runs.sites,
        "page": lambda: runs.page(options.out, sites),
    }
    for part, run_part in parts.items():
        if part in options.parts:
            say(f"part {part}")
            run_part()


def planned(options: argparse.Namespace) -> Plan:
    """Return the plan that the options select."""
    base = asdict(QUICK if options.quick else Plan())
    scaled = (
        {}
        if options.quick
        else {name: max(1, round(options.scale * base[name])) for name in SPLITS if name != "dev_in"}
    )
    chosen = {name: value for name in base if (value := getattr(options, name, None)) is not None}
    return Plan(**(base | scaled | chosen))


class Runs:
    """Runner of all parts on one work folder."""

    def __init__(self, plan: Plan, work: Path, data: Path, workers: int) -> None:
        trained = {name: repr(getattr(plan, name)) for name in ("seed", "preset", "effort", "train", "dev_in")}
        claim(work, trained | {"sites": repr((plan.site_members, plan.site_settings))})
        self._plan, self._data, self._workers = plan, data.resolve(), workers
        self._members, self._logs = work / "members", work / "logs"
        members = self._members
        self.canonical = canonical.experiment(plan, self._data, work / "canonical", members)
        self.reference = canonical.reference(plan, self._data, work / "calibration", members)
        self.across = across.experiment(plan, self._data, work / "sites", members)

    def simulate(self, sites: bool = True) -> None:
        """Draw all scans."""
        entries = self._plan.all_entries(sites)
        run(experiment.simulations(self._data, self._plan.seed, entries), self._workers, self._logs)

    def train(self) -> None:
        """Train the members of the main tables."""
        run(canonical.trainings(self._plan, self._data, self._members), self._workers, self._logs)

    def judge(self) -> None:
        """Tune thresholds, then compute all figures of the main tables."""
        self.canonical.claim()
        self.reference.claim()
        run(canonical.tuning(self.canonical, self._plan), self._workers, self._logs)
        run(canonical.judging(self.canonical, self._plan), self._workers, self._logs)
        run(canonical.calibrating(self.canonical, self.reference, self._plan), self._workers, self._logs)

    def sites(self) -> None:
        """Train and evaluate across sites."""
        run(across.trainings(self._plan, self._data, self._members), self._workers, self._logs)
        self.across.claim()
        run(across.tuning(self.across, self._plan), self._workers, self._logs)
        run(across.judging(self.across, self._plan), self._workers, self._logs)

    def page(self, out: Path, sites: bool = True) -> None:
        """Write tables, statements and pictures of the available results."""
        plan = self._plan
        results = canonical.results(self.canonical, self.reference, plan)
        checked = [*relations.canonical(results), relations.retention(results)]
        text = ""
        if sites:
            crossed, excluded = across.table_4(self.across, plan), across.table_5(self.across, plan)
            checked += relations.across(crossed, excluded)
            text = page.sites(plan, crossed, excluded)
        for (file, _), draw in zip(
            page.PICTURES, (page.draw_load, page.draw_retention, page.draw_deferral), strict=True
        ):
            draw(results, out / file)
        levels = thresholds(self.canonical, plan)
        document = page.document(plan, results, checked, levels, text, built(plan, levels))
        pages.write(out / "lesion.md", document)
        report(checked)


def thresholds(trial: Experiment, plan: Plan) -> dict[Row, list[float]]:
    """Return the thresholds of each row's models."""
    chosen = trial.thresholds(trial.models, plan.entries("dev_in"))
    return {row: [level for model, level in chosen.items() if model.row == row.name] for row in ROWS}


def built(plan: Plan, levels: Mapping[Row, Sequence[float]], folder: Path = ARTEFACTS) -> list[Artefact]:
    """Return the artefacts of the deep ensembles whose preset, seed, members and threshold match the page."""
    matches = []
    for row, family in ENSEMBLES.items():
        place = folder / f"{family}-{plan.members}"
        if not (place / artefacts.MANIFEST).exists():
            continue
        candidate = artefacts.read(place, "lesion")
        training = candidate.manifest.training
        same = (training["preset"], training["seed"]) == (plan.preset, plan.seed)
        if same and [training["tuned_threshold"]] == [round(level, 2) for level in levels[row]]:
            matches.append(candidate)
    return matches


if __name__ == "__main__":
    main()

"""Tables 2, 4, 5, 8, 9, 10 and 11 of Shifts 2.0's lesion task on simulated sites.

    python -m benchmarks.lesion_tables [--workers 2] [--parts simulate train judge sites page] [--work DIR]

Writes docs/quality/lesion.md and three pictures beside it. Takes hours on two cores; what is finished lies in the work
folder and is not computed again, a killed training goes on from its last saved state. Where that folder is gone,
``benchmarks.lesion_tables.printed`` checks the paper's statements on the page's own tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from benchmarks.handwritten import rewrite
from benchmarks.jobs import run, say
from benchmarks.lesion_tables import across, canonical, figures, page, relations, scans
from benchmarks.lesion_tables.experiment import Experiment
from benchmarks.lesion_tables.plan import SPLITS, Plan
from benchmarks.lesion_tables.tables import ROWS, UNET_ENSEMBLE, UNETR_ENSEMBLE, Row
from models import artefact as artefacts
from models.artefact import Artefact
from models.training.training_folder import claim

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "artefacts" / "lesion"
ENSEMBLES = {UNET_ENSEMBLE: "unet", UNETR_ENSEMBLE: "unetr"}
"""Rows to the families of the artefacts that ``benchmarks.lesion_reference`` builds from the same members."""
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
"""Seconds, to see that everything runs."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lesion_tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--work", type=Path, default=ROOT / ".demur" / "lesion-tables", help="kept pieces and logs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "quality")
    parser.add_argument("--data", type=Path, help="simulated scans of the same seed; default: data in the work folder")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="all by default, in this order")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread, side by side")
    parser.add_argument("--without-sites", action="store_true", help="a page without Tables 4 and 5")
    parser.add_argument("--quick", action="store_true", help="tiny networks and a few scans, to see that it runs")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the canonical numbers of judged scans")
    sizes = {field.name: field.type for field in fields(Plan)}
    for name in (
        *("seed", "members", "train", *SPLITS, "calibration"),
        *("site_members", "site_steps", "site_tests", "site_train"),
    ):
        assert sizes[name] == "int"
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, help=f"default {getattr(Plan(), name)}")
    parser.add_argument("--preset", help=f"of networks and training; default {Plan().preset}")
    parser.add_argument("--effort", type=float, help="multiplies the steps of training; default 1")
    asked = parser.parse_args(arguments)
    plan = planned(asked)
    runs = Runs(plan, asked.work, asked.data or asked.work / "data", asked.workers)
    for part in PARTS:
        if part in asked.parts:
            say(f"part {part}")
            if part == "page":
                runs.page(asked.out, sites=not asked.without_sites)
            else:
                getattr(runs, part)(*(() if part != "simulate" else (not asked.without_sites,)))


def planned(asked: argparse.Namespace) -> Plan:
    """The plan that was asked for."""
    base = asdict(QUICK if asked.quick else Plan())
    scaled = (
        {} if asked.quick else {name: max(1, round(asked.scale * base[name])) for name in SPLITS if name != "dev_in"}
    )
    given = {name: value for name in base if (value := getattr(asked, name, None)) is not None}
    return Plan(**(base | scaled | given))


class Runs:
    """All parts on one work folder."""

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
        """Draws all scans."""
        entries = self._plan.all_entries(sites)
        run(scans.simulations(self._data, self._plan.seed, entries), self._workers, self._logs)

    def train(self) -> None:
        """Members of the main tables."""
        run(canonical.trainings(self._plan, self._data, self._members), self._workers, self._logs)

    def judge(self) -> None:
        """Thresholds, then all figures of the main tables."""
        self.canonical.claim()
        self.reference.claim()
        run(canonical.tuning(self.canonical, self._plan), self._workers, self._logs)
        run(canonical.judging(self.canonical, self._plan), self._workers, self._logs)
        run(canonical.calibrating(self.canonical, self.reference, self._plan), self._workers, self._logs)

    def sites(self) -> None:
        """Trains and judges across sites."""
        run(across.trainings(self._plan, self._data, self._members), self._workers, self._logs)
        self.across.claim()
        run(across.tuning(self.across, self._plan), self._workers, self._logs)
        run(across.judging(self.across, self._plan), self._workers, self._logs)

    def page(self, out: Path, sites: bool = True) -> None:
        """Tables, relations and pictures of what is there."""
        plan = self._plan
        out.mkdir(parents=True, exist_ok=True)
        results = canonical.results(self.canonical, self.reference, plan)
        found = [*relations.canonical(results), relations.retention(results)]
        text = ""
        if sites:
            crossed, excluded = across.table_4(self.across, plan), across.table_5(self.across, plan)
            found += relations.across(crossed, excluded)
            text = page.sites(plan, crossed, excluded)
        drawn = dict(zip(("load", "retention", "deferral"), (out / file for file, _ in page.FIGURES), strict=True))
        figures.draw_load(results, drawn["load"])
        figures.draw_retention(results, drawn["retention"])
        figures.draw_deferral(results, drawn["deferral"])
        target = out / "lesion.md"
        levels = thresholds(self.canonical, plan)
        rewrite(target, page.document(plan, results, found, levels, text, built(plan, levels)) + "\n")
        for one in found:
            sys.stdout.write(f"{'holds' if one.holds else 'FAILS'} {one.statement} | {one.found}\n")


def thresholds(one: Experiment, plan: Plan) -> dict[Row, list[float]]:
    """Row to the thresholds of its models."""
    chosen = one.thresholds(one.models, plan.entries("dev_in"))
    return {row: [level for model, level in chosen.items() if model.row == row.name] for row in ROWS}


def built(plan: Plan, levels: Mapping[Row, Sequence[float]], folder: Path = ARTEFACTS) -> list[Artefact]:
    """Return the artefacts of the deep ensembles whose preset, seed, members and threshold are those of the page."""
    found = []
    for row, family in ENSEMBLES.items():
        place = folder / f"{family}-{plan.members}"
        if not (place / artefacts.MANIFEST).exists():
            continue
        one = artefacts.read(place, "lesion")
        training = one.manifest.training
        same = (training["preset"], training["seed"]) == (plan.preset, plan.seed)
        if same and [training["tuned_threshold"]] == [round(level, 2) for level in levels[row]]:
            found.append(one)
    return found


if __name__ == "__main__":
    main()

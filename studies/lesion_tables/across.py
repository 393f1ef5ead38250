"""Training on one site (Table 4) and on all sites but one (Table 5)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulators.lesion.cohort import Entry
from studies.jobs import Piece
from studies.lesion_tables import judge
from studies.lesion_tables.experiment import Experiment, Member, Speak, training_of
from studies.lesion_tables.judge import FIGURES, Model
from studies.lesion_tables.plan import LAST, SITES, TABLE_5, WAYS, Crossed, Excluded, Plan

Float64 = NDArray[np.float64]


def sets() -> dict[str, tuple[str, ...]]:
    """Return the sites of each training set: each site alone, then all of Table 5 but one."""
    alone = {f"only-{site}": (site,) for site in SITES}
    return alone | {f"without-{site}": tuple(other for other in TABLE_5 if other != site) for site in TABLE_5}


def trainings(plan: Plan, root: Path, folder: Path) -> list[Piece]:
    """Return the trainings of the members of all training sets."""
    return [
        training_of(
            folder / f"{name}-{seed}",
            root,
            seed,
            plan.site_settings,
            tuple(entry for site in sites for entry in plan.of_site(site, "train")),
            dev(plan, sites),
        )
        for name, sites in sets().items()
        for seed in range(plan.site_members)
    ]


def dev(plan: Plan, sites: tuple[str, ...]) -> tuple[Entry, ...]:
    """Return the development scans of some sites."""
    return tuple(entry for site in sites for entry in plan.of_site(site, "dev_in"))


def experiment(plan: Plan, root: Path, folder: Path, members: Path) -> Experiment:
    """Return an experiment with an ensemble per training set, and the single models of the sets without a site."""
    networks: list[Member] = []
    models: list[Model] = []
    for name in sets():
        places = tuple(range(len(networks), len(networks) + plan.site_members))
        networks += [Member(members / f"{name}-{seed}", seed, plan.site_settings) for seed in range(plan.site_members)]
        models.append(Model(name, places))
        if name.startswith("without-") and plan.site_members > 1:
            models += [Model(f"{name}-single", (place,)) for place in places]
    return Experiment(folder, root, tuple(networks), tuple(models))


def tuning(trial: Experiment, plan: Plan) -> list[Speak]:
    """Return the jobs of the first step: all thresholds on development scans."""
    return [Speak(trial, entry, tune=True) for entry in dev(plan, SITES)]


def judging(trial: Experiment, plan: Plan) -> list[Speak]:
    """Return the jobs of the second step: models without a site at their thresholds, other thresholds of Table 4."""
    chosen = {
        model: level
        for site in TABLE_5
        for model, level in trial.thresholds(
            [model for model in trial.models if model.row.startswith(f"without-{site}")], dev(plan, _others(site))
        ).items()
    }
    tests = [
        Speak(trial, entry, tune=True, thresholds=chosen) for site in SITES for entry in plan.of_site(site, "eval_in")
    ]
    own = [
        Speak(trial, entry, tune=True, thresholds=_of(chosen, site))
        for site in SITES
        for entry in _some_train(plan, site)
    ]
    return tests + own


def table_4(trial: Experiment, plan: Plan) -> Crossed:
    """Return Table 4 of all sites."""
    models = [next(model for model in trial.models if model.row == f"only-{site}") for site in SITES]
    tests = {site: _scores(trial, plan.of_site(site, "eval_in")) for site in SITES}
    held = {site: _scores(trial, (*_some_train(plan, site), *plan.of_site(site, "dev_in"))) for site in SITES}
    values = {way: np.full((len(SITES), len(SITES)), np.nan) for way in WAYS}
    own = np.zeros(len(SITES))
    for row, (trained, model) in enumerate(zip(SITES, models, strict=True)):
        place = trial.models.index(model)
        own[row] = trial.thresholds([model], plan.of_site(trained, "dev_in"))[model]
        for column, tested in enumerate(SITES):
            reached = tests[tested][:, place].mean(axis=0)
            levels = (
                own[row],
                judge.threshold(held[tested][:, place]),
                judge.threshold(tests[tested][:, place]),
            )
            for way, level in zip(WAYS, levels, strict=True):
                values[way][row, column] = reached[np.argmin(np.abs(judge.LEVELS - level))]
    return Crossed(values, own)


def table_5(trial: Experiment, plan: Plan) -> list[Excluded]:
    """Return figures of single models and ensemble by excluded site."""
    rows = []
    for site in TABLE_5:
        parts = {
            "in": tuple(entry for other in _others(site) for entry in plan.of_site(other, "eval_in")),
            "out": (*plan.of_site(site, "eval_in"), *_some_train(plan, site)),
            LAST: plan.of_site(LAST, "eval_in"),
        }
        for kind, row, area in (
            ("Single", f"without-{site}-single", "r_aac_entropy"),
            ("Ensemble", f"without-{site}", "r_aac_rmi"),
        ):
            places = [at for at, model in enumerate(trial.models) if model.row == row]
            figures = {
                name: np.stack([trial.result(e).figures[places] for e in entries]) for name, entries in parts.items()
            }
            ndsc, r_auc = (
                {name: each[:, :, FIGURES.index(figure)].mean(axis=0) for name, each in figures.items()}
                for figure in ("ndsc", area)
            )
            rows.append(Excluded(site, kind, ndsc, r_auc))
    return rows


def _others(site: str) -> tuple[str, ...]:
    return tuple(other for other in TABLE_5 if other != site)


def _some_train(plan: Plan, site: str) -> tuple[Entry, ...]:
    return plan.of_site(site, "train")[: plan.site_train]


def _of(chosen: Mapping[Model, float], site: str) -> dict[Model, float]:
    """Return the thresholds of models that were not trained on a site."""
    return {model: level for model, level in chosen.items() if model.row.startswith(f"without-{site}")}


def _scores(trial: Experiment, entries: tuple[Entry, ...]) -> Float64:
    """Return the scores [scans, models, levels]."""
    return np.stack([trial.scores(entry) for entry in entries])

"""Models on the canonical partition, and their figures (Tables 2, 8, 9, 10 and 11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from models.tasks.lesion.networks.settings import FAMILIES, SAMPLES
from studies.jobs import Piece
from studies.lesion_tables import judge
from studies.lesion_tables.experiment import Experiment, Speak, families, training_of
from studies.lesion_tables.judge import FIGURES, MEASURES, Model, ScanFigures
from studies.lesion_tables.plan import (
    BOTH,
    DROPOUT,
    DROPOUT_MCDP,
    SPLITS,
    UNET,
    UNET_ENSEMBLE,
    UNETR,
    UNETR_ENSEMBLE,
    Plan,
    Row,
)

Float64 = NDArray[np.float64]


def trainings(plan: Plan, root: Path, folder: Path) -> list[Piece]:
    """Return the trainings of all families, the slowest family first, so that two workers end together."""
    train, dev = plan.entries("train"), plan.entries("dev_in")
    return [
        training_of(folder / f"{family}-{seed}", root, seed, plan.settings(family), train, dev)
        for family in FAMILIES
        for seed in range(plan.members)
    ]


def experiment(plan: Plan, root: Path, folder: Path, members: Path) -> Experiment:
    """Return all models of all rows, over the members in the order of ``families``."""
    by_family = families(members, {family: plan.settings(family) for family in FAMILIES}, plan.members)
    n = plan.members
    unet, dropout, unetr = (tuple(range(at * n, (at + 1) * n)) for at in range(3))
    first = 3 * n
    models = [
        *(Model(UNET.name, (member,)) for member in unet),
        Model(UNET_ENSEMBLE.name, unet),
        *(Model(DROPOUT.name, (member,)) for member in dropout),
        *(Model(DROPOUT_MCDP.name, tuple(range(first + at * SAMPLES, first + (at + 1) * SAMPLES))) for at in range(n)),
        *(Model(UNETR.name, (member,)) for member in unetr),
        Model(UNETR_ENSEMBLE.name, unetr),
        Model(BOTH.name, (*unet, *unetr)),
    ]
    order = ("unet", "unet_mcdp", "unetr", "mcdp")
    return Experiment(folder, root, tuple(m for family in order for m in by_family[family]), tuple(models))


def reference(plan: Plan, root: Path, folder: Path, members: Path) -> Experiment:
    """Return the U-Net ensemble alone, for calibration."""
    by_family = families(
        members, {"unet": plan.settings("unet"), "unet_mcdp": plan.settings("unet_mcdp")}, plan.members
    )
    return Experiment(folder, root, tuple(by_family["unet"]), (Model(UNET_ENSEMBLE.name, tuple(range(plan.members))),))


def tuning(trial: Experiment, plan: Plan) -> list[Speak]:
    """Return the jobs of the first step: all thresholds on dev_in."""
    return [Speak(trial, entry, tune=True) for entry in plan.entries("dev_in")]


def judging(trial: Experiment, plan: Plan) -> list[Speak]:
    """Return the jobs of the second step: figures at the best thresholds."""
    chosen = trial.thresholds(trial.models, plan.entries("dev_in"))
    return [Speak(trial, entry, thresholds=chosen) for split in SPLITS for entry in plan.entries(split)]


def calibrating(of: Experiment, trial: Experiment, plan: Plan) -> list[Speak]:
    """Return jobs for the scans that only determine the deferral threshold, at the ensemble's own threshold."""
    (model,) = trial.models
    known = next(other for other in of.models if other.row == model.row)
    chosen = of.thresholds([known], plan.entries("dev_in"))
    return [Speak(trial, entry, thresholds={model: chosen[known]}) for entry in plan.calibrating()]


@dataclass(frozen=True)
class Results:
    """Figures of all models on all scans."""

    models: tuple[Model, ...]
    by_split: Mapping[str, Sequence[ScanFigures]]
    calibration: Sequence[ScanFigures]
    """Figures on the calibration scans, of the U-Net ensemble only."""

    def figure(self, row: Row, split: str, name: str) -> Float64:
        """Return a figure of each model of a row on each scan, [models, scans]."""
        column = FIGURES.index(name)
        return np.stack([scan.figures[self._places(row), column] for scan in self.by_split[split]], axis=1)

    def means(self, row: Row, split: str, name: str) -> Float64:
        """Return the mean over scans of each model [models]."""
        return np.asarray(self.figure(row, split, name).mean(axis=1))

    def mean(self, row: Row, split: str, name: str) -> float:
        """Return the mean over scans and models."""
        return float(self.means(row, split, name).mean())

    def pearson(self, split: str, name: str) -> float:
        """Return Pearson's correlation of a score of the U-Net ensemble with lesion load."""
        return correlation(self.load(split), self.figure(UNET_ENSEMBLE, split, name)[0]).pearson

    def curve(self, row: Row, split: str, measure: str, model: int = 0) -> Float64:
        """Return the mean curve over scans of one model of a row, [200]."""
        place, column = self._places(row)[model], MEASURES.index(measure)
        return np.asarray(
            np.mean([scan.curves[place, column].astype(np.float64) for scan in self.by_split[split]], axis=0)
        )

    def bounds(self, row: Row, split: str, model: int = 0) -> tuple[Float64, Float64]:
        """Return mean curves of a random and of the ideal order, [200] each."""
        place = self._places(row)[model]
        pairs = []
        for scan in self.by_split[split]:
            wrong, missed = (scan.figures[place, FIGURES.index(name)] for name in ("wrong", "missed"))
            lesion, voxels = scan.scan[2:]
            pairs.append(
                (judge.random_curve(wrong, missed, lesion, voxels), judge.ideal_curve(wrong, missed, lesion, voxels))
            )
        random, ideal = np.mean(pairs, axis=0)
        return random, ideal

    def load(self, split: str) -> Float64:
        """Return the share of lesion voxels in the volume, [scans]."""
        return np.array([scan.scan[0] / scan.scan[1] for scan in self.by_split[split]])

    @cached_property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.by_split)

    def _places(self, row: Row) -> list[int]:
        return [at for at, model in enumerate(self.models) if model.row == row.name]


@dataclass(frozen=True)
class Correlation:
    """Correlation of a score with lesion load over the scans of a split; NaN if either is constant."""

    pearson: float
    spearman: float


def correlation(load: Float64, score: Float64) -> Correlation:
    """Return both correlations of load and score, [scans] each."""
    if len(load) < 2 or np.ptp(load) == 0 or np.ptp(score) == 0:
        return Correlation(np.nan, np.nan)
    return Correlation(float(stats.pearsonr(load, score)[0]), float(stats.spearmanr(load, score)[0]))


def results(trial: Experiment, calibration: Experiment, plan: Plan) -> Results:
    """Read the results of all scans."""
    return Results(
        trial.models,
        {split: [trial.result(entry) for entry in plan.entries(split)] for split in SPLITS},
        [calibration.result(entry) for entry in plan.calibrating()],
    )

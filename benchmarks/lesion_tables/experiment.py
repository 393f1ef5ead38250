"""Members, the models made of them, and the scans that they are tuned and judged on; results are files by scan."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.jobs import Tell
from benchmarks.lesion_tables import judge, scans
from benchmarks.lesion_tables.judge import Float64, Judged, Model
from benchmarks.lesion_tables.train import Member, differences
from models import resume
from simulators.lesion.cohort import Entry


@dataclass(frozen=True)
class Experiment:
    """Where its pieces are, and what it is about."""

    folder: Path
    root: Path
    """Of the simulated scans."""
    members: tuple[Member, ...]
    models: tuple[Model, ...]

    def claim(self) -> None:
        """Makes the folder, or checks that its pieces are of these members.

        Raises:
            FileNotFoundError: a member is not trained.
            ValueError: the pieces are of others.
        """
        digest = hashlib.sha256(repr([model.members for model in self.models]).encode())
        for member in self.members:
            digest.update(member.path.read_bytes() + bytes([member.samples]))
        resume.claim(self.folder, {"members": digest.hexdigest()})

    def tuned(self, entry: Entry) -> Path:
        """nDSC of all models at all thresholds."""
        return self.folder / f"{entry.id}-levels.npz"

    def judged(self, entry: Entry) -> Path:
        """Figures and curves of the models that have thresholds."""
        return self.folder / f"{entry.id}-judged.npz"

    def scores(self, entry: Entry) -> Float64:
        """[models, levels]."""
        with np.load(self.tuned(entry)) as arrays:
            return np.asarray(arrays["scores"])

    def result(self, entry: Entry) -> Judged:
        return Judged.load(self.judged(entry))

    def thresholds(self, models: Sequence[Model], entries: Sequence[Entry]) -> dict[Model, float]:
        """The best of each model on some tuned scans.

        Raises:
            ValueError: no scans.
        """
        if not entries:
            raise ValueError("a threshold needs at least one development scan, got none")
        curves = np.stack([self.scores(entry) for entry in entries])
        return {model: judge.threshold(curves[:, self.models.index(model)]) for model in models}


@dataclass(frozen=True)
class Speak:
    """Runs the members over one scan, tries all thresholds and judges at those that are known."""

    experiment: Experiment
    entry: Entry
    tune: bool = False
    thresholds: Mapping[Model, float] = field(default_factory=dict)
    """Models to judge; models of the experiment that are not named are left out."""

    @property
    def name(self) -> str:
        return f"{self.experiment.folder.name}-{'levels-' * self.tune}{self.entry.id}"

    @property
    def done(self) -> bool:
        tuned, judged = self.experiment.tuned(self.entry), self.experiment.judged(self.entry)
        return (tuned.exists() or not self.tune) and (judged.exists() or not self.thresholds)

    def __call__(self, tell: Tell) -> None:
        started = time.monotonic()
        one = self.experiment
        scan = scans.load(one.root, self.entry)
        said = differences(scan.image, one.members)
        tell(f"{len(said)} members have spoken, {time.monotonic() - started:.0f} s")
        if self.tune and not one.tuned(self.entry).exists():
            judge.save(one.tuned(self.entry), scores=judge.scores(said, scan.truth, one.models))
        if self.thresholds and not one.judged(self.entry).exists():
            found = judge.judge(said, scan.truth, scan.brain, one.models, self.thresholds)
            found.save(one.judged(self.entry))

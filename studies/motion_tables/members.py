"""Members of the tables: trainings, ensembles of kept members, and their plans and scores on a split."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.artefact import read
from models.tasks.motion.artefact import build
from models.tasks.motion.artefact.ensemble import Ensemble
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference import members as members_of
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.members import Members as Planners
from models.tasks.motion.training import shares, train
from models.tasks.motion.training.presets import Settings
from models.tasks.motion.training.shares import DEV, TRAIN
from models.training.checkpoints import finished
from studies.jobs import Piece, Tell, save_arrays
from studies.motion_tables.plan import Members, Plan


@dataclass(frozen=True)
class Training:
    """Training of one member."""

    stored: Mapping[str, Path]
    """Files of examples by split."""
    folder: Path
    """Folder of the family's members."""
    settings: Settings
    seed: int

    @property
    def name(self) -> str:
        return f"{self.folder.name}-{self.seed}"

    @property
    def done(self) -> bool:
        return finished(self.folder, self.seed) is not None

    def __call__(self, tell: Tell) -> None:
        grid = Grid(self.settings.sizes.grid)
        parts = (
            shares.training(Examples.load(self.stored[TRAIN], grid)),
            shares.choosing(Examples.load(self.stored[DEV], grid)),
        )
        fingerprint = " ".join(part.fingerprint for part in parts)
        train.train_member(
            self.stored, self.folder, self.settings, fingerprint, self.seed, lambda share, what: tell(what)
        )


def trainings(plan: Plan, stored: Mapping[str, Path], folder: Path) -> list[Training]:
    """Return all trainings, the first of each family first, so that every row has results early."""
    return [
        Training(stored, folder / family, settings, seed)
        for seed in plan.seeds
        for family, settings in plan.settings().items()
    ]


def ensemble(plan: Plan, family: str, stored: Mapping[str, Path], folder: Path) -> Ensemble:
    """Return the trained members of a family.

    Raises:
        FileNotFoundError: some members are not trained yet.
    """
    settings = plan.settings()[family]
    missing = [seed for seed in plan.seeds if finished(folder / family, seed) is None]
    if missing:
        raise FileNotFoundError(f"{folder / family} has no member of seed {missing[0]}: run the part train first")
    requests = len(shares.training(Examples.load(stored[TRAIN], Grid(settings.sizes.grid))))
    return train.assembled(
        family,
        folder / family,
        settings,
        seeds=plan.seeds,
        preset=plan.preset,
        seed=plan.seed,
        requests=requests,
    )


Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Imagined:
    """Plans and scores for N requests; those of a member do not depend on the others, so subsets are ensembles, too."""

    plans: Float32
    """Plans, [N, K Q, T, 2], m; the plans of a member are adjacent."""
    scores: Float32
    """Scores of each plan under each member, [N, K, K Q], nats."""
    truth: Float32
    """True positions, [N, T, 2], m, in the agents' frames."""
    shifted: NDArray[np.bool_]
    """Mask of requests from another city or with precipitation, [N]."""
    group: NDArray[np.str_]
    """City, [N]."""

    def part(self, members: Members) -> tuple[Float32, Float32]:
        """Return plans and scores of an ensemble of some of the members."""
        count = self.scores.shape[1]
        samples = self.plans.shape[1] // count
        own = np.concatenate([np.arange(member * samples, (member + 1) * samples) for member in members])
        return self.plans[:, own], self.scores[:, members][:, :, own]

    def save(self, path: Path) -> None:
        """Write the arrays atomically."""
        save_arrays(path, compressed=False, **{name: getattr(self, name) for name in self.__dataclass_fields__})


def load(path: Path) -> Imagined:
    """Read a file written by ``save``."""
    with np.load(path) as arrays:
        return Imagined(**{name: arrays[name] for name in Imagined.__dataclass_fields__})


BATCH = 16


def imagining(
    plan: Plan, family: str, split: str, stored: Mapping[str, Path], members: Path, artefact: Path | None, target: Path
) -> Piece:
    """Return the job that computes plans and scores of one family on one split, without scenes that chose weights.

    Args:
        members: folder of all families' members.
        artefact: artefact evaluated in place of trained members; None for trained members.
    """
    name = f"imagine-{family}-{split}"
    return Piece(name, target, partial(_imagine, plan, family, split, stored, members, artefact, target))


def _imagine(
    plan: Plan,
    family: str,
    split: str,
    stored: Mapping[str, Path],
    members: Path,
    artefact: Path | None,
    target: Path,
    tell: Tell,
) -> None:
    examples = judged(stored, split)
    planners: Planners = (
        build.opened(ensemble(plan, family, stored, members), Recipe())
        if artefact is None
        else members_of.members(read(artefact, "motion"))
    )
    parts = []
    for start in range(0, len(examples), BATCH):
        parts.append(planners(examples.drawn(slice(start, start + BATCH))))
        tell(f"{start + BATCH} of {len(examples)} requests")
    plans, scores = (np.concatenate(values) for values in zip(*parts, strict=True))
    Imagined(plans, scores, examples.futures, examples.shifted, examples.tags["track"]).save(target)


def judged(stored: Mapping[str, Path], split: str) -> Examples:
    """Return the requests of a split that the tables evaluate.

    Args:
        stored: files of examples by split.
    """
    examples = Examples.load(stored[split], Grid(Recipe().size))
    return shares.unseen(examples) if split == DEV else examples

"""Members, their models, and the scans for tuning and evaluation; results are files by scan."""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from monai.inferers import sliding_window_inference
from numpy.typing import NDArray
from torch import Tensor, nn

from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data import examples
from models.tasks.lesion.data.examples import Example
from models.tasks.lesion.data.official import NAMES, Case
from models.tasks.lesion.inference.preparation import prepare
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import SAMPLES, Settings, UNetSizes
from models.tasks.lesion.training import member as training
from models.training import training_folder
from models.training.checkpoints import finished
from models.training.loop import loaded
from simulators.lesion import dataset, scan, template
from simulators.lesion.cohort import Entry
from simulators.lesion.sites import SITES
from studies.jobs import Piece, Tell, save_arrays
from studies.lesion_tables import judge
from studies.lesion_tables.judge import Float64, Model, ScanFigures

Mask = NDArray[np.bool_]

RECIPE = Recipe()
CHUNK = 12
"""Number of scans per job."""


@dataclass(frozen=True)
class Scan:
    """Scan of 1 mm voxels, with masks [x, y, z]."""

    image: NDArray[np.float32]
    """Image prepared as in serving, [1, x, y, z]."""
    truth: Mask
    brain: Mask


def case(root: Path, entry: Entry) -> Case:
    """Return the paths of a scan's files."""
    folder = root / entry.site / entry.split
    flair, brain, truth = (folder / kind / NAMES[kind].format(id=entry.id) for kind in ("flair", "fg_mask", "gt"))
    return Case(entry.id, entry.site, entry.split, flair, None, truth, brain)


def load(root: Path, entry: Entry) -> Scan:
    """Read a scan and prepare it.

    Raises:
        BadFile: a file is missing or not of this scan.
        ValueError: the scan does not have 1 mm voxels.
    """
    files = case(root, entry)
    raw_scan, lesions = examples.read(files, RECIPE.channels)
    prepared = prepare(raw_scan, RECIPE)
    if prepared.resampled:
        raise ValueError(f"{files.flair} is not of 1 mm voxels: simulated scans are")
    return Scan(prepared.image, prepared.grid.turned(lesions), prepared.brain)


@dataclass(frozen=True)
class Simulate:
    """Job that draws some scans; existing scans are kept."""

    name: str
    root: Path
    seed: int
    entries: tuple[Entry, ...]

    @property
    def done(self) -> bool:
        return all(there(self.root, entry) for entry in self.entries)

    def __call__(self, tell: Tell) -> None:
        brain = template.load()
        left = [entry for entry in self.entries if not there(self.root, entry)]
        for number, entry in enumerate(left, start=1):
            drawn = scan.draw(entry.rng(self.seed), brain, SITES[entry.site])
            write(case(self.root, entry), drawn.flair, drawn.brain, drawn.truth)
            tell(f"{number}/{len(left)}")


def write(files: Case, flair: NDArray[np.float32], brain: Mask, truth: Mask) -> None:
    """Write a scan without T1; the ground truth is written last, and its presence marks the scan as complete."""
    assert files.brain is not None
    assert files.truth is not None
    dataset.write(files.flair, flair)
    dataset.write(files.brain, brain)
    dataset.write(files.truth, truth)


def there(root: Path, entry: Entry) -> bool:
    """Return whether a scan is complete."""
    truth = case(root, entry).truth
    return truth is not None and truth.exists()


def simulations(root: Path, seed: int, entries: Sequence[Entry]) -> list[Simulate]:
    """Return jobs that draw these scans, with many scans each, since each job reads the template first."""
    parts = [tuple(entries[at : at + CHUNK]) for at in range(0, len(entries), CHUNK)]
    return [Simulate(f"simulate-{at}-{part[0].id}", root, seed, part) for at, part in enumerate(parts)]


OVERLAP = 0.25
SAMPLE_SEED = 0


def training_of(
    folder: Path, root: Path, seed: int, settings: Settings, train: tuple[Entry, ...], dev: tuple[Entry, ...]
) -> Piece:
    """Return the job that trains one member in a folder of its own, from which a killed training continues.

    Args:
        root: folder of the simulated scans.
    """
    target = Member(folder, seed, settings).path
    return Piece(f"train-{folder.name}", target, partial(_train, folder, root, seed, settings, train, dev))


def _train(
    folder: Path,
    root: Path,
    seed: int,
    settings: Settings,
    train: tuple[Entry, ...],
    dev: tuple[Entry, ...],
    tell: Tell,
) -> None:
    examples = ([_example(root, entry) for entry in entries] for entries in (train, dev))
    training.train(*examples, settings, seed, folder=folder, progress=tell)


@dataclass(frozen=True)
class Member:
    """Trained network as one or several members: frozen dropout masks count as members of their own."""

    folder: Path
    seed: int
    settings: Settings
    samples: int = 0
    """Number of dropout samples; 0 for the network with dropout off."""

    def __len__(self) -> int:
        return max(self.samples, 1)

    @property
    def path(self) -> Path:
        """File of the trained member."""
        return self.folder / f"member-{self.seed}.pt"

    def networks(self) -> list[nn.Module]:
        """Return networks from windows [1, 1, x, y, z] to logit differences, with weights rounded as in artefacts."""
        trained = finished(self.folder, self.seed)
        if trained is None:
            raise FileNotFoundError(
                f"{self.folder} has no finished member of seed {self.seed}: run the part train first"
            )
        network = architectures.folded(
            loaded(architectures.network(self.settings.sizes, self.settings.window), trained)
        )
        if not self.samples:
            return [architectures.Plain(network)]
        assert isinstance(self.settings.sizes, UNetSizes)
        masks = architectures.channel_masks(
            self.settings.sizes, sample_seed=SAMPLE_SEED, seed=self.seed, samples=self.samples
        )
        sampled = architectures.Sampled(network, masks)
        return [_Sample(sampled, number) for number in range(self.samples)]


def families(folder: Path, settings: dict[str, Settings], members: int) -> dict[str, list[Member]]:
    """Return the trained members by family, and ``mcdp``, the dropout samples of the members of ``unet_mcdp``."""
    by_family = {
        family: [Member(folder / f"{family}-{seed}", seed, values) for seed in range(members)]
        for family, values in settings.items()
    }
    return by_family | {"mcdp": [Member(m.folder, m.seed, m.settings, SAMPLES) for m in by_family["unet_mcdp"]]}


def differences(image: NDArray[np.float32], members: Sequence[Member]) -> NDArray[np.float32]:
    """Return logit differences of all members, [M, x, y, z], for an image [1, x, y, z].

    Windows are stitched by MONAI's sliding windows with Gaussian weights.
    """
    edges = {member.settings.window for member in members}
    (edge,) = edges
    spoken = [network.eval() for member in members for network in member.networks()]

    def said(windows: Tensor) -> Tensor:
        return torch.cat([network(windows) for network in spoken], dim=1)

    with torch.inference_mode():
        output: Tensor = sliding_window_inference(
            torch.from_numpy(image)[None], edge, 1, said, overlap=OVERLAP, mode="gaussian"
        )
    return np.asarray(output[0].numpy())


class _Sample(nn.Module):  # type: ignore[misc]
    def __init__(self, network: nn.Module, number: int) -> None:
        super().__init__()
        self.network = network
        self._number = torch.tensor(number)

    def forward(self, window: Tensor) -> Tensor:
        return self.network(window, self._number)


def _example(root: Path, entry: Entry) -> Example:
    """Return a prepared scan; its files are written once and shared by all trainings."""
    folder = root.parent / "examples" / entry.id
    if not (folder / "truth.npy").exists():
        scan = load(root, entry)
        part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
        Example(scan.image, scan.truth).save(part)
        try:
            part.replace(folder)
        except OSError:  # another training was quicker
            for file in part.iterdir():
                file.unlink()
            part.rmdir()
    return Example.load(folder)


@dataclass(frozen=True)
class Experiment:
    """Members, their models, and the folder of results by scan."""

    folder: Path
    root: Path
    """Folder of the simulated scans."""
    members: tuple[Member, ...]
    models: tuple[Model, ...]

    def claim(self) -> None:
        """Create the folder, or check that its results are of these members.

        Raises:
            FileNotFoundError: a member is not trained.
            ValueError: the results are of other members.
        """
        digest = hashlib.sha256(repr([model.members for model in self.models]).encode())
        for member in self.members:
            digest.update(member.path.read_bytes() + bytes([member.samples]))
        training_folder.claim(self.folder, {"members": digest.hexdigest()})

    def tuned(self, entry: Entry) -> Path:
        """Return the file of nDSC of all models at all thresholds."""
        return self.folder / f"{entry.id}-levels.npz"

    def judged(self, entry: Entry) -> Path:
        """Return the file of figures and curves of the models that have thresholds."""
        return self.folder / f"{entry.id}-judged.npz"

    def scores(self, entry: Entry) -> Float64:
        """Return the scores of a scan, [models, levels]."""
        with np.load(self.tuned(entry)) as arrays:
            return np.asarray(arrays["scores"])

    def result(self, entry: Entry) -> ScanFigures:
        return ScanFigures.load(self.judged(entry))

    def thresholds(self, models: Sequence[Model], entries: Sequence[Entry]) -> dict[Model, float]:
        """Return the best threshold of each model on some tuned scans.

        Raises:
            ValueError: no scans.
        """
        if not entries:
            raise ValueError("a threshold needs at least one development scan, got none")
        curves = np.stack([self.scores(entry) for entry in entries])
        return {model: judge.threshold(curves[:, self.models.index(model)]) for model in models}


@dataclass(frozen=True)
class Speak:
    """Job that runs the members over one scan, tries all thresholds and computes figures at the known ones."""

    experiment: Experiment
    entry: Entry
    tune: bool = False
    thresholds: Mapping[Model, float] = field(default_factory=dict)
    """Models to evaluate with their thresholds; other models of the experiment are left out."""

    @property
    def name(self) -> str:
        return f"{self.experiment.folder.name}-{'levels-' * self.tune}{self.entry.id}"

    @property
    def done(self) -> bool:
        tuned, judged = self.experiment.tuned(self.entry), self.experiment.judged(self.entry)
        return (tuned.exists() or not self.tune) and (judged.exists() or not self.thresholds)

    def __call__(self, tell: Tell) -> None:
        started = time.monotonic()
        experiment = self.experiment
        scan = load(experiment.root, self.entry)
        logits = differences(scan.image, experiment.members)
        tell(f"{len(logits)} members have spoken, {time.monotonic() - started:.0f} s")
        if self.tune and not experiment.tuned(self.entry).exists():
            save_arrays(experiment.tuned(self.entry), scores=judge.scores(logits, scan.truth, experiment.models))
        if self.thresholds and not experiment.judged(self.entry).exists():
            figures = judge.judge(logits, scan.truth, scan.brain, experiment.models, self.thresholds)
            figures.save(experiment.judged(self.entry))

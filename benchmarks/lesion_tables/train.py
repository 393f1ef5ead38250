"""Members of the tables: trained by one job each, and what they say of a whole scan. Needs torch and monai."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from monai.inferers import sliding_window_inference
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.jobs import Tell
from benchmarks.lesion_tables import scans
from models.tasks.lesion.data.examples import Example
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import SAMPLES, Settings, UNetSizes
from models.tasks.lesion.training import member as training
from models.training.checkpoints import finished
from simulators.lesion.cohort import Entry

OVERLAP = 0.25
SAMPLE_SEED = 0


@dataclass(frozen=True)
class Train:
    """Trains one member; the folder is its own, and a killed training goes on in it."""

    folder: Path
    root: Path
    """Of the simulated scans."""
    seed: int
    settings: Settings
    train: tuple[Entry, ...]
    dev: tuple[Entry, ...]

    @property
    def name(self) -> str:
        return f"train-{self.folder.name}"

    @property
    def done(self) -> bool:
        return Member(self.folder, self.seed, self.settings).path.exists()

    def __call__(self, tell: Tell) -> None:
        train, dev = ([_example(self.root, entry) for entry in entries] for entries in (self.train, self.dev))
        training.train(train, dev, self.settings, self.seed, folder=self.folder, progress=tell)


@dataclass(frozen=True)
class Member:
    """A trained network as one or several members: frozen dropout masks count as members of their own."""

    folder: Path
    seed: int
    settings: Settings
    samples: int = 0
    """0: the network as it is, dropout off."""

    def __len__(self) -> int:
        return max(self.samples, 1)

    @property
    def path(self) -> Path:
        """Where training leaves it."""
        return self.folder / f"member-{self.seed}.pt"

    def networks(self) -> list[nn.Module]:
        """Windows [1, 1, x, y, z] to logit differences of the same shape, weights rounded as artefacts store them."""
        trained = finished(self.folder, self.seed)
        if trained is None:
            raise FileNotFoundError(
                f"{self.folder} has no finished member of seed {self.seed}: run the part train first"
            )
        one = architectures.folded(training.loaded(trained, self.settings))
        if not self.samples:
            return [architectures.Plain(one)]
        assert isinstance(self.settings.sizes, UNetSizes)
        masks = architectures.channel_masks(
            self.settings.sizes, sample_seed=SAMPLE_SEED, seed=self.seed, samples=self.samples
        )
        sampled = architectures.Sampled(one, masks)
        return [_Sample(sampled, number) for number in range(self.samples)]


def families(folder: Path, settings: dict[str, Settings], members: int) -> dict[str, list[Member]]:
    """Family to its trained members, and ``mcdp`` to the dropout samples of the members of ``unet_mcdp``."""
    found = {
        family: [Member(folder / f"{family}-{seed}", seed, one) for seed in range(members)]
        for family, one in settings.items()
    }
    return found | {"mcdp": [Member(m.folder, m.seed, m.settings, SAMPLES) for m in found["unet_mcdp"]]}


def differences(image: NDArray[np.float32], members: Sequence[Member]) -> NDArray[np.float32]:
    """Logit differences of all members, [M, x, y, z], for an image [1, x, y, z].

    Stitched by MONAI's sliding windows with Gaussian weights.
    """
    edges = {member.settings.window for member in members}
    (edge,) = edges
    spoken = [network.eval() for member in members for network in member.networks()]

    def said(windows: Tensor) -> Tensor:
        return torch.cat([network(windows) for network in spoken], dim=1)

    with torch.inference_mode():
        found: Tensor = sliding_window_inference(
            torch.from_numpy(image)[None], edge, 1, said, overlap=OVERLAP, mode="gaussian"
        )
    return np.asarray(found[0].numpy())


class _Sample(nn.Module):  # type: ignore[misc]
    def __init__(self, network: nn.Module, number: int) -> None:
        super().__init__()
        self.network = network
        self._number = torch.tensor(number)

    def forward(self, window: Tensor) -> Tensor:
        return self.network(window, self._number)


def _example(root: Path, entry: Entry) -> Example:
    """A prepared scan; the files are written once and shared by all trainings."""
    folder = root.parent / "examples" / entry.id
    if not (folder / "truth.npy").exists():
        scan = scans.load(root, entry)
        part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
        Example(scan.image, scan.truth).save(part)
        try:
            part.replace(folder)
        except OSError:  # another training was quicker
            for file in part.iterdir():
                file.unlink()
            part.rmdir()
    return Example.load(folder)

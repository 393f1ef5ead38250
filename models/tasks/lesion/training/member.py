"""Training of a lesion member: crops around lesions, best weights by nDSC of development scans. Needs torch and monai.

Adam; the loss is 0.5 Dice + focal (gamma 2), as released; Dice is over a whole batch, because it is undefined for crops
without a lesion.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from monai.losses import DiceLoss, FocalLoss
from torch import Tensor, nn

from models.tasks.lesion.data.examples import Example
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import Settings, UNETRSizes, UNetSizes, cycle
from models.tasks.lesion.training.crops import Crops
from models.tasks.lesion.training.tiles import Tiles, difference
from models.training import loop
from models.training.checkpoints import TrainedMember, claim_members
from models.training.loop import Report, Stage, Weights

DICE = 0.5
"""Weight of the Dice loss, as released."""
GAMMA = 2.0
REPORT_EVERY = 10
"""Steps between two progress reports."""


def train(
    scans: Sequence[Example],
    dev: Sequence[Example],
    settings: Settings,
    seed: int,
    *,
    folder: Path | None = None,
    progress: Report | None = None,
) -> TrainedMember:
    """Train the member of a seed; its weights are for windows of ``Settings.window``.

    Args:
        folder: folder of its state and weights; an interrupted training resumes from it.

    Returns:
        The member; its score is the nDSC of the windows that validation takes, with small components.

    Raises:
        ValueError: there are no scans, a scan is smaller than a crop, or the folder belongs to another training.
        FloatingPointError: the loss is not finite.
    """
    if not dev:
        raise ValueError("training needs at least one development scan to choose weights by, got none")
    if folder is not None:
        claim_members(folder, settings, scans=_fingerprint(scans), dev=_fingerprint(dev))
    return loop.train(LesionTraining(scans, dev, settings, seed), folder, progress)


class LesionTraining(loop.MemberTraining[tuple[Tensor, Tensor]]):
    """Training of one member on crops [batch, channels, x, y, z] and truths [batch, 1, x, y, z]."""

    measure = "ndsc"
    larger_is_better = True
    clip_norm = 1.0
    line = "member {seed}: {share:.0%}  loss {loss:.4f}  dev nDSC {score:.3f}"

    def __init__(self, scans: Sequence[Example], dev: Sequence[Example], settings: Settings, seed: int) -> None:
        self.seed, self._settings = seed, settings
        self.stages = [
            Stage(stage.steps, settings.dev_every, REPORT_EVERY, patience=settings.patience)
            for stage in settings.stages
        ]
        self._scans, self._dev = scans, dev
        self._tiles: tuple[int, list[Tiles]] | None = None
        self._dice, self._focal = DiceLoss(sigmoid=True, batch=True), FocalLoss(gamma=GAMMA)
        unetr = isinstance(settings.sizes, UNETRSizes)
        # Few channels at full resolution are faster with the channels last.
        self._layout = torch.channels_last_3d if unetr else torch.contiguous_format

    def network(self, stage: int, before: Weights | None) -> nn.Module:
        edge = self._settings.stages[stage].edge
        network = architectures.network(self._settings.sizes, edge)
        if before is not None:
            network.load_state_dict(architectures.enlarged(before, edge))
        return network.to(memory_format=self._layout)

    def optimiser(self, network: nn.Module, stage: int) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self._settings.stages[stage].rate)

    def batches(self, stage: int, step: int) -> Iterator[tuple[Tensor, Tensor]]:
        settings = self._settings.stages[stage]
        crops = Crops(self._scans, settings.edge, self.seed)
        while True:
            images, truths = crops.batch(stage * 1_000_000 + step, settings.batch)
            yield images.contiguous(memory_format=self._layout), truths
            step += 1

    def loss(self, network: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        images, truths = batch
        logits = difference(network, images)
        return DICE * self._dice(logits, truths) + self._settings.focal * self._focal(logits, truths)

    def rate(self, stage: int, step: int) -> float:
        return cycle(self._settings.stages[stage], step)

    def score(self, network: nn.Module, stage: int) -> float:
        return float(np.mean([tiles.ndsc(network) for tiles in self._windows(stage)], axis=0).max())

    def share(self, stage: int, step: int) -> float:
        """Return the share of the work that is done; steps of a stage are weighted by their voxels."""
        stages = self._settings.stages
        work = [phase.steps * phase.batch * phase.edge**3 for phase in stages]
        return (sum(work[:stage]) + work[stage] * step / stages[stage].steps) / sum(work)

    def _windows(self, stage: int) -> list[Tiles]:
        """Return development windows: for a U-Net of the serving size; for a UNETR, which takes one size, the
        stage's.
        """
        if self._tiles is None or self._tiles[0] != stage:
            settings = self._settings
            unet = isinstance(settings.sizes, UNetSizes)
            edge = settings.window if unet else settings.stages[stage].edge
            self._tiles = stage, [Tiles.of(scan, edge, settings.dev_tiles) for scan in self._dev]
        return self._tiles[1]


def _fingerprint(examples: Sequence[Example]) -> str:
    digest = hashlib.sha256()
    for example in examples:
        digest.update(str(example.image.shape).encode())
        digest.update(np.ascontiguousarray(example.image, "<f2").tobytes())
        digest.update(np.packbits(example.truth).tobytes())
    return digest.hexdigest()

"""Trains one member: Adam, crops around lesions, best weights by the nDSC of development scans. Needs torch and monai.

The loss is 0.5 Dice + focal (gamma 2), as released; Dice is of a whole batch, because crops without a lesion have none
of their own. A member's weights depend on its seed, the scans and the settings only: what is random depends on seed and
step, so that a training that was cut off goes on from its last saved state as if nothing had happened.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from monai.losses import DiceLoss, FocalLoss
from torch import Tensor, nn

from models.checkpoints import Checkpoints
from models.resume import claim
from models.tasks.lesion.data.examples import Example
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import Settings, Stage, UNETRSizes, UNetSizes, cycle
from models.tasks.lesion.training.crops import Crops
from models.tasks.lesion.training.tiles import Tiles, difference

DICE = 0.5
"""Weight of the Dice loss, as released."""
GAMMA = 2.0
SHOWN = 10
"""Steps between two reports."""


@dataclass(frozen=True)
class Progress:
    """How far a member is."""

    seed: int
    share: float
    """Of all its steps."""
    loss: float
    """Mean of the last ``SHOWN`` steps."""
    ndsc: float
    """Of the development scans at the last look; NaN before the first."""

    def __str__(self) -> str:
        return f"member {self.seed}: {self.share:.0%}  loss {self.loss:.4f}  dev nDSC {self.ndsc:.3f}"


@dataclass(frozen=True)
class Trained:
    """A finished member."""

    seed: int
    weights: dict[str, Tensor]
    """For windows of ``Settings.window``."""
    steps: int
    """Of its last stage, until the weights that were kept."""
    dev_ndsc: float
    """Of the windows that training looked at, without dropping small components."""

    def network(self, settings: Settings) -> nn.Module:
        """As a module."""
        found = architectures.network(settings.sizes, settings.window)
        found.load_state_dict(self.weights)
        return found.eval()


@dataclass
class _State:
    """What a training is, at a step."""

    stage: int
    step: int
    network: nn.Module
    optimiser: torch.optim.Optimizer
    best: dict[str, Tensor] = field(default_factory=dict)
    best_step: int = 0
    best_ndsc: float = -1.0
    ndsc: float = math.nan
    worse: int = 0
    """Looks since the best."""


def train(
    scans: Sequence[Example],
    dev: Sequence[Example],
    settings: Settings,
    seed: int,
    *,
    folder: Path | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
) -> Trained:
    """The member of a seed.

    Args:
        folder: where the state is kept, and found again; finished members stay there.

    Raises:
        ValueError: no scans, scans smaller than a crop, or a folder of another training.
        FloatingPointError: the loss is no longer finite.
    """
    if not dev:
        raise ValueError("training needs at least one development scan to choose weights by, got none")
    if folder is not None:
        description = {"settings": repr(settings), "torch": torch.__version__}
        claim(folder, description | {"scans": _fingerprint(scans), "dev": _fingerprint(dev)})
        if (found := finished(folder, seed)) is not None:
            return found
    kept = None if folder is None else Checkpoints(folder, seed)
    with torch.random.fork_rng():
        trained = _Training(scans, dev, settings, seed, kept, progress).run()
    if kept is not None:
        kept.finish(vars(trained))
    return trained


def finished(folder: Path, seed: int) -> Trained | None:
    """A member that ``train`` finished in a folder."""
    found = Checkpoints(folder, seed).finished()
    return None if found is None else Trained(**found)


def loss_of(settings: Settings) -> Callable[[Tensor, Tensor], Tensor]:
    """Loss of logit differences and truths, both [batch, 1, x, y, z]."""
    dice, focal = DiceLoss(sigmoid=True, batch=True), FocalLoss(gamma=GAMMA)

    def loss(difference: Tensor, truth: Tensor) -> Tensor:
        return DICE * dice(difference, truth) + settings.focal * focal(difference, truth)

    return loss


class _Training:
    def __init__(
        self,
        scans: Sequence[Example],
        dev: Sequence[Example],
        settings: Settings,
        seed: int,
        kept: Checkpoints | None,
        progress: Callable[[Progress], None],
    ) -> None:
        self._scans, self._dev, self._settings, self._seed = scans, dev, settings, seed
        self._kept, self._progress = kept, progress
        self._loss = loss_of(settings)
        unetr = isinstance(settings.sizes, UNETRSizes)  # few channels at full resolution are quicker side by side
        self._layout = torch.channels_last_3d if unetr else torch.contiguous_format

    def run(self) -> Trained:
        state = self._restored() or self._begun(0, None)
        while True:
            self._run_stage(state)
            if state.stage + 1 == len(self._settings.stages):
                return Trained(self._seed, state.best, state.best_step, state.best_ndsc)
            state = self._begun(state.stage + 1, state)

    def _begun(self, number: int, before: _State | None) -> _State:
        """The state at the start of a stage, with the best weights of the one before it."""
        stage = self._settings.stages[number]
        torch.manual_seed(self._seed)
        network = architectures.network(self._settings.sizes, stage.edge)
        if before is not None:
            network.load_state_dict(architectures.enlarged(before.best, stage.edge))
        network = network.to(memory_format=self._layout)
        return _State(number, 0, network, _optimiser(network, stage))

    def _run_stage(self, state: _State) -> None:
        settings, stage = self._settings, self._settings.stages[state.stage]
        crops = Crops(self._scans, stage.edge, self._seed)
        tiles = self._tiles(stage)
        shown: list[float] = []
        while state.step < stage.steps and state.worse < settings.patience:
            shown.append(self._step(state, stage, crops))
            state.step += 1
            if state.step % settings.dev_every == 0 or state.step == stage.steps:
                self._look(state, tiles)
            if len(shown) == SHOWN or state.step == stage.steps:
                self._progress(Progress(self._seed, self._share(state), float(np.mean(shown)), state.ndsc))
                shown.clear()

    def _step(self, state: _State, stage: Stage, crops: Crops) -> float:
        number = state.stage * 1_000_000 + state.step
        images, truths = crops.batch(number, stage.batch)
        images = images.contiguous(memory_format=self._layout)
        for group in state.optimiser.param_groups:
            group["lr"] = cycle(stage, state.step)
        torch.manual_seed(self._seed * 10_000_019 + number)  # dropout
        state.network.train()
        loss = self._loss(difference(state.network, images), truths)
        state.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(state.network.parameters(), 1.0)
        state.optimiser.step()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise FloatingPointError(f"seed {self._seed}: the loss is {value} at step {state.step}: lower the rate")
        return value

    def _look(self, state: _State, tiles: Sequence[Tiles]) -> None:
        """Judges the weights, keeps them if they are the best, and saves the state."""
        state.network.eval()
        state.ndsc = float(np.mean([one.ndsc(state.network) for one in tiles], axis=0).max())
        state.worse += 1
        if state.ndsc > state.best_ndsc:
            state.best_ndsc, state.best_step, state.worse = state.ndsc, state.step, 0
            state.best = {name: value.detach().clone() for name, value in state.network.state_dict().items()}
        self._save(state)

    def _tiles(self, stage: Stage) -> list[Tiles]:
        """A U-Net is judged by windows as it will be run; a UNETR takes one size."""
        edge = self._settings.window if isinstance(self._settings.sizes, UNetSizes) else stage.edge
        return [Tiles.of(one, edge, self._settings.dev_tiles) for one in self._dev]

    def _share(self, state: _State) -> float:
        """Steps of a later stage count by their voxels."""
        work = [stage.steps * stage.batch * stage.edge**3 for stage in self._settings.stages]
        done = sum(work[: state.stage]) + work[state.stage] * state.step / self._settings.stages[state.stage].steps
        return done / sum(work)

    def _save(self, state: _State) -> None:
        if self._kept is not None:
            self._kept.save(
                vars(state) | {"network": state.network.state_dict(), "optimiser": state.optimiser.state_dict()}
            )

    def _restored(self) -> _State | None:
        kept = None if self._kept is None else self._kept.state()
        if kept is None:
            return None
        state = self._begun(kept["stage"], None)
        state.network.load_state_dict(kept.pop("network"))
        state.optimiser.load_state_dict(kept.pop("optimiser"))
        for name, value in kept.items():
            setattr(state, name, value)
        return state


def _optimiser(network: nn.Module, stage: Stage) -> torch.optim.Optimizer:
    return torch.optim.Adam(network.parameters(), lr=stage.rate)


def _fingerprint(examples: Sequence[Example]) -> str:
    digest = hashlib.sha256()
    for one in examples:
        digest.update(str(one.image.shape).encode())
        digest.update(np.ascontiguousarray(one.image, "<f2").tobytes())
        digest.update(np.packbits(one.truth).tobytes())
    return digest.hexdigest()

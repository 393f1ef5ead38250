"""Training of a motion member as in Shifts 1.0, E.4: AdamW on the likelihood of true trajectories, cosine with warm-up.

The selected weights have the least negative log-likelihood (NLL) of development requests. Needs torch.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.tasks.motion.data.examples import Examples
from models.tasks.motion.networks.network import Network
from models.tasks.motion.training.presets import Settings
from models.training import loop
from models.training.checkpoints import TrainedMember, claim_members
from models.training.loop import Report, Stage, Weights

REPORT_EVERY = 20
"""Steps between two progress reports."""
_DEV_BATCH = 128  # development requests per pass


def train(
    examples: Examples,
    dev: Examples,
    settings: Settings,
    seed: int,
    *,
    folder: Path | None = None,
    fingerprint: str = "",
    progress: Report | None = None,
) -> TrainedMember:
    """Train the member of a seed; its score is the NLL of development requests, computed as in training, nats.

    Args:
        folder: folder of its state and weights; an interrupted training resumes from it.
        fingerprint: fingerprint of both sets of examples; empty: computed here, which reads all examples.

    Raises:
        ValueError: there are no examples, maps have another grid, or the folder belongs to another training.
        FloatingPointError: the loss is not finite.
    """
    for name, requests in (("training", examples), ("development", dev)):
        if not len(requests):
            raise ValueError(f"training needs at least one {name} request whose future was observed, got none")
        if requests.maps.grid.size != settings.sizes.grid:
            raise ValueError(f"{name} maps have {requests.maps.grid.size} cells a side, networks {settings.sizes.grid}")
    if folder is not None:
        claim_members(folder, settings, examples=fingerprint or f"{examples.fingerprint} {dev.fingerprint}")
    return loop.train(MotionTraining(examples, dev, settings, seed), folder, progress)


class MotionTraining(loop.MemberTraining[NDArray[np.intp]]):
    """Training of one member; a batch is the rows of requests, each at most once in an epoch."""

    measure = "nll"
    line = "member {seed}: {share:.0%}  loss {loss:.2f}  dev NLL {score:.2f} nats"

    def __init__(self, examples: Examples, dev: Examples, settings: Settings, seed: int) -> None:
        self.seed, self._examples, self._settings = seed, examples, settings
        rows = np.linspace(0, len(dev) - 1, min(settings.dev_examples, len(dev))).astype(int)
        self._dev = dev.take(rows)
        self._batch = min(settings.batch, len(examples))
        self._epoch = len(examples) // self._batch  # steps; remaining requests are left out of this epoch
        self._steps, self._warmup = settings.schedule.lengths(self._epoch)
        self.stages = [Stage(self._steps, settings.dev_every, REPORT_EVERY)]
        self.clip_norm = settings.clip

    def network(self, stage: int, before: Weights | None) -> nn.Module:
        return Network(self._settings.sizes).to(memory_format=torch.channels_last)

    def optimiser(self, network: nn.Module, stage: int) -> torch.optim.Optimizer:
        settings = self._settings
        return torch.optim.AdamW(network.parameters(), settings.schedule.rate, weight_decay=settings.decay)

    def batches(self, stage: int, step: int) -> Iterator[NDArray[np.intp]]:
        while True:
            epoch, number = divmod(step, self._epoch)
            order = np.random.default_rng([self.seed, epoch]).permutation(len(self._examples))
            yield order[number * self._batch : (number + 1) * self._batch]
            step += 1

    def loss(self, network: nn.Module, batch: NDArray[np.intp]) -> Tensor:
        return self._nll(network, self._examples, batch).mean()

    def rate(self, stage: int, step: int) -> float:
        return self._settings.schedule.at(step, self._steps, self._warmup)

    def score(self, network: nn.Module, stage: int) -> float:
        parts = []
        with torch.no_grad():
            for start in range(0, len(self._dev), _DEV_BATCH):
                torch.manual_seed(start)  # the same samples in every validation
                rows = np.arange(len(self._dev))[start : start + _DEV_BATCH]
                parts.append(self._nll(network, self._dev, rows))
        return float(torch.cat(parts).mean())

    def _nll(self, network: nn.Module, examples: Examples, rows: NDArray[np.intp]) -> Tensor:
        """Return the NLL of requests, nats, [n]."""
        y = torch.from_numpy(examples.futures[rows])
        noise = torch.randn_like(y) if self._settings.conditioning == "samples" else None
        return -network.likelihood(torch.from_numpy(examples.drawn(rows)), y, noise)

"""Training of a translation member by the released recipe: Adam, label smoothing, inverse square root with warm-up.

The result is the running average of weights at the validation with the least negative log-likelihood (NLL) of
development sentences. Needs torch.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from models.tasks.translation.data.examples import Examples, batches
from models.tasks.translation.networks.settings import Settings
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.text.vocabulary import END, PAD
from models.training import loop
from models.training.checkpoints import TrainedMember, claim_members
from models.training.loop import Report, Stage, Weights

REPORT_EVERY = 50
"""Steps between two progress reports."""


def train(
    examples: Examples,
    dev: Examples,
    settings: Settings,
    seed: int,
    *,
    folder: Path | None = None,
    fingerprint: str = "",
    device: str = "cpu",
    progress: Report | None = None,
) -> TrainedMember:
    """Train the member of a seed; its score is the NLL of development sentences, nats per token.

    Args:
        folder: folder of its state and weights; an interrupted training resumes from it.
        fingerprint: fingerprint of both sets of examples; empty: computed here.
        device: device of torch, such as ``cuda``.

    Raises:
        ValueError: there are no examples, or the folder belongs to another training.
        FloatingPointError: the loss is not finite.
    """
    for name, pairs in (("training", examples), ("development", dev)):
        if not len(pairs):
            raise ValueError(f"training needs at least one {name} pair, got none")
    if folder is not None:
        claim_members(folder, settings, examples=fingerprint or f"{examples.fingerprint} {dev.fingerprint}")
    return loop.train(TranslationTraining(examples, dev, settings, seed, device), folder, progress)


class TranslationTraining(loop.MemberTraining[NDArray[np.intp]]):
    """Training of one member; a batch is the rows of pairs."""

    measure = "nll"
    line = "member {seed}: {share:.1%}  loss {loss:.3f}  dev NLL {score:.3f} nats a token"

    def __init__(self, examples: Examples, dev: Examples, settings: Settings, seed: int, device: str = "cpu") -> None:
        self.seed, self._settings, self._device = seed, settings, device
        self.stages = [Stage(settings.steps, settings.dev_every, REPORT_EVERY)]
        self.average, self.clip_norm = settings.average, settings.clip
        times = dict(settings.weights)
        repeats = [times.get(domain, 1) for domain in examples.domains]
        self._examples = examples
        self._rows = np.repeat(np.arange(len(examples)), repeats)
        self._lengths = examples.lengths[self._rows]
        rows = np.linspace(0, len(dev) - 1, min(settings.dev_sentences, len(dev))).astype(int)
        self._dev = dev.take(rows)

    def network(self, stage: int, before: Weights | None) -> nn.Module:
        return Transformer(self._settings.sizes, self._settings.dropout).to(self._device)

    def optimiser(self, network: nn.Module, stage: int) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), self._settings.rate, betas=(0.9, 0.98), eps=1e-9)

    def batches(self, stage: int, step: int) -> Iterator[NDArray[np.intp]]:
        epoch = 0
        while True:
            order = batches(self._lengths, self._settings.batch_tokens, (self.seed, epoch))
            yield from (self._rows[rows] for rows in order[step:])
            step, epoch = max(step - len(order), 0), epoch + 1

    def loss(self, network: nn.Module, batch: NDArray[np.intp]) -> Tensor:
        tokens = sum(len(self._examples.target[row]) for row in batch)
        return self._nll(network, self._examples, batch, self._settings.smoothing) / tokens

    def rate(self, stage: int, step: int) -> float:
        return self._settings.rate_at(step)

    def score(self, network: nn.Module, stage: int) -> float:
        total = 0.0
        with torch.no_grad():
            for rows in batches(self._dev.lengths, self._settings.batch_tokens, (0,)):
                total += float(self._nll(network, self._dev, rows, 0.0))
        return total / int(self._dev.lengths[:, 1].sum())

    def _nll(self, network: nn.Module, examples: Examples, rows: NDArray[np.intp], smoothing: float) -> Tensor:
        """Return the NLL of pairs, the sum over their tokens, nats."""
        source, target = (torch.from_numpy(side).to(self._device) for side in examples.padded(rows))
        before = torch.cat([torch.full_like(target[:, :1], END), target[:, :-1]], dim=1)
        logits = network(source, before)
        return F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
        )

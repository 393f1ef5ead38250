"""Training of one network: AdamW, early stopping on dev, best weights kept. Needs torch.

The loss of a row is the Gaussian negative log-likelihood of its standardised temperature plus the cross-entropy of its
class, nats, if there are labels of both.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.tasks.weather.transformer import network
from models.tasks.weather.transformer.scaling import Scaling, TrainingRows
from models.tasks.weather.transformer.settings import Settings
from models.training import loop
from models.training.loop import Stage, Weights

REPORTS = 10
"""Progress reports per epoch."""
PASS_ROWS = 512
"""Number of rows in one pass over dev."""


class Tensors:
    """Labelled rows on a device; temperatures standardised."""

    def __init__(self, labelled: TrainingRows, scaling: Scaling, device: str) -> None:
        self.rows = torch.from_numpy(labelled.features).to(device)
        self.temperature = self.classes = None
        if labelled.temperature is not None:
            scaled = (labelled.temperature - scaling.temperature_mean) / scaling.temperature_std
            self.temperature = torch.from_numpy(scaled.astype(np.float32)).to(device)
        if labelled.classes is not None:
            self.classes = torch.from_numpy(labelled.classes.astype(np.int64)).to(device)

    def __len__(self) -> int:
        return len(self.rows)

    def nll(self, member: nn.Module, chosen: Tensor | slice) -> Tensor:
        """Return the negative log-likelihood (NLL) of the chosen rows, nats [B], without the Gaussian's constant."""
        outputs = member(self.rows[chosen])
        total = torch.zeros((), device=self.rows.device)
        if self.temperature is not None:
            mean, std = network.gaussian(outputs[TEMPERATURE.name])
            total = total + 0.5 * ((self.temperature[chosen] - mean) / std).square() + torch.log(std)
        if self.classes is not None:
            scores = outputs[PRECIPITATION.name]
            total = total + nn.functional.cross_entropy(scores, self.classes[chosen], reduction="none")
        return total


class TransformerTraining(loop.MemberTraining[Tensor]):
    """Training of one member; a batch is the numbers of rows."""

    measure = "nll"
    reseeded = False
    line = ""

    def __init__(
        self, settings: Settings, scaling: Scaling, rows: Tensors, dev: Tensors, classes: int, device: str, seed: int
    ) -> None:
        self.seed, self._settings, self._scaling, self._rows, self._dev = seed, settings, scaling, rows, dev
        self._classes, self._device = classes, device
        self.epoch = -(-len(rows) // settings.batch)
        steps = settings.epochs * self.epoch
        self.stages = [Stage(steps, self.epoch, max(1, self.epoch // REPORTS), self.epoch, settings.patience)]
        self.clip_norm = settings.clip

    def network(self, stage: int, before: Weights | None) -> nn.Module:
        temperature = self._rows.temperature is not None
        member = network.Network(self._settings.sizes, self._scaling, temperature=temperature, classes=self._classes)
        return member.to(self._device)

    def optimiser(self, network: nn.Module, stage: int) -> torch.optim.Optimizer:
        return torch.optim.AdamW(_groups(network, self._settings.weight_decay), lr=self._settings.rate)

    def batches(self, stage: int, step: int) -> Iterator[Tensor]:
        orders = np.random.default_rng([self.seed, 1])
        while True:
            for batch in np.array_split(orders.permutation(len(self._rows)), self.epoch):
                yield torch.from_numpy(batch).to(self._device)

    def loss(self, network: nn.Module, batch: Tensor) -> Tensor:
        return self._rows.nll(network, batch).mean()

    def rate(self, stage: int, step: int) -> float:
        return rate(self._settings, step / self.stages[stage].steps)

    def score(self, network: nn.Module, stage: int) -> float:
        """Return the mean NLL over dev, nats.

        Raises:
            FloatingPointError: it is not finite.
        """
        with torch.no_grad():
            starts = range(0, len(self._dev), PASS_ROWS)
            parts = [self._dev.nll(network, slice(start, start + PASS_ROWS)) for start in starts]
            nll = sum(float(part.double().sum()) for part in parts) / len(self._dev)
        if not math.isfinite(nll):
            raise FloatingPointError(f"seed {self.seed}: the loss on dev is {nll}: lower the rate, or clip gradients")
        return nll

    def weights(self, member: nn.Module) -> Weights:
        return {name: torch.from_numpy(value) for name, value in network.export(member).items()}


def rate(settings: Settings, done: float) -> float:
    """Return the learning rate after a share ``done`` of all steps."""
    if done < settings.warmup:
        return settings.rate * (done + 1e-3) / settings.warmup
    if not settings.cosine:
        return settings.rate
    share = (done - settings.warmup) / (1 - settings.warmup)
    return settings.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share)))


def _groups(member: nn.Module, decay: float) -> list[dict[str, object]]:
    """Return parameter groups with and without weight decay.

    Matrices of blocks and heads decay; tokens, norms and biases do not (Gorishniy et al. 2021, appendix E).
    """
    named = list(member.named_parameters())
    decaying = {name for name, value in named if value.ndim == 2 and not name.startswith("tokens.")}
    return [
        {"params": [value for name, value in named if name in decaying], "weight_decay": decay},
        {"params": [value for name, value in named if name not in decaying], "weight_decay": 0.0},
    ]

"""Trains one member: AdamW, early stopping on dev, best weights kept.

The loss of a row is the Gaussian negative log-likelihood of its standardised temperature plus the cross-entropy of its
class, nats, as far as there are labels of both. A member's weights depend on its seed, the data and the settings only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.tasks.weather.transformer import network
from models.tasks.weather.transformer.ensemble import Weights
from models.tasks.weather.transformer.rows import TrainingRows
from models.tasks.weather.transformer.scaling import Scaling
from models.tasks.weather.transformer.settings import Settings

REPORTS = 10
"""Progress reports an epoch."""
PASS_ROWS = 512
"""Rows of one pass over dev."""

Report = Callable[[float, float, float], None]
"""Told the epochs done, the mean training loss of the epoch so far and the last negative log-likelihood on dev."""
Outcome = dict[str, float]
"""``epochs`` until the weights that were kept, and their ``dev_nll``, nats a row."""


class Tensors:
    """TrainingRows rows on a device; temperatures standardised."""

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

    def nll(self, member: network.Network, chosen: Tensor | slice) -> Tensor:
        """Negative log-likelihood of the chosen rows, nats [B], without the Gaussian's constant."""
        said = member(self.rows[chosen])
        total = torch.zeros((), device=self.rows.device)
        if self.temperature is not None:
            mean, std = network.gaussian(said[TEMPERATURE.name])
            total = total + 0.5 * ((self.temperature[chosen] - mean) / std).square() + torch.log(std)
        if self.classes is not None:
            scores = said[PRECIPITATION.name]
            total = total + torch.nn.functional.cross_entropy(scores, self.classes[chosen], reduction="none")
        return total


@dataclass(frozen=True)
class Training:
    """What the members' trainings have in common."""

    settings: Settings
    scaling: Scaling
    rows: Tensors
    dev: Tensors
    classes: int
    device: str

    @classmethod
    def of(
        cls, settings: Settings, scaling: Scaling, rows: TrainingRows, dev: TrainingRows, classes: int, device: str
    ) -> Training:
        on_device = Tensors(rows, scaling, device), Tensors(dev, scaling, device)
        return cls(settings, scaling, *on_device, classes, device)

    def run(self, seed: int, report: Report | None = None) -> tuple[Weights, Outcome]:
        """The best weights of one member; torch's own random state stays as it was.

        Raises:
            FloatingPointError: the loss is no longer finite.
        """
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return self._run(seed, report)

    def _run(self, seed: int, report: Report | None) -> tuple[Weights, Outcome]:
        settings = self.settings
        temperature = self.rows.temperature is not None
        member = network.Network(settings.sizes, self.scaling, temperature=temperature, classes=self.classes)
        member.to(self.device)
        optimiser = torch.optim.AdamW(_groups(member, settings.weight_decay), lr=settings.rate)
        orders = np.random.default_rng([seed, 1])
        best, kept, dev = math.inf, 0, math.nan
        weights = network.export(member)
        for epoch in range(settings.epochs):
            loss = math.nan
            for share, loss in self._epoch(member, optimiser, epoch, orders.permutation(len(self.rows))):
                _finite(loss, seed, epoch)
                if report is not None and share < 1:
                    report(epoch + share, loss, dev)
            dev = _finite(self._dev_nll(member), seed, epoch)
            if dev < best:
                best, kept, weights = dev, epoch + 1, network.export(member)
            if report is not None:
                report(epoch + 1, loss, dev)
            if epoch + 1 - kept >= settings.patience:
                break
        return weights, {"epochs": float(kept), "dev_nll": best}

    def _epoch(
        self, member: network.Network, optimiser: torch.optim.Optimizer, epoch: int, order: NDArray[np.int64]
    ) -> Iterator[tuple[float, float]]:
        """Steps over all rows; yields the share done and the mean loss so far, ``REPORTS`` times and at the end."""
        settings = self.settings
        member.train()
        batches = np.array_split(order, -(-len(order) // settings.batch))
        total = torch.zeros((), device=self.device)
        for step, batch in enumerate(batches, 1):
            done = (epoch * len(batches) + step - 1) / (settings.epochs * len(batches))
            for group in optimiser.param_groups:
                group["lr"] = rate(settings, done)
            loss = self.rows.nll(member, torch.from_numpy(batch).to(self.device)).mean()
            optimiser.zero_grad()
            loss.backward()
            if settings.clip is not None:
                torch.nn.utils.clip_grad_norm_(member.parameters(), settings.clip)
            optimiser.step()
            total += loss.detach()
            if step == len(batches) or step % max(1, len(batches) // REPORTS) == 0:
                yield step / len(batches), float(total) / step

    def _dev_nll(self, member: network.Network) -> float:
        """Mean over dev, nats."""
        member.eval()
        with torch.no_grad():
            starts = range(0, len(self.dev), PASS_ROWS)
            total = sum(float(self.dev.nll(member, slice(start, start + PASS_ROWS)).double().sum()) for start in starts)
        return total / len(self.dev)


def rate(settings: Settings, done: float) -> float:
    """The learning rate after so large a share of all steps."""
    if done < settings.warmup:
        return settings.rate * (done + 1e-3) / settings.warmup
    if not settings.cosine:
        return settings.rate
    share = (done - settings.warmup) / (1 - settings.warmup)
    return settings.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share)))


def _finite(loss: float, seed: int, epoch: int) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"seed {seed}: the loss is {loss} in epoch {epoch + 1}: lower the rate, or clip gradients"
        )
    return loss


def _groups(member: network.Network, decay: float) -> list[dict[str, object]]:
    """Matrices of the blocks and heads decay; tokens, norms and biases do not (Gorishniy et al. 2021, appendix E)."""
    named = list(member.named_parameters())
    decaying = {name for name, value in named if value.ndim == 2 and not name.startswith("tokens.")}
    return [
        {"params": [value for name, value in named if name in decaying], "weight_decay": decay},
        {"params": [value for name, value in named if name not in decaying], "weight_decay": 0.0},
    ]

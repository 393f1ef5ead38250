"""Training of a vessel ensemble: stacked members, one optimiser, independent data orders.

The paper (Shifts 2.0, D.3) uses Gaussian negative log-likelihood, Adam at 1e-4, early stopping on the mean absolute
error on dev_in. ``FULL`` has its settings; ``FAST`` reaches the same quality in minutes with larger batches and a
cosine schedule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor, nn

from models.building import require_tables
from models.tasks.vessel.artefact.ensemble import FAMILIES, SAMPLED, Family, Scaling, TrainedEnsemble
from models.tasks.vessel.data.table import NAMES
from models.tasks.vessel.networks import families
from models.training import loop
from models.training.loop import Stage, Weights
from models.training.parallel_training import seeds as seeds_of

if TYPE_CHECKING:
    from models.tasks.vessel.data.table import Table


@dataclass(frozen=True)
class Settings:
    """Settings of a training."""

    epochs: int
    batch: int
    """Rows per member and step."""
    rate: float
    """Peak learning rate of Adam."""
    patience: int
    """Epochs without a better dev_in MAE after which a member is frozen at its best weights."""
    warmup: float = 0.0
    """Share of the steps in which the rate rises linearly."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Schedule of the rate; ``cosine``: after the warm-up it falls along a cosine to one hundredth."""
    clip: float | None = None
    """Largest absolute value of a gradient element; None: no clipping, as in the paper."""
    max_rows: int | None = None
    """Approximate number of training rows, evenly spaced; None: all."""


FULL = Settings(epochs=200, batch=32, rate=1e-4, patience=4)
FAST = Settings(epochs=40, batch=1024, rate=4e-3, patience=40, warmup=0.05, schedule="cosine", clip=1.0)
PRESETS = {"fast": FAST, "full": FULL}


@dataclass(frozen=True, slots=True)
class Progress:
    """State after an epoch."""

    family: str
    epoch: int
    epochs: int
    loss: float
    """Mean training loss of the members in scaled units, nats."""
    mae: float
    """Mean over members of the dev_in mean absolute error, kW."""
    training: int
    """Number of members that are not frozen yet."""
    eta: float
    """Seconds left if all epochs are run."""

    def __str__(self) -> str:
        return (
            f"{self.family} epoch {self.epoch}/{self.epochs}  loss {self.loss:.4f}  "
            f"dev_in MAE {self.mae:.1f} kW  {self.training} training  ETA {self.eta:.0f} s"
        )


def train(
    family: Family,
    data: Mapping[str, Table],
    *,
    members: int = 10,
    seed: int = 0,
    settings: Settings = FAST,
    samples: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> TrainedEnsemble:
    """Train ``members`` networks of a family on ``data["train"]``, watching ``data["dev_in"]``.

    Rows of ``data["low_speed"]``, if any, are used for training, too; scaling is fitted on ``train`` alone.

    Args:
        samples: frozen masks or weight samples per member; by default 10 as in the paper if the family is sampled, else
            1.

    Raises:
        ValueError: the family is unknown, there are no members, tables are missing, or a table cannot be scaled.
        FloatingPointError: a member's loss is no longer finite.
    """
    seeds = seeds_of(seed, members)
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use one of {', '.join(FAMILIES)}")
    require_tables(data)
    table, dev = data["train"], data["dev_in"]
    keep = slice(None, None, max(1, len(table.power) // (settings.max_rows or len(table.power))))
    scaling = Scaling.fit(NAMES, table.features[keep], table.power[keep])
    features, power = table.features[keep], table.power[keep]
    if (slow := data.get("low_speed")) is not None:
        features, power = np.concatenate([features, slow.features]), np.concatenate([power, slow.power])
    training = VesselTraining(
        family,
        settings,
        seed,
        seeds,
        scaling,
        _scaled(features, power, scaling),
        _scaled(dev.features, dev.power, scaling),
    )
    started = time.monotonic()

    def report(state: loop.Progress) -> None:
        epoch = state.step // training.epoch
        left = (time.monotonic() - started) / epoch * (settings.epochs - epoch)
        if progress is not None:
            progress(Progress(family, epoch, settings.epochs, state.loss, state.score, state.active, left))

    state = loop.fit(training, report)
    record = {name: value for name, value in asdict(settings).items() if value is not None}
    mae = round(float(state.best_score.mean()), 3)
    record |= {"epochs_run": state.step // training.epoch, "rows": len(power), "best_dev_in_mae_kw": mae}
    return TrainedEnsemble(
        family,
        scaling,
        {name: value.numpy() for name, value in state.best.items()},
        seeds,
        samples=samples or (10 if family in SAMPLED else 1),
        sample_seed=seed,
        training={"seed": seed, **record},
    )


class VesselTraining(loop.MemberTraining[Tensor]):
    """Training of all members; a batch is the row numbers of each member, [M, batch]."""

    measure = "mae"
    reseeded = False
    line = ""

    def __init__(
        self,
        family: Family,
        settings: Settings,
        seed: int,
        seeds: tuple[int, ...],
        scaling: Scaling,
        rows: tuple[Tensor, Tensor],
        dev: tuple[Tensor, Tensor],
    ) -> None:
        """Initialise the training.

        Args:
            rows: scaled features [N, F] and power [N] for training.
            dev: the same for the choice of weights.
        """
        self.seed, self._seeds, self._family, self._settings, self._scaling = seed, seeds, family, settings, scaling
        (self._rows, self._target), self._dev = rows, dev
        self._batch = min(settings.batch, len(self._rows))
        self.epoch = len(self._rows) // self._batch
        steps = settings.epochs * self.epoch
        self.stages = [Stage(steps, self.epoch, self.epoch, self.epoch, patience=settings.patience + 1)]
        self.clip_value = settings.clip

    def network(self, stage: int, before: Weights | None) -> nn.Module:
        return families.build(self._family, self._seeds, self._scaling, NAMES)

    def optimiser(self, network: nn.Module, stage: int) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self._settings.rate, fused=True)

    def batches(self, stage: int, step: int) -> Iterator[Tensor]:
        generators = [np.random.default_rng([seed, 1]) for seed in self._seeds]
        while True:
            orders = np.stack([generator.permutation(len(self._rows)) for generator in generators])
            yield from torch.from_numpy(orders)[:, : self.epoch * self._batch].split(self._batch, dim=1)

    def loss(self, network: nn.Module, batch: Tensor) -> Tensor:
        mean, std = network(self._rows[batch])
        nll: Tensor = _nll(mean, std, self._target[batch]) + network.penalty(len(self._rows))
        return nll

    def rate(self, stage: int, step: int) -> float:
        settings, done = self._settings, step / self.stages[stage].steps
        if done < settings.warmup:
            return settings.rate * ((done + 1e-3) / settings.warmup)
        if settings.schedule == "constant":
            return settings.rate
        share = (done - settings.warmup) / (1 - settings.warmup)
        return settings.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share)))

    def score(self, network: nn.Module, stage: int) -> Tensor:
        """Return the mean absolute error on dev_in of each member, kW, [M]."""
        return _mae(network, *self._dev) * self._scaling.power_std

    def weights(self, network: nn.Module) -> Weights:
        return {name: torch.from_numpy(value) for name, value in families.export(network).items()}


def _scaled(features: np.ndarray, power: np.ndarray, scaling: Scaling) -> tuple[Tensor, Tensor]:
    rows = ((features - scaling.mean) / scaling.std).astype(np.float32)
    target = ((power - scaling.power_mean) / scaling.power_std).astype(np.float32)
    return torch.from_numpy(rows), torch.from_numpy(target)


def _nll(mean: Tensor, std: Tensor, target: Tensor) -> Tensor:
    """Return the mean Gaussian negative log-likelihood per member without its constant, [M]."""
    return (0.5 * ((target - mean) / std).square() + torch.log(std)).mean(dim=1)


def _mae(network: nn.Module, rows: Tensor, target: Tensor, chunk: int = 4096) -> Tensor:
    """Return the mean absolute error of each member over all rows, scaled, [M]."""
    network.eval()
    members = len(network.w1)
    total = torch.zeros(members)
    for start in range(0, len(rows), chunk):
        part = rows[start : start + chunk].expand(members, -1, -1)
        with torch.no_grad():
            mean, _ = network(part)
        total += (mean - target[start : start + chunk]).abs().sum(dim=1)
    return total / len(rows)

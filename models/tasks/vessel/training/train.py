"""Trains all members of a family at once: stacked weights, one optimiser, independent data orders.

The paper (Shifts 2.0, D.3): Gaussian negative log-likelihood, Adam at 1e-4, early stopping on the mean
absolute error on dev_in. ``FULL`` are its settings; ``FAST`` reaches the same quality in minutes with
larger batches and a cosine schedule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from models.tasks.vessel.artefact.ensemble import FAMILIES, SAMPLED, Family, Scaling, TrainedEnsemble
from models.tasks.vessel.data.features import NAMES
from models.tasks.vessel.networks import families

if TYPE_CHECKING:
    from models.tasks.vessel.data.table import Table


@dataclass(frozen=True)
class Settings:
    """How to train."""

    epochs: int
    batch: int
    """Rows per member and step."""
    rate: float
    """Largest learning rate of Adam."""
    patience: int
    """Epochs without a better dev_in MAE after which a member is frozen at its best."""
    warmup: float = 0.0
    """Share of the steps in which the rate rises linearly."""
    schedule: Literal["constant", "cosine"] = "constant"
    """``cosine``: after the warm-up the rate falls along a cosine to one hundredth."""
    clip: float | None = None
    """Largest absolute gradient element; None for the paper's setting, no clipping."""
    max_rows: int | None = None
    """Train on the first rows only (evenly spaced); None for all."""


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
    """Members that are not frozen yet."""
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
    """Trains ``members`` networks of a family on ``data["train"]``, watching ``data["dev_in"]``.

    Rows of ``data["low_speed"]``, where there are any, are trained on as well; inputs and outputs are scaled by
    ``train`` alone.

    Args:
        samples: frozen masks or weight samples per member; by default the paper's 10 where the family
            is sampled, else 1.

    Raises:
        ValueError: an unknown family, no members, missing tables, or a table that cannot be scaled.
        FloatingPointError: a member's loss is no longer finite.
    """
    if members < 1:
        raise ValueError(f"an ensemble needs at least one member, got {members}")
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use one of {', '.join(FAMILIES)}")
    missing = [name for name in ("train", "dev_in") if name not in data]
    if missing:
        raise ValueError(f"training needs the tables train and dev_in; missing: {', '.join(missing)}")
    table, dev = data["train"], data["dev_in"]
    keep = slice(None, None, max(1, len(table.power) // (settings.max_rows or len(table.power))))
    scaling = Scaling.fit(NAMES, table.features[keep], table.power[keep])
    features, power = table.features[keep], table.power[keep]
    if (slow := data.get("low_speed")) is not None:
        features, power = np.concatenate([features, slow.features]), np.concatenate([power, slow.power])
    rows, target = _scaled(features, power, scaling)
    dev_rows, dev_target = _scaled(dev.features, dev.power, scaling)
    seeds = tuple(seed * 1000 + member for member in range(members))
    torch.manual_seed(seed)
    network = families.build(family, seeds, scaling, NAMES)
    best = _Best(network, members, settings.patience)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.rate, fused=True)
    generators = [np.random.default_rng([one, 1]) for one in seeds]
    batch = min(settings.batch, len(rows))
    steps = len(rows) // batch
    started, epoch = time.monotonic(), 0
    for epoch in range(1, settings.epochs + 1):
        network.train()
        order = torch.from_numpy(np.stack([g.permutation(len(rows)) for g in generators]))
        total = torch.zeros(members)
        for step in range(steps):
            _set_rate(optimiser, settings, ((epoch - 1) * steps + step) / (settings.epochs * steps))
            chosen = order[:, step * batch : (step + 1) * batch]
            mean, std = network(rows[chosen])
            loss = _nll(mean, std, target[chosen]) + network.penalty(len(rows))
            optimiser.zero_grad()
            loss.sum().backward()
            if settings.clip is not None:
                torch.nn.utils.clip_grad_value_(network.parameters(), settings.clip)
            optimiser.step()
            total += loss.detach()
        if not torch.isfinite(total).all():
            raise FloatingPointError(f"{family}: the loss is not finite in epoch {epoch}: lower the rate")
        mae = _mae(network, dev_rows, dev_target) * scaling.power_std
        best.see(network, mae)
        if progress is not None:
            left = (time.monotonic() - started) / epoch * (settings.epochs - epoch)
            state = (float(total.mean()) / steps, float(mae.mean()), int(best.training.sum()), left)
            progress(Progress(family, epoch, settings.epochs, *state))
        if not best.training.any():
            break
    record = {name: value for name, value in asdict(settings).items() if value is not None}
    record |= {"epochs_run": epoch, "rows": len(rows), "best_dev_in_mae_kw": round(float(best.mae.mean()), 3)}
    return TrainedEnsemble(
        family,
        scaling,
        best.weights,
        seeds,
        samples=samples or (10 if family in SAMPLED else 1),
        sample_seed=seed,
        training={"seed": seed, **record},
    )


class _Best:
    """The best weights seen of each member, and which members still train."""

    def __init__(self, network: torch.nn.Module, members: int, patience: int) -> None:
        self.weights = families.export(network)
        self.mae = torch.full((members,), math.inf)
        self.training = torch.ones(members, dtype=torch.bool)
        self._waited = torch.zeros(members, dtype=torch.int64)
        self._patience = patience

    def see(self, network: torch.nn.Module, mae: torch.Tensor) -> None:
        better = self.training & (mae < self.mae)
        self.mae = torch.where(better, mae, self.mae)
        self._waited = torch.where(better, 0, self._waited + 1)
        self.training &= self._waited <= self._patience
        now = families.export(network)
        for name, array in self.weights.items():
            array[better.numpy()] = now[name][better.numpy()]


def _scaled(features: np.ndarray, power: np.ndarray, scaling: Scaling) -> tuple[torch.Tensor, torch.Tensor]:
    rows = ((features - scaling.mean) / scaling.std).astype(np.float32)
    target = ((power - scaling.power_mean) / scaling.power_std).astype(np.float32)
    return torch.from_numpy(rows), torch.from_numpy(target)


def _nll(mean: torch.Tensor, std: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Mean Gaussian negative log-likelihood per member without its constant, [M]."""
    return (0.5 * ((target - mean) / std).square() + torch.log(std)).mean(dim=1)


def _mae(network: families.Dense, rows: torch.Tensor, target: torch.Tensor, chunk: int = 4096) -> torch.Tensor:
    """Mean absolute error of each member over all rows, scaled, [M]."""
    network.eval()
    members = len(network.w1)
    total = torch.zeros(members)
    for start in range(0, len(rows), chunk):
        part = rows[start : start + chunk].expand(members, -1, -1)
        with torch.no_grad():
            mean, _ = network(part)
        total += (mean - target[start : start + chunk]).abs().sum(dim=1)
    return total / len(rows)


def _set_rate(optimiser: torch.optim.Optimizer, settings: Settings, done: float) -> None:
    rate = settings.rate
    if done < settings.warmup:
        rate *= (done + 1e-3) / settings.warmup
    elif settings.schedule == "cosine":
        share = (done - settings.warmup) / (1 - settings.warmup)
        rate *= 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share))
    for group in optimiser.param_groups:
        group["lr"] = rate

"""Trains the members of an ensemble one after the other: same rows, other first weights, orders and dropout."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from models.tasks.weather.transformer.checkpoint import Checkpoint
from models.tasks.weather.transformer.ensemble import SAMPLED, SAMPLES, Family, TrainedEnsemble, Weights
from models.tasks.weather.transformer.member import Outcome, Report, Training
from models.tasks.weather.transformer.rows import TrainingRows
from models.tasks.weather.transformer.scaling import Scaling
from models.tasks.weather.transformer.settings import FAST, Settings


@dataclass(frozen=True, slots=True)
class Progress:
    """State within an epoch or after it."""

    member: int
    """From 1."""
    members: int
    epoch: float
    """Epochs of this member that are behind it."""
    epochs: int
    loss: float
    """Mean training loss of the epoch so far, nats."""
    dev: float
    """Negative log-likelihood on dev after the last full epoch, nats; NaN before the first."""
    eta: float
    """Seconds left if all epochs of all members are run."""

    @property
    def share(self) -> float:
        """Of all epochs of all members, what is done."""
        return (self.member - 1 + self.epoch / self.epochs) / self.members

    def __str__(self) -> str:
        return (
            f"member {self.member}/{self.members} epoch {self.epoch:.2f}/{self.epochs}  loss {self.loss:.4f}  "
            f"dev NLL {self.dev:.4f}  ETA {self.eta:.0f} s"
        )


def train(
    rows: TrainingRows,
    dev: TrainingRows,
    *,
    family: Family = "ft_transformer",
    settings: Settings = FAST,
    members: int = 1,
    seed: int = 0,
    classes: int | None = None,
    sentinels: tuple[tuple[int, float], ...] = (),
    samples: int | None = None,
    checkpoint: Path | None = None,
    device: str = "cpu",
    progress: Callable[[Progress], None] | None = None,
) -> TrainedEnsemble:
    """Trains ``members`` networks on ``rows``, each stopped by its negative log-likelihood on ``dev``.

    Args:
        classes: number of precipitation classes; by default one more than the largest label.
        sentinels: column and value of what means "missing" (``Schema.sentinels``).
        samples: frozen dropout masks per member; by default 10 where the family is sampled, else 1.
        checkpoint: folder where finished members are kept; the same training started again takes them from there.
        device: where torch computes. Weights repeat on one kind of device only.

    Raises:
        ValueError: no members, dev of another width or other heads than rows, a class out of range, a temperature
            that does not vary, or a checkpoint of another training.
        FloatingPointError: a member's loss is no longer finite.
    """
    classes = _check(rows, dev, members, classes)
    scaling = Scaling.fit(rows.features, rows.temperature, sentinels)
    seeds = tuple(seed * 1000 + member for member in range(members))
    kept = None
    if checkpoint is not None:
        description = {"settings": repr(settings), "classes": str(classes), "sentinels": repr(tuple(sentinels))}
        description |= {"rows": rows.fingerprint(), "dev": dev.fingerprint(), "torch": torch.__version__}
        kept = Checkpoint(checkpoint, description | {"device": torch.device(device).type})
    training = Training.of(settings, scaling, rows, dev, classes, device)
    done: list[tuple[Weights, Outcome]] = []
    clock = _Clock(members, settings.epochs, progress)
    for number, one in enumerate(seeds, 1):
        found = kept.load(one) if kept else None
        if found is None:
            found = training.run(one, clock.report(number))
            if kept:
                kept.save(one, *found)
        done.append(found)
    return TrainedEnsemble(
        family,
        settings.sizes,
        scaling,
        {name: np.stack([weights[name] for weights, _ in done]) for name in done[0][0]},
        seeds,
        samples=samples or (SAMPLES if family in SAMPLED else 1),
        sample_seed=seed if family in SAMPLED else 0,
        training=_record(settings, seed, len(rows), [outcome for _, outcome in done]),
    )


class _Clock:
    """Tells progress with the time that is left."""

    def __init__(self, members: int, epochs: int, progress: Callable[[Progress], None] | None) -> None:
        self._members, self._epochs, self._progress = members, epochs, progress
        self._started = time.monotonic()
        self._trained = -1

    def report(self, number: int) -> Report | None:
        """What a member's training calls; members that a checkpoint had do not count as trained in this run."""
        if self._progress is None:
            return None
        self._trained += 1
        return partial(self._tell, self._progress, number, self._trained)

    def _tell(
        self, progress: Callable[[Progress], None], number: int, before: int, epoch: float, loss: float, dev: float
    ) -> None:
        share = epoch / self._epochs
        a_member = (time.monotonic() - self._started) / (before + share)
        left = a_member * (self._members - number + 1 - share)
        progress(Progress(number, self._members, epoch, self._epochs, loss, dev, left))


def _check(rows: TrainingRows, dev: TrainingRows, members: int, classes: int | None) -> int:
    """The number of classes."""
    if members < 1:
        raise ValueError(f"an ensemble needs at least one member, got {members}")
    if rows.features.shape[1] != dev.features.shape[1]:
        raise ValueError(f"rows have {rows.features.shape[1]} features, dev has {dev.features.shape[1]}")
    if rows.heads != dev.heads:
        raise ValueError("rows and dev need the same labels: temperatures, classes or both")
    if rows.classes is None or dev.classes is None:
        return 0
    largest = int(max(rows.classes.max(), dev.classes.max()))
    if classes is not None and largest >= classes:
        raise ValueError(f"class {largest} among the labels, 0 to {classes - 1} is possible")
    return largest + 1 if classes is None else classes


def _record(settings: Settings, seed: int, rows: int, outcomes: list[Outcome]) -> dict[str, float | int | str]:
    """What the manifest says of the training."""
    sizes = asdict(settings.sizes)
    how = {name: value for name, value in asdict(settings).items() if name != "sizes" and value is not None}
    epochs = round(float(np.mean([outcome["epochs"] for outcome in outcomes])), 2)
    dev = round(float(np.mean([outcome["dev_nll"] for outcome in outcomes])), 4)
    return {"seed": seed, "rows": rows, **sizes, **how, "epochs_run": epochs, "best_dev_nll": dev}

"""Training of an ensemble of networks, one by one: same rows, different initial weights, orders and dropout."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from models import npz
from models.tasks.weather.transformer.ensemble import SAMPLED, SAMPLES, Family, TrainedEnsemble, Weights
from models.tasks.weather.transformer.member import Tensors, TransformerTraining
from models.tasks.weather.transformer.scaling import Scaling, TrainingRows
from models.tasks.weather.transformer.settings import FAST, Settings
from models.training import loop
from models.training.parallel_training import seeds as seeds_of
from models.training.training_folder import claim, write_whole

Outcome = dict[str, float]
"""Outcome: ``epochs`` until the selected weights, and their ``dev_nll``, nats per row."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress within an epoch or after it."""

    member: int
    """Number of the member, from 1."""
    members: int
    epoch: float
    """Number of finished epochs of this member."""
    epochs: int
    loss: float
    """Mean training loss of the epoch so far, nats."""
    dev: float
    """Negative log-likelihood on dev after the last full epoch, nats; NaN before the first."""
    eta: float
    """Seconds left if all epochs of all members are run."""

    @property
    def share(self) -> float:
        """Share of all epochs of all members that is done."""
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
    """Train ``members`` networks on ``rows``, each stopped by its negative log-likelihood on ``dev``.

    Args:
        classes: number of precipitation classes; by default one more than the largest label.
        sentinels: column and value of each sentinel for "missing" (``Schema.sentinels``).
        samples: frozen dropout masks per member; by default 10 if the family is sampled, else 1.
        checkpoint: folder of finished members, which the same training reuses.
        device: device of torch. Weights are reproducible only on the same kind of device.

    Raises:
        ValueError: there are no members, dev differs from rows in width or heads, a class is out of range, the
            temperature is constant, or the checkpoint belongs to another training.
        FloatingPointError: a member's loss is no longer finite.
    """
    seeds = seeds_of(seed, members)
    classes = _check(rows, dev, classes)
    scaling = Scaling.fit(rows.features, rows.temperature, sentinels)
    if checkpoint is not None:
        description = {"settings": repr(settings), "classes": str(classes), "sentinels": repr(tuple(sentinels))}
        description |= {"rows": rows.fingerprint(), "dev": dev.fingerprint(), "torch": torch.__version__}
        claim(checkpoint, description | {"device": torch.device(device).type})
    tensors = Tensors(rows, scaling, device), Tensors(dev, scaling, device)
    trained: list[tuple[Weights, Outcome]] = []
    started, before = time.monotonic(), 0
    for number, member_seed in enumerate(seeds, 1):
        path = None if checkpoint is None else checkpoint / f"member-{member_seed}.npz"
        if path is not None and path.exists():
            trained.append(_read(path))
            continue
        training = TransformerTraining(settings, scaling, *tensors, classes, device, member_seed)

        def report(
            state: loop.Progress, number: int = number, before: int = before, steps: int = training.epoch
        ) -> None:
            if progress is not None:  # reused members take no time
                left = (time.monotonic() - started) / (before + state.share) * (members - number + 1 - state.share)
                progress(Progress(number, members, state.step / steps, settings.epochs, state.loss, state.score, left))

        state = loop.fit(training, report)
        weights = {name: value.numpy() for name, value in state.best.items()}
        outcome = {"epochs": float(state.best_step // training.epoch), "dev_nll": float(state.best_score)}
        if path is not None:
            numbers = {f"outcome.{name}": np.asarray(value, np.float64) for name, value in outcome.items()}
            write_whole(path, npz.encode(weights | numbers))
        trained.append((weights, outcome))
        before += 1
    return TrainedEnsemble(
        family,
        settings.sizes,
        scaling,
        {name: np.stack([weights[name] for weights, _ in trained]) for name in trained[0][0]},
        seeds,
        samples=samples or (SAMPLES if family in SAMPLED else 1),
        sample_seed=seed if family in SAMPLED else 0,
        training=_record(settings, seed, len(rows), [outcome for _, outcome in trained]),
    )


def _read(path: Path) -> tuple[Weights, Outcome]:
    """Return a finished member."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    outcome = {name.removeprefix("outcome."): float(arrays.pop(name)) for name in list(arrays) if "outcome." in name}
    return arrays, outcome


def _check(rows: TrainingRows, dev: TrainingRows, classes: int | None) -> int:
    """Return the number of classes."""
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
    """Return the record of the training for the manifest."""
    sizes = asdict(settings.sizes)
    how = {name: value for name, value in asdict(settings).items() if name != "sizes" and value is not None}
    epochs = round(float(np.mean([outcome["epochs"] for outcome in outcomes])), 2)
    dev = round(float(np.mean([outcome["dev_nll"] for outcome in outcomes])), 4)
    return {"seed": seed, "rows": rows, **sizes, **how, "epochs_run": epochs, "best_dev_nll": dev}

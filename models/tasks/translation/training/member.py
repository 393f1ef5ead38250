"""Trains one member as the released recipe does: Adam, label smoothing, an inverse square root with warm-up.

What is kept is the running average of weights at the look with the least negative log-likelihood of development
sentences. A member's weights depend on its seed, the examples and the settings only: what is random depends on seed
and step, so that a training that was cut off goes on from its last saved state as if nothing had happened. Needs torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from models.checkpoints import Checkpoints, claimed
from models.tasks.translation.data.examples import Examples, batches
from models.tasks.translation.networks.settings import Settings
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.text.vocabulary import END, PAD

SHOWN = 50
"""Steps between two reports."""


@dataclass(frozen=True)
class Progress:
    """How far a member is."""

    seed: int
    share: float
    """Of all its steps."""
    loss: float
    """Smoothed negative log-likelihood a token, mean of the last ``SHOWN`` steps, nats."""
    nll: float
    """Of development sentences a token at the last look, nats; NaN before the first."""

    def __str__(self) -> str:
        return f"member {self.seed}: {self.share:.1%}  loss {self.loss:.3f}  dev NLL {self.nll:.3f} nats a token"


@dataclass(frozen=True)
class Trained:
    """A finished member."""

    seed: int
    weights: dict[str, Tensor]
    steps: int
    """Until the weights that were kept."""
    dev_nll: float
    """Of development sentences, nats a token."""

    def network(self, settings: Settings) -> Transformer:
        """As a module."""
        found = Transformer(settings.sizes)
        found.load_state_dict(self.weights)
        found.eval()
        return found


@dataclass
class _State:
    """What a training is, at a step."""

    step: int
    network: Transformer
    optimiser: torch.optim.Optimizer
    average: dict[str, Tensor] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_step: int = 0
    best_nll: float = math.inf
    nll: float = math.nan


def train(
    examples: Examples,
    dev: Examples,
    settings: Settings,
    seed: int,
    *,
    folder: Path | None = None,
    fingerprint: str = "",
    device: str = "cpu",
    progress: Callable[[Progress], None] = lambda state: None,
) -> Trained:
    """The member of a seed.

    Args:
        folder: where the state is kept, and found again; finished members stay there.
        fingerprint: of both sets of examples, told apart by it in ``folder``; empty: taken here.
        device: of torch, such as ``cuda``.

    Raises:
        ValueError: no examples, or a folder of another training.
        FloatingPointError: the loss is no longer finite.
    """
    for name, given in (("training", examples), ("development", dev)):
        if not len(given):
            raise ValueError(f"training needs at least one {name} pair, got none")
    kept = None
    if folder is not None:
        claimed(folder, settings, fingerprint or f"{examples.fingerprint} {dev.fingerprint}")
        kept = Checkpoints(folder, seed)
        if (found := finished(folder, seed)) is not None:
            return found
    with torch.random.fork_rng():
        trained = _Training(examples, dev, settings, seed, kept, device, progress).run()
    if kept is not None:
        kept.finish(vars(trained))
    return trained


def finished(folder: Path, seed: int) -> Trained | None:
    """A member that ``train`` finished in a folder."""
    found = Checkpoints(folder, seed).finished()
    return None if found is None else Trained(**found)


class _Training:
    def __init__(
        self,
        examples: Examples,
        dev: Examples,
        settings: Settings,
        seed: int,
        kept: Checkpoints | None,
        device: str,
        progress: Callable[[Progress], None],
    ) -> None:
        self._settings, self._seed, self._device = settings, seed, device
        self._kept, self._progress = kept, progress
        times = dict(settings.weights)
        repeats = [times.get(domain, 1) for domain in examples.domains]
        self._examples = examples
        self._rows = np.repeat(np.arange(len(examples)), repeats)
        self._lengths = examples.lengths[self._rows]
        few = np.linspace(0, len(dev) - 1, min(settings.dev_sentences, len(dev))).astype(int)
        self._dev = dev.take(few)

    def run(self) -> Trained:
        state = self._restored() or self._begun()
        settings = self._settings
        epoch, begun = self._place(state.step)
        shown: list[float] = []
        while state.step < settings.steps:
            order = batches(self._lengths, settings.batch_tokens, (self._seed, epoch))
            for rows in order[begun:]:
                shown.append(self._step(state, self._rows[rows]))
                state.step += 1
                last = state.step == settings.steps
                if state.step % settings.dev_every == 0 or last:
                    self._look(state)
                if state.step % SHOWN == 0 or last:
                    self._progress(Progress(self._seed, state.step / settings.steps, float(np.mean(shown)), state.nll))
                    shown.clear()
                if last:
                    break
            epoch, begun = epoch + 1, 0
        if not state.best:
            raise FloatingPointError(f"seed {self._seed}: the likelihood of development sentences is never finite")
        return Trained(self._seed, state.best, state.best_step, state.best_nll)

    def _place(self, step: int) -> tuple[int, int]:
        """Epoch of a step, and its number there."""
        epoch = 0
        while step:
            length = len(batches(self._lengths, self._settings.batch_tokens, (self._seed, epoch)))
            if step < length:
                break
            step, epoch = step - length, epoch + 1
        return epoch, step

    def _begun(self) -> _State:
        torch.manual_seed(self._seed)
        network = Transformer(self._settings.sizes, self._settings.dropout).to(self._device)
        optimiser = torch.optim.Adam(network.parameters(), self._settings.rate, betas=(0.9, 0.98), eps=1e-9)
        return _State(0, network, optimiser, _weights(network))

    def _step(self, state: _State, rows: NDArray[np.intp]) -> float:
        settings = self._settings
        for group in state.optimiser.param_groups:
            group["lr"] = settings.rate_at(state.step)
        torch.manual_seed(self._seed * 10_000_019 + state.step)  # dropout
        state.network.train()
        loss = self._loss(state.network, self._examples, rows, settings.smoothing) / sum(
            len(self._examples.target[row]) for row in rows
        )
        state.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(state.network.parameters(), settings.clip)
        state.optimiser.step()
        keep = min(settings.average, (state.step + 1) / (state.step + 10))
        with torch.no_grad():
            for name, value in state.network.state_dict().items():
                state.average[name].lerp_(value, 1 - keep)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise FloatingPointError(f"seed {self._seed}: the loss is {value} at step {state.step}: lower the rate")
        return value

    def _loss(self, network: Transformer, examples: Examples, rows: NDArray[np.intp], smoothing: float) -> Tensor:
        """Negative log-likelihood of some pairs, the sum over their tokens, nats."""
        source, target = (torch.from_numpy(side).to(self._device) for side in examples.padded(rows))
        before = torch.cat([torch.full_like(target[:, :1], END), target[:, :-1]], dim=1)
        logits = network(source, before)
        return F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
        )

    def _look(self, state: _State) -> None:
        """Judges the averaged weights, keeps them if they are the best, and saves the state."""
        judged = Transformer(self._settings.sizes).to(self._device)
        judged.load_state_dict(state.average)
        judged.eval()
        total = 0.0
        with torch.no_grad():
            for rows in batches(self._dev.lengths, self._settings.batch_tokens, (0,)):
                total += float(self._loss(judged, self._dev, rows, 0.0))
        state.nll = total / int(self._dev.lengths[:, 1].sum())
        if state.nll < state.best_nll:
            state.best_nll, state.best_step = state.nll, state.step
            state.best = {name: value.cpu().clone() for name, value in state.average.items()}
        if self._kept is not None:
            self._kept.save(
                vars(state) | {"network": state.network.state_dict(), "optimiser": state.optimiser.state_dict()}
            )

    def _restored(self) -> _State | None:
        kept = None if self._kept is None else self._kept.state()
        if kept is None:
            return None
        state = self._begun()
        state.network.load_state_dict(kept.pop("network"))
        state.optimiser.load_state_dict(kept.pop("optimiser"))
        for name, value in kept.items():
            setattr(state, name, value)
        return state


def _weights(network: Transformer) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}

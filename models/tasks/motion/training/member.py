"""Trains one member as Shifts 1.0, E.4 does: AdamW on the likelihood of true trajectories, a cosine with warm-up.

Best weights are those of the least negative log-likelihood of development requests. A member's weights depend on its
seed, the examples and the settings only: what is random depends on seed and step, so that a training that was cut off
goes on from its last saved state as if nothing had happened. Needs torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.checkpoints import Checkpoints, claimed
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.networks.network import Network
from models.tasks.motion.training.presets import Settings

SHOWN = 20
"""Steps between two reports."""
_LOOKED = 128  # development requests of one pass


@dataclass(frozen=True)
class Progress:
    """How far a member is."""

    seed: int
    share: float
    """Of all its steps."""
    loss: float
    """Mean of the last ``SHOWN`` steps, nats."""
    nll: float
    """Of development requests at the last look, nats; NaN before the first."""

    def __str__(self) -> str:
        return f"member {self.seed}: {self.share:.0%}  loss {self.loss:.2f}  dev NLL {self.nll:.2f} nats"


@dataclass(frozen=True)
class Trained:
    """A finished member."""

    seed: int
    weights: dict[str, Tensor]
    steps: int
    """Until the weights that were kept."""
    dev_nll: float
    """Of development requests, as it was trained, nats."""

    def network(self, settings: Settings) -> Network:
        """As a module."""
        found = Network(settings.sizes)
        found.load_state_dict(self.weights)
        found.eval()
        return found


@dataclass
class _State:
    """What a training is, at a step."""

    step: int
    network: Network
    optimiser: torch.optim.Optimizer
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
    progress: Callable[[Progress], None] = lambda state: None,
) -> Trained:
    """The member of a seed.

    Args:
        folder: where the state is kept, and found again; finished members stay there.
        fingerprint: of both sets of examples, told apart by it in ``folder``; empty: taken here, which reads all.

    Raises:
        ValueError: no examples, maps of another grid, or a folder of another training.
        FloatingPointError: the loss is no longer finite.
    """
    for name, given in (("training", examples), ("development", dev)):
        if not len(given):
            raise ValueError(f"training needs at least one {name} request whose future was observed, got none")
        if given.maps.grid.size != settings.sizes.grid:
            raise ValueError(f"{name} maps have {given.maps.grid.size} cells a side, networks {settings.sizes.grid}")
    kept = None
    if folder is not None:
        claimed(folder, settings, fingerprint or f"{examples.fingerprint} {dev.fingerprint}")
        kept = Checkpoints(folder, seed)
        if (found := finished(folder, seed)) is not None:
            return found
    with torch.random.fork_rng():
        trained = _Training(examples, dev, settings, seed, kept, progress).run()
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
        progress: Callable[[Progress], None],
    ) -> None:
        self._examples, self._settings, self._seed = examples, settings, seed
        self._kept, self._progress = kept, progress
        few = np.linspace(0, len(dev) - 1, min(settings.dev_examples, len(dev))).astype(int)
        self._dev = dev.take(few)
        self._batch = min(settings.batch, len(examples))
        self._epoch = len(examples) // self._batch  # steps; what is left over waits for another epoch's order
        self._steps, self._warmup = settings.schedule.lengths(self._epoch)

    def run(self) -> Trained:
        state = self._restored() or self._begun()
        shown: list[float] = []
        while state.step < self._steps:
            shown.append(self._step(state))
            state.step += 1
            if state.step % self._settings.dev_every == 0 or state.step == self._steps:
                self._look(state)
            if state.step % SHOWN == 0 or state.step == self._steps:
                self._progress(Progress(self._seed, state.step / self._steps, float(np.mean(shown)), state.nll))
                shown.clear()
        if not state.best:
            raise FloatingPointError(f"seed {self._seed}: the likelihood of development requests is never finite")
        return Trained(self._seed, state.best, state.best_step, state.best_nll)

    def _begun(self) -> _State:
        torch.manual_seed(self._seed)
        network = Network(self._settings.sizes).to(memory_format=torch.channels_last)
        settings = self._settings
        optimiser = torch.optim.AdamW(network.parameters(), settings.schedule.rate, weight_decay=settings.decay)
        return _State(0, network, optimiser)

    def _step(self, state: _State) -> float:
        for group in state.optimiser.param_groups:
            group["lr"] = self._settings.schedule.at(state.step, self._steps, self._warmup)
        rows = self._rows(state.step)
        torch.manual_seed(self._seed * 10_000_019 + state.step)  # samples and dropout
        state.network.train()
        loss = self._nll(state.network, self._examples, rows).mean()
        state.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(state.network.parameters(), self._settings.clip)
        state.optimiser.step()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise FloatingPointError(f"seed {self._seed}: the loss is {value} at step {state.step}: lower the rate")
        return value

    def _rows(self, step: int) -> NDArray[np.intp]:
        """Requests of a step; each comes at most once in an epoch."""
        epoch, number = divmod(step, self._epoch)
        order = np.random.default_rng([self._seed, epoch]).permutation(len(self._examples))
        return order[number * self._batch : (number + 1) * self._batch]

    def _nll(self, network: Network, examples: Examples, rows: NDArray[np.intp]) -> Tensor:
        """Negative log-likelihood of some requests, nats, [n]."""
        y = torch.from_numpy(examples.futures[rows])
        noise = torch.randn_like(y) if self._settings.conditioning == "samples" else None
        return -network.likelihood(torch.from_numpy(examples.drawn(rows)), y, noise)

    def _look(self, state: _State) -> None:
        """Judges the weights, keeps them if they are the best, and saves the state."""
        state.network.eval()
        found = []
        with torch.no_grad():
            for start in range(0, len(self._dev), _LOOKED):
                torch.manual_seed(start)  # the same samples at every look
                found.append(self._nll(state.network, self._dev, np.arange(len(self._dev))[start : start + _LOOKED]))
        state.nll = float(torch.cat(found).mean())
        if state.nll < state.best_nll:
            state.best_nll, state.best_step = state.nll, state.step
            state.best = {name: value.detach().clone() for name, value in state.network.state_dict().items()}
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

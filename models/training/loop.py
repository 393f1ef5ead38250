"""Training loop of all networks: batches, optimiser steps, validation, best weights, checkpoints. Needs torch.

A task derives a ``MemberTraining``, which defines only the parts that differ: network, batches, loss, learning rate,
score. Members that are stacked in one network train together; each has a loss and a score of its own, and keeps its own
best weights.

Weights depend on seed, data and settings only. A training that reseeds each step resumes from its last checkpoint as if
it had never been interrupted.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from models.training.checkpoints import Checkpoints, TrainedMember, finished

Batch = TypeVar("Batch")
Weights = dict[str, Tensor]
Network = TypeVar("Network", bound=nn.Module)


def loaded(network: Network, member: TrainedMember) -> Network:
    """Return the network with the weights of a finished member, in evaluation mode."""
    network.load_state_dict(member.weights)
    network.eval()
    return network


@dataclass(frozen=True)
class Stage:
    """Length and intervals of a part of a training; a stage starts from the best weights of the stage before it."""

    steps: int
    validate_every: int
    """Steps between two validations; the state is saved then."""
    report_every: int
    """Steps between two progress reports."""
    epoch: int | None = None
    """Steps after which ``report_every`` and the reported mean loss start anew; None: the loss is the mean since the
    last report."""
    patience: int | None = None
    """Validations without a better score after which a member stops; None: all steps are run."""


@dataclass(frozen=True)
class Progress:
    """Progress of a training."""

    seed: int
    step: int
    """Steps of the stage that are done."""
    share: float
    """Share of all steps that are done, 0 to 1."""
    loss: float
    """Mean training loss."""
    score: float
    """Last validation score, mean over stacked members; NaN before the first."""
    active: int
    """Members that have not stopped."""
    line: str = "member {seed}: {share:.0%}"
    """Format of the text."""

    def __str__(self) -> str:
        return self.line.format_map(vars(self))


@dataclass
class State:
    """State of a training at a step."""

    stage: int
    step: int
    network: nn.Module
    optimiser: torch.optim.Optimizer
    average: Weights = field(default_factory=dict)
    """Running average of the weights, if the training keeps one."""
    best: Weights = field(default_factory=dict)
    best_step: int = 0
    best_score: Tensor = field(default_factory=lambda: torch.tensor(math.nan, dtype=torch.float64))
    """Best score: a scalar, or [M] for stacked members; NaN before the first validation."""
    score: Tensor = field(default_factory=lambda: torch.tensor(math.nan, dtype=torch.float64))
    waited: Tensor = field(default_factory=lambda: torch.tensor(0))
    """Validations since the best score; shape as ``score``."""

    def active(self, patience: int | None) -> Tensor:
        """Return the mask of the members that have not run out of patience."""
        return self.waited < (math.inf if patience is None else patience)


class MemberTraining(ABC, Generic[Batch]):
    """Parts of a training that differ between tasks."""

    seed: int
    stages: Sequence[Stage]
    measure: str
    """Name of the score in checkpoints."""
    larger_is_better: bool = False
    average: float | None = None
    """Decay of a running average of weights, which is validated and kept instead of the weights; None for none."""
    clip_norm: float | None = None
    """Largest Euclidean norm of the gradient."""
    clip_value: float | None = None
    """Largest absolute element of the gradient."""
    reseeded: bool = True
    """Seed torch before each step; without it a training cannot resume within a member."""
    line: str
    """Format of progress, from the fields of ``Progress``."""

    @abstractmethod
    def network(self, stage: int, before: Weights | None) -> nn.Module:
        """Return the network at the start of a stage, given the best weights of the stage before it."""

    @abstractmethod
    def optimiser(self, network: nn.Module, stage: int) -> torch.optim.Optimizer:
        """Return the optimiser of a stage."""

    @abstractmethod
    def batches(self, stage: int, step: int) -> Iterator[Batch]:
        """Yield the batches of a stage from a step on, endlessly."""

    @abstractmethod
    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        """Return the loss of a batch: a scalar, or [M] for stacked members."""

    @abstractmethod
    def rate(self, stage: int, step: int) -> float:
        """Return the learning rate of a step."""

    @abstractmethod
    def score(self, network: nn.Module, stage: int) -> float | Tensor:
        """Return the validation score of a network in evaluation mode: a number, or [M] for stacked members."""

    def weights(self, network: nn.Module) -> Weights:
        """Return a copy of the weights of a network that are kept."""
        return {name: value.detach().cpu().clone() for name, value in network.state_dict().items()}

    def share(self, stage: int, step: int) -> float:
        """Return the share of the training that is done, 0 to 1."""
        return step / self.stages[stage].steps


Report = Callable[[Progress], None]


def train(training: MemberTraining[Any], folder: Path | None = None, progress: Report | None = None) -> TrainedMember:
    """Train a member, or return it from ``folder`` if it is finished there; resume it if it was interrupted.

    Args:
        folder: folder for state and result, reserved for this training; None stores nothing.

    Raises:
        FloatingPointError: the loss is not finite, or no score is.
    """
    if folder is None:
        state = fit(training, progress)
    else:
        if (member := finished(folder, training.seed)) is not None:
            return member
        checkpoints = Checkpoints(folder, training.seed)
        state = fit(training, progress, checkpoints)
    member = TrainedMember(training.seed, state.best, state.best_step, float(state.best_score))
    if folder is not None:
        stored = {"seed": member.seed, "weights": member.weights, "steps": member.steps}
        checkpoints.finish(stored | {f"dev_{training.measure}": member.score})
    return member


def fit(training: MemberTraining[Any], progress: Report | None = None, checkpoints: Checkpoints | None = None) -> State:
    """Run the loop and return the final state; the random state of torch is left unchanged.

    Raises:
        FloatingPointError: see ``train``.
    """
    with torch.random.fork_rng():
        return _Loop(training, checkpoints, progress).run()


class _Loop:
    def __init__(self, training: MemberTraining[Any], checkpoints: Checkpoints | None, progress: Report | None) -> None:
        self._training, self._checkpoints, self._progress = training, checkpoints, progress

    def run(self) -> State:
        state = self._restored() or self._started(0, None)
        while True:
            self._run_stage(state)
            if not torch.isfinite(state.best_score).all():
                training = self._training
                raise FloatingPointError(f"seed {training.seed}: the development {training.measure} is never finite")
            if state.stage + 1 == len(self._training.stages):
                return state
            state = self._started(state.stage + 1, state.best)

    def _started(self, stage: int, before: Weights | None) -> State:
        training = self._training
        torch.manual_seed(training.seed)
        network = training.network(stage, before)
        state = State(stage, 0, network, training.optimiser(network, stage))
        if training.average is not None:
            state.average = {name: value.detach().clone() for name, value in network.state_dict().items()}
        return state

    def _run_stage(self, state: State) -> None:
        stage = self._training.stages[state.stage]
        batches = self._training.batches(state.stage, state.step)
        losses: list[float] = []
        state.network.train()
        while state.step < stage.steps and bool(state.active(stage.patience).any()):
            losses.append(self._step(state, next(batches)))
            state.step += 1
            last = state.step == stage.steps
            if state.step % stage.validate_every == 0 or last:
                self._validate(state)
            within = state.step if stage.epoch is None else (state.step - 1) % stage.epoch + 1
            if within % stage.report_every == 0 or within == stage.epoch or last:
                self._report(state, float(np.mean(losses)))
                if stage.epoch in (None, within):
                    losses.clear()

    def _step(self, state: State, batch: Any) -> float:
        training, network = self._training, state.network
        for group in state.optimiser.param_groups:
            group["lr"] = training.rate(state.stage, state.step)
        if training.reseeded:  # random numbers of a network depend on seed and step only
            torch.manual_seed(training.seed * 10_000_019 + state.stage * 1_000_000 + state.step)
        loss = training.loss(network, batch)
        state.optimiser.zero_grad()
        loss.sum().backward()
        if training.clip_norm is not None:
            nn.utils.clip_grad_norm_(network.parameters(), training.clip_norm)
        if training.clip_value is not None:
            nn.utils.clip_grad_value_(network.parameters(), training.clip_value)
        state.optimiser.step()
        if training.average is not None:
            keep = min(training.average, (state.step + 1) / (state.step + 10))
            with torch.no_grad():
                for name, value in network.state_dict().items():
                    state.average[name].lerp_(value, 1 - keep)
        mean = float(loss.detach().mean())
        if not math.isfinite(mean):
            raise FloatingPointError(
                f"seed {training.seed}: the loss is {mean} at step {state.step}: lower the rate, or clip gradients"
            )
        return mean

    def _validate(self, state: State) -> None:
        """Score the weights, keep those of each member that are its best, and save the state."""
        training, network = self._training, state.network
        if training.average is not None:
            network = copy.deepcopy(network)
            network.load_state_dict(state.average)
        network.eval()
        score = training.score(network, state.stage)
        state.score = torch.tensor(score, dtype=torch.float64) if isinstance(score, float) else score
        sign = -1 if training.larger_is_better else 1
        best = torch.where(state.best_score.isnan(), sign * math.inf, state.best_score)
        better = (sign * state.score < sign * best) & state.active(training.stages[state.stage].patience)
        state.best_score = torch.where(better, state.score, best)
        state.waited = torch.where(better, 0, state.waited + 1)
        if better.any():
            weights = training.weights(network)
            if better.all() or not state.best:
                state.best = weights
            else:
                for name, value in state.best.items():
                    value[better] = weights[name][better]
            state.best_step = state.step
        state.network.train()
        if self._checkpoints is not None:
            self._checkpoints.save(self._stored(state))

    def _report(self, state: State, loss: float) -> None:
        if self._progress is not None:
            training = self._training
            self._progress(
                Progress(
                    training.seed,
                    state.step,
                    training.share(state.stage, state.step),
                    loss,
                    float(state.score.mean()),
                    int(state.active(training.stages[state.stage].patience).sum()),
                    training.line,
                )
            )

    def _stored(self, state: State) -> dict[str, Any]:
        measure = self._training.measure
        return {
            "stage": state.stage,
            "step": state.step,
            "network": state.network.state_dict(),
            "optimiser": state.optimiser.state_dict(),
            "average": state.average,
            "best": state.best,
            "best_step": state.best_step,
            f"best_{measure}": float(state.best_score),
            measure: float(state.score),
            "worse": int(state.waited),
        }

    def _restored(self) -> State | None:
        stored = None if self._checkpoints is None else self._checkpoints.state()
        if stored is None:
            return None
        measure = self._training.measure
        state = self._started(stored.get("stage", 0), None)
        state.network.load_state_dict(stored["network"])
        state.optimiser.load_state_dict(stored["optimiser"])
        state.step, state.best, state.best_step = stored["step"], stored["best"], stored["best_step"]
        state.average = stored.get("average", {})
        state.best_score = torch.tensor(stored[f"best_{measure}"], dtype=torch.float64)
        state.score = torch.tensor(stored[measure], dtype=torch.float64)
        state.waited = torch.tensor(stored.get("worse", 0))
        return state

"""The training loop resumes from states of earlier versions, averages weights and runs stages one after the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from models.training import loop
from models.training.checkpoints import Checkpoints, finished
from models.training.loop import Stage, Weights

SCORES = (3.0, 1.0, 2.0, 4.0)


class Scripted(loop.MemberTraining[float]):
    """One weight that grows by the learning rate in each step, with given scores."""

    seed = 7
    measure = "nll"
    line = "seed {seed} step {step}"

    def __init__(self, stages: int = 1, larger_is_better: bool = False, patience: int | None = None) -> None:
        self.stages = [Stage(4, 1, 2, patience=patience)] * stages
        self.larger_is_better = larger_is_better

    def network(self, stage: int, before: Weights | None) -> nn.Module:
        network = nn.Linear(1, 1, bias=False)
        network.weight.data.fill_(0.0 if before is None else float(before["weight"]))
        return network

    def optimiser(self, network: nn.Module, stage: int) -> torch.optim.Optimizer:
        return torch.optim.SGD(network.parameters(), lr=1.0)

    def batches(self, stage: int, step: int) -> Iterator[float]:
        while True:
            yield 1.0

    def loss(self, network: nn.Module, batch: float) -> Tensor:
        return -network(torch.tensor([batch])).sum()

    def rate(self, stage: int, step: int) -> float:
        return 1.0

    def score(self, network: nn.Module, stage: int) -> float:
        return SCORES[round(float(network.weight.detach())) % 4 - 1]


@pytest.mark.parametrize(("larger", "step", "score"), [(False, 2, 1.0), (True, 4, 4.0)])
def test_the_best_weights_are_kept(larger: bool, step: int, score: float, tmp_path: Path) -> None:
    member = loop.train(Scripted(larger_is_better=larger), tmp_path)
    assert (member.steps, member.score, float(member.weights["weight"])) == (step, score, step)
    assert finished(tmp_path, 7) == member
    assert set(Checkpoints(tmp_path, 7).finished() or ()) == {"seed", "weights", "steps", "dev_nll"}


def test_patience_stops_a_training() -> None:
    assert loop.fit(Scripted(patience=1)).step == 3


def test_a_stage_starts_from_the_best_weights_of_the_one_before() -> None:
    state = loop.fit(Scripted(stages=2))
    assert (state.stage, float(state.best["weight"])) == (1, 6.0)  # 2 of the first stage, and 4 steps


def test_progress_is_told_at_intervals() -> None:
    reports: list[loop.Progress] = []
    loop.fit(Scripted(), reports.append)
    assert [str(report) for report in reports] == ["seed 7 step 2", "seed 7 step 4"]
    assert [report.loss for report in reports] == [-0.5, -2.5]


def test_a_state_without_the_fields_of_other_tasks_is_resumed(tmp_path: Path) -> None:
    training = Scripted()
    network = training.network(0, None)
    network.weight.data.fill_(3.0)
    state = {"step": 3, "network": network.state_dict(), "optimiser": training.optimiser(network, 0).state_dict()}
    state |= {"best": {"weight": torch.full((1, 1), 2.0)}, "best_step": 2, "best_nll": 1.0, "nll": 2.0}
    Checkpoints(tmp_path, 7).save(state)
    member = loop.train(training, tmp_path)
    assert (member.steps, member.score) == (2, 1.0)


def test_scores_that_are_never_finite_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "score", lambda self, network, stage: float("nan"))
    with pytest.raises(FloatingPointError, match="seed 7: the development nll is never finite"):
        loop.fit(Scripted())

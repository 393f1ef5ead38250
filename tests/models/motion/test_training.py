"""Training a member: it learns, it repeats, it goes on after a kill, it refuses what cannot be."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from models.tasks.motion.data.examples import Examples
from models.tasks.motion.networks.settings import FAMILIES
from models.tasks.motion.training import member
from models.tasks.motion.training.presets import Schedule, Settings, preset
from models.training.loop import Progress
from tests.models.interrupted import Killed, killed_at, same
from tests.models.motion import bends


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Examples, Examples]:
    folder = tmp_path_factory.mktemp("examples")
    return bends.stored(folder / "train", 0, 48), bends.stored(folder / "dev", 100, 16)


def short(family: str, steps: int = 4) -> Settings:
    return replace(preset("tiny", family), schedule=Schedule(5e-3, steps, 1, "steps"), dev_every=2)


@pytest.mark.parametrize("family", ["bc", "dim"])
def test_a_tiny_training_raises_the_likelihood(family: str, data: tuple[Examples, Examples]) -> None:
    settings = replace(preset("tiny", family), schedule=Schedule(1e-2, 60, 5, "steps"), dev_every=20)
    reports: list[Progress] = []
    trained = member.train(*data, settings, 1, progress=reports.append)
    before = member.train(*data, replace(settings, schedule=Schedule(1e-9, 1, 0, "steps")), 1)
    assert reports[-1].loss < reports[0].loss - 10
    assert trained.score < before.score - 10
    assert reports[-1].share == 1
    assert np.isfinite(trained.score)


@pytest.mark.long
@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=[pytest.mark.slow] * (name in ("dim", "bc_dropout"))) for name in FAMILIES]
)
def test_a_training_that_was_cut_off_ends_in_the_same_weights(
    family: str, data: tuple[Examples, Examples], tmp_path: Path
) -> None:
    settings = replace(short(family, 42), dev_every=10)
    whole = member.train(*data, settings, 3)
    with pytest.raises(Killed):
        member.train(*data, settings, 3, folder=tmp_path, progress=killed_at(2))
    assert (tmp_path / "member-3.state.pt").exists()
    shares: list[float] = []
    went_on = member.train(*data, settings, 3, folder=tmp_path, progress=lambda state: shares.append(state.share))
    assert shares == [1.0]  # what was done was not done again
    assert same(whole, went_on)
    assert went_on.score == whole.score
    assert not (tmp_path / "member-3.state.pt").exists()


def test_a_finished_member_is_not_trained_again(data: tuple[Examples, Examples], tmp_path: Path) -> None:
    first = member.train(*data, short("bc"), 3, folder=tmp_path)
    again = member.train(*data, short("bc"), 3, folder=tmp_path, progress=killed_at(1))
    assert same(first, again)


def test_seeds_make_members(data: tuple[Examples, Examples]) -> None:
    first, other = (member.train(*data, short("dim"), seed) for seed in (1, 2))
    assert not same(first, other)


def test_a_training_leaves_the_random_state_alone(data: tuple[Examples, Examples]) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    member.train(*data, short("bc_dropout"), 1)
    assert torch.equal(torch.rand(3), expected)


def test_a_folder_of_another_training_is_refused(data: tuple[Examples, Examples], tmp_path: Path) -> None:
    examples, dev = data
    member.train(examples, dev, short("bc"), 1, folder=tmp_path)
    with pytest.raises(ValueError, match="another training, with a different examples"):
        member.train(examples.take(np.arange(20)), dev, short("bc"), 1, folder=tmp_path)
    with pytest.raises(ValueError, match="another training, with a different settings"):
        member.train(examples, dev, short("dim"), 1, folder=tmp_path)


def test_no_examples_and_another_grid_are_refused(data: tuple[Examples, Examples]) -> None:
    examples, dev = data
    settings = short("bc")
    with pytest.raises(ValueError, match="at least one training request"):
        member.train(examples.take(np.arange(0)), dev, settings, 1)
    with pytest.raises(ValueError, match="at least one development request"):
        member.train(examples, dev.take(np.arange(0)), settings, 1)
    other = replace(settings, sizes=replace(settings.sizes, grid=64))
    with pytest.raises(ValueError, match="training maps have 128 cells a side, networks 64"):
        member.train(examples, dev, other, 1)


def test_a_loss_that_is_not_finite_stops_the_training(data: tuple[Examples, Examples]) -> None:
    examples, dev = data
    broken = replace(examples, futures=np.full_like(examples.futures, np.inf))
    with pytest.raises(FloatingPointError, match="seed 1: the loss is .* at step 0"):
        member.train(broken, dev, short("dim"), 1)


def test_an_epoch_takes_each_request_once(data: tuple[Examples, Examples]) -> None:
    examples, dev = data
    made = member.MotionTraining(examples, dev, short("bc"), 5)
    batches = list(islice(made.batches(0, 0), 7))
    epoch = np.concatenate(batches[:6])  # 48 requests, 8 a step
    assert sorted(epoch) == list(range(48))
    assert np.array_equal(next(made.batches(0, 3)), batches[3])
    assert not np.array_equal(batches[0], batches[6])

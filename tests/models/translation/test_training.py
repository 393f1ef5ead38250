"""Training a member: it learns, goes on after a kill, and refuses what cannot be."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.tasks.translation.data.examples import Examples, examples
from models.tasks.translation.networks.settings import Settings, Sizes, preset, with_vocabulary
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.training import member
from models.tasks.translation.training.train import DEV, PIECES, TRAIN, prepare, train_members
from models.training.checkpoints import finished
from models.training.loop import Progress, loaded
from models.training.parallel_training import seeds
from models.training.training_folder import DESCRIPTION
from tests.models.interrupted import Killed, killed_at, same
from tests.models.translation import made

SETTINGS = with_vocabulary(preset("tiny"), 320)


@pytest.fixture(scope="module")
def data() -> tuple[Examples, Examples]:
    return tuple(examples(made.corpus(count, seed), made.pieces(), 64) for count, seed in ((120, 0), (20, 9)))  # type: ignore[return-value]


def test_a_tiny_training_lowers_the_loss(data: tuple[Examples, Examples]) -> None:
    settings = replace(SETTINGS, steps=100, warmup=20, dev_every=50, rate=8e-3, average=0.9, smoothing=0.0)
    reports: list[Progress] = []
    trained = member.train(*data, settings, 1, progress=reports.append)
    assert [state.share for state in reports] == [1 / 2, 1]
    assert reports[-1].loss < reports[0].loss - 1
    assert trained.score < 3 < math.log(320)
    assert trained.score == reports[-1].score
    assert trained.steps == 100
    network = loaded(Transformer(settings.sizes), trained)
    source, target = data[1].padded([0, 1, 2])
    before = np.concatenate([np.full((3, 1), 2), target[:, :-1]], axis=1)
    with torch.no_grad():
        logs = torch.log_softmax(network(torch.from_numpy(source), torch.from_numpy(before)), -1).numpy()
    log_likelihoods = np.take_along_axis(logs, target[..., None], axis=2)[..., 0][target != 1]
    assert -log_likelihoods.mean() < 4


@pytest.mark.parametrize("shared", [True, False])
def test_a_training_that_was_cut_off_ends_in_the_same_weights(
    data: tuple[Examples, Examples], tmp_path: Path, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, sizes=replace(SETTINGS.sizes, shared=shared), steps=14, dev_every=5)
    monkeypatch.setattr(member, "REPORT_EVERY", 4)
    whole = member.train(*data, settings, 3)
    with pytest.raises(Killed):  # after 8 steps, of which 5 are kept
        member.train(*data, settings, 3, folder=tmp_path, progress=killed_at(2))
    assert (tmp_path / "member-3.state.pt").exists()
    assert finished(tmp_path, 3) is None
    torch.manual_seed(77)  # whatever happened in between
    shares: list[float] = []
    went_on = member.train(*data, settings, 3, folder=tmp_path, progress=lambda state: shares.append(state.share))
    assert shares == [8 / 14, 12 / 14, 1]
    assert same(whole, went_on)
    assert (went_on.score, went_on.steps) == (whole.score, whole.steps)
    assert not (tmp_path / "member-3.state.pt").exists()
    again = member.train(*data, settings, 3, folder=tmp_path, progress=killed_at(1))  # it is there already
    assert same(whole, again)


def test_seeds_differ_and_nothing_else_does(data: tuple[Examples, Examples]) -> None:
    settings = replace(SETTINGS, steps=3, dev_every=2)
    before = torch.get_rng_state()
    first, again, other = (member.train(*data, settings, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert same(first, again)
    assert not same(first, other)


def test_domains_come_as_often_as_they_should(data: tuple[Examples, Examples]) -> None:
    settings = replace(SETTINGS, steps=3, dev_every=2)
    often = replace(settings, weights=(("docs", 3),))
    assert not same(member.train(*data, settings, 1), member.train(*data, often, 1))


def test_a_folder_is_one_trainings(data: tuple[Examples, Examples], tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=2, dev_every=2)
    member.train(*data, settings, 1, folder=tmp_path)
    train, dev = data
    with pytest.raises(ValueError, match="another training, with a different settings"):
        member.train(train, dev, replace(settings, rate=1e-3), 2, folder=tmp_path)
    with pytest.raises(ValueError, match="different examples"):
        member.train(train.take(range(50)), dev, settings, 2, folder=tmp_path)
    with pytest.raises(ValueError, match="different examples"):
        member.train(replace(train, domains=("news",) * len(train)), dev, settings, 2, folder=tmp_path)


@pytest.mark.parametrize("side", [0, 1])
def test_no_pairs_are_refused(data: tuple[Examples, Examples], side: int) -> None:
    arguments = list(data)
    arguments[side] = Examples((), (), ())
    with pytest.raises(ValueError, match=("training", "development")[side]):
        member.train(*arguments, SETTINGS, 1)


def test_a_loss_that_is_not_finite_ends_it(data: tuple[Examples, Examples]) -> None:
    with pytest.raises(FloatingPointError, match=r"seed 4: .*(lower the rate|never finite)"):
        member.train(*data, replace(SETTINGS, rate=1e30, warmup=1), 4)


def test_the_rate_rises_and_falls_with_the_square_root() -> None:
    settings = replace(SETTINGS, rate=1.0, warmup=4)
    assert [settings.rate_at(step) for step in (0, 1, 3, 15)] == [0.25, 0.5, 1.0, 0.5]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"steps": 0}, "at least 1"),
        ({"rate": 0.0}, "rate above 0"),
        ({"average": 1.0}, r"average in \[0, 1\)"),
        ({"smoothing": -0.1}, "smoothing"),
        ({"weights": (("docs", 0),)}, "at least once"),
        ({"clip": 0.0}, "clip is above 0"),
    ],
)
def test_settings_that_cannot_be_followed(change: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(SETTINGS, **change)  # type: ignore[arg-type]


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="no multiple of twice the heads, 6"):
        Sizes(9, 9, 32, 3, 8, 1, 1)
    with pytest.raises(ValueError, match="one vocabulary, got 9 and 8"):
        Sizes(9, 8, 32, 2, 8, 1, 1)
    with pytest.raises(ValueError, match="at least 1"):
        Sizes(9, 9, 32, 2, 8, 0, 1)
    with pytest.raises(ValueError, match="too little"):
        Sizes(9, 9, 2, 1, 8, 1, 1)
    with pytest.raises(ValueError, match="'huge' is unknown; use one of tiny, small, paper"):
        preset("huge")


def short() -> Settings:
    return replace(preset("tiny"), sizes=replace(SETTINGS.sizes, source=260, target=260), steps=3, dev_every=2)


def test_pairs_are_prepared_once(tmp_path: Path) -> None:
    corpus, dev = made.corpus(80), made.corpus(10, 9)
    settings = prepare(corpus, dev, short(), tmp_path)
    assert settings == short()
    data = tmp_path / "data"
    assert {path.name for path in data.iterdir()} == {PIECES, TRAIN, DEV, DESCRIPTION}
    assert len(Examples.load(data / TRAIN)) == 80
    times = {path: path.stat().st_mtime_ns for path in data.iterdir()}
    assert prepare(corpus, dev, short(), tmp_path) == settings
    assert {path: path.stat().st_mtime_ns for path in data.iterdir()} == times
    with pytest.raises(ValueError, match="different corpus"):
        prepare(made.corpus(81), dev, short(), tmp_path)
    with pytest.raises(ValueError, match="different dev"):
        prepare(corpus, made.corpus(11, 9), short(), tmp_path)
    with pytest.raises(ValueError, match="different settings"):
        prepare(corpus, dev, replace(short(), rate=1.0), tmp_path)


def test_a_preparation_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    corpus, dev = made.corpus(80), made.corpus(10, 9)
    prepare(corpus, dev, short(), tmp_path / "whole")
    prepare(corpus, dev, short(), tmp_path / "cut")
    (tmp_path / "cut" / "data" / DEV).unlink()
    prepare(corpus, dev, short(), tmp_path / "cut")
    for name in (PIECES, TRAIN, DEV):
        whole, cut = (tmp_path / folder / "data" / name for folder in ("whole", "cut"))
        if name == PIECES:
            assert whole.read_bytes() == cut.read_bytes()
        else:
            assert Examples.load(whole) == Examples.load(cut)


@pytest.mark.slow
def test_members_are_trained_in_processes_and_stay(tmp_path: Path) -> None:
    settings = prepare(made.corpus(60), made.corpus(10, 9), short(), tmp_path)
    shares: list[float] = []
    train_members(tmp_path, settings, seeds(2, 1), jobs=1, progress=lambda done, what: shares.append(done))
    assert shares[-1] == 1
    trained = finished(tmp_path, 2000)
    assert trained is not None
    here = member.train(*(Examples.load(tmp_path / "data" / name) for name in (TRAIN, DEV)), settings, 2000)
    assert same(trained, here)
    train_members(tmp_path, settings, seeds(2, 1))  # nothing is left to do
    with pytest.raises(ValueError, match="different settings"):
        train_members(tmp_path, replace(settings, rate=1.0), seeds(2, 1))


def test_seeds_of_members() -> None:
    assert seeds(3, 2) == (3000, 3001)
    with pytest.raises(ValueError, match="at least one member, got 0"):
        seeds(3, 0)

"""Training learns, repeats, goes on after being cut off, and stops where it cannot go on."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from models.executors.graph_members import GraphMembers
from models.executors.onnx import OnnxGraph
from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.export import export
from models.tasks.weather.transformer.member import TransformerTraining, rate
from models.tasks.weather.transformer.scaling import TrainingRows
from models.tasks.weather.transformer.settings import FAST, FULL, Settings, Sizes
from models.tasks.weather.transformer.train import Progress, train

TINY = Sizes(width=16, heads=2, blocks=2, attention_dropout=0.1, hidden_dropout=0.05)
SHORT = replace(FAST, sizes=TINY, epochs=2, rate=5e-3)

Toy = Callable[[int, int], TrainingRows]


def assert_same_weights(first: TrainedEnsemble, other: TrainedEnsemble) -> None:
    assert set(first.weights) == set(other.weights)
    for name, array in first.weights.items():
        np.testing.assert_array_equal(array, other.weights[name])


@pytest.mark.long
def test_mean_noise_and_classes_are_learnt(toy: Toy, tmp_path) -> None:
    settings = replace(SHORT, epochs=12, sizes=replace(TINY, attention_dropout=0.0, hidden_dropout=0.0))
    ensemble = train(toy(2000, 0), toy(300, 1), settings=settings, classes=9, seed=1)
    path = tmp_path / "graph.onnx"
    path.write_bytes(export(ensemble))
    seen = toy(1000, 2)
    outputs = GraphMembers(OnnxGraph(path), ensemble.heads)(seen.features)
    mean, variance = np.moveaxis(outputs["temperature"][0], -1, 0)
    clear = np.abs(seen.features[:, 1]) > 0.3
    loud = seen.features[:, 1] > 0
    truth = 10 + 5 * seen.features[:, 0]
    assert np.sqrt(np.mean(np.square(mean - truth)[~loud])) < 0.6
    assert np.median(np.sqrt(variance[clear & loud])) == pytest.approx(3.0, rel=0.2)
    assert np.median(np.sqrt(variance[clear & ~loud])) == pytest.approx(0.5, rel=0.35)
    assert (outputs["precipitation"][0].argmax(axis=-1) == seen.classes).mean() > 0.9
    assert outputs["precipitation"][0][:, 3:].max() < 0.1, "classes that never were are unlikely"


def test_the_same_seed_gives_the_same_weights_and_another_one_others(toy: Toy) -> None:
    rows, dev = toy(300, 0), toy(100, 1)
    first = train(rows, dev, settings=SHORT, members=2, seed=5)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        second = train(rows, dev, settings=SHORT, members=2, seed=5)
    other = train(rows, dev, settings=SHORT, members=1, seed=6)
    assert_same_weights(first, second)
    name = "blocks.0.project.weight"
    assert not np.array_equal(first.weights[name][0], first.weights[name][1])
    assert not np.array_equal(first.weights[name][0], other.weights[name][0])


def test_a_member_trains_the_same_alone_and_in_company(toy: Toy) -> None:
    rows, dev = toy(300, 0), toy(100, 1)
    together, alone = (train(rows, dev, settings=SHORT, members=members, seed=5) for members in (3, 1))
    assert_same_weights(together.select(slice(0, 1)), alone)


def test_training_leaves_the_random_state_of_torch_alone(toy: Toy) -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    train(toy(100, 0), toy(50, 1), settings=SHORT)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_training_that_was_cut_off_goes_on_as_if_it_never_was(toy: Toy, tmp_path) -> None:
    rows, dev = toy(300, 0), toy(100, 1)
    whole = train(rows, dev, settings=SHORT, members=3, seed=5)

    def cut_off(state: Progress) -> None:
        if state.member == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(rows, dev, settings=SHORT, members=3, seed=5, checkpoint=tmp_path, progress=cut_off)
    seen: list[int] = []
    resumed = train(
        rows,
        dev,
        settings=SHORT,
        members=3,
        seed=5,
        checkpoint=tmp_path,
        progress=lambda state: seen.append(state.member),
    )
    assert_same_weights(resumed, whole)
    assert resumed.training == whole.training
    assert set(seen) == {2, 3}, "the finished member is not trained again"
    assert_same_weights(train(rows, dev, settings=SHORT, members=3, seed=5, checkpoint=tmp_path), whole)


def test_members_of_another_training_are_refused(toy: Toy, tmp_path) -> None:
    rows, dev = toy(100, 0), toy(50, 1)
    train(rows, dev, settings=SHORT, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="another training, with a different settings"):
        train(rows, dev, settings=replace(SHORT, rate=1e-3), checkpoint=tmp_path)
    with pytest.raises(ValueError, match="another training, with a different rows"):
        train(toy(100, 3), dev, settings=SHORT, checkpoint=tmp_path)


def test_the_best_epoch_is_kept_and_patience_ends(toy: Toy, monkeypatch) -> None:
    scores = iter([3.0, 1.0, 2.0, 1.5, 0.0])
    kept: list[np.ndarray] = []

    def scripted(self: TransformerTraining, member: torch.nn.Module, stage: int) -> float:
        kept.append(member.norm.weight.detach().numpy().copy())
        return next(scores)

    monkeypatch.setattr(TransformerTraining, "score", scripted)
    ensemble = train(toy(100, 0), toy(50, 1), settings=replace(SHORT, epochs=9, patience=2))
    assert len(kept) == 4, "two epochs without a better one are enough"
    np.testing.assert_array_equal(ensemble.weights["norm.weight"][0], kept[1])
    assert ensemble.training["epochs_run"] == 2
    assert ensemble.training["best_dev_nll"] == 1.0


@pytest.mark.filterwarnings("ignore")
def test_a_loss_that_is_not_finite_ends_training(toy: Toy) -> None:
    wild = Settings(TINY, epochs=5, batch=64, rate=1e30, weight_decay=0.0, patience=5)
    with pytest.raises(FloatingPointError, match="lower the rate"):
        train(toy(300, 0), toy(100, 1), settings=wild)


def test_either_head_can_be_trained_alone(toy: Toy) -> None:
    rows, dev = toy(200, 0), toy(100, 1)
    for name, other in (("temperature", "classes"), ("classes", "temperature")):
        ensemble = train(replace(rows, **{other: None}), replace(dev, **{other: None}), settings=SHORT)
        assert ensemble.heads == ({"temperature": "temperature", "classes": "precipitation"}[name],)
    both = train(rows, dev, settings=SHORT)
    assert both.outputs("precipitation") == 3, "as many as there are labels"


def test_progress_tells_parts_of_epochs_and_the_time_left(toy: Toy) -> None:
    seen: list[Progress] = []
    train(toy(1500, 0), toy(100, 1), settings=SHORT, members=2, progress=seen.append)
    shares = [state.share for state in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert seen[-1].eta == pytest.approx(0)
    assert {state.epoch for state in seen} >= {0.5, 1.0, 1.5, 2.0}
    assert np.isnan(seen[0].dev)
    assert seen[-1].loss < seen[0].loss
    assert "member 2/2 epoch 2.00/2" in str(seen[-1])


def test_the_rate_rises_and_falls_along_a_cosine() -> None:
    assert rate(FAST, 0) < 0.05 * FAST.rate
    assert rate(FAST, FAST.warmup) == pytest.approx(FAST.rate)
    assert rate(FAST, 1) == pytest.approx(0.01 * FAST.rate)
    assert rate(FULL, 0) == rate(FULL, 1) == FULL.rate


def test_a_sampled_family_has_ten_masks_a_member(toy: Toy) -> None:
    rows, dev = toy(100, 0), toy(50, 1)
    ensemble = train(rows, dev, family="ft_mcdp", settings=SHORT, seed=4)
    assert (ensemble.samples, ensemble.sample_seed, ensemble.size) == (10, 4, 10)
    assert_same_weights(ensemble, train(rows, dev, settings=SHORT, seed=4))


def test_what_cannot_be_trained_is_refused(toy: Toy) -> None:
    rows, dev = toy(100, 0), toy(50, 1)
    with pytest.raises(ValueError, match="at least one member"):
        train(rows, dev, members=0)
    with pytest.raises(ValueError, match="rows have 4 features, dev has 3"):
        train(rows, replace(dev, features=dev.features[:, :3]))
    with pytest.raises(ValueError, match="the same labels"):
        train(rows, replace(dev, classes=None))
    with pytest.raises(ValueError, match="class 2 among the labels, 0 to 1 is possible"):
        train(rows, dev, classes=2)
    with pytest.raises(ValueError, match="unknown"):
        train(rows, dev, family="ft", settings=SHORT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": np.array([1.0, np.nan])}, "nan °C in row 1"),
        ({"temperature": np.zeros(3)}, r"shape \[3\], \[2\] as the rows"),
        ({"classes": np.array([1.0, 2.5])}, "class is 2.5 in row 1"),
        ({"classes": np.array([0, -1])}, "class is -1 in row 1"),
        ({"temperature": None, "classes": None}, "nothing can be learnt"),
        ({"features": np.zeros((2, 3))}, "float64"),
        ({"features": np.zeros((0, 3), np.float32)}, "N ≥ 1"),
    ],
)
def test_labels_that_make_no_sense_are_refused(change, message) -> None:
    rows = {"features": np.zeros((2, 3), np.float32), "temperature": np.zeros(2), "classes": np.array([0, 8])}
    TrainingRows(**rows)
    with pytest.raises(ValueError, match=message):
        TrainingRows(**(rows | change))


@pytest.mark.parametrize(
    "change", [{"width": 30, "heads": 4}, {"blocks": 0}, {"hidden_dropout": 1.0}, {"residual_dropout": -0.1}]
)
def test_sizes_that_cannot_be_built_are_refused(change) -> None:
    with pytest.raises(ValueError, match="needed"):
        replace(TINY, **change)

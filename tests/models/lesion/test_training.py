"""Training a member: it learns, it repeats, it goes on after a kill, it refuses what cannot be."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.assessment.segmentation import ndsc
from models.tasks.lesion.data.examples import Example
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import PRESETS, Stage, UNetSizes, preset
from models.tasks.lesion.training import member, tiles
from models.tasks.lesion.training.crops import Crops
from models.tasks.lesion.training.train import train_members
from models.training.checkpoints import finished
from models.training.loop import Progress
from tests.models.interrupted import Killed, killed_at, same
from tests.models.lesion import toys

SCANS = [toys.example(seed) for seed in range(3)]
DEV = [toys.example(9)]


def test_a_tiny_training_lowers_the_loss_and_finds_lesions() -> None:
    settings = replace(preset("tiny", "unet"), stages=(Stage(32, 60, 2, 1e-2),))
    progress: list[Progress] = []
    trained = member.train(SCANS, DEV, settings, 1, progress=progress.append)
    assert progress[-1].loss < 0.75 * progress[0].loss
    assert trained.score > 0.05  # a mask of everything has 0.002
    assert [step.share for step in progress] == sorted(step.share for step in progress)
    assert progress[-1].share == 1


@pytest.mark.long
@pytest.mark.parametrize(
    "family", ["unet", *(pytest.param(name, marks=pytest.mark.slow) for name in ("unet_mcdp", "unetr"))]
)
def test_a_training_that_was_cut_off_ends_in_the_same_weights(family: str, tmp_path: Path) -> None:
    settings = preset("tiny", family)
    whole = member.train(SCANS, DEV, settings, 3)
    with pytest.raises(Killed):
        member.train(SCANS, DEV, settings, 3, folder=tmp_path, progress=killed_at(2))
    assert (tmp_path / "member-3.state.pt").exists()
    shares: list[float] = []
    went_on = member.train(SCANS, DEV, settings, 3, folder=tmp_path, progress=lambda state: shares.append(state.share))
    assert len(shares) <= 2  # what was done was not done again
    assert same(whole, went_on)
    assert went_on.score == whole.score
    assert not (tmp_path / "member-3.state.pt").exists()


def test_a_finished_member_is_not_trained_again(tmp_path: Path) -> None:
    settings = preset("tiny", "unet")
    first = member.train(SCANS, DEV, settings, 3, folder=tmp_path)
    again = member.train(SCANS, DEV, settings, 3, folder=tmp_path, progress=killed_at(1))
    assert same(first, again)


def test_seeds_make_members() -> None:
    settings = replace(preset("tiny", "unet"), stages=(Stage(32, 2, 1, 1e-2),))
    first, other = (member.train(SCANS, DEV, settings, seed) for seed in (1, 2))
    assert not same(first, other)


def test_a_training_leaves_the_random_state_alone() -> None:
    settings = replace(preset("tiny", "unet_mcdp"), stages=(Stage(32, 1, 1, 1e-2),))
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    member.train(SCANS, DEV, settings, 1)
    assert torch.equal(torch.rand(3), expected)


def test_a_folder_of_other_scans_is_refused(tmp_path: Path) -> None:
    settings = replace(preset("tiny", "unet"), stages=(Stage(32, 1, 1, 1e-2),))
    member.train(SCANS, DEV, settings, 1, folder=tmp_path)
    with pytest.raises(ValueError, match="another training, with a different scans"):
        member.train(SCANS[:2], DEV, settings, 1, folder=tmp_path)


def test_no_scans_and_small_scans_are_refused() -> None:
    settings = preset("tiny", "unet")
    with pytest.raises(ValueError, match="at least one scan"):
        member.train([], DEV, settings, 1)
    with pytest.raises(ValueError, match="at least one development scan"):
        member.train(SCANS, [], settings, 1)
    with pytest.raises(ValueError, match="smaller than a crop of 32 voxels"):
        member.train([toys.example(1, edge=24)], DEV, settings, 1)


def test_a_loss_that_is_not_finite_stops_the_training() -> None:
    broken = Example(np.full((1, 40, 40, 40), np.inf, np.float16), SCANS[0].truth)
    with pytest.raises(FloatingPointError, match="seed 1: the loss is nan at step 0"):
        member.train([broken], DEV, preset("tiny", "unet"), 1)


def test_a_batch_depends_on_seed_and_step_only() -> None:
    crops, again = (Crops(SCANS, 32, seed=5) for _ in range(2))
    crops.batch(0, 2)
    images, truths = crops.batch(3, 2)
    assert torch.equal(images, again.batch(3, 2)[0])
    assert images.shape == (2, 1, 32, 32, 32)
    assert set(truths.unique().tolist()) <= {0.0, 1.0}
    assert not torch.equal(images, again.batch(4, 2)[0])


def test_most_crops_hold_lesions_and_truth_moves_with_the_image() -> None:
    bright = [Example((10 * example.truth[None]).astype(np.float16), example.truth) for example in SCANS]
    crops = Crops(bright, 16, seed=1)
    batches = [crops.batch(step, 3) for step in range(10)]
    truths = torch.cat([truth for _, truth in batches])
    assert float((truths.sum(dim=(1, 2, 3, 4)) > 0).float().mean()) > 0.7
    images = torch.cat([image for image, _ in batches])
    assert float(images[truths == 1].mean() - images[truths == 0].mean()) > 7


def test_scans_without_lesions_are_taken() -> None:
    healthy = Example(SCANS[0].image, np.zeros_like(SCANS[0].truth))
    images, truths = Crops([healthy], 32, seed=0).batch(0, 2)
    assert not truths.any()
    assert torch.isfinite(images).all()


def test_examples_survive_the_disk(tmp_path: Path) -> None:
    SCANS[0].save(tmp_path / "one")
    loaded = Example.load(tmp_path / "one")
    assert np.array_equal(loaded.image, SCANS[0].image)
    assert np.array_equal(loaded.truth, SCANS[0].truth)


@pytest.mark.slow
def test_members_train_side_by_side_to_the_same_weights(tmp_path: Path) -> None:
    settings = replace(PRESETS["tiny"]["unet"], stages=(Stage(32, 4, 1, 1e-2),))
    for number, example in enumerate(SCANS):
        example.save(tmp_path / "scans" / "train" / str(number))
    DEV[0].save(tmp_path / "scans" / "dev_in" / "0")
    progress: list[float] = []
    train_members(
        tmp_path / "scans",
        tmp_path / "parts",
        settings,
        [4, 5],
        jobs=2,
        progress=lambda done, what: progress.append(done),
    )
    assert progress[-1] == 1
    for seed in (4, 5):
        trained = finished(tmp_path / "parts", seed)
        assert trained is not None
        assert same(trained, member.train(SCANS, DEV, settings, seed))


@pytest.mark.long
def test_a_member_that_fails_says_why(tmp_path: Path) -> None:
    toys.example(1, edge=24).save(tmp_path / "scans" / "train" / "0")
    DEV[0].save(tmp_path / "scans" / "dev_in" / "0")
    with pytest.raises(RuntimeError, match="member 4: ValueError: a scan of .* is smaller than a crop"):
        train_members(tmp_path / "scans", tmp_path / "parts", PRESETS["tiny"]["unet"], [4])


def test_a_look_at_all_windows_is_the_ndsc_of_the_scan() -> None:
    torch.manual_seed(0)
    network = architectures.network(UNetSizes((2, 4)), 32).eval()
    looked = tiles.Tiles.of(SCANS[0], 16, 100)  # 40 voxels in windows of 16: some overlap
    assert int(looked.own.sum()) == SCANS[0].truth.size
    chances = np.zeros(SCANS[0].truth.shape, np.float32)
    places = sorted(tiles._places(SCANS[0].truth.shape, 16), key=lambda place: -int(SCANS[0].truth[place].sum()))
    seen = np.zeros(SCANS[0].truth.shape, bool)
    with torch.no_grad():
        for place in places:  # a voxel is judged in the first window that has it
            window = torch.from_numpy(SCANS[0].image[(slice(None), *place)]).float()[None]
            probability = torch.sigmoid(tiles.difference(network, window))[0, 0].numpy()
            chances[place] = np.where(seen[place], chances[place], probability)
            seen[place] = True
    expected = [ndsc(SCANS[0].truth, chances >= level) for level in tiles.DEV_LEVELS]
    assert looked.ndsc(network) == pytest.approx(expected, abs=1e-3)


def test_a_new_network_calls_few_voxels_lesion() -> None:
    for family in ("unet", "unetr"):
        network = architectures.network(preset("tiny", family).sizes, 32).eval()
        with torch.no_grad():
            probability = torch.sigmoid(tiles.difference(network, torch.randn(1, 1, 32, 32, 32)))
        assert 0.005 < float(probability.median()) < 0.08

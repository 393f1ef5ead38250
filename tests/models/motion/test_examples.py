"""Examples survive the disk, are found again by number, and are told apart by their content."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from models.tasks.motion.data import examples
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.data.sparse_maps import SparseMaps, Writer
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.training import shares
from tests.models.motion import bends

SMALL = Grid(4)
HALVES = st.floats(-100, 100, width=16)


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 4), *map(st.just, SMALL.shape)), elements=HALVES))
def test_maps_of_half_precision_survive_exactly(tmp_path_factory: pytest.TempPathFactory, maps: np.ndarray) -> None:
    folder = tmp_path_factory.mktemp("maps")
    with Writer(folder, SMALL) as writer:
        for array in maps:
            writer.add(array)
    loaded = SparseMaps.load(folder, SMALL)
    assert len(loaded) == len(maps)
    order = np.arange(len(maps))[::-1]
    assert np.array_equal(loaded.dense(order), maps[order])


def test_velocities_are_kept_to_millimetres_a_second(tmp_path: Path) -> None:
    maps = np.random.default_rng(0).uniform(-40, 40, (1, *SMALL.shape)).astype(np.float32)
    with Writer(tmp_path, SMALL) as writer:
        writer.add(maps[0])
    assert np.abs(SparseMaps.load(tmp_path, SMALL).dense(np.array([0])) - maps).max() < 0.017
    near = np.abs(maps) < 8
    assert np.abs(SparseMaps.load(tmp_path, SMALL).dense(np.array([0])) - maps)[near].max() < 0.004


def test_maps_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with Writer(tmp_path, SMALL) as writer:
        with pytest.raises(ValueError, match=r"\[17, 4, 4\] is needed"):
            writer.add(np.zeros((17, 2, 2), np.float32))
        for value in (np.nan, np.inf, 1e5):
            with pytest.raises(ValueError, match="not finite, or above 65504"):
                writer.add(np.full(SMALL.shape, value, np.float32))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    return bends.stored(tmp_path_factory.mktemp("examples") / "train", 0, 12)


def test_examples_survive_the_disk(stored: Examples) -> None:
    assert len(stored) == 12
    for number, given_one in enumerate(bends.drives(0, 12)):
        assert np.array_equal(stored.drawn(np.array([number]))[0], given_one.drawn.astype(np.float16))
        assert np.array_equal(stored.futures[number], given_one.future)
        assert (stored.scenes[number], stored.tracks[number]) == (given_one.scene, given_one.track)
        assert stored.shifted[number] == given_one.shifted
        assert stored.tags["track"][number] == given_one.tags["track"]


def test_chosen_examples_keep_their_maps(stored: Examples) -> None:
    some = stored.take(stored.shifted).take(np.array([1, 0]))
    indices = np.flatnonzero(stored.shifted)[[1, 0]]
    assert np.array_equal(some.drawn(), stored.drawn(indices))
    assert np.array_equal(some.futures, stored.futures[indices])
    assert some.tags["track"].tolist() == ["AnnArbor"] * 2


def test_memory_is_laid_out_for_convolutions(stored: Examples) -> None:
    maps = stored.drawn(np.arange(2))
    assert maps.transpose(0, 2, 3, 1).flags.c_contiguous


def test_a_fingerprint_is_of_content_and_order(stored: Examples) -> None:
    assert stored.fingerprint == stored.take(np.arange(12)).fingerprint
    assert stored.fingerprint != stored.take(np.arange(12)[::-1]).fingerprint
    assert stored.fingerprint != stored.take(np.arange(11)).fingerprint
    moved = replace(stored, futures=stored.futures + np.float32(1e-3))
    assert stored.fingerprint != moved.fingerprint


def test_a_store_that_was_cut_off_is_not_there(tmp_path: Path) -> None:
    def broken():
        yield bends.drive(0)
        raise OSError("cut off")

    with pytest.raises(OSError, match="cut off"):
        examples.store(broken(), tmp_path / "train", bends.OFFICIAL)
    assert not (tmp_path / "train").exists()
    assert len(bends.stored(tmp_path / "train", 0, 1)) == 1


def test_shares_are_disjoint_scenes_of_the_domain(stored: Examples) -> None:
    chosen, calibrating = shares.choosing(stored), shares.calibrating(stored)
    assert not set(chosen.scenes) & set(calibrating.scenes)
    assert not chosen.shifted.any()
    assert not calibrating.shifted.any()
    assert len(chosen) + len(calibrating) == (~stored.shifted).sum() == len(shares.training(stored))
    assert len(chosen.scenes) < len(calibrating.scenes)


def test_what_tables_judge_leaves_out_the_scenes_that_chose_weights(stored: Examples) -> None:
    chosen, judged = shares.choosing(stored), shares.unseen(stored)
    assert len(chosen)
    assert len(judged) == len(stored) - len(chosen)
    assert not set(chosen.scenes) & set(judged.scenes[~judged.shifted])
    assert judged.shifted.sum() == stored.shifted.sum()
    in_domain = judged.take(~judged.shifted)
    assert in_domain.fingerprint == shares.calibrating(stored).fingerprint


def test_one_scene_chooses_and_calibrates(stored: Examples) -> None:
    single_scene = stored.take(stored.scenes == "scene-0000")
    assert len(shares.choosing(single_scene)) == len(shares.calibrating(single_scene)) == 2


def test_what_calibrates_does_not_judge(stored: Examples) -> None:
    names = shares.judging({"dev": stored, "eval": stored, "train": stored})
    assert list(names) == ["dev_shifted", "eval_in", "eval_shifted"]
    assert list(shares.judging({"dev": stored.take(~stored.shifted)})) == []

"""From official folders to examples: which requests, with which maps, and when they are gathered again."""

from pathlib import Path

import numpy as np
import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import folders, gathering
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from tests.models.motion import city


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return city.write(tmp_path_factory.mktemp("official") / "data")


@pytest.fixture(scope="module")
def stored(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return gathering.gathered(data, tmp_path_factory.mktemp("kept"), OFFICIAL)


def test_requests_whose_future_is_observed_become_examples(stored: dict[str, Path]) -> None:
    assert list(stored) == ["train", "dev", "eval"]
    train = Examples.load(stored["train"], OFFICIAL)
    assert len(train) == 4 * 2  # of Moscow alone: other cities of the split are of neither part
    assert sorted(set(train.tracks)) == [1, 2]
    assert not train.shifted.any()
    dev = Examples.load(stored["dev"], OFFICIAL)
    assert len(dev) == 2 * 4 * 2
    assert np.array_equal(dev.shifted, dev.tags["track"] == "Skolkovo")


def test_futures_are_in_the_agents_frames(stored: dict[str, Path]) -> None:
    train = Examples.load(stored["train"], OFFICIAL)
    first = train.futures[(train.tracks == 1) & (train.scenes == "train-Moscow-000")][0]
    assert first.shape == (25, 2)
    assert first[-1] == pytest.approx([15, 15 * 15 / 200], abs=0.01)  # 5 s at 3 m/s, from the origin along x
    assert (np.diff(train.futures[:, :, 0], axis=1) > 0).all()


def test_maps_are_those_beside_the_scenes_or_drawn(stored: dict[str, Path], tmp_path: Path) -> None:
    bare = city.write(tmp_path / "data", rendered=False)
    drawn = gathering.gathered(bare, tmp_path / "kept", OFFICIAL)
    for split, place in stored.items():
        first, other = (Examples.load(each, OFFICIAL) for each in (place, drawn[split]))
        assert first.fingerprint == other.fingerprint
    assert Examples.load(stored["train"], OFFICIAL).drawn(np.array([0]))[0, 0, 64, 64] == 1


def test_examples_are_gathered_once_and_again_when_files_change(tmp_path: Path) -> None:
    data = city.write(tmp_path / "data", scenes_each=1)
    first = gathering.gathered(data, tmp_path / "kept", OFFICIAL)
    assert gathering.gathered(data, tmp_path / "kept", OFFICIAL) == first
    map_file = next((data / "dev_rendered").rglob("*.npy"))
    map_file.write_bytes(map_file.read_bytes())
    again = gathering.gathered(data, tmp_path / "kept", OFFICIAL)
    assert again["train"] == first["train"]
    assert again["dev"] != first["dev"]


def test_files_behind_links_are_looked_at(tmp_path: Path) -> None:
    data = city.write(tmp_path / "data", scenes_each=1)
    (tmp_path / "linked").mkdir()
    for entry in data.iterdir():
        (tmp_path / "linked" / entry.name).symlink_to(entry)
    first = gathering.gathered(tmp_path / "linked", tmp_path / "kept", OFFICIAL)
    map_file = next((data / "dev_rendered").rglob("*.npy"))
    map_file.write_bytes(map_file.read_bytes())
    assert gathering.gathered(tmp_path / "linked", tmp_path / "kept", OFFICIAL)["dev"] != first["dev"]


def test_fewer_scenes_are_spaced_evenly(data: Path, tmp_path: Path) -> None:
    examples = gathering.stored(folders.split(data, "dev"), tmp_path / "dev", OFFICIAL, most_scenes=2)
    assert sorted(set(examples.scenes)) == ["dev-Moscow-000", "dev-Skolkovo-003"]


def test_a_map_of_another_grid_and_a_broken_one_are_named(tmp_path: Path) -> None:
    data = city.write(tmp_path / "data", scenes_each=1)
    with pytest.raises(BadFile, match=r"train-Moscow-000_1\.npy: the map has the shape"):
        gathering.gathered(data, tmp_path / "kept", Grid(64))
    map_file = next((data / "dev_rendered").rglob("*.npy"))
    map_file.write_bytes(b"no map")
    with pytest.raises(BadFile, match=map_file.name):
        gathering.gathered(data, tmp_path / "kept", OFFICIAL)
    assert not list((tmp_path / "kept").glob("dev-*"))

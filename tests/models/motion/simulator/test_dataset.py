"""Which scenes there are, and their files."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from models.provenance import PROVENANCE
from models.tasks.motion.data import folders, official, truth
from models.tasks.motion.inference import maps
from models.tasks.motion.inference.grid import OFFICIAL
from services.cli import main
from simulators.motion import actions, circumstances, dataset, drivers
from simulators.motion.cities import CITIES
from simulators.motion.dataset import Entry, Job


def test_the_canonical_partition_has_its_cities() -> None:
    counted = Counter((entry.split, entry.city) for entry in dataset.entries())
    assert counted["train", "Moscow"] == 2500
    assert sum(count for (split, _), count in counted.items() if split == "train") == 2500
    for split, cities in (("dev", {"Skolkovo", "Innopolis", "Modiin"}), ("eval", {"AnnArbor", "TelAviv"})):
        assert {city for (part, city) in counted if part == split} == cities | {"Moscow"}
        assert sum(counted[split, city] for city in cities) == counted[split, "Moscow"] == 300


def test_scale_multiplies_and_a_smaller_scale_keeps_its_scenes() -> None:
    many, few = (dataset.entries(scale) for scale in (0.1, 0.01))
    assert len(many) == 370
    assert {entry.id for entry in few} < {entry.id for entry in many}
    assert len(dataset.entries(1e-6)) == 8
    assert len({entry.id for entry in many}) == len(many)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": 0.0}, "scale is 0.0; a number above 0"),
        ({"scale": float("nan")}, "scale is nan"),
        ({"cities": ("Paris",)}, "city is 'Paris'; the simulated ones are Moscow"),
        ({"extra": {("train", "Paris"): 1}}, "city is 'Paris'"),
        ({"extra": {("test", "Modiin"): 1}}, "test:Modiin: 1 scenes"),
        ({"extra": {("dev", "Modiin"): -1}}, "-1 scenes"),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_words(given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataset.entries(**given)


@pytest.mark.parametrize("word", ["AnnArbor=3", "train:=3", "train:Moscow", "train:Moscow=x"])
def test_extra_scenes_are_asked_for_by_split_city_and_count(word: str) -> None:
    assert actions.extra(["train:AnnArbor=200", "dev:Moscow=3"]) == {("train", "AnnArbor"): 200, ("dev", "Moscow"): 3}
    with pytest.raises(ValueError, match="SPLIT:CITY=COUNT"):
        actions.extra([word])


def test_an_extra_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="gives train:Moscow twice"):
        actions.extra(["train:Moscow=3", "train:Moscow=4"])


def test_weather_of_canonical_scenes_is_what_the_filters_keep() -> None:
    rng = np.random.default_rng(0)
    for city in CITIES.values():
        drawn = Counter(circumstances.precipitation(rng, city, canonical=True) for _ in range(300))
        assert drawn[drivers.SLEET] == 0
        assert (len(drawn) == 1) == (city.name == "Moscow")
    free = Counter(circumstances.precipitation(rng, CITIES["Moscow"], canonical=False) for _ in range(500))
    assert set(free) == {drivers.NONE, drivers.RAIN, drivers.SLEET, drivers.SNOW}


def test_a_scene_does_not_depend_on_what_else_is_made() -> None:
    job = Job(Entry("dev", "Modiin", 7), 3, 4, False)
    first = dataset.make(job)
    dataset.make(Job(Entry("dev", "Modiin", 8), 3, 4, False))
    assert dataset.make(job).scene == first.scene


def test_seed_split_index_and_extra_all_make_another_scene() -> None:
    entry = Entry("dev", "Moscow", 7)
    others = [Entry("dev", "Moscow", 8), Entry("eval", "Moscow", 7), Entry("dev", "Moscow", 7, True), entry]
    seeds = [3, 3, 3, 4]
    drawn = {item.rng(seed).random() for item, seed in zip([*others, entry], [*seeds, 3], strict=True)}
    assert len(drawn) == 5
    assert len({item.id for item in (*others, entry)}) == 4


@pytest.mark.long
def test_the_command_writes_a_folder_that_the_official_readers_take(tmp_path: Path) -> None:
    out = tmp_path / "motion"
    words = ["data", "motion", "simulate", "--scale", "0.0001", "--processes", "1", "--requests", "3"]
    assert main([*words, "--extra", "train:AnnArbor=1", "--out", str(out)]) == 0
    splits = {split.name: split for split in folders.splits(out)}
    assert set(splits) == {"train", "dev", "eval"}
    parts = Counter()
    for split in splits.values():
        for file in official.scene_files(split):
            parts[split.name, file.shifted] += 1
            for request in official.requests(file, official.Selection(partial=True)):
                assert request.map is not None
                drawn = maps.read_rendered_file(request.map, OFFICIAL)
                assert drawn.shape == OFFICIAL.shape
                assert drawn[0].any()
    assert parts == {
        ("train", False): 1,
        ("train", None): 1,
        ("dev", False): 1,
        ("dev", True): 3,
        ("eval", False): 1,
        ("eval", True): 2,
    }
    assert truth.read(out / "dev_pb").trajectories.shape[1:] == (25, 2)
    assert "CC0" in json.loads((out / PROVENANCE).read_text())["licence"]
    with pytest.raises(ValueError, match="is there already"):
        dataset.simulate(out, 0.0001, 0)


@pytest.mark.long
def test_two_processes_write_the_same_files(tmp_path: Path) -> None:
    several = []
    for processes in (1, 2):
        root = tmp_path / str(processes)
        dataset.simulate(root, 0.0001, 5, ("AnnArbor", "Moscow"), requests=2, rendered=False, processes=processes)
        several.append({path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()})
    assert several[0] == several[1]
    assert sum(path.suffix == ".pb" for path in several[0]) == 4


@pytest.mark.parametrize("given", [{"requests": 0}, {"processes": 0}])
def test_no_requests_and_no_processes_are_refused(given: dict, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one each"):
        dataset.simulate(tmp_path, 0.001, 0, **given)

"""A data set divided anew: the scenes of the rules, in the same layout, with rules that readers follow."""

import json
from pathlib import Path

import pytest

from models import provenance
from models.tasks.motion.data import folders, official, truth
from models.tasks.motion.data.canonical import CANONICAL, Partition, rule
from models.tasks.motion.data.partitioning import How, divide
from models.tasks.motion.data.writer import Writer
from tests.models.motion.drives import Drive, drive_scene

PLACES = {"moscow": 1, "skolkovo": 2, "annarbor": 4, "telaviv": 6}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """In each split a scene of each place, with a map each."""
    for split in ("train", "dev", "eval"):
        with Writer(tmp_path / "source", split, per_folder=2) as writer:
            for place, number in PLACES.items():
                scene = drive_scene(f"{split}-{place}", [Drive(1)], tags={"track": number, "precipitation": 1})
                writer.add(scene, {1: place.encode()}, {"city": place})
    provenance.write(tmp_path / "source", "made up", "CC0-1.0")
    return tmp_path / "source"


def parts(root: Path) -> dict[str, dict[str, bool | None]]:
    """Split to its scenes' places and whether each is shifted; reads all requests and maps."""
    by_split: dict[str, dict[str, bool | None]] = {}
    for split in folders.splits(root):
        for request in official.all_requests(split):
            assert request.map is not None
            assert request.map.read_bytes() == request.file.tags["city"].encode()
            by_split.setdefault(split.name, {})[request.file.tags["city"]] = request.shifted
    return by_split


@pytest.mark.parametrize("how", ["link", "copy"])
def test_without_rules_of_ones_own_the_partition_is_the_canonical_one(how: How, source: Path, tmp_path: Path) -> None:
    divide(source, tmp_path / "out", CANONICAL, how)
    assert parts(tmp_path / "out") == {
        "train": {"moscow": False},
        "dev": {"moscow": False, "skolkovo": True},
        "eval": {"moscow": False, "annarbor": True, "telaviv": True},
    }
    links = [path for path in (tmp_path / "out").rglob("*") if path.is_symlink()]
    assert bool(links) == (how == "link")


@pytest.mark.parametrize("how", ["link", "copy"])
def test_other_rules_hold_where_they_were_made(how: How, source: Path, tmp_path: Path) -> None:
    shifted = rule(["track=Moscow"])
    partition = Partition(rule(["track=AnnArbor,TelAviv"]), {"dev": shifted, "eval": shifted})
    shares: list[float] = []
    divide(source, tmp_path / "out", partition, how, lambda share, what: shares.append(share))
    assert shares[-1] == 1.0
    inside = {"annarbor": False, "telaviv": False}
    assert parts(tmp_path / "out") == {
        "train": inside,
        "dev": inside | {"moscow": True},
        "eval": inside | {"moscow": True},
    }
    known = truth.read(tmp_path / "out" / "eval_pb")
    assert known.shifted is not None
    assert known.shifted.tolist() == [key[0] == "eval-moscow" for key in known.rows], "not by the source's rules"
    assert known.tags["city"].tolist() == [key[0].split("-")[1] for key in known.rows]
    description = json.loads((tmp_path / "out" / "PROVENANCE.json").read_text())["description"]
    assert description == "made up; divided anew by tags (partition.json)"
    again = tmp_path / "again"
    divide(tmp_path / "out", again, Partition(rule(["track=AnnArbor"]), {}), how)
    assert parts(again) == {name: {"annarbor": False} for name in ("train", "dev", "eval")}


def test_parts_can_be_listed_only(source: Path, tmp_path: Path) -> None:
    written = divide(source, tmp_path / "out", CANONICAL, "list")
    names = ["partition.json", "train_in.txt", "dev_in.txt", "dev_shifted.txt", "eval_in.txt", "eval_shifted.txt"]
    assert sorted(path.name for path in written) == sorted(names)
    listed = (tmp_path / "out" / "eval_shifted.txt").read_text().split()
    assert [Path(path).stem for path in listed] == ["eval-annarbor", "eval-telaviv"]
    assert all(Path(path).exists() for path in listed)


def test_nothing_is_overwritten_and_nothing_made_of_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is there already"):
        divide(source, source, CANONICAL)
    with pytest.raises(ValueError, match="has no scene of the partition"):
        divide(source, tmp_path / "none", Partition(rule(["track=Innopolis"]), {}))
    (tmp_path / "town" / "000").mkdir(parents=True)
    next((source / "dev_pb").rglob("*.pb")).rename(tmp_path / "town" / "000" / "a.pb")
    with pytest.raises(ValueError, match="has no splits by the released names"):
        divide(tmp_path / "town", tmp_path / "none", CANONICAL)

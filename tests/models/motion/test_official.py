"""The official folders, read and written: names, order, tags by line, parts, requests and what does not fit."""

import json
from pathlib import Path

import numpy as np
import pytest

from models import provenance
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.motion.data import canonical, folders, futures, official, submission_file
from models.tasks.motion.data.official import Selection
from models.tasks.motion.data.predictions import read
from models.tasks.motion.data.writer import Writer
from models.tasks.motion.protocol.motion_pb2 import TrajectoryTag
from tests.models.motion.drives import Drive, drive_scene

MOSCOW, SNOW, SKOLKOVO, SLEET = (
    {"track": 1, "precipitation": 1},
    {"track": 1, "precipitation": 4},
    {"track": 2, "precipitation": 2, "season": 1},
    {"track": 2, "precipitation": 3},
)
PLACES = {"a": MOSCOW, "b": SKOLKOVO, "c": SLEET, "d": SNOW, "e": MOSCOW}


def written(root: Path, split: str = "dev", per_folder: int = 2, rendered: bool = False) -> folders.Split:
    """Five scenes, given in another order than that of their names."""
    with Writer(root, split, per_folder) as writer:
        for name in "dbeac":
            scene = drive_scene(name, [Drive(1), Drive(2, (9.0, 9.0))], {1: [2], 2: [0, 6]}, PLACES[name])
            maps = {track: b"map" for track in (1, 2)} if rendered else {}
            writer.add(scene, maps, {"city": name.upper()})
    return folders.split(root, split)


def test_what_was_written_is_read_in_the_order_of_sorted_files_with_its_own_tags(tmp_path: Path) -> None:
    split = written(tmp_path)
    files = list(official.scene_files(split))
    paths = [file.path.relative_to(split.scenes).as_posix() for file in files]
    assert paths == sorted(paths)
    assert {path[:3] for path in paths} == {"000", "001", "002"}
    assert [file.tags["city"] for file in files] == [path[4].upper() for path in paths]
    assert {file.path.stem: file.shifted for file in files} == {"a": False, "b": True, "c": None, "d": None, "e": False}
    lines = [json.loads(line) for line in (tmp_path / "dev_tags.txt").read_text().splitlines()]
    assert lines[paths.index(next(path for path in paths if path.endswith("b.pb")))] == {
        "season": "kWinter",
        "track": "Skolkovo",
        "precipitation": "kRain",
        "city": "B",
    }


def test_requests_come_with_truth_tags_and_maps(tmp_path: Path) -> None:
    split = written(tmp_path, rendered=True)
    requests = list(official.all_requests(split))
    assert len(requests) == 10
    for request in requests:
        assert request.truth is not None
        np.testing.assert_allclose(request.truth, [(1.6 * step, 0.0) for step in range(1, 26)], atol=1e-3)
        assert request.map is not None
        assert request.map.name == f"{request.scene}_{request.track}.npy"
        assert request.map.read_bytes() == b"map"
        assert request.shifted is canonical.CANONICAL.shifted("dev", request.file.tags)
    left = Selection(parts=frozenset({True}), maneuvers=frozenset({TrajectoryTag.kMoveLeft}))
    assert [(entry.scene, entry.track, entry.maneuvers) for entry in official.all_requests(split, left)] == [
        ("b", 2, (0, 6))
    ]
    winter = Selection(scenes=canonical.rule(["season=Winter"]))
    assert {entry.scene for entry in official.all_requests(split, winter)} == {"b"}
    assert len(list(official.all_requests(split, official.CANONICAL))) == 6


def test_valid_are_requests_of_which_the_whole_future_or_none_is_known(tmp_path: Path) -> None:
    drives = [Drive(1), Drive(2, unseen=frozenset({25})), Drive(3, unseen=frozenset({0})), Drive(4)]
    scene = drive_scene("s", drives, {1: [], 2: [], 3: [], 4: []})
    del scene.prediction_requests[3]
    with Writer(tmp_path, "eval") as writer:
        writer.add(scene)
        writer.add(drive_scene("t", drives[:3], future=0))
    split = folders.split(tmp_path, "eval")
    everything = list(official.all_requests(split, Selection(partial=True)))
    reasons = {(request.scene, request.track): request.left_out for request in everything}
    assert reasons == {
        ("s", 1): None,
        ("s", 2): futures.NOT_OBSERVED,
        ("s", 3): futures.NOT_NOW,
        ("t", 1): futures.NO_FUTURE,
        ("t", 2): futures.NO_FUTURE,
        ("t", 3): futures.NOT_NOW,
    }
    assert all((request.truth is None) == (request.left_out is not None) for request in everything)
    valid = [key for key, reason in reasons.items() if reason != futures.NOT_OBSERVED]
    assert [(request.scene, request.track) for request in official.all_requests(split)] == valid


@pytest.mark.parametrize(
    ("names", "split"),
    [
        (("train_pb", "train_tags.txt", "train_rendered"), "train"),
        (("validation_pb", "validation_tags.txt", "validation_rendered"), "dev"),
        (("development", "development_tags.txt", "development_rendered"), "dev"),
        (("evaluation", "evaluation_tags.txt", "evaluation_renders"), "eval"),
        (("dev_pb", "validation_tags.txt", "development_rendered"), "dev"),
    ],
)
def test_splits_are_found_under_all_released_names(names: tuple[str, ...], split: str, tmp_path: Path) -> None:
    written_split = written(tmp_path / "written", "dev", rendered=True)
    root = tmp_path / "data"
    root.mkdir()
    assert written_split.tags is not None
    assert written_split.rendered is not None
    for path, name in zip((written_split.scenes, written_split.tags, written_split.rendered), names, strict=True):
        path.rename(root / name)
    read_split = folders.split(root, split)
    assert [
        path.name for path in (read_split.scenes, read_split.tags, read_split.rendered) if path is not None
    ] == list(names)
    assert len(list(official.all_requests(read_split))) == 10
    assert folders.splits(root) == (read_split,)
    (alone,) = folders.splits(root / names[0])
    assert (alone.name, alone.root.resolve(), alone.scenes) == (split, root.resolve(), root / names[0])
    assert len(list(official.all_requests(alone))) == 10


def test_any_folder_of_scenes_can_be_read_with_what_is_called_after_it(tmp_path: Path) -> None:
    written_split = written(tmp_path)
    written_split.scenes.rename(tmp_path / "boston_pb")
    (read_split,) = folders.splits(tmp_path / "boston_pb")
    assert (read_split.name, read_split.tags) == ("", None)
    assert [file.shifted for file in official.scene_files(read_split)].count(True) == 1
    (tmp_path / "dev_tags.txt").rename(tmp_path / "boston_tags.txt")
    (read_split,) = folders.splits(tmp_path / "boston_pb")
    assert {file.tags["city"] for file in official.scene_files(read_split)} == set("ABCDE")


def test_only_pb_files_in_sub_folders_are_scenes(tmp_path: Path) -> None:
    split = written(tmp_path)
    for path in (split.scenes / "readme.pb", split.scenes / "000" / "note.txt"):
        path.write_bytes(b"")
    assert len(list(folders.scene_files(split))) == 5


def test_a_file_of_tags_has_a_line_for_each_scene(tmp_path: Path) -> None:
    split = written(tmp_path)
    assert split.tags is not None
    lines = split.tags.read_text().splitlines(keepends=True)
    split.tags.write_text("".join(lines[:-1]))
    with pytest.raises(BadFile, match=r"dev_tags.txt has 4 lines, and .*\.pb is scene 5"):
        list(official.scene_files(split))
    split.tags.write_text("".join([*lines, lines[0]]))
    with pytest.raises(BadFile, match=r"dev_tags.txt, line 6: there are only 5 scenes in"):
        list(official.scene_files(split))
    split.tags.write_text("".join([*lines[:2], "nothing\n", *lines[3:]]))
    with pytest.raises(BadFile, match=r"dev_tags.txt, line 3: no JSON"):
        list(official.scene_files(split))
    split.tags.write_bytes(b"\xff\xfe\n" * 5)
    with pytest.raises(BadFile, match=r"dev_tags.txt cannot be read"):
        list(official.scene_files(split))


def test_lines_that_slipped_by_one_are_noticed(tmp_path: Path) -> None:
    split = written(tmp_path)
    assert split.tags is not None
    lines = split.tags.read_text().splitlines(keepends=True)
    split.tags.write_text("".join([*lines[1:], lines[0]]))
    with pytest.raises(BadFile, match=r"\.pb: the scene says \w+ \w+, and its line in .*dev_tags.txt"):
        list(official.all_requests(split))


def test_a_map_that_is_missing_is_named(tmp_path: Path) -> None:
    split = written(tmp_path, rendered=True)
    assert split.rendered is not None
    next(split.rendered.rglob("c_2.npy")).unlink()
    with pytest.raises(BadFile, match=r"c_2.npy is missing, of scene 'c', track 2"):
        list(official.all_requests(split))


def test_folders_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is no folder"):
        folders.splits(tmp_path / "nowhere")
    with pytest.raises(BadFile, match="holds no scenes"):
        folders.splits(tmp_path)
    written(tmp_path)
    with pytest.raises(BadFile, match=r"has no split 'train', only dev_pb; the folder train_pb is needed"):
        folders.split(tmp_path, "train")
    (tmp_path / "validation_pb").mkdir()
    with pytest.raises(BadFile, match=r"dev_pb and .*validation_pb are both of the split dev"):
        folders.splits(tmp_path)


def test_the_writer_overwrites_nothing_and_takes_plain_names_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="split is 'holiday'; the official ones are train, dev, eval"):
        Writer(tmp_path, "holiday")
    with Writer(tmp_path, "dev", per_folder=1) as writer:
        for name in ("../a", "", "a/b", "..", "a" * 201, "ä"):
            with pytest.raises(ValueError, match="names its files"):
                writer.add(drive_scene(name, [Drive(1)]))
        writer.add(drive_scene("a", [Drive(1)]))
        writer.add(drive_scene("b", [Drive(1)]))
        with pytest.raises(ValueError, match="scene id 'a' is there twice"):
            writer.add(drive_scene("a", [Drive(1)]))
    with pytest.raises(ValueError, match=r"dev_pb is there already"):
        Writer(tmp_path, "dev")
    Writer(tmp_path, "train").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev_pb", "dev_tags.txt"]


def test_tags_agree_with_the_scenes_also_where_writing_broke_off(tmp_path: Path) -> None:
    with pytest.raises(KeyError), Writer(tmp_path, "dev", per_folder=2) as writer:  # noqa: PT012  the error is raised inside
        for name in ("z", "y", "x"):
            writer.add(drive_scene(name, [Drive(1)]))
        raise KeyError
    assert len(list(official.scene_files(folders.split(tmp_path, "dev")))) == 3


def test_equal_scenes_are_equal_files(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "other"):
        written(tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        contents.append([path.read_bytes() for path in files])
        provenance.write(tmp_path / name, "made up", "CC0-1.0")
    assert contents[0] == contents[1]
    assert json.loads((tmp_path / "one" / "PROVENANCE.json").read_text()) == {
        "description": "made up",
        "licence": "CC0-1.0",
    }


def test_a_submission_is_judged_by_the_folder_with_its_parts_and_maneuvers(tmp_path: Path) -> None:
    """The scenes of neither part are gone: then the tags say of each request whether it is shifted."""
    with Writer(tmp_path / "data", "dev") as writer:
        for name in ("a", "b", "e"):
            writer.add(drive_scene(name, [Drive(1), Drive(2, (9.0, 9.0))], {1: [2, 6], 2: [9, 6]}, PLACES[name]))
    requests = list(official.all_requests(folders.split(tmp_path / "data", "dev")))
    truths = np.stack([request.truth for request in requests if request.truth is not None])[:, None]
    content = submission_file.encoded(
        [entry.scene for entry in requests],
        [entry.track for entry in requests],
        truths,
        np.ones((6, 1)),
        np.zeros(6),
        np.ones(6, bool),
    )
    (tmp_path / "submission.pb").write_bytes(content)
    judged = read(tmp_path / "submission.pb", ErrorOptions(companions={"scenes": tmp_path / "data"}, by=("direction",)))
    assert judged.shifted is not None
    assert judged.shifted.tolist() == [False, False, True, True, False, False], "not what the predictions say"
    assert judged.groups["direction"].tolist() == ["MoveForward", "Stationary"] * 3
    assert judged.groups["speed"].tolist() == ["Uniform"] * 6
    assert judged.groups["rest"].tolist() == ["none"] * 6
    assert judged.notes == ()
    (tmp_path / "data" / "dev_pb").rename(tmp_path / "data" / "scenes")
    judged = read(tmp_path / "submission.pb", ErrorOptions(companions={"scenes": tmp_path / "data"}))
    assert "shifted is what the predictions say (is_ood)" in judged.notes[0]

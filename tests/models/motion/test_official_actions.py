"""What ``demur data motion`` does with official files, from its words on the command line."""

from pathlib import Path

import pytest

from models.tasks.motion.data import folders, official
from models.tasks.motion.data.official_actions import ACTIONS
from models.tasks.motion.data.writer import Writer
from services.cli.options import Command, declared
from tests.models.motion.argoverse.recordings import straight, write_log
from tests.models.motion.drives import Drive, drive_scene


def ran(*words: object) -> list[Path]:
    """The files that an action says it wrote."""
    name, *arguments = map(str, words)
    action = next(action for action in ACTIONS if action.name == name)
    command = Command(name, params=[declared(option) for option in action.options])
    return action.run(command.make_context(name, arguments).params, lambda share, what: None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for split in ("dev", "eval"):
        with Writer(tmp_path / "data", split) as writer:
            for place in (1, 2, 4):
                scene = drive_scene(f"{split}-{place}", [Drive(1)], tags={"track": place, "precipitation": 1})
                writer.add(scene)
    return tmp_path / "data"


def test_a_log_is_converted_rendered_and_read(tmp_path: Path) -> None:
    write_log(tmp_path / "raw" / "log", {"car": ("TRUCK", straight((120.0, 50.0), -0.3, 8.0))})
    out = tmp_path / "out"
    written = ran("convert", tmp_path / "raw", "--out", out, "--split", "dev", "--speed-limit", 9, "--stride", 0.4)
    assert written == [out / "dev_pb", out / "dev_tags.txt"]
    assert ran("render", out, "--processes", 1, "--size", 32, "--resolution", 2) == [out / "dev_rendered"]
    requests = list(official.all_requests(folders.split(out, "dev")))
    assert len(requests) == 3
    assert all(request.map is not None and request.map.exists() for request in requests)


def test_a_data_set_is_divided_by_words(data: Path, tmp_path: Path) -> None:
    words = ("partition", data, "--out", tmp_path / "out", "--by", "track=AnnArbor", "--shifted", "track=Moscow")
    ran(*words)
    (dev, _) = folders.splits(tmp_path / "out")
    assert {scene_file.tags["track"]: scene_file.shifted for scene_file in official.scene_files(dev)} == {
        "AnnArbor": False,
        "Moscow": True,
    }
    ran("partition", data, "--out", tmp_path / "canonical", "--how", "copy")
    (dev, evaluation) = folders.splits(tmp_path / "canonical")
    assert [scene_file.tags["track"] for scene_file in official.scene_files(dev)] == ["Moscow", "Skolkovo"]
    assert [scene_file.tags["track"] for scene_file in official.scene_files(evaluation)] == ["Moscow", "AnnArbor"]
    with pytest.raises(ValueError, match="--shifted needs --by"):
        ran("partition", data, "--out", tmp_path / "none", "--shifted", "track=Moscow")


def test_tags_are_written_where_there_are_none(data: Path) -> None:
    expected = (data / "eval_tags.txt").read_text()
    (data / "eval_tags.txt").unlink()
    assert ran("tags", data, "--splits", "eval") == [data / "eval_tags.txt"]
    assert (data / "eval_tags.txt").read_text() == expected
    with pytest.raises(ValueError, match=r"dev_tags.txt is there already"):
        ran("tags", data)


def test_each_action_says_what_its_files_are() -> None:
    project = Path(__file__).parents[3]
    for action in ACTIONS:
        assert (project / action.datasheet).exists()
        assert action.help

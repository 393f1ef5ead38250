"""Maps of a whole split: one for each request, alike however many draw, and no half files."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import folders, official, rendering
from models.tasks.motion.data.writer import Writer
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.maps import read_rendered_file
from models.tasks.motion.inference.render import Renderer
from tests.models.motion.drives import Drive, drive_scene

GRID = Grid(32, 2.0)


def written(root: Path, count: int = 3) -> folders.Split:
    with Writer(root, "dev", per_folder=2) as writer:
        for number in range(count):
            lost = Drive(3, unseen=frozenset(range(-10, 1)))  # for more than two seconds: nothing can be drawn
            writer.add(drive_scene(f"s{number}", [Drive(1), Drive(2, (number, 9.0)), lost]))
    return folders.split(root, "dev")


def test_each_request_that_can_be_drawn_gets_its_map(tmp_path: Path) -> None:
    split = written(tmp_path)
    shares: list[float] = []
    folder = rendering.render(split, GRID, progress=lambda share, what: shares.append(share))
    assert folder == tmp_path / "dev_rendered"
    assert shares[-1] == 1.0
    requests = list(official.all_requests(folders.split(tmp_path, "dev")))
    assert [request.map is not None for request in requests] == [True, True, False] * 3
    for request in requests:
        if request.map is not None:
            scene = scenes.parse(request.file.path.read_bytes())
            expected = Renderer(scene, GRID).draw(scenes.agent(scene, request.track))
            np.testing.assert_array_equal(read_rendered_file(request.map, GRID), expected)


def test_two_processes_draw_what_one_does(tmp_path: Path) -> None:
    first, two = (written(tmp_path / name, 6) for name in ("one", "two"))
    rendering.render(first, GRID)
    rendering.render(two, GRID, processes=2)
    files = sorted(path.relative_to(first.root) for path in first.root.rglob("*.npy"))
    assert len(files) == 12
    assert [(first.root / path).read_bytes() for path in files] == [(two.root / path).read_bytes() for path in files]


def test_maps_that_are_there_stay_unless_they_are_asked_for_again(tmp_path: Path) -> None:
    split = written(tmp_path, 1)
    path = tmp_path / "dev_rendered" / "000" / "s0_1.npy"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"drawn before")
    rendering.render(split, GRID)
    assert path.read_bytes() == b"drawn before"
    rendering.render(folders.split(tmp_path, "dev"), GRID, again=True)
    assert read_rendered_file(path, GRID).any()
    assert not list(tmp_path.rglob("*.part"))


class Deadly:
    """Ends the process that it is sent to."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


def test_a_process_that_dies_ends_the_drawing_in_words(tmp_path: Path) -> None:
    deadly: Any = Deadly()
    with pytest.raises(ChildProcessError, match="a process that was drawing died"):
        rendering.render(written(tmp_path), deadly, processes=2)


def test_scenes_that_cannot_be_read_are_named_by_either_number_of_processes(tmp_path: Path) -> None:
    split = written(tmp_path)
    next(folders.scene_files(split)).write_bytes(b"{")
    for processes in (1, 2):
        with pytest.raises(BadFile, match=r"s0.pb: "):
            rendering.render(split, GRID, processes=processes)
    (tmp_path / "empty_pb").mkdir()
    with pytest.raises(BadFile, match="holds no scenes"):
        rendering.render(folders.Split("", tmp_path, tmp_path / "empty_pb", None, None), GRID)

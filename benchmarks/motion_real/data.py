"""Real traffic that figures may be made of: one public scene of the Shifts data, and windows of Argoverse 2 logs.

They lie in ``motion`` of DEMUR_TEST_DATA (default: ../shared/data beside the repository) and are never copied into the
repository; both are CC BY-NC-SA 4.0, and no picture of them is kept here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models.tasks.motion.data import folders
from models.tasks.motion.data.argoverse import convert
from models.tasks.motion.data.futures import futures
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.frame import Float32
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import Agent

ROOT = Path(__file__).resolve().parents[2]
ATTRIBUTION = (
    "Moscow: the public test scene of the Shifts motion data (CC BY-NC-SA 4.0). The others: Argoverse 2 test files of "
    "its public code (CC BY-NC-SA 4.0), Wilson et al. 2021, converted by `demur data motion convert`. Neither is part "
    "of this repository."
)
BESIDE = ("Austin", "Miami", "Pittsburgh")
"""Cities whose windows the simulator's parameters were adjusted beside, by its data sheet: all of Argoverse."""


@dataclass(frozen=True)
class Real:
    """One request whose future is known in full."""

    city: str
    scene: str
    track: int
    file: Path
    agent: Agent
    drawn: Float32
    """Feature map [channels, y, x]."""
    future: Float32
    """[T, 2], m, in the agent's frame."""


def folder() -> Path:
    """Where the files are.

    Raises:
        LookupError: they are not there.
    """
    found = Path(os.environ.get("DEMUR_TEST_DATA", ROOT.parent / "shared" / "data")) / "motion"
    if not (found / "argoverse2").is_dir():
        raise LookupError(f"{found} has no argoverse2: set DEMUR_TEST_DATA to the folder of real data")
    return found


def prepared(source: Path, work: Path) -> Path:
    """An official folder ``eval`` of everything; made once."""
    target = work / "data"
    if not target.exists():
        part = work / "data.part"
        convert.convert([source / "argoverse2"], part, "eval")
        part.rename(target)
    return target


def files(source: Path, data: Path) -> Iterator[tuple[Path, str]]:
    """All scenes with their cities."""
    for path, tags in folders.tagged_files(folders.split(data, "eval")):
        assert tags is not None
        yield path, tags["city"]
    yield source / "shifts_test_scene.pb", "Moscow"


def requests(source: Path, data: Path, grid: Grid) -> Iterator[Real]:
    """All requests whose future is known in full, scene by scene."""
    for path, city in files(source, data):
        scene = scenes.parse(path.read_bytes())
        renderer = Renderer(scene, grid)
        for one in futures(path, scene.message):
            if one.trajectory is not None:
                agent = scenes.agent(scene, one.key[1])
                yield Real(city, *one.key, path, agent, renderer.draw(agent), one.trajectory)

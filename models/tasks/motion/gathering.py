"""From an official folder to stored examples: valid requests of both parts, with their maps as they are served."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from models.evaluation.judged import BadFile
from models.tasks.motion import examples, folders, maps, official, scenes
from models.tasks.motion.bad_scene import BadScene
from models.tasks.motion.examples import Example
from models.tasks.motion.folders import Split
from models.tasks.motion.futures import named
from models.tasks.motion.grid import Grid
from models.tasks.motion.official import CANONICAL, SceneFile
from models.tasks.motion.render import Renderer
from models.workbench import Progress


def gathered(
    directory: Path, folder: Path, grid: Grid, progress: Progress = lambda done, what: None
) -> dict[str, Path]:
    """Where the examples of each split of a data set are stored below ``folder`` (``Examples.load``).

    They are gathered once, and again when files of the data set have changed.

    Raises:
        BadFile: a file that cannot be read, or a request that cannot be drawn; the message names it.
    """
    found = {}
    every = folders.splits(directory)
    for number, split in enumerate(every):
        place = folder / f"{split.name}-{_listing(split, grid)[:16]}"
        if not place.exists():
            examples.store(gather(split, grid, _part(progress, number, len(every))), place, grid)
        found[split.name] = place
    return found


def gather(split: Split, grid: Grid, progress: Progress = lambda done, what: None) -> Iterator[Example]:
    """The valid requests of the scenes of both parts in their official order.

    Maps are those beside the scenes; where a split has none they are drawn.

    Raises:
        BadFile: as ``gathered``.
    """
    count = sum(1 for _ in folders.scene_files(split))
    for number, file in enumerate(official.scene_files(split, CANONICAL)):
        progress(min(number / max(count, 1), 1.0), f"gathering {file.path.name}")
        yield from _examples(file, grid)


def _examples(file: SceneFile, grid: Grid) -> Iterator[Example]:
    renderer: Renderer | None = None
    for request in official.requests(file, CANONICAL):
        if request.truth is None:
            continue
        try:
            if request.map is not None:
                drawn = maps.read_rendered(request.map.read_bytes(), grid)
            else:
                renderer = renderer or Renderer(scenes.parse(file.path.read_bytes()), grid)
                drawn = renderer.draw(scenes.agent(renderer.scene, request.track))
        except (OSError, BadScene) as error:
            where = request.map or file.path
            raise BadFile(f"{where}: the map of {named((request.scene, request.track))}: {error}") from error
        yield Example(request.scene, request.track, drawn, request.truth, bool(file.shifted), file.tags)


def _part(progress: Progress, number: int, count: int) -> Progress:
    return lambda done, what: progress((number + done) / count, what)


def _listing(split: Split, grid: Grid) -> str:
    """sha256 over names, sizes and times of all files of a split, and the grid."""
    digest = hashlib.sha256(repr(grid).encode())
    for folder in (split.scenes, split.rendered, split.tags, split.root / official.canonical.FILE):
        if folder is None or not folder.exists():
            continue
        for path in [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file()):
            state = path.stat()
            digest.update(f"{path.relative_to(split.root)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()

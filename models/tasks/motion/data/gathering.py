"""Conversion of an official folder to stored examples: valid requests of both parts, with maps as in serving."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import canonical, examples, folders, official
from models.tasks.motion.data.examples import Example, Examples
from models.tasks.motion.data.folders import Split
from models.tasks.motion.data.futures import named
from models.tasks.motion.data.official import SceneFile
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.maps import read_rendered_file
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scene_message import BadScene
from models.training.progress import ignore, span
from models.workbench import Progress


def gathered(directory: Path, folder: Path, grid: Grid, progress: Progress = ignore) -> dict[str, Path]:
    """Store the examples of each split of a data set below ``folder``; return their paths (``Examples.load``).

    They are gathered once, and again when files of the data set have changed.

    Raises:
        BadFile: a file cannot be read, or a request cannot be drawn; the message names it.
    """
    paths = {}
    every = folders.splits(directory)
    for number, split in enumerate(every):
        place = folder / f"{split.name}-{_listing(split, grid)[:16]}"
        if not place.exists():
            stored(split, place, grid, progress=span(progress, number / len(every), (number + 1) / len(every)))
        paths[split.name] = place
    return paths


def stored(
    split: Split,
    folder: Path,
    grid: Grid,
    *,
    most_scenes: int | None = None,
    progress: Progress = ignore,
) -> Examples:
    """Return the examples of a split, stored in ``folder``.

    Args:
        most_scenes: largest number of scenes, evenly spaced; None: all.

    Raises:
        BadFile: see ``gathered``.
    """
    return examples.store(gather(split, grid, most_scenes=most_scenes, progress=progress), folder, grid)


def gather(
    split: Split,
    grid: Grid,
    *,
    most_scenes: int | None = None,
    progress: Progress = ignore,
) -> Iterator[Example]:
    """Yield the valid requests of the scenes of both parts in official order.

    Rendered maps of the split are used if there are any; else maps are drawn.

    Args:
        most_scenes: see ``stored``.

    Raises:
        BadFile: see ``gathered``.
    """
    files = list(official.scene_files(split, official.CANONICAL))
    count = len(files) if most_scenes is None else min(most_scenes, len(files))
    for number, place in enumerate(np.linspace(0, len(files) - 1, count).astype(int)):
        progress(number / count, f"gathering {files[place].path.name}")
        yield from _examples(files[place], grid)


def _examples(file: SceneFile, grid: Grid) -> Iterator[Example]:
    scene: scenes.Scene | None = None
    renderer: Renderer | None = None
    for request in official.requests(file, official.CANONICAL):
        if request.truth is None:
            continue
        if request.map is not None:
            drawn = read_rendered_file(request.map, grid)
        else:
            try:
                if scene is None or renderer is None:
                    scene = scenes.parse(file.path.read_bytes())
                    renderer = Renderer(scene, grid)
                drawn = renderer.draw(scenes.agent(scene, request.track))
            except BadScene as error:
                raise BadFile(f"{file.path}: {named((request.scene, request.track))}: {error}") from error
        yield Example(request.scene, request.track, drawn, request.truth, bool(file.shifted), file.tags)


def _listing(split: Split, grid: Grid) -> str:
    """Return the sha256 over names, sizes and times of all files of a split, and the grid."""
    digest = hashlib.sha256(repr(grid).encode())
    for place in (split.scenes, split.rendered, split.tags, split.root / canonical.FILE):
        if place is None or not place.exists():
            continue
        for path in [place] if place.is_file() else sorted(_files(place)):
            state = path.stat()
            digest.update(f"{path.relative_to(split.root)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files, also in linked folders."""
    for place, _, names in os.walk(folder, followlinks=True):
        yield from (Path(place) / name for name in names)

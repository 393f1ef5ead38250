"""Rendering of the feature maps of all requests of a split, stored as the released files are."""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.folders import RENDERED, Split, scene_files
from models.tasks.motion.data.processes import workers
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.tasks.motion.inference.maps import encode_rendered
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scene_message import BadScene
from models.workbench import Progress

_BATCH = 4
"""Number of scenes in a batch of a process."""
_WAITING = 3
"""Number of batches queued per process, so that a large data set is not listed at once."""


def render(
    split: Split, grid: Grid = OFFICIAL, *, processes: int = 1, again: bool = False, progress: Progress | None = None
) -> Path:
    """Draw the maps of the requests of a split into the folder beside its scenes, which is returned.

    Existing files are kept unless ``again``. A request without a present state, such as a vehicle that was not seen for
    two seconds, gets no map.

    Raises:
        BadFile: a scene cannot be read, or there are no scenes.
        ChildProcessError: a process died; its finished maps are kept.
    """
    folder = split.rendered or split.beside(RENDERED)
    target = replace(split, rendered=folder)
    total = sum(1 for _ in scene_files(split))
    if not total:
        raise BadFile(f"{split.scenes} holds no scenes: files NNN/*.pb are needed")
    folder.mkdir(parents=True, exist_ok=True)
    done = 0
    for count in _drawn(target, grid, again, processes):
        done += count
        if progress is not None:
            progress(done / total, f"{done} of {total} scenes")
    return folder


def render_scene(file: Path, split: Split, grid: Grid, again: bool = False) -> list[Path]:
    """Draw the maps of one scene's requests, and return the files that were written.

    Raises:
        BadFile: a scene cannot be read.
    """
    try:
        scene = scenes.parse(file.read_bytes())
    except (OSError, BadScene) as error:
        raise BadFile(f"{file}: {error}") from error
    renderer: Renderer | None = None
    written: list[Path] = []
    for track in scenes.requested(scene):
        path = split.map(file, scene.id, track)
        if path is None or (path.exists() and not again):
            continue
        try:
            agent = scenes.agent(scene, track)
        except BadScene:
            continue
        renderer = renderer or Renderer(scene, grid)
        _write(path, encode_rendered(renderer.draw(agent)))
        written.append(path)
    return written


def _drawn(split: Split, grid: Grid, again: bool, processes: int) -> Iterator[int]:
    """Draw all scenes; yield the number of scenes in each finished batch."""
    batches = _batches(split)
    if processes <= 1:
        yield from (_draw(batch, split, grid, again) for batch in batches)
        return
    with workers(processes, "drawing") as pool:
        running: set[Future[int]] = set()
        try:
            while True:
                for batch in itertools.islice(batches, _WAITING * processes - len(running)):
                    running.add(pool.submit(_draw, batch, split, grid, again))
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        finally:
            for pending in running:
                pending.cancel()


def _batches(split: Split) -> Iterator[Sequence[Path]]:
    files = scene_files(split)
    while batch := list(itertools.islice(files, _BATCH)):
        yield batch


def _draw(files: Sequence[Path], split: Split, grid: Grid, again: bool) -> int:
    for file in files:
        render_scene(file, split, grid, again)
    return len(files)


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, so that an interrupted one is not taken for finished the next time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)

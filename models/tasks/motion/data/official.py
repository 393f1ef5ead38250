"""The official data set, read: scenes by their tags, and their prediction requests with maps and true trajectories.

Nothing is held but one scene and the names of one folder's files, however large the data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import canonical, folders, messages, tags
from models.tasks.motion.data.canonical import Partition, Rule
from models.tasks.motion.data.folders import Split
from models.tasks.motion.data.futures import NOT_NOW, NOT_OBSERVED, futures, named
from models.tasks.motion.data.tags import Tags
from models.tasks.motion.inference.frame import Float32
from models.tasks.motion.protocol.motion_pb2 import Scene, TrajectoryTag


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which scenes and requests to read; by default all that the released code takes for valid."""

    scenes: Rule = field(default_factory=Rule)
    parts: frozenset[bool | None] = frozenset({False, True, None})
    """In-domain scenes (False), shifted ones (True), and those in neither part (None)."""
    maneuvers: frozenset[TrajectoryTag] | None = None
    """Requests with one of these tags; None: all."""
    partial: bool = False
    """Whether requests that are not observed in all future steps are read as well."""


ALL = Wanted()
CANONICAL = Wanted(parts=frozenset({False, True}))
"""What is in one of the parts of the data set."""


@dataclass(frozen=True, slots=True)
class SceneFile:
    """A scene that is not read yet."""

    path: Path
    split: Split
    tags: Tags
    shifted: bool | None
    """By the partition of the data set; None where the scene is in neither part."""


@dataclass(frozen=True, slots=True)
class Request:
    """One prediction request."""

    scene: str
    track: int
    file: SceneFile
    map: Path | None
    """Of the rendered map; None where the split has none."""
    truth: Float32 | None
    """Positions of the future, m in the frame of the agent, float32 [T, 2]; None where they cannot be told."""
    left_out: str | None
    """Why they cannot, one of the reasons of ``futures``."""
    maneuvers: tuple[TrajectoryTag, ...]

    @property
    def shifted(self) -> bool | None:
        return self.file.shifted


def scene_files(split: Split, wanted: Wanted = ALL, partition: Partition | None = None) -> Iterator[SceneFile]:
    """The scenes of a split in their official order.

    Args:
        partition: what is in-domain and what is shifted; None: the rules that hold in the data set.

    Raises:
        BadFile: as ``folders.tagged_files``; without a file of tags, a scene that cannot be read.
    """
    rules = partition or canonical.read(split.root)
    for path, line in folders.tagged_files(split):
        found = tags.of_scene(messages.scene(path).scene_tags) if line is None else line
        shifted = rules.shifted(split.name, found)
        if shifted in wanted.parts and wanted.scenes.accepts(found):
            yield SceneFile(path, split, found, shifted)


def scene(file: SceneFile) -> Scene:
    """Return the scene of a file.

    Raises:
        BadFile: a file that cannot be read, or a scene with other tags than its line says: lines that have slipped by
            one would otherwise pass for shift.
    """
    found = messages.scene(file.path)
    own = tags.of_scene(found.scene_tags)
    if other := [name for name, value in own.items() if value != file.tags[name]]:
        name = other[0]
        raise BadFile(
            f"{file.path}: the scene says {name} {own[name]}, and its line in {file.split.tags} {file.tags[name]}; "
            "lines go by sorted files, one each"
        )
    return found


def requests(file: SceneFile, wanted: Wanted = ALL) -> Iterator[Request]:
    """The prediction requests of a scene in their order.

    Raises:
        BadFile: as ``scene`` and ``futures``, or a request whose map is missing while the split has maps.
    """
    for future in futures(file.path, scene(file)):
        if future.left_out == NOT_OBSERVED and not wanted.partial:
            continue
        if wanted.maneuvers is not None and wanted.maneuvers.isdisjoint(future.maneuvers):
            continue
        rendered = file.split.map(file.path, *future.key)
        if rendered is not None and not rendered.exists():
            if future.left_out == NOT_NOW:  # nothing may have been there to draw
                rendered = None
            else:
                raise BadFile(f"{rendered} is missing, of {named(future.key)}; demur data motion render draws it")
        yield Request(*future.key, file, rendered, future.trajectory, future.left_out, future.maneuvers)


def all_requests(split: Split, wanted: Wanted = ALL) -> Iterator[Request]:
    """The prediction requests of a split, scene by scene.

    Raises:
        BadFile: as ``scene_files`` and ``requests``.
    """
    for file in scene_files(split, wanted):
        yield from requests(file, wanted)

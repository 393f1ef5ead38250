"""Reader of the official data set: scenes by their tags, and their prediction requests with maps and true trajectories.

Memory holds only one scene and the file names of one folder, whatever the size of the data set.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import canonical, folders, messages, tags
from models.tasks.motion.data.canonical import Partition, Rule
from models.tasks.motion.data.folders import Split
from models.tasks.motion.data.futures import NOT_NOW, NOT_OBSERVED, futures, named
from models.tasks.motion.data.tags import Tags
from models.tasks.motion.inference.grid import Float32
from models.tasks.motion.protocol.motion_pb2 import Scene, TrajectoryTag


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of scenes and requests; by default all that are valid in the released code."""

    scenes: Rule = field(default_factory=Rule)
    parts: frozenset[bool | None] = frozenset({False, True, None})
    """Parts to read: in-domain scenes (False), shifted ones (True), and those in neither part (None)."""
    maneuvers: frozenset[TrajectoryTag] | None = None
    """Tags of which requests need at least one; None: all requests."""
    partial: bool = False
    """True to read requests that are not observed in all future steps, too."""


ALL = Selection()
CANONICAL = Selection(parts=frozenset({False, True}))
"""Selection of all scenes in one of both parts of the data set."""


@dataclass(frozen=True, slots=True)
class SceneFile:
    """Scene that is not read yet."""

    path: Path
    split: Split
    tags: Tags
    shifted: bool | None
    """True if the scene is shifted in the partition of the data set; None if it is in neither part."""


@dataclass(frozen=True, slots=True)
class Request:
    """Prediction request."""

    scene: str
    track: int
    file: SceneFile
    map: Path | None
    """Path of the rendered map; None if the split has none."""
    truth: Float32 | None
    """True positions, m in the frame of the agent, float32 [T, 2]; None if unknown."""
    left_out: str | None
    """Reason why they are unknown, see ``futures``."""
    maneuvers: tuple[TrajectoryTag, ...]

    @property
    def shifted(self) -> bool | None:
        return self.file.shifted


def scene_files(split: Split, selection: Selection = ALL, partition: Partition | None = None) -> Iterator[SceneFile]:
    """Yield the scenes of a split in official order.

    Args:
        partition: rules for in-domain and shifted scenes; None: the rules of the data set.

    Raises:
        BadFile: see ``folders.tagged_files``; without a file of tags, a scene cannot be read.
    """
    rules = partition or canonical.read(split.root)
    for path, line in folders.tagged_files(split):
        scene_tags = tags.of_scene(messages.scene(path).scene_tags) if line is None else line
        shifted = rules.shifted(split.name, scene_tags)
        if shifted in selection.parts and selection.scenes.accepts(scene_tags):
            yield SceneFile(path, split, scene_tags, shifted)


def scene(file: SceneFile) -> Scene:
    """Return the scene of a file.

    Raises:
        BadFile: a file cannot be read, or the scene's tags differ from its line: lines that are off by one would
            otherwise look like shift.
    """
    message = messages.scene(file.path)
    own = tags.of_scene(message.scene_tags)
    if other := [name for name, value in own.items() if value != file.tags[name]]:
        name = other[0]
        raise BadFile(
            f"{file.path}: the scene says {name} {own[name]}, and its line in {file.split.tags} {file.tags[name]}; "
            "lines go by sorted files, one each"
        )
    return message


def requests(file: SceneFile, selection: Selection = ALL) -> Iterator[Request]:
    """Yield the prediction requests of a scene in order.

    Raises:
        BadFile: see ``scene`` and ``futures``; or the map of a request is missing although the split has maps.
    """
    for future in futures(file.path, scene(file)):
        if future.left_out == NOT_OBSERVED and not selection.partial:
            continue
        if selection.maneuvers is not None and selection.maneuvers.isdisjoint(future.maneuvers):
            continue
        rendered = file.split.map(file.path, *future.key)
        if rendered is not None and not rendered.exists():
            if future.left_out == NOT_NOW:  # there may have been nothing to draw
                rendered = None
            else:
                raise BadFile(f"{rendered} is missing, of {named(future.key)}; demur data motion render draws it")
        yield Request(*future.key, file, rendered, future.trajectory, future.left_out, future.maneuvers)


def all_requests(split: Split, selection: Selection = ALL) -> Iterator[Request]:
    """Yield the prediction requests of a split, scene by scene.

    Raises:
        BadFile: see ``scene_files`` and ``requests``.
    """
    for file in scene_files(split, selection):
        yield from requests(file, selection)

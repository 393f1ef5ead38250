"""Writer of the official data set: scenes in folders of a thousand, their tags, their maps."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from models.tasks.motion.data import tags
from models.tasks.motion.data.folders import RENDERED, SCENES, SPLITS, SUFFIX, TAGS, rendered_name
from models.tasks.motion.protocol.motion_pb2 import Scene

PER_FOLDER = 1000
_FOLDERS = 1000  # 000 to 999: names of different lengths would not sort as numbers
_NAME = re.compile(r"[\w.-]{1,200}", re.ASCII)


class Writer:
    """Writer of the scenes of a split, one by one; a context manager.

    Scenes go to folders in the order of ``add``. The file of tags is in the order of the sorted files, and matches the
    written scenes even if an error ends the writing.

    Raises:
        ValueError: the split is unknown or exists already.
    """

    def __init__(self, root: Path, split: str, per_folder: int = PER_FOLDER) -> None:
        if split not in SPLITS:
            raise ValueError(f"split is {split!r}; the official ones are {', '.join(SPLITS)}")
        self._scenes, self._rendered = root / (split + SCENES[0]), root / (split + RENDERED[0])
        self._tags = root / (split + TAGS[0])
        for path in (self._scenes, self._rendered, self._tags):
            if path.exists():
                raise ValueError(f"{path} is there already; take it away, or choose another folder")
        self._per_folder = per_folder
        self._folders = 0
        self._lines: dict[str, str] = {}  # tags of the current folder
        self._ids: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(
        self,
        scene: Scene,
        maps: Mapping[int, bytes] = MappingProxyType({}),
        extra: Mapping[str, str] = MappingProxyType({}),
    ) -> Path:
        """Write a scene, and return the path of its file.

        Args:
            scene: its id names the file.
            maps: rendered map by track of a request, as encoded by ``maps.encode_rendered``.
            extra: further tags of the line, such as a city that the enumeration does not have.

        Raises:
            ValueError: the id is not a plain name or was written before, or a thousand folders are full.
        """
        if not _NAME.fullmatch(scene.id) or not scene.id.strip("."):
            raise ValueError(f"scene id {scene.id!r} names its files: 1 to 200 letters, digits, _, . and - are needed")
        if scene.id in self._ids:
            raise ValueError(f"scene id {scene.id!r} is there twice; ids are unique in a data set")
        if len(self._ids) == self._folders * self._per_folder:
            self._next_folder()
        self._ids.add(scene.id)
        folder = f"{self._folders - 1:03d}"
        for track, content in maps.items():
            path = self._rendered / folder / rendered_name(scene.id, track)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        path = self._scenes / folder / (scene.id + SUFFIX)
        path.write_bytes(scene.SerializeToString(deterministic=True))
        self._lines[path.name] = tags.line(tags.of_scene(scene.scene_tags) | dict(extra))
        return path

    def close(self) -> None:
        """Write the pending tags."""
        if not self._lines:
            return
        with self._tags.open("a", encoding="utf-8") as file:
            file.writelines(self._lines[name] + "\n" for name in sorted(self._lines))
        self._lines = {}

    def _next_folder(self) -> None:
        if self._folders == _FOLDERS:
            raise ValueError(f"{self._scenes} is full: {_FOLDERS} folders of {self._per_folder} scenes")
        self.close()
        (self._scenes / f"{self._folders:03d}").mkdir(parents=True)
        self._folders += 1

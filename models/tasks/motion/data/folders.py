"""Official directories: scenes of a split, their tags and their rendered maps.

``train_pb/NNN/*.pb``, ``train_tags.txt`` with a line for each scene in the order of the sorted files, and
``train_rendered/NNN/{scene}_{track}.npy``. Released archives use several names of splits; the evaluation archive has
folders ``evaluation`` and ``evaluation_renders``.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.tags import Tags, parsed

SPLITS: Mapping[str, tuple[str, ...]] = {
    "train": ("train",),
    "dev": ("dev", "development", "validation"),
    "eval": ("eval", "evaluation", "test"),
}
"""Names of each split in the releases; files are written with the first."""
SCENES, RENDERED, TAGS = ("_pb", ""), ("_rendered", "_renders"), ("_tags.txt",)
"""Suffixes after the name of a split; files are written with the first."""
SUFFIX = ".pb"


@dataclass(frozen=True, slots=True)
class Split:
    """Split of a data set, or another folder of scenes."""

    name: str
    """Name ``train``, ``dev`` or ``eval``; empty if the folder's name is none of these."""
    root: Path
    """Root of the data set."""
    scenes: Path
    tags: Path | None
    """File of tags; None: tags are read from the scenes."""
    rendered: Path | None
    """Folder of rendered maps; None if there are none."""

    def beside(self, suffixes: tuple[str, ...]) -> Path:
        """Return the path for new tags or maps of these scenes."""
        return self.root / ((self.name or self.scenes.resolve().name.removesuffix(SCENES[0])) + suffixes[0])

    def map(self, file: Path, scene: str, track: int) -> Path | None:
        """Return the path of a request's rendered map, for a scene's file; None if the split has no maps."""
        return None if self.rendered is None else self.rendered / file.parent.name / rendered_name(scene, track)


def rendered_name(scene: str, track: int) -> str:
    """Return the file name of a rendered map."""
    return f"{scene}_{track}.npy"


def split_named(folder: str) -> str:
    """Return the split of a folder of scenes by its name; empty if the name is none."""
    names = {alias + suffix: split for split, aliases in SPLITS.items() for alias in aliases for suffix in SCENES}
    return names.get(folder, "")


def splits(root: Path) -> tuple[Split, ...]:
    """Return the splits of a data set in the order of ``SPLITS``, or the folder itself as one split.

    Raises:
        BadFile: the folder does not exist, a split has two names, or there are neither splits nor folders of scenes.
    """
    if not root.is_dir():
        raise BadFile(f"{root} is no folder; one with the official names is needed, train_pb/000/*.pb")
    if named := named_splits(root):
        return named
    if next(_files(root), None) is None:
        raise BadFile(f"{root} holds no scenes: files train_pb/NNN/*.pb are needed, or NNN/*.pb")
    return (_beside(root.resolve(), root),)


def named_splits(root: Path) -> tuple[Split, ...]:
    """Return the splits of a folder by the released names, or the folder itself if it is one; empty without splits.

    Raises:
        BadFile: a split has two names.
    """
    named = [_split(root, name, scenes) for name in SPLITS if (scenes := _one(root, name, SCENES)) is not None]
    place = root.resolve()
    if not named and (name := split_named(place.name)) and next(_files(root), None) is not None:
        named = [_split(place.parent, name, root)]
    return tuple(named)


def split(root: Path, name: str) -> Split:
    """Return a split of a data set.

    Raises:
        BadFile: see ``splits``; or there is none of that name.
    """
    every = splits(root)
    for candidate in every:
        if candidate.name == name:
            return candidate
    there = ", ".join(candidate.scenes.name for candidate in every)
    raise BadFile(f"{root} has no split {name!r}, only {there}; the folder {name}_pb is needed")


def scene_files(split: Split) -> Iterator[Path]:
    """Yield the files of scenes in official order: sorted folders, and sorted files in each."""
    return _files(split.scenes)


def tagged_files(split: Split) -> Iterator[tuple[Path, Tags | None]]:
    """Yield each file of a scene with the tags of its line, or None if the split has no file of tags.

    Raises:
        BadFile: a line has no tags, or the number of lines is not that of scenes.
    """
    if split.tags is None:
        yield from ((file, None) for file in scene_files(split))
        return
    try:
        with split.tags.open(encoding="utf-8") as lines:
            pairs = itertools.zip_longest(scene_files(split), lines)
            for number, (file, text) in enumerate(pairs, 1):
                if file is None or text is None:
                    raise BadFile(_unequal(split, number, file))
                yield file, parsed(split.tags, number, text)
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{split.tags} cannot be read: {error}") from error


def _unequal(split: Split, number: int, file: Path | None) -> str:
    if file is None:
        return f"{split.tags}, line {number}: there are only {number - 1} scenes in {split.scenes}; one line each"
    return f"{split.tags} has {number - 1} lines, and {file} is scene {number}; one line for each sorted file is needed"


def _files(scenes: Path) -> Iterator[Path]:
    for folder in sorted(entry for entry in scenes.iterdir() if entry.is_dir()):
        yield from sorted(entry for entry in folder.iterdir() if entry.name.endswith(SUFFIX))


def _split(root: Path, name: str, scenes: Path) -> Split:
    return Split(name, root, scenes, _one(root, name, TAGS), _one(root, name, RENDERED))


def _beside(place: Path, scenes: Path) -> Split:
    """Return a folder of scenes of any other name as a split, with the tags and maps named after it."""
    stem = place.name.removesuffix(SCENES[0])
    tags, rendered = (place.parent / (stem + suffix) for suffix in (TAGS[0], RENDERED[0]))
    return Split("", place.parent, scenes, tags if tags.exists() else None, rendered if rendered.exists() else None)


def _one(root: Path, name: str, suffixes: tuple[str, ...]) -> Path | None:
    paths = [root / (alias + suffix) for alias in SPLITS[name] for suffix in suffixes]
    there = [path for path in paths if path.exists()]
    if len(there) > 1:
        raise BadFile(f"{there[0]} and {there[1]} are both of the split {name}; take one of them away")
    return there[0] if there else None

"""Files of scenes or prerendered maps below a folder of any layout, in a fixed order.

They are not listed at once, as the official data set has half a million of them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.provenance import PROVENANCE
from models.tasks.motion.data.folders import SUFFIX

SCENES, MAPS = (SUFFIX, ".json"), (".npy",)
"""Suffixes of file names."""


def counted(source: Path, rendered: bool, but: Path | None = None) -> int:
    """Return the number of files that ``found`` yields.

    Raises:
        BadFile: the path does not exist, or there is no such file.
    """
    if source.is_file():
        endings = MAPS if rendered else SCENES
        if not source.name.endswith(endings):
            raise BadFile(f"{source} is no {_kind(rendered)} by its name; {_or(endings)} is needed")
        return 1
    if not source.is_dir():
        raise BadFile(f"{source} does not exist; a {_kind(rendered)}, or a folder of them is needed")
    count = sum(1 for _ in scene_paths(source, rendered, but))
    if not count:
        other = "; --rendered is for prerendered maps (.npy)" if not rendered else ""
        raise BadFile(
            f"{source} has no {_kind(rendered)}s: files {_or(MAPS if rendered else SCENES)} are needed{other}"
        )
    return count


def scene_paths(source: Path, rendered: bool, but: Path | None = None) -> Iterator[Path]:
    """Yield the file itself, or those below a folder: sorted folders, and sorted files in each.

    Args:
        rendered: whether to find prerendered maps instead of scenes.
        but: a folder that is skipped.
    """
    if source.is_file():
        yield source
        return
    left_out = None if but is None else but.resolve()
    for folder, below, names in os.walk(source):
        here = Path(folder)
        below[:] = sorted(name for name in below if (here / name).resolve() != left_out)
        endings = MAPS if rendered else SCENES
        yield from (
            here / name for name in sorted(names) if name.endswith(endings) and name.lower() != PROVENANCE.lower()
        )


def _kind(rendered: bool) -> str:
    return "prerendered map" if rendered else "scene"


def _or(endings: tuple[str, ...]) -> str:
    return " or ".join(f"*{ending}" for ending in endings)

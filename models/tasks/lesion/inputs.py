"""Scans to be segmented: the images below a folder that have official names, or a single file of any name."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from models.evaluation.judged import BadFile

FLAIR = "FLAIR_isovox"
_COMPANIONS = {"t1": "T1_isovox", "fg_mask": "isovox_fg_mask", "gt": "gt_isovox"}
"""Folder beside that of the FLAIR images to what follows the id in a file's name."""
_FILE = re.compile(rf"(?P<id>.+?)(?:_{FLAIR})?\.nii(?:\.gz)?")


@dataclass(frozen=True)
class Input:
    """The files of one scan."""

    id: str
    folder: Path
    """Relative to what was given, without the folder ``flair``."""
    flair: Path
    t1: Path | None = None
    brain_mask: Path | None = None
    truth: Path | None = None


def find(source: Path) -> tuple[Input, ...]:
    """All scans below a folder (``{id}_FLAIR_isovox.nii.gz``), in the order of folders and ids; or the one of a file.

    T1 images, brain masks and ground truths are found by their official names, in the same folder or in ``t1``,
    ``fg_mask`` and ``gt`` beside ``flair``.

    Raises:
        BadFile: nothing is there, the name is not that of a NIfTI file, or two scans have one id and folder.
    """
    if source.is_file():
        if (match := _FILE.fullmatch(source.name)) is None:
            raise BadFile(f"{source} is no NIfTI file by its name; .nii or .nii.gz is needed")
        return (_input(match["id"], Path(), source),)
    if not source.is_dir():
        raise BadFile(f"{source} does not exist; a NIfTI file, or a folder of *_{FLAIR}.nii.gz is needed")
    found = []
    for path in source.rglob(f"*_{FLAIR}.nii.gz"):
        folder = path.parent.relative_to(source)
        found.append(_input(path.name.removesuffix(f"_{FLAIR}.nii.gz"), _plain(folder), path))
    if not found:
        raise BadFile(f"{source} has no scans: files *_{FLAIR}.nii.gz are needed, there or in folders below")
    found.sort(key=lambda one: (one.folder.as_posix(), int(one.id) if one.id.isdecimal() else -1, one.id))
    for one, other in itertools.pairwise(found):
        if (one.id, one.folder) == (other.id, other.folder):
            raise BadFile(f"{one.flair} and {other.flair} are of one scan by name; give different ids")
    return tuple(found)


def _input(one: str, folder: Path, flair: Path) -> Input:
    def companion(kind: str) -> Path | None:
        name = f"{one}_{_COMPANIONS[kind]}.nii.gz"
        beside = (flair.parent / name, flair.parent.parent / kind / name)
        return next((path for path in beside if path.is_file()), None)

    if not flair.name.endswith(f"_{FLAIR}.nii.gz"):
        return Input(one, folder, flair)
    return Input(one, folder, flair, companion("t1"), companion("fg_mask"), companion("gt"))


def _plain(folder: Path) -> Path:
    return folder.parent if folder.name == "flair" else folder

"""Input files of segmentation: the images below a folder that have official names, or a single file of any name."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.lesion.data import metaimage

FLAIR = "FLAIR_isovox"
_COMPANIONS = {"t1": "T1_isovox", "fg_mask": "isovox_fg_mask", "gt": "gt_isovox"}
"""Suffix after the id in a file's name, by the folder beside that of the FLAIR images."""
_FILE = re.compile(rf"(?P<id>.+?)(?:_{FLAIR})?\.(?:nii(?:\.gz)?|mha)")
_IMAGES = "images"
"""Folder of Grand Challenge that contains a folder for each kind of image."""


@dataclass(frozen=True)
class Input:
    """The files of one scan."""

    id: str
    folder: Path
    """Folder relative to the source, without the folder ``flair``."""
    flair: Path
    t1: Path | None = None
    brain_mask: Path | None = None
    truth: Path | None = None


def find(source: Path) -> tuple[Input, ...]:
    """Return all scans below a folder, in the order of folders and ids, or the scan of a single file.

    The scans of a folder are ``{id}_FLAIR_isovox.nii.gz``, else ``{id}.mha``.

    T1 images, brain masks and ground truths are found by their official names, in the same folder or in ``t1``,
    ``fg_mask`` and ``gt`` beside ``flair``.

    Raises:
        BadFile: there is no scan, the name is not that of an image file, or two scans have the same id and folder.
    """
    if source.is_file():
        if (match := _FILE.fullmatch(source.name)) is None:
            raise BadFile(f"{source} is no image by its name; .nii, .nii.gz or .mha is needed")
        return (_input(match["id"], Path(), source),)
    if not source.is_dir():
        raise BadFile(
            f"{source} does not exist; a NIfTI file, .mha, or a folder of *_{FLAIR}.nii.gz or *.mha is needed"
        )
    inputs = []
    for path in source.rglob(f"*_{FLAIR}.nii.gz"):
        folder = path.parent.relative_to(source)
        folder = folder.parent if folder.name == "flair" else folder
        inputs.append(_input(path.name.removesuffix(f"_{FLAIR}.nii.gz"), folder, path))
    if not inputs:
        inputs = _of_grand_challenge(source)
    if not inputs:
        raise BadFile(f"{source} has no scans: files *_{FLAIR}.nii.gz, or *.mha, are needed, there or in folders below")
    inputs.sort(key=lambda scan: (scan.folder.as_posix(), int(scan.id) if scan.id.isdecimal() else -1, scan.id))
    for earlier, other in itertools.pairwise(inputs):
        if (earlier.id, earlier.folder) == (other.id, other.folder):
            raise BadFile(f"{earlier.flair} and {other.flair} are of one scan by name; give different ids")
    return tuple(inputs)


def _input(scan_id: str, folder: Path, flair: Path) -> Input:
    def companion(kind: str) -> Path | None:
        name = f"{scan_id}_{_COMPANIONS[kind]}.nii.gz"
        beside = (flair.parent / name, flair.parent.parent / kind / name)
        return next((path for path in beside if path.is_file()), None)

    if not flair.name.endswith(f"_{FLAIR}.nii.gz"):
        return Input(scan_id, folder, flair)
    return Input(scan_id, folder, flair, companion("t1"), companion("fg_mask"), companion("gt"))


def _of_grand_challenge(source: Path) -> list[Input]:
    """Return the ``.mha`` images of a folder ``images/KIND``, or of folders of any other name.

    Raises:
        BadFile: there are images of several kinds.
    """
    paths = sorted(source.rglob(f"*{metaimage.SUFFIX}"))
    kinds = sorted({path.parent.name for path in paths if path.parent.parent.name == _IMAGES})
    if len(kinds) > 1:
        raise BadFile(f"{source} has images of the kinds {', '.join(kinds)}; give the folder of the FLAIR images")
    inputs = []
    for path in paths:
        folder = path.parent.relative_to(source)
        in_images = path.parent.parent.name == _IMAGES
        inputs.append(_input(path.stem, folder.parent.parent if in_images and len(folder.parts) > 1 else folder, path))
    return inputs

"""Scans in the official layout, read by their file names: ``SITE/SPLIT/{flair,t1,gt,fg_mask}/ID_….nii.gz``."""

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile, Mask
from models.tasks.lesion.artefact.recipe import Channel
from models.tasks.lesion.data import volumes
from models.tasks.lesion.data.scans import natural

SPLITS = ("train", "dev_in", "eval_in", "dev_out", "eval_out")

NAMES: Mapping[str, str] = {
    "flair": "{id}_FLAIR_isovox.nii.gz",
    "t1": "{id}_T1_isovox.nii.gz",
    "gt": "{id}_gt_isovox.nii.gz",
    "fg_mask": "{id}_isovox_fg_mask.nii.gz",
}
"""File name pattern by folder; the published ``t2`` and ``pd`` are not read."""

_PATTERNS = {kind: re.compile(re.escape(name).replace(r"\{id\}", "(?P<id>.+)")) for kind, name in NAMES.items()}
_SAME_PLACE = 0.1
"""Largest distance, mm, between corners of images on one grid: headers are rounded."""


@dataclass(frozen=True, slots=True)
class Case:
    """A scan with its files."""

    id: str
    """Identifier from the file names; unique within a site and split."""
    site: str
    """Name of the folder above the split's; empty if there is none."""
    split: str
    """Split, one of ``SPLITS``; empty if the folders do not name it."""
    flair: Path
    t1: Path | None
    truth: Path | None
    brain: Path | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Volumes of a scan on one grid."""

    volumes: NDArray[np.float32]
    """Images [channels, x, y, z], in the requested order, in units of the scanner."""
    truth: Mask | None
    """Lesion mask [x, y, z]."""
    brain: Mask | None
    affine: NDArray[np.float64]
    """Affine from voxel to mm, [4, 4]."""


def cases(root: Path, split: str | None = None) -> tuple[Case, ...]:
    """Return the scans below a folder, of one split or of all, sorted by site, split and id.

    The folder may hold several data sets, be one, or be one split of one. A scan's files are found by its id, never by
    their order: numbers in folder names and missing files have no effect.

    Raises:
        BadFile: the folder does not exist or has no scans, the split is not in ``SPLITS``, a file exists twice, or a
            FLAIR image is missing.
    """
    if split is not None and split not in SPLITS:
        raise BadFile(f"split is {split!r}; the official ones are {', '.join(SPLITS)}")
    if not root.is_dir():
        raise BadFile(f"{root} is no folder; one with the official names is needed, SITE/SPLIT/flair/ID_FLAIR_…")
    by_scan: dict[tuple[Path, str], dict[str, Path]] = defaultdict(dict)
    for path in sorted(root.rglob("*.nii.gz")):
        for kind, pattern in _PATTERNS.items():
            if match := pattern.fullmatch(path.name):
                files = by_scan[_base(path, kind), match["id"]]
                if kind in files:
                    raise BadFile(f"{files[kind]} and {path} are one image of one scan; take one of them away")
                files[kind] = path
    every = [_case(base, scan_id, files) for (base, scan_id), files in by_scan.items()]
    chosen = [case for case in every if split is None or case.split == split]
    if not chosen:
        absent = "scans" if split is None else f"scans of the split {split}"
        raise BadFile(f"{root} holds no {absent}: files SITE/SPLIT/flair/ID_FLAIR_isovox.nii.gz are needed")
    chosen.sort(key=lambda case: (case.site, SPLITS.index(case.split) if case.split else -1, natural(case.id)))
    _check_once(chosen)
    return tuple(chosen)


def load(case: Case, channels: Sequence[Channel]) -> Loaded:
    """Return the volumes of a scan.

    Raises:
        BadFile: a channel has no file, values are not finite, or images are not on the grid of FLAIR; also see
            ``volumes.read`` and ``volumes.mask``.
    """
    first = volumes.read(case.flair)
    stacked = np.empty((len(channels), *first.values.shape), np.float32)
    for number, channel in enumerate(channels):
        path = case.flair if channel == "flair" else case.t1
        if path is None:
            raise BadFile(
                f"{case.flair}: scan {case.id} has no {NAMES[channel].format(id=case.id)}, and {channel} is asked"
            )
        volume = first if channel == "flair" else volumes.read(path)
        _check_grid(volume, first)
        with np.errstate(over="ignore"):
            stacked[number] = volume.values
        if not np.isfinite(stacked[number]).all():
            raise BadFile(f"{path} holds values that are not finite in float32; every voxel needs a number")
    truth, brain = (None if path is None else _mask(path, first) for path in (case.truth, case.brain))
    return Loaded(stacked, truth, brain, first.affine)


def _base(path: Path, kind: str) -> Path:
    """Return the common folder of a scan's files: the parent of the folders by kind, or that of all files."""
    return path.parent.parent if path.parent.name.lower() == kind else path.parent


def _case(base: Path, scan_id: str, files: Mapping[str, Path]) -> Case:
    if "flair" not in files:
        raise BadFile(f"{next(iter(files.values()))} has no {NAMES['flair'].format(id=scan_id)} below {base}")
    place = base.resolve()
    named = place.name.lower()
    split = named if named in SPLITS else ""
    site = place.parent.name if split else place.name
    return Case(scan_id, site, split, files["flair"], files.get("t1"), files.get("gt"), files.get("fg_mask"))


def _check_once(chosen: Sequence[Case]) -> None:
    for own, other in itertools.pairwise(chosen):
        if (own.site, own.split, own.id) == (other.site, other.split, other.id):
            raise BadFile(f"{own.flair} and {other.flair} are one scan by name; give different ids, or read one folder")


def _mask(path: Path, first: volumes.Volume) -> Mask:
    volume, marked = volumes.mask(path)
    _check_grid(volume, first)
    return marked


def _check_grid(volume: volumes.Volume, first: volumes.Volume) -> None:
    if volume.values.shape != first.values.shape:
        here, there = list(volume.values.shape), list(first.values.shape)
        raise BadFile(f"{volume.path} has the shape {here}, and {first.path} {there}; images of a scan share one grid")
    ends = np.array(list(itertools.product(*((0, size - 1) for size in first.values.shape), [1]))).T
    apart = np.linalg.norm(((volume.affine - first.affine) @ ends)[:3], axis=0).max()
    if not apart <= _SAME_PLACE:
        raise BadFile(
            f"{volume.path} lies up to {apart:.3g} mm away from {first.path}; images of a scan share one grid, "
            f"to {_SAME_PLACE} mm"
        )


def read_files(directory: Path) -> dict[str, list[Case]]:
    """Read the labelled scans of a directory in the official layout, by split.

    Raises:
        BadFile: see ``official.cases``.
    """
    data: dict[str, list[Case]] = defaultdict(list)
    for case in cases(directory):
        if case.truth is not None:
            data[case.split].append(case)
    return data

"""Labelled scans: read as requests are, and prepared for training as in serving."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile
from models.imaging import nifti
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from models.tasks.lesion.data.image import BRAIN_MASK, Scan, read_scan
from models.tasks.lesion.inference.preparation import prepare

Mask = NDArray[np.bool_]

_ARRAYS = ("image", "truth")


class Files(Protocol):
    """Paths of the images of a labelled scan (``official.Case``)."""

    @property
    def id(self) -> str: ...
    @property
    def flair(self) -> Path: ...
    @property
    def t1(self) -> Path | None: ...
    @property
    def truth(self) -> Path | None: ...
    @property
    def brain(self) -> Path | None: ...


def read(files: Files, channels: Sequence[Channel]) -> tuple[Scan, Mask]:
    """Return a scan and its lesion mask on the same grid.

    Raises:
        BadFile: a file is missing, is not a valid image, or is on another grid; the message names it.
    """
    paths = {"flair": files.flair, "t1": files.t1, BRAIN_MASK: files.brain}
    selected = {
        name: path for name, path in paths.items() if path is not None and name in (*channels, BRAIN_MASK, "flair")
    }
    if absent := [name for name in channels if name not in selected]:
        raise BadFile(f"scan {files.id} has no {absent[0]} image, and the networks take {', '.join(channels)}")
    if files.truth is None:
        raise BadFile(f"scan {files.id} has no lesion mask beside {files.flair}")
    try:
        scan = read_scan({name: path.read_bytes() for name, path in selected.items()}, channels)
        truth = nifti.read(files.truth.read_bytes()).values
    except nifti.BadImage as error:
        raise BadFile(f"scan {files.id} at {files.flair.parent.parent}: {error}") from error
    if truth.shape != scan.shape:
        raise BadFile(f"{files.truth} has the shape {list(truth.shape)}, and {files.flair} {list(scan.shape)}")
    return scan, np.asarray(truth == 1)


def example(files: Files, recipe: Recipe) -> Example:
    """Return a scan as prepared for the networks of a recipe.

    Raises:
        BadFile: see ``read``; or the scan cannot be prepared.
    """
    scan, truth = read(files, recipe.channels)
    try:
        prepared = prepare(scan, recipe)
    except nifti.BadImage as error:
        raise BadFile(f"{files.flair}: {error}") from error
    grid = prepared.grid
    turned = grid.turned(truth) if grid.step is None else grid.resampled(truth, smooth=False) >= 0.5
    return Example(prepared.image.astype(np.float16), np.ascontiguousarray(turned))


def fingerprint(cases: Sequence[Files]) -> str:
    """Return the sha256 over all files of scans, in the order of their ids."""
    digest = hashlib.sha256()
    for case in sorted(cases, key=lambda files: files.id):
        for path in (case.flair, case.t1, case.truth, case.brain):
            digest.update(b"-" if path is None else hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True)
class Example:
    """A prepared scan with its lesions.

    Raises:
        ValueError: image and truth are on different grids.
    """

    image: NDArray[np.floating[Any]]
    """Normalised image [C, x, y, z], float16 or float32."""
    truth: NDArray[np.bool_]
    """Lesion mask [x, y, z]."""

    def __post_init__(self) -> None:
        if self.image.ndim != 4 or self.image.shape[1:] != self.truth.shape:
            raise ValueError(
                f"an image [C, x, y, z] and its truth [x, y, z] are needed, got {self.image.shape} and "
                f"{self.truth.shape}"
            )

    def save(self, folder: Path) -> None:
        """Save as two plain files, which processes that train side by side can map into shared memory."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "image.npy", self.image.astype(np.float16))
        np.save(folder / "truth.npy", self.truth)

    @classmethod
    def load(cls, folder: Path) -> Example:
        """Load an example from ``save``, memory-mapped."""
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False) for name in _ARRAYS))

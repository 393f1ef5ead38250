"""Scan of a request: its images on one grid, read and validated from the bytes of files."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from models.imaging.nifti import Affine, BadImage, Limits, Nifti, read
from models.tasks.lesion.artefact.recipe import Channel
from models.tasks.lesion.inference.lesions import box_of

Array = NDArray[Any]
Mask = NDArray[np.bool_]

BRAIN_MASK = "brain_mask"
"""Name of the input with the brain mask."""
SAME_PLACE_MM = 0.1
"""Largest distance, mm, between corners of two images on one grid: headers are rounded, and scanners repeat positions.
"""


@dataclass(frozen=True)
class Scan:
    """Images of one head on the grid of its FLAIR image, [x, y, z], with the number type and byte order of the file."""

    names: tuple[Channel, ...]
    channels: tuple[Array, ...]
    """Images in the order of ``names``."""
    flair: Array
    brain_mask: Mask | None
    affine: Affine
    """Affine from voxel index to world coordinates, mm, float64 [4, 4]."""
    spacing: tuple[float, float, float]
    """Edges of a voxel, mm."""
    space: int
    """Code of the coordinate system (``nifti.Nifti``)."""

    @property
    def shape(self) -> tuple[int, int, int]:
        x, y, z = self.flair.shape
        return x, y, z

    @property
    def voxel_mm3(self) -> float:
        return float(abs(np.linalg.det(self.affine[:3, :3])))

    @cached_property
    def brain(self) -> Mask:
        """Brain mask as sent, else the FLAIR voxels other than 0 with holes filled, [x, y, z]."""
        return filled(self.flair != 0) if self.brain_mask is None else self.brain_mask


def read_scan(files: Mapping[str, bytes], channels: Sequence[Channel], limits: Limits | None = None) -> Scan:
    """Read a scan from the bytes of its files by input: ``flair``, what else ``channels`` need, and optionally
    ``brain_mask``.

    FLAIR is always needed: the answer is on its grid. Images that were sent but are not needed are validated, too, so
    that every model reports the same mistakes.

    Raises:
        BadImage: ``field`` names the input.
    """
    flair = _image("flair", files, limits)
    images = {"flair": flair}
    sent = (name for name in get_args(Channel) if files.get(name))
    for name in dict.fromkeys((*channels, *sent)):
        if name not in images:
            images[name] = _image(name, files, limits)
            _check_grid(name, images[name], flair)
    return Scan(
        names=tuple(channels),
        channels=tuple(images[name].values for name in channels),
        flair=flair.values,
        brain_mask=_brain_mask(files[BRAIN_MASK], flair, limits) if files.get(BRAIN_MASK) else None,
        affine=flair.affine,
        spacing=flair.spacing,
        space=flair.space,
    )


def filled(mask: Mask) -> Mask:
    """Return a mask with the holes inside it filled: voxels that no path through faces connects to the border of the
    volume.

    Only the box of the mask and one plane around it are searched: from there a straight path leads to the border.
    """
    from scipy import ndimage

    x, y, z = (slice(max(part.start - 1, 0), part.stop + 1) for part in box_of(mask))
    whole, box = mask, (x, y, z)
    mask = whole[box]
    outside, number = ndimage.label(~mask)
    if number < 2:
        return whole
    reached = np.zeros(number + 1, bool)
    for axis in range(mask.ndim):
        for side in (0, -1):
            reached[np.take(outside, side, axis=axis)] = True
    if reached[1:].all():
        return whole
    reached[0] = False  # the mask itself
    full = whole.copy(order="K")
    full[box] = ~reached[outside]
    return full


def _image(name: str, files: Mapping[str, bytes], limits: Limits | None) -> Nifti:
    if not files.get(name):
        raise BadImage(
            f"{name} is missing; send it as a .nii or .nii.gz file", code="missing", allowed="a NIfTI file"
        ).of(name)
    try:
        image = read(files[name], limits)
    except BadImage as error:
        raise error.of(name) from None
    if not image.values.any():
        raise BadImage(
            f"{name} is 0 in all {image.values.size} voxels; was the brain extracted with the wrong mask?",
            code="empty",
            value=0,
            allowed="numbers other than 0 inside the brain",
        ).of(name)
    return image


def _brain_mask(content: bytes, flair: Nifti, limits: Limits | None) -> Mask:
    try:
        image = read(content, limits)
        _check_grid(BRAIN_MASK, image, flair)
    except BadImage as error:
        raise error.of(BRAIN_MASK) from None
    inside = image.values == 1
    if not (known := inside | (image.values == 0)).all():
        value = image.values[~known][0]
        raise BadImage(
            f"{BRAIN_MASK} holds {value}; 1 inside the brain and 0 outside is needed",
            code="not_a_mask",
            value=value,
            allowed="0, 1",
        ).of(BRAIN_MASK)
    if not inside.any():
        raise BadImage(
            f"{BRAIN_MASK} is 0 everywhere; 1 inside the brain is needed", code="empty", value=0, allowed="0, 1"
        ).of(BRAIN_MASK)
    return np.asarray(inside)


def _check_grid(name: str, image: Nifti, flair: Nifti) -> None:
    """Check that two images have the same voxels: the same shape, and the same position of all eight corners."""
    here, there = list(image.values.shape), list(flair.values.shape)
    if here != there:
        raise BadImage(
            f"{name} has the shape {here} and flair {there}; resample it to the grid of flair",
            code="other_grid",
            value=here,
            unit="voxels",
            allowed=str(there),
        ).of(name)
    corners = np.array([*itertools.product(*((0, length - 1) for length in here))])
    apart = (image.affine - flair.affine) @ np.c_[corners, np.ones(8)].T
    if (most := float(np.sqrt((apart[:3] ** 2).sum(axis=0)).max())) > SAME_PLACE_MM:
        raise BadImage(
            f"{name} lies up to {most:.3g} mm from flair; register and resample it to the grid of flair",
            code="other_grid",
            value=f"{most:.3g}",
            unit="mm",
            allowed=f"0 to {SAME_PLACE_MM:g}",
        ).of(name)

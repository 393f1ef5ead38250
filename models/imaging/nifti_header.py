"""Checks of the header of a NIfTI image, before memory of the declared size is allocated.

nibabel reads the fields, but repairs some silently and fails on others with its own messages, so each is checked here.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Affine = NDArray[np.float64]

_AGREE = 0.05  # share by which two declarations of a voxel's size may differ
_FLAT = 0.1  # volume of a voxel over that of a box with its edges
_SPACES = range(6)
_SILENT = logging.Logger("nibabel", logging.CRITICAL + 1)  # what matters is reported here, with a reason


class BadImage(ValueError):
    """The bytes are not an image of the required kind; ``field`` is set by the caller that knows the input."""

    def __init__(self, message: str, *, code: str, value: object = "", unit: str = "", allowed: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.value, self.unit, self.allowed = message, code, str(value), unit, allowed
        self.field = ""

    def of(self, field: str) -> BadImage:
        """Return the error itself, with the name of the input."""
        self.field = field
        return self


@dataclass(frozen=True)
class Limits:
    """Limits of an image, checked before memory of its size is allocated."""

    voxels: int = 1 << 26
    spacing_mm: tuple[float, float] = (0.2, 8.0)
    """Edge of a voxel along each axis."""
    extent_mm: tuple[float, float] = (40.0, 512.0)
    """Field of view along each axis."""


def shape_of(header: Any, most_voxels: int) -> tuple[int, int, int]:
    """Return the shape [x, y, z] without further axes of length 1.

    Raises:
        BadImage: other axes, or too many voxels.
    """
    dims = [int(length) for length in header["dim"]]
    if not 1 <= dims[0] <= 7:
        raise BadImage(f"the header declares {dims[0]} axes; NIfTI has 1 to 7", code="not_nifti", value=dims[0])
    shape = dims[1 : dims[0] + 1]
    if len(shape) < 3 or any(length != 1 for length in shape[3:]) or any(length < 1 for length in shape):
        raise BadImage(
            f"the image has the shape {shape}; one volume [x, y, z] is needed (split a series first)",
            code="not_a_volume",
            value=shape,
            allowed="3 axes",
        )
    if math.prod(shape) > most_voxels:
        raise BadImage(
            f"the image has {math.prod(shape)} voxels, {shape}; at most {most_voxels} are taken: crop or resample it",
            code="too_large",
            value=math.prod(shape),
            unit="voxels",
            allowed=f"1 to {most_voxels}",
        )
    return shape[0], shape[1], shape[2]


def dtype_of(header: Any) -> np.dtype[Any]:
    """Return the type of the voxels, in the file's byte order.

    Raises:
        BadImage: the voxels are not real numbers.
    """
    try:
        dtype = np.dtype(header.get_data_dtype())
    except (KeyError, ValueError, TypeError) as error:
        code = int(header["datatype"])
        raise BadImage(f"the image has the unknown voxel type {code}", code="voxel_type", value=code) from error
    if dtype.kind not in "fiu" or dtype.itemsize not in (1, 2, 4, 8):
        raise BadImage(
            f"the image has voxels of type {dtype}; numbers of 1 to 8 bytes are needed (no colours, no complex ones)",
            code="voxel_type",
            value=dtype,
            allowed="integers, float32, float64",
        )
    own: np.dtype[Any] = dtype.newbyteorder(header.endianness)
    return own


@np.errstate(all="ignore")  # values that are not finite raise a BadImage
def geometry_of(header: Any, shape: Sequence[int], limits: Limits) -> tuple[Affine, tuple[float, float, float], int]:
    """Return affine, spacing in mm and code of the space: sform, else qform, else voxel sizes, as nibabel does.

    Raises:
        BadImage: sizes that no scan of a head has, an affine that cannot be inverted, or contradictory fields.
    """
    pixdim = [float(size) for size in header["pixdim"][1:4]]
    if not all(math.isfinite(size) and size > 0 for size in pixdim):
        raise _bad_spacing(pixdim, limits)
    header.check_fix(logger=_SILENT, error_level=logging.CRITICAL + 1)
    sform, scode = header.get_sform(coded=True)
    try:
        qform, qcode = header.get_qform(coded=True)
    except ValueError as error:  # the quaternion is longer than 1
        if sform is None:
            raise _bad_affine("its quaternion is none", header) from error
        qform, qcode = None, 0
    affine = np.asarray(header.get_best_affine() if sform is None else sform, np.float64)
    if not np.isfinite(affine).all():
        raise _bad_affine("it holds NaN or infinite numbers", affine)
    sizes = np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    spacing = (float(sizes[0]), float(sizes[1]), float(sizes[2]))
    least, most = limits.spacing_mm
    if not all(least <= size <= most for size in spacing):
        raise _bad_spacing(spacing, limits)
    if abs(np.linalg.det(affine[:3, :3] / sizes)) < _FLAT:
        raise _bad_affine("its axes lie in one plane", affine)
    if any(abs(size - other) > _AGREE * other for size, other in zip(spacing, pixdim, strict=True)):
        raise _bad_affine(f"its voxels are of {_mm(spacing)} mm, and pixdim says {_mm(pixdim)} mm", affine)
    if qform is not None and np.linalg.det(qform[:3, :3]) * np.linalg.det(affine[:3, :3]) < 0:
        raise _bad_affine("sform and qform contradict each other: one mirrors the image", affine)
    extents = [size * length for size, length in zip(spacing, shape, strict=True)]
    least, most = limits.extent_mm
    if not all(least <= extent <= most for extent in extents):
        raise BadImage(
            f"the image spans {_mm(extents)} mm; {least:g} to {most:g} mm along each axis hold a head",
            code="field_of_view",
            value=_mm(extents),
            unit="mm",
            allowed=f"{least:g} to {most:g}",
        )
    return affine, spacing, int(code) if (code := scode or qcode or 0) in _SPACES else 0


def _bad_spacing(sizes: Sequence[float], limits: Limits) -> BadImage:
    least, most = limits.spacing_mm
    return BadImage(
        f"the image has voxels of {_mm(sizes)} mm; {least:g} to {most:g} mm are taken: correct the header or resample",
        code="spacing",
        value=_mm(sizes),
        unit="mm",
        allowed=f"{least:g} to {most:g}",
    )


def _bad_affine(why: str, affine: Any) -> BadImage:
    value = np.round(affine[:3], 3).tolist() if isinstance(affine, np.ndarray) else ""
    return BadImage(
        f"the affine cannot be used: {why}; correct sform, qform and pixdim",
        code="affine",
        value=value,
        unit="mm",
        allowed="an invertible map from voxels to mm",
    )


def _mm(sizes: Sequence[float]) -> str:
    return " x ".join(f"{size:.4g}" for size in sizes)

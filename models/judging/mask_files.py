"""Masks from the bytes of files that callers send: NumPy and NIfTI, nothing larger unpacked than is looked at first."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npy_header
from models.imaging.nifti import Affine, BadImage, read_voxels
from models.judging.refusals import BadLabel
from models.unzip import BadStream, Source

MOST_VOXELS = 1 << 27
"""Of a mask: 512 x 512 x 512."""
_NUMBERS = re.compile(r"'([<>|=]?(?:f[248]|[iu][1248]|b1|\?))'")
"""Types of NumPy files, as their headers write them."""


def read_mask(content: bytes) -> tuple[NDArray[np.bool_], Affine | None]:
    """A mask [x, y, z] from the bytes of a file; further axes of length 1 are dropped. And its affine, if it has one.

    Raises:
        BadLabel: neither kind of file, cut off, too large, not of three axes, an affine that cannot be used, or values
            other than 0 and 1.
    """
    try:
        values, affine = (_numpy(content), None) if _is_numpy(content) else read_voxels(content, MOST_VOXELS)
    except (BadImage, BadStream) as error:
        raise BadLabel(f"the mask cannot be read (a .npy, .nii or .nii.gz file is needed): {error}") from error
    marked = values == 1
    if not (known := marked | (values == 0)).all():
        raise BadLabel(f"the mask holds {values[~known][0]}; needed: 0 or 1 in each voxel")
    return np.asarray(marked, bool), affine


def _is_numpy(content: bytes) -> bool:
    try:
        return bytes(Source(content).take(len(npy_header.MAGIC))) == npy_header.MAGIC
    except BadStream:
        return False


def _numpy(content: bytes) -> NDArray[Any]:
    source = Source(content)
    start = bytes(source.take(npy_header.SHORTEST + 2))  # version 1 has two bytes less, which are of its text
    try:
        place = npy_header.place(start)
        text = start[place.start :] + bytes(source.take(max(place.end - len(start), 0)))
        header = npy_header.parse(text[: place.end - place.start])
    except npy_header.BadHeader as error:
        raise BadLabel(f"the NumPy file cannot be read: {error}") from error
    kind = _NUMBERS.fullmatch(header.descr)
    if kind is None:
        raise BadLabel("the mask is not of numbers; needed: 0 or 1 in each voxel")
    dtype, shape = np.dtype(kind[1]), header.shape
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    voxels = math.prod(shape)
    if len(shape) != 3 or any(edge < 1 for edge in shape) or voxels > MOST_VOXELS:
        raise BadLabel(f"the mask has the shape {list(shape)}; needed: [x, y, z], 1 to {MOST_VOXELS} voxels")
    values = np.frombuffer(source.take(voxels * dtype.itemsize), dtype)
    source.finish()
    return values.reshape(shape, order="F" if header.fortran else "C")

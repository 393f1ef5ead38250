"""Masks from the bytes of files that callers send: NumPy and NIfTI, nothing larger unpacked than is looked at first."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.judging.refusals import BadLabel
from models.nifti import Affine, BadImage, read_voxels
from models.unzip import BadStream, Source

MOST_VOXELS = 1 << 27
"""Of a mask: 512 x 512 x 512."""
_NUMPY = b"\x93NUMPY"


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
        return bytes(Source(content).take(len(_NUMPY))) == _NUMPY
    except BadStream:
        return False


def _numpy(content: bytes) -> NDArray[Any]:
    source = Source(content)
    start = bytes(source.take(8))
    length = source.take(2 if start[6] == 1 else 4)
    header = source.take(min(int.from_bytes(length, "little"), 1 << 16))
    file = io.BytesIO(b"".join((start, length, header)))
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (ValueError, EOFError) as error:
        raise BadLabel(f"the NumPy file cannot be read: {error}") from error
    if dtype.kind not in "fiub":
        raise BadLabel("the mask is not of numbers; needed: 0 or 1 in each voxel")
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    voxels = math.prod(shape)
    if len(shape) != 3 or any(edge < 1 for edge in shape) or voxels > MOST_VOXELS:
        raise BadLabel(f"the mask has the shape {list(shape)}; needed: [x, y, z], 1 to {MOST_VOXELS} voxels")
    values = np.frombuffer(source.take(voxels * dtype.itemsize), dtype)
    source.finish()
    return values.reshape(shape, order="F" if fortran else "C")

"""Masks from the bytes of files that callers send: NumPy and NIfTI, nothing larger unpacked than is looked at first."""

from __future__ import annotations

import importlib
import io
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.judging.refusals import BadLabel

MOST_VOXELS = 1 << 27
"""Of a mask: 512 x 512 x 512."""
_MOST_BYTES = 8 * MOST_VOXELS + (1 << 20)
"""Of a file once it is unpacked: float64 voxels, and a header."""


def read_mask(content: bytes) -> NDArray[np.bool_]:
    """A mask [x, y, z] from the bytes of a file; further axes of length 1 are dropped.

    Raises:
        BadLabel: neither kind of file, cut off, too large, not of three axes, or values other than 0 and 1.
    """
    if content[:2] == b"\x1f\x8b":
        content = _unzipped(content)
    values = _numpy(content) if content[:6] == b"\x93NUMPY" else _nifti(content)
    while values.ndim > 3 and values.shape[-1] == 1:
        values = values[..., 0]
    if values.ndim != 3 or not values.size:
        raise BadLabel(f"the mask has the shape {list(values.shape)}; needed: [x, y, z], none of them 0")
    marked = values == 1
    if not (known := marked | (values == 0)).all():
        raise BadLabel(f"the mask holds {values[~known][0]}; needed: 0 or 1 in each voxel")
    return np.asarray(marked, bool)


def _unzipped(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(content, _MOST_BYTES)
    except zlib.error as error:
        raise BadLabel(f"the compressed mask is broken: {error}") from error
    if not unpacker.eof:
        raise BadLabel(f"the compressed mask is cut off, or has more than {_MOST_BYTES} bytes unpacked")
    return unpacked


def _numpy(content: bytes) -> NDArray[Any]:
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (ValueError, EOFError) as error:
        raise BadLabel(f"the NumPy file cannot be read: {error}") from error
    _check_size(shape, dtype.kind, dtype.itemsize, len(content) - file.tell())
    values = np.frombuffer(content, dtype, count=math.prod(shape), offset=file.tell())
    return values.reshape(shape, order="F" if fortran else "C")


def _nifti(content: bytes) -> NDArray[Any]:
    size = int.from_bytes(content[:4], "little"), int.from_bytes(content[:4], "big")
    if 348 not in size and 540 not in size:
        raise BadLabel("the bytes are no mask; needed: a NumPy (.npy) or NIfTI file (.nii, .nii.gz)")
    try:
        nibabel: Any = importlib.import_module("nibabel")
    except ImportError as error:
        raise BadLabel("this service does not read NIfTI: send .npy, or have it install 'demur[evaluate]'") from error
    expected = (OSError, EOFError, ValueError, TypeError, ArithmeticError, MemoryError, AttributeError)
    kind = nibabel.Nifti1Image if 348 in size else nibabel.Nifti2Image
    try:
        image = kind.from_bytes(content)
        shape, dtype = image.header.get_data_shape(), image.header.get_data_dtype()
        _check_size(shape, dtype.kind, dtype.itemsize, len(content) - int(image.dataobj.offset))
        return np.asanyarray(image.dataobj)
    except (*expected, nibabel.filebasedimages.ImageFileError, nibabel.spatialimages.HeaderDataError) as error:
        if isinstance(error, BadLabel):
            raise
        raise BadLabel(f"the NIfTI file cannot be read: {error}") from error


def _check_size(shape: tuple[int, ...], kind: str, itemsize: int, left: int) -> None:
    """Before anything of that size is made: a header may claim what it likes."""
    voxels = math.prod(shape)
    if kind not in "fiub":
        raise BadLabel("the mask is not of numbers; needed: 0 or 1 in each voxel")
    if any(length < 1 for length in shape) or voxels > MOST_VOXELS:
        raise BadLabel(f"the mask has the shape {list(shape)}; needed: 1 to {MOST_VOXELS} voxels")
    if voxels * itemsize > left:
        raise BadLabel(f"the mask is cut off: {voxels * itemsize} bytes of voxels are declared, {left} are there")

"""Reader and writer of NIfTI images as bytes; the header is checked before large memory is allocated.

NIfTI-1 and -2, single files (``.nii``, ``.nii.gz``), either byte order. Header text and extensions, which may name a
person, are never kept. nibabel reads and writes headers; voxels are views of the bytes.
"""

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.imaging.nifti_header import Affine, BadImage, Limits, dtype_of, geometry_of, shape_of
from models.unzip import BadStream, Source

__all__ = ["Affine", "BadImage", "Limits", "Nifti", "anonymous", "read", "read_voxels", "write"]

Array = NDArray[Any]

_MOST_OFFSET = 1 << 22  # bytes before the voxels: the header and its extensions
_SLAB = 1 << 20  # voxels scaled per step
_ANYWHERE = Limits(spacing_mm=(1e-3, 1e3), extent_mm=(0, 1e6))
_LEVEL = 1  # level of gzip: a third of the time of the usual 6, a tenth more bytes
_GEOMETRY = (
    *("xyzt_units", "qform_code", "sform_code", "quatern_b", "quatern_c", "quatern_d"),
    *("qoffset_x", "qoffset_y", "qoffset_z", "srow_x", "srow_y", "srow_z"),
)
_KEPT = ("dim", "datatype", "bitpix", "pixdim", "scl_slope", "scl_inter", *_GEOMETRY)
_CODES = {"broken": "truncated", "cut_off": "truncated", "trailing": "trailing_bytes"}


@dataclass(frozen=True)
class Nifti:
    """NIfTI image as it was read."""

    values: Array
    """Voxels [x, y, z], scaled as the header declares; for unscaled files a read-only view, in either byte order."""
    affine: Affine
    """Voxel index to world, mm, float64 [4, 4]: sform, else qform, else voxel sizes, as nibabel does."""
    spacing: tuple[float, float, float]
    """Edges of a voxel, mm."""
    space: int
    """Code of the affine's target space (NIfTI: 1 scanner, 2 aligned, 3 Talairach, 4 MNI, 5 another template); 0
    unknown."""


def read(content: bytes, limits: Limits | None = None) -> Nifti:
    """Return an image of three axes (beside axes of length 1) of finite numbers.

    Raises:
        BadImage: the bytes are anything else; ``code`` names the fault.
    """
    limits = limits or Limits()
    source, header = _header(content)
    shape = shape_of(header, limits.voxels)
    affine, spacing, space = geometry_of(header, shape, limits)
    values = _values(source, header, shape)
    if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
        wrong = int(values.size - np.count_nonzero(finite))
        raise BadImage(
            f"{wrong} of {values.size} voxels are NaN or infinite; write 0 outside the brain and numbers inside",
            code="not_finite",
            value=wrong,
            unit="voxels",
            allowed="0",
        )
    return Nifti(values, affine, spacing, space)


def read_voxels(content: bytes, most_voxels: int) -> tuple[Array, Affine | None]:
    """Return the voxels [x, y, z], with any geometry and any values, and their affine, as in ``Nifti``.

    The affine is None if the header has none, or exactly the identity, which programs write if they know none.

    Raises:
        BadImage: not of three axes, too many, not of numbers, cut off, or an affine that cannot be used.
    """
    source, header = _header(content)
    shape = shape_of(header, most_voxels)
    affine = None
    if int(header["sform_code"]) or int(header["qform_code"]):
        affine, _, _ = geometry_of(header, shape, _ANYWHERE)
    return _values(source, header, shape), None if affine is None or (affine == np.eye(4)).all() else affine


def write(values: Array, affine: Affine, space: int = 1, slope: float = 1.0) -> bytes:
    """Return a gzipped NIfTI-1 file of voxels [x, y, z] with their geometry only; equal input gives equal bytes.

    sform and qform are both set (qform without shears, which it cannot express), units are mm.

    Args:
        slope: factor by which readers multiply the values (scl_slope).
    """
    import nibabel

    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    header: Any = nibabel.Nifti1Header()
    header.set_data_dtype(values.dtype.newbyteorder("<"))
    header.set_data_shape(values.shape)
    header.set_slope_inter(slope, 0)
    header.set_xyzt_units("mm")
    header.set_qform(affine, code=space or 1)
    header.set_sform(affine, code=space or 1)
    header["vox_offset"], header["magic"] = 352, b"n+1"
    packer = zlib.compressobj(_LEVEL, wbits=31)
    pieces = [packer.compress(header.binaryblock + bytes(4))]
    rows = max(_SLAB // max(values.shape[0] * values.shape[1], 1), 1)
    for first in range(0, values.shape[2], rows):
        part = values[..., first : first + rows].T.astype(values.dtype.newbyteorder("<"), order="C", copy=False)
        pieces.append(packer.compress(np.ascontiguousarray(part).data))
    return b"".join((*pieces, packer.flush()))


def anonymous(content: bytes) -> bytes:
    """Return the same voxels and geometry, gzipped, without header text, extensions and other header fields.

    Raises:
        BadImage: not an image that ``read_voxels`` reads.
    """
    source, header = _header(content)
    shape = shape_of(header, Limits.voxels)
    _skip(source, header)
    clean = type(header)(endianness=header.endianness, check=False)
    for name in _KEPT:
        clean[name] = header[name]
    clean["vox_offset"] = int(clean["sizeof_hdr"]) + 4
    clean["magic"] = header["magic"]
    packer = zlib.compressobj(_LEVEL, wbits=31)
    pieces = [packer.compress(clean.binaryblock + bytes(4))]
    left = math.prod(shape) * dtype_of(header).itemsize
    with _refusing():
        while left:
            pieces.append(packer.compress(source.take(min(left, _SLAB))))
            left -= min(left, _SLAB)
        source.finish()
    return b"".join((*pieces, packer.flush()))


@contextmanager
def _refusing() -> Iterator[None]:
    """Convert errors of broken streams to BadImage."""
    try:
        yield
    except BadStream as error:
        message = f"the file cannot be read: {error}; send it again, whole"
        raise BadImage(message, code=_CODES[error.trouble]) from error


def _header(content: bytes) -> tuple[Source, Any]:
    """Return the source behind the header, and the header unchanged."""
    import nibabel

    source = Source(content)
    with _refusing():
        try:
            start = source.take(4)
        except BadStream as error:
            if error.trouble == "broken":
                raise
            raise _no_nifti() from error
        sizes = {int.from_bytes(start, "little"): "<", int.from_bytes(start, "big"): ">"}
        kind: Any = nibabel.Nifti1Header if 348 in sizes else nibabel.Nifti2Header if 540 in sizes else None
        if kind is None:
            raise _no_nifti()
        size = kind.sizeof_hdr
        header = kind(bytes(start) + bytes(source.take(size - 4)), sizes[size], check=False)
    magic = bytes(header["magic"])[:3]
    if magic in (b"ni1", b"ni2"):
        raise BadImage(
            "the header is of a pair of files (.hdr and .img); send one file (.nii or .nii.gz)", code="not_nifti"
        )
    if magic not in (b"n+1", b"n+2"):
        raise _no_nifti()
    _check_offset(header)
    return source, header


def _no_nifti() -> BadImage:
    return BadImage(
        "the bytes are no NIfTI image; send a .nii or .nii.gz file (DICOM converts with dcm2niix)",
        code="not_nifti",
        allowed=".nii, .nii.gz",
    )


def _skip(source: Source, header: Any) -> None:
    """Move to the first voxel."""
    with _refusing():
        source.take(int(header["vox_offset"]) - int(header["sizeof_hdr"]))


def _check_offset(header: Any) -> None:
    offset, least = float(header["vox_offset"]), int(header["sizeof_hdr"])
    if not least <= offset <= _MOST_OFFSET:
        raise BadImage(
            f"the header says that voxels start at byte {offset:g}; {least} to {_MOST_OFFSET} are possible",
            code="not_nifti",
            value=offset,
            unit="bytes",
            allowed=f"{least} to {_MOST_OFFSET}",
        )


def _values(source: Source, header: Any, shape: tuple[int, int, int]) -> Array:
    dtype = dtype_of(header)
    slope, inter = float(header["scl_slope"]), float(header["scl_inter"])
    scaled = math.isfinite(slope) and slope != 0 and (slope, inter) != (1, 0)
    if scaled and not math.isfinite(inter):
        raise BadImage(
            f"the header scales voxels by {slope:g} and adds {inter}; a number is needed", code="scaling", value=inter
        )
    _skip(source, header)
    with _refusing():
        content = source.take(math.prod(shape) * dtype.itemsize)
        source.finish()
    raw = np.frombuffer(content, dtype)
    if scaled:
        values = np.empty(raw.size, np.float32)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # values that are not finite are rejected by the callers that need finite ones
            for first in range(0, raw.size, _SLAB):
                part = slice(first, first + _SLAB)
                values[part] = raw[part] * np.float64(slope) + np.float64(inter)
        raw = values
    return raw.reshape(shape, order="F")

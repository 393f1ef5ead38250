"""NIfTI images from the bytes that callers send, and back: nothing large is made before the header was looked at.

NIfTI-1 and -2, single files (``.nii``, ``.nii.gz``), either byte order. Header text and extensions, which may name a
person, are never kept. nibabel reads and writes headers; voxels are views of the bytes.
"""

from __future__ import annotations

import logging
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.unzip import BadStream, Source

Affine = NDArray[np.float64]
Array = NDArray[Any]

_MOST_OFFSET = 1 << 22  # bytes before the voxels: the header and its extensions
_AGREE = 0.05  # share by which two statements of a voxel's size may differ
_SLAB = 1 << 20  # voxels that are scaled at once
_LEVEL = 1  # of gzip: a third of the time of the usual 6, a tenth more bytes
_SILENT = logging.Logger("nibabel", logging.CRITICAL + 1)  # what matters is refused here, with a reason
_GEOMETRY = (
    *("xyzt_units", "qform_code", "sform_code", "quatern_b", "quatern_c", "quatern_d"),
    *("qoffset_x", "qoffset_y", "qoffset_z", "srow_x", "srow_y", "srow_z"),
)
_KEPT = ("dim", "datatype", "bitpix", "pixdim", "scl_slope", "scl_inter", *_GEOMETRY)
_CODES = {"broken": "truncated", "cut_off": "truncated", "trailing": "trailing_bytes"}


class BadImage(ValueError):
    """The bytes are no image of the kind that is needed; ``field`` is filled by who knows which input it was."""

    def __init__(self, message: str, *, code: str, value: object = "", unit: str = "", allowed: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.value, self.unit, self.allowed = message, code, str(value), unit, allowed
        self.field = ""

    def of(self, field: str) -> BadImage:
        """The same, of a named input."""
        self.field = field
        return self


@dataclass(frozen=True)
class Limits:
    """What an image may ask for, before anything of its size is made."""

    voxels: int = 1 << 26
    spacing_mm: tuple[float, float] = (0.2, 8.0)
    """Edge of a voxel along each axis."""
    extent_mm: tuple[float, float] = (40.0, 512.0)
    """Field of view along each axis."""


@dataclass(frozen=True)
class Nifti:
    """An image as it came."""

    values: Array
    """Voxels [x, y, z], scaled as the header says; of unscaled files a read-only view, of either byte order."""
    affine: Affine
    """Voxel index to world, mm, float64 [4, 4]: sform, else qform, else voxel sizes, as nibabel does."""
    spacing: tuple[float, float, float]
    """Edges of a voxel, mm."""
    space: int
    """Code of the space that the affine leads to (NIfTI: 1 scanner, 2 aligned, 3 Talairach, 4 MNI); 0 unknown."""


def read(content: bytes, limits: Limits | None = None) -> Nifti:
    """An image of three axes (beside axes of length 1) of finite numbers.

    Raises:
        BadImage: anything else; see the codes in this module.
    """
    limits = limits or Limits()
    source, header = _header(content)
    shape = _shape(header, limits.voxels)
    affine, spacing, space = _geometry(header, shape, limits)
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


def read_voxels(content: bytes, most_voxels: int) -> Array:
    """The voxels alone [x, y, z], wherever they lie in the world and whatever their values.

    Raises:
        BadImage: not of three axes, too many, not of numbers, or cut off.
    """
    source, header = _header(content)
    return _values(source, header, _shape(header, most_voxels))


def write(values: Array, affine: Affine, space: int = 1) -> bytes:
    """A gzipped NIfTI-1 file of voxels [x, y, z], which says nothing but where they lie; equal input, equal bytes.

    sform and qform are both set (qform without shears, which it cannot say), units are mm.
    """
    import nibabel

    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    header: Any = nibabel.Nifti1Header()
    header.set_data_dtype(values.dtype.newbyteorder("<"))
    header.set_data_shape(values.shape)
    header.set_slope_inter(1, 0)
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
    """The same voxels and geometry, gzipped, without header text, extensions and whatever else a header can hold.

    Raises:
        BadImage: not an image that ``read_voxels`` reads.
    """
    source, header = _header(content)
    shape = _shape(header, Limits.voxels)
    _skip(source, header)
    clean = type(header)(endianness=header.endianness, check=False)
    for name in _KEPT:
        clean[name] = header[name]
    clean["vox_offset"] = int(clean["sizeof_hdr"]) + 4
    clean["magic"] = header["magic"]
    packer = zlib.compressobj(_LEVEL, wbits=31)
    pieces = [packer.compress(clean.binaryblock + bytes(4))]
    left = math.prod(shape) * _dtype(header).itemsize
    with _refusing():
        while left:
            pieces.append(packer.compress(source.take(min(left, _SLAB))))
            left -= min(left, _SLAB)
        source.finish()
    return b"".join((*pieces, packer.flush()))


class _refusing:
    """Streams that break become images that are refused."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, BadStream):
            raise BadImage(
                f"the file cannot be read: {error}; send it again, whole", code=_CODES[error.trouble]
            ) from error


def _header(content: bytes) -> tuple[Source, Any]:
    """What follows the header, and the header as it stands."""
    import nibabel

    source = Source(content)
    with _refusing():
        try:
            start = source.take(4)
        except BadStream as error:
            if error.trouble == "broken":
                raise
            raise _no_nifti() from error
        sizes = {int.from_bytes(start, "little"), int.from_bytes(start, "big")}
        kind: Any = nibabel.Nifti1Header if 348 in sizes else nibabel.Nifti2Header if 540 in sizes else None
        if kind is None:
            raise _no_nifti()
        header = kind(bytes(start) + bytes(source.take(kind.sizeof_hdr - 4)), check=False)
    magic = bytes(header["magic"])[:3]
    if magic in (b"ni1", b"ni2"):
        raise BadImage(
            "the header is of a pair of files (.hdr and .img); send one file (.nii or .nii.gz)", code="not_nifti"
        )
    if magic not in (b"n+1", b"n+2"):
        raise _no_nifti()
    return source, header


def _no_nifti() -> BadImage:
    return BadImage(
        "the bytes are no NIfTI image; send a .nii or .nii.gz file (DICOM converts with dcm2niix)",
        code="not_nifti",
        allowed=".nii, .nii.gz",
    )


def _shape(header: Any, most_voxels: int) -> tuple[int, int, int]:
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


def _dtype(header: Any) -> np.dtype[Any]:
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


def _skip(source: Source, header: Any) -> None:
    """Goes to the first voxel."""
    offset, least = float(header["vox_offset"]), int(header["sizeof_hdr"])
    if not least <= offset <= _MOST_OFFSET:
        raise BadImage(
            f"the header says that voxels start at byte {offset:g}; {least} to {_MOST_OFFSET} are possible",
            code="not_nifti",
            value=offset,
            unit="bytes",
            allowed=f"{least} to {_MOST_OFFSET}",
        )
    with _refusing():
        source.take(int(offset) - least)


def _values(source: Source, header: Any, shape: tuple[int, int, int]) -> Array:
    dtype = _dtype(header)
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
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused where it matters
            for first in range(0, raw.size, _SLAB):
                part = slice(first, first + _SLAB)
                values[part] = raw[part] * np.float64(slope) + np.float64(inter)
        raw = values
    return raw.reshape(shape, order="F")


def _geometry(header: Any, shape: Sequence[int], limits: Limits) -> tuple[Affine, tuple[float, float, float], int]:
    """Where voxels lie, checked: affine, spacing in mm, code of the space."""
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
    if abs(np.linalg.det(affine[:3, :3] / sizes)) < 0.1:
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
    return affine, spacing, int(scode or qcode or 0)


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

"""Label rule for masks: one minus the normalised Dice (Shifts 2.0, C.2.1)."""

import io
import math
import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npy_header
from models.agreement.relation import Relation
from models.assessment.segmentation import dice, ndsc
from models.head import Head
from models.imaging import nifti
from models.imaging.nifti import Affine, BadImage, read_voxels
from models.imaging.orientation import reoriented
from models.label_errors.values import BadLabel
from models.predictive import Volumes
from models.unzip import BadStream, Source

Mask = NDArray[np.bool_]

MOST_VOXELS = 1 << 27
"""Number of voxels of the largest mask: 512 x 512 x 512."""
_NUMBERS = re.compile(r"'([<>|=]?(?:f[248]|[iu][1248]|b1|\?))'")
"""Types in the headers of NumPy files."""
_GRID = struct.Struct("<III12f")
_NOWHERE = (math.nan,) * 12


class NormalisedDiceError:
    """One minus the normalised Dice of a binary mask.

    Evidence and label: the shape, the affine (12 float32, mm; NaN if unknown), then the indices at which the voxels in
    C order change from 0 to 1 and back; all little-endian, places uint32. A mask of a megabyte takes some ten
    kilobytes; equal masks have equal bytes.

    A label may hold the scan's voxels in any order of axes if its file has an affine; without one the scan's own order
    is assumed.
    """

    relation: Relation | None = "overlap"
    largest = 1.0

    def __init__(self, head: Head) -> None:
        self._head = head

    def evidence(self, predictive: Volumes, units: NDArray[np.intp]) -> list[bytes]:
        affines = predictive.affines
        return [
            _packed(np.asarray(predictive.mask[unit], bool), None if affines is None else affines[unit])
            for unit in units.tolist()
        ]

    def label(self, value: object) -> bytes:
        """Read a mask of 0 and 1 from the bytes of a NumPy (.npy) or NIfTI file (.nii, .nii.gz)."""
        if not isinstance(value, bytes):
            raise BadLabel(
                f"no label of {self._head.name}; needed: the bytes of a .npy, .nii or .nii.gz file ({self._head.label})"
            )
        return _packed(*read_mask(value))

    def value(self, label: bytes) -> bytes:
        """Return the mask as the bytes of a NIfTI file (.nii.gz), or as those of a NumPy file if it has no affine."""
        mask, affine = _unpacked(label)
        if affine is not None:
            return nifti.write(mask, affine)
        file = io.BytesIO()
        np.save(file, mask, allow_pickle=False)
        return file.getvalue()

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        """Return errors from 0 to 1 [n]; NaN for masks with other voxels (``check_fit``), or a truth of lesion only."""
        errors = np.full(len(labels), np.nan)
        for index, (own, label) in enumerate(zip(evidence, labels, strict=True)):
            mask, affine = _unpacked(own)
            truth = _in_order(*_unpacked(label), mask.shape, affine)
            if truth is not None:
                errors[index] = 1 - ndsc(truth, mask)
        return errors

    def prediction(self, evidence: bytes) -> bytes:
        return self.value(evidence)

    def difference(self, one: bytes, other: bytes) -> float:
        """Return one minus Dice, in any order of axes; NaN for masks of other voxels. Two empty masks agree."""
        mask, affine = _unpacked(one)
        second = _in_order(*_unpacked(other), mask.shape, affine)
        if second is None:
            return math.nan
        return 1 - dice(mask, second)

    def check_fit(self, evidence: bytes, label: bytes) -> None:
        """Check that a mask has the voxels of the predicted scan, in any order of axes.

        Raises:
            BadLabel: it has other voxels.
        """
        (shape, affine), (own, place) = _grid(evidence), _grid(label)
        if _in_order(np.broadcast_to(np.False_, own), place, shape, affine) is None:
            scan, mask = ("x".join(map(str, size)) for size in (shape, own))
            where = "" if scan != mask else ", but its affine places them elsewhere"
            raise BadLabel(f"the mask has {mask} voxels, the scan {scan}{where}; draw it on the scan's own grid")


def _in_order(truth: Mask, affine: Affine | None, shape: tuple[int, ...], grid_affine: Affine | None) -> Mask | None:
    """Return a truth on the grid of a prediction; None if it has other voxels."""
    if affine is None or grid_affine is None:
        return truth if truth.shape == shape else None
    return reoriented(truth, affine, shape, grid_affine)


def _packed(mask: Mask, affine: Affine | None) -> bytes:
    flat = np.ascontiguousarray(mask).reshape(-1)
    turns = np.flatnonzero(flat[1:] != flat[:-1]).astype("<u4") + np.uint32(1)
    if flat[0]:
        turns = np.concatenate((np.zeros(1, "<u4"), turns))
    place = _NOWHERE if affine is None else affine[:3].ravel().tolist()
    return _GRID.pack(*mask.shape, *place) + turns.astype("<u4").tobytes()


def _grid(packed: bytes) -> tuple[tuple[int, ...], Affine | None]:
    """Return shape and affine."""
    numbers = _GRID.unpack_from(packed)
    place = np.array(numbers[3:], np.float64).reshape(3, 4)
    return numbers[:3], None if np.isnan(place).any() else np.vstack((place, (0, 0, 0, 1)))


def _unpacked(packed: bytes) -> tuple[Mask, Affine | None]:
    shape, affine = _grid(packed)
    flat = np.zeros(int(np.prod(shape)), bool)
    flat[np.frombuffer(packed, "<u4", offset=_GRID.size)] = True
    return np.logical_xor.accumulate(flat).reshape(shape), affine


def read_mask(content: bytes) -> tuple[NDArray[np.bool_], Affine | None]:
    """Read a mask [x, y, z], and its affine if it has one, from the bytes of a file.

    Further axes of length 1 are dropped; nothing is unpacked beyond the largest mask.

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

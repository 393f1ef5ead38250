"""Masks judged by one minus the normalised Dice (Shifts 2.0, C.2.1): the binary mask is kept, the label is one."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.assessment.segmentation import ndsc
from models.head import Head
from models.imaging import nifti
from models.imaging.nifti import Affine
from models.imaging.orientation import reoriented
from models.judging.mask_files import read_mask
from models.judging.refusals import BadLabel
from models.predictive import Volumes

Mask = NDArray[np.bool_]

_GRID = struct.Struct("<III12f")
_NOWHERE = (math.nan,) * 12


class NormalisedDiceError:
    """Evidence and label: the shape, the affine (12 float32, mm; NaN where unknown), then where the voxels in C order
    turn from 0 to 1 and back; all little-endian, places uint32. A megabyte of mask becomes some ten kilobytes, the
    same for equal masks.

    A label may hold the scan's voxels in any order of axes, if its file says where they lie. One that does not say
    is taken to have the scan's own order.
    """

    def __init__(self, head: Head) -> None:
        self._head = head

    def evidence(self, predictive: Volumes, units: NDArray[np.intp]) -> list[bytes]:
        affines = predictive.affines
        return [
            _packed(np.asarray(predictive.mask[unit], bool), None if affines is None else affines[unit])
            for unit in units.tolist()
        ]

    def label(self, value: object) -> bytes:
        """A mask of 0 and 1 as the bytes of a NumPy (.npy) or NIfTI file (.nii, .nii.gz)."""
        if not isinstance(value, bytes):
            raise BadLabel(
                f"no label of {self._head.name}; needed: the bytes of a .npy, .nii or .nii.gz file ({self._head.label})"
            )
        return _packed(*read_mask(value))

    def value(self, label: bytes) -> bytes:
        """The mask as the bytes of a NIfTI file (.nii.gz), of a NumPy file where nobody said where it lies."""
        mask, affine = _unpacked(label)
        if affine is not None:
            return nifti.write(mask, affine)
        file = io.BytesIO()
        np.save(file, mask, allow_pickle=False)
        return file.getvalue()

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        """0 to 1 [n]; NaN where masks are of other voxels (``check_fit``), and for a truth of lesion only: no nDSC."""
        errors = np.full(len(labels), np.nan)
        for index, (own, label) in enumerate(zip(evidence, labels, strict=True)):
            mask, affine = _unpacked(own)
            truth = _in_order(*_unpacked(label), mask.shape, affine)
            if truth is not None:
                errors[index] = 1 - ndsc(truth, mask)
        return errors

    def check_fit(self, evidence: bytes, label: bytes) -> None:
        """A mask has the voxels of the scan that was predicted, in any order of axes.

        Raises:
            BadLabel: it has others.
        """
        (shape, affine), (own, place) = _grid(evidence), _grid(label)
        if _in_order(np.broadcast_to(np.False_, own), place, shape, affine) is None:
            scan, mask = ("x".join(map(str, size)) for size in (shape, own))
            where = "" if scan != mask else ", but its affine places them elsewhere"
            raise BadLabel(f"the mask has {mask} voxels, the scan {scan}{where}; draw it on the scan's own grid")


def _in_order(truth: Mask, affine: Affine | None, shape: tuple[int, ...], wanted: Affine | None) -> Mask | None:
    """A truth on the grid of a prediction; None: it is of other voxels."""
    if affine is None or wanted is None:
        return truth if truth.shape == shape else None
    return reoriented(truth, affine, shape, wanted)


def _packed(mask: Mask, affine: Affine | None) -> bytes:
    flat = np.ascontiguousarray(mask).reshape(-1)
    turns = np.flatnonzero(flat[1:] != flat[:-1]).astype("<u4") + np.uint32(1)
    if flat[0]:
        turns = np.concatenate((np.zeros(1, "<u4"), turns))
    place = _NOWHERE if affine is None else affine[:3].ravel().tolist()
    return _GRID.pack(*mask.shape, *place) + turns.astype("<u4").tobytes()


def _grid(packed: bytes) -> tuple[tuple[int, ...], Affine | None]:
    """Shape and affine."""
    found = _GRID.unpack_from(packed)
    place = np.array(found[3:], np.float64).reshape(3, 4)
    return found[:3], None if np.isnan(place).any() else np.vstack((place, (0, 0, 0, 1)))


def _unpacked(packed: bytes) -> tuple[Mask, Affine | None]:
    shape, affine = _grid(packed)
    flat = np.zeros(int(np.prod(shape)), bool)
    flat[np.frombuffer(packed, "<u4", offset=_GRID.size)] = True
    return np.logical_xor.accumulate(flat).reshape(shape), affine

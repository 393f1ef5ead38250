"""Masks judged by one minus the normalised Dice (Shifts 2.0, C.2.1): the binary mask is kept, the label is one."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.segmentation import ndsc
from models.head import Head
from models.judging.mask_files import read_mask
from models.judging.refusals import BadLabel
from models.predictive import Volumes

_SHAPE = struct.Struct("<III")


class NormalisedDiceError:
    """Evidence and label: the shape, then where the voxels in C order turn from 0 to 1 and back; all uint32
    little-endian. A megabyte of mask becomes some ten kilobytes, the same for equal masks.

    The label's voxels are those of the scan that was asked about, in its order: the figure counts voxels, and does
    not look where a file says that they lie.
    """

    def __init__(self, head: Head) -> None:
        self._head = head

    def evidence(self, predictive: Volumes, units: NDArray[np.intp], payload: Any = None) -> list[bytes]:
        return [_packed(np.asarray(predictive.mask[unit], bool)) for unit in units.tolist()]

    def label(self, value: object) -> bytes:
        """A mask of 0 and 1 as the bytes of a NumPy (.npy) or NIfTI file (.nii, .nii.gz)."""
        if not isinstance(value, bytes):
            raise BadLabel(
                f"no label of {self._head.name}; needed: the bytes of a .npy, .nii or .nii.gz file ({self._head.label})"
            )
        return _packed(read_mask(value))

    def value(self, label: bytes) -> bytes:
        """The mask as the bytes of a NumPy file."""
        file = io.BytesIO()
        np.save(file, _unpacked(label), allow_pickle=False)
        return file.getvalue()

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        """0 to 1 [n]; NaN where the shapes differ, and for a truth of lesion only, which has no nDSC."""
        errors = np.full(len(labels), np.nan)
        for index, (own, label) in enumerate(zip(evidence, labels, strict=True)):
            if own[: _SHAPE.size] == label[: _SHAPE.size]:
                errors[index] = 1 - ndsc(_unpacked(label), _unpacked(own))
        return errors


def _packed(mask: NDArray[np.bool_]) -> bytes:
    flat = np.ascontiguousarray(mask).view(np.int8).reshape(-1)
    turns = np.flatnonzero(np.diff(flat, prepend=np.int8(0)))
    return _SHAPE.pack(*mask.shape) + turns.astype("<u4").tobytes()


def _unpacked(packed: bytes) -> NDArray[np.bool_]:
    shape = _SHAPE.unpack_from(packed)
    flat = np.zeros(int(np.prod(shape)), bool)
    flat[np.frombuffer(packed, "<u4", offset=_SHAPE.size)] = True
    return np.logical_xor.accumulate(flat).reshape(shape)

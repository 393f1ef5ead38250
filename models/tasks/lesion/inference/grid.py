"""Grid of the networks in a scan, and resampling of volumes between both grids.

Scans of the networks' spacing are only turned, without loss. Others are interpolated along their own axes: oblique
slices keep their orientation relative to the head; sheared axes are straightened.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.imaging.nifti import Affine, BadImage, Limits

Array = NDArray[Any]
Float32 = NDArray[np.float32]
Mask = NDArray[np.bool_]
Shape = tuple[int, int, int]

SAME = 0.01
"""Largest relative difference in voxel size, and largest cosine between axes, that need no interpolation."""
_FINER = 1.5  # ratio to the networks' resolution above which an image is smoothed first
_FWHM = math.sqrt(8 * math.log(2))  # full width at half maximum of a Gaussian, in standard deviations


@dataclass(frozen=True)
class Step:
    """Affine map from an index on the networks' grid to one on the turned scan: ``matrix`` @ index + ``offset``."""

    matrix: Affine
    offset: Affine

    @property
    def is_diagonal(self) -> bool:
        return bool(np.count_nonzero(self.matrix) == 3 and np.diag(self.matrix).all())

    @property
    def inverse(self) -> Step:
        matrix = np.linalg.inv(self.matrix)
        return Step(np.where(np.abs(matrix) < 1e-12, 0, matrix), -matrix @ self.offset)


@dataclass(frozen=True)
class Grid:
    """Grid of the networks for one scan."""

    shape: Shape
    affine: Affine
    """Affine from index to world coordinates, mm, float64 [4, 4]."""
    axes: Shape
    """Axis of the scan that becomes each axis of this grid."""
    flipped: tuple[bool, bool, bool]
    """True for axes that grow in the opposite direction."""
    scan_shape: Shape
    scan_affine: Affine
    step: Step | None
    """Interpolation step; None: the scan is only turned."""

    @property
    def turned_scan_shape(self) -> Shape:
        """Shape of the scan along the networks' axes."""
        x, y, z = (self.scan_shape[axis] for axis in self.axes)
        return x, y, z

    @property
    def voxel_mm3(self) -> float:
        return float(abs(np.linalg.det(self.affine[:3, :3])))

    def turned(self, volume: Array) -> Array:
        """Return a view of a volume of the scan, along the networks' axes."""
        flips = tuple(slice(None, None, -1) if flip else slice(None) for flip in self.flipped)
        return volume.transpose(self.axes)[flips]

    def turned_back(self, volume: Array) -> Array:
        """Return the inverse of ``turned``, also a view."""
        flips = tuple(slice(None, None, -1) if flip else slice(None) for flip in self.flipped)
        return volume[flips].transpose(np.argsort(self.axes))

    def resampled(self, volume: Array, smooth: bool = True) -> Float32:
        """Resample a volume of the scan to this grid, float32, contiguous: linear, smoothed first if the scan is finer.

        The width of smoothing brings a voxel's point spread to that of the new voxel (Cardoso et al. 2015).
        """
        from scipy import ndimage

        turned = self.turned(volume)
        if self.step is None:
            return np.ascontiguousarray(turned, np.float32)
        values = np.ascontiguousarray(turned, np.float32)
        ratio = np.sqrt((self.step.matrix**2).sum(axis=1))  # voxels of the scan per voxel of this grid
        for axis in range(3) if smooth else ():
            if ratio[axis] > _FINER:
                sigma = math.sqrt(ratio[axis] ** 2 - 1) / _FWHM
                values = ndimage.gaussian_filter1d(values, sigma, axis=axis, mode="nearest", truncate=3)
        return _interpolated(values, self.step, self.shape, outside="nearest" if self.step.is_diagonal else "constant")

    def back(self, volume: Array) -> Array:
        """Return a map of this grid on the scan's: linear, float32; a view if no interpolation is needed."""
        if self.step is None:
            return self.turned_back(volume)
        return self.turned_back(self.planes_back(volume, 0, self.turned_scan_shape[0]))

    def planes_back(self, volume: Array, first: int, last: int) -> Float32:
        """Return planes ``first`` up to ``last`` of the turned scan's first axis, a part of the input of
        ``turned_back``.
        """
        assert self.step is not None
        step = self.step.inverse
        _, *others = self.turned_scan_shape
        moved = Step(step.matrix, step.offset + step.matrix[:, 0] * first)
        return _interpolated(volume, moved, (last - first, *others))

    def near_back(self, marks: Array) -> Array:
        """Return marks of this grid on the scan's: each voxel takes the nearest mark; 0 outside."""
        if self.step is None:
            return self.turned_back(marks)
        return self.turned_back(_interpolated(marks, self.step.inverse, self.turned_scan_shape, order=0))

    def mask_back(self, mask: Mask) -> Mask:
        """Return a mask of this grid on the scan's: voxels where its linear interpolation reaches one half.

        A component (voxels that share faces) that falls between the scan's voxels keeps as many of those nearest to it
        as fill its volume, at least one: a detected lesion is never lost.
        """
        if self.step is None:
            return self.turned_back(mask)
        if not mask.any():
            return np.zeros(self.scan_shape, bool)
        marked = _interpolated(mask.astype(np.float32), self.step.inverse, self.turned_scan_shape) >= 0.5
        self._keep_lost(mask, marked)
        return self.turned_back(marked)

    def _keep_lost(self, mask: Mask, marked: Mask) -> None:
        from scipy import ndimage

        assert self.step is not None
        (box,) = ndimage.find_objects(mask.view(np.uint8))
        crop = tuple(slice(max(part.start - 1, 0), part.stop + 1) for part in box)
        corner = np.array([part.start for part in crop])
        labels, number = ndimage.label(mask[crop])
        around = ndimage.grey_dilation(
            labels, size=3
        )  # the nearest voxel of a half-marked one may be next to its component
        places = np.argwhere(marked) @ self.step.inverse.matrix.T + self.step.inverse.offset - corner
        nearest = np.clip(np.rint(places).astype(np.intp), 0, np.array(labels.shape) - 1)
        lost = np.setdiff1d(np.arange(1, number + 1), around[tuple(nearest.T)])
        boxes = ndimage.find_objects(labels)
        share = self.voxel_mm3 / float(abs(np.linalg.det(self.scan_affine[:3, :3])))
        for label in lost.tolist():
            box = boxes[label - 1]
            own = np.argwhere(labels[box] == label) + [part.start for part in box] + corner
            places = np.rint(own @ self.step.matrix.T + self.step.offset).astype(np.intp)
            voxels, times = np.unique(np.clip(places, 0, np.array(marked.shape) - 1), axis=0, return_counts=True)
            best = np.argsort(-times, kind="stable")[: max(round(len(own) * share), 1)]
            marked[tuple(voxels[best].T)] = True


def model_grid(shape: Shape, affine: Affine, orientation: str, spacing: float, limits: Limits | None = None) -> Grid:
    """Return the networks' grid for a scan: axes in the directions of ``orientation``, voxels of ``spacing`` mm.

    An empty orientation keeps scans that need no interpolation as they are, and turns others to RAS.

    Raises:
        BadImage: the grid has too many voxels.
        ValueError: the orientation is invalid.
    """
    from nibabel import orientations

    fits = _fits(affine, spacing)
    codes = orientation or ("" if fits else "RAS")
    start = orientations.io_orientation(affine)
    end = orientations.axcodes2ornt(tuple(codes)) if codes else start
    change = orientations.ornt_transform(start, end)  # new axis and direction of each axis of the scan
    axes = np.argsort(change[:, 0])
    turned = affine @ orientations.inv_ornt_aff(change, shape)
    turned_shape = (int(shape[axes[0]]), int(shape[axes[1]]), int(shape[axes[2]]))
    step = None
    if not fits:
        step, turned_shape, turned = _stepped(turned_shape, turned, spacing)
        if math.prod(turned_shape) > (limits or Limits()).voxels:
            raise BadImage(
                f"at {spacing:g} mm the image has {math.prod(turned_shape)} voxels; crop it to the head",
                code="too_large",
                value=math.prod(turned_shape),
                unit="voxels",
                allowed=f"1 to {(limits or Limits()).voxels}",
            )
    return Grid(
        shape=turned_shape,
        affine=turned,
        axes=(int(axes[0]), int(axes[1]), int(axes[2])),
        flipped=(bool(change[axes[0], 1] < 0), bool(change[axes[1], 1] < 0), bool(change[axes[2], 1] < 0)),
        scan_shape=shape,
        scan_affine=affine,
        step=step,
    )


def _fits(affine: Affine, spacing: float) -> bool:
    """Return whether voxels are cubes of the networks' size, in any orientation."""
    sizes = np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    directions = affine[:3, :3] / sizes
    cosines = directions.T @ directions - np.eye(3)
    return bool((np.abs(sizes - spacing) <= SAME * spacing).all() and (np.abs(cosines) <= SAME).all())


def _stepped(shape: Shape, affine: Affine, spacing: float) -> tuple[Step, Shape, Affine]:
    """Return a grid of this spacing that covers a scan, along the orthogonal axes nearest to its own."""
    edges = affine[:3, :3]
    left, _, right = np.linalg.svd(edges / np.sqrt((edges**2).sum(axis=0)))
    axes = left @ right
    scale = axes.T @ edges  # voxel of the scan to mm along the new axes
    scale[np.abs(scale) < SAME * np.abs(scale).max(axis=0) * 1e-2] = 0
    corners = np.array([*itertools.product(*((-0.5, length - 0.5) for length in shape))]) @ scale.T
    low, high = corners.min(axis=0), corners.max(axis=0)
    counts = np.maximum(np.ceil((high - low) / spacing - SAME), 1).astype(int)
    origin = (low + high) / 2 - (counts - 1) / 2 * spacing
    inverse = np.linalg.inv(scale)
    inverse[np.abs(inverse) < 1e-12] = 0
    new = np.eye(4)
    new[:3, :3] = axes * spacing
    new[:3, 3] = affine[:3, 3] + axes @ origin
    return Step(inverse * spacing, inverse @ origin), (int(counts[0]), int(counts[1]), int(counts[2])), new


def _interpolated(
    values: Array, step: Step, shape: tuple[int, ...], *, order: int = 1, outside: str = "nearest"
) -> Array:
    """Return values at the positions of ``step``, in their own type."""
    from scipy import ndimage

    matrix = np.diag(step.matrix).copy() if step.is_diagonal else step.matrix
    resampled = ndimage.affine_transform(
        values, matrix, step.offset, shape, output=values.dtype, order=order, mode=outside, prefilter=False
    )
    return np.asarray(resampled)

"""Slices of a volume in radiological view, for any orientation of its axes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import components
from models.evaluation.files import need

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Voxel = tuple[int, int, int]
Box = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
"""First and last end of a box along each axis, voxels; the edge of the first voxel is 0."""


@dataclass(frozen=True)
class Plane:
    """Viewing plane. Axes 0, 1, 2 run to the patient's right, front and head."""

    name: str
    cut: int
    """Axis perpendicular to the slices."""
    across: int
    """Axis from the right side of the picture to its left: the view is from the feet, the front, and the left."""
    up: int
    edges: tuple[str, str, str, str]
    """Directions left, right, up and down in the picture."""


PLANES = (
    Plane("axial", 2, 0, 1, ("R", "L", "A", "P")),
    Plane("coronal", 1, 0, 2, ("R", "L", "S", "I")),
    Plane("sagittal", 0, 1, 2, ("A", "P", "S", "I")),
)


@dataclass(frozen=True)
class View:
    """Volumes turned so that their axes run nearly to the patient's right, front and head."""

    volumes: Mapping[str, Array]
    """Volumes [x, y, z] by name, of one shape."""
    affine: NDArray[np.float64]
    """Affine from voxel indices to mm, [4, 4]."""

    @property
    def shape(self) -> Voxel:
        x, y, z = next(iter(self.volumes.values())).shape
        return x, y, z

    @property
    def spacing(self) -> NDArray[np.float64]:
        """Edges of a voxel, mm [3]."""
        return np.asarray(np.linalg.norm(self.affine[:3, :3], axis=0))

    def section(self, name: str, plane: Plane, index: int) -> Array:
        """Return a slice in the orientation of the picture, [up, right]."""
        flat = np.take(self.volumes[name], index, axis=plane.cut)
        return np.asarray(flat.T[:, ::-1])

    def extent(self, plane: Plane) -> tuple[float, float]:
        """Return width and height of a slice, mm."""
        return self.shape[plane.across] * self.spacing[plane.across], self.shape[plane.up] * self.spacing[plane.up]

    def place(self, plane: Plane, voxel: NDArray[Any] | Voxel) -> tuple[float, float]:
        """Return the middle of a voxel in a slice, mm from its left and its lower edge."""
        right = (self.shape[plane.across] - 0.5 - voxel[plane.across]) * self.spacing[plane.across]
        return float(right), float((voxel[plane.up] + 0.5) * self.spacing[plane.up])

    def window(self, plane: Plane, box: Box) -> tuple[float, float, float, float]:
        """Return left, right, lower and upper end of a box in a slice, mm."""
        (first, last), (low, high) = box[plane.across], box[plane.up]
        across, up = self.spacing[plane.across], self.spacing[plane.up]
        whole = self.shape[plane.across]
        return (whole - last) * across, (whole - first) * across, low * up, high * up

    def space(self, voxel: Voxel) -> NDArray[np.float64]:
        """Return x, y, z of a voxel's middle, mm."""
        return np.asarray(self.affine[:3, :3] @ voxel + self.affine[:3, 3])

    def voxel(self, space: tuple[float, float, float]) -> NDArray[np.float64]:
        """Return the voxel at x, y, z, mm, not rounded."""
        return np.asarray(np.linalg.solve(self.affine[:3, :3], np.asarray(space) - self.affine[:3, 3]))


def upright(volumes: Mapping[str, Array], affine: Array) -> View:
    """Turn the axes of volumes, without interpolation.

    Raises:
        ValueError: volumes differ in shape, or the affine has no directions.
        BadFile: nibabel is not installed.
    """
    orientations = need("nibabel.orientations", "a figure")
    shapes = {values.shape for values in volumes.values()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 3:
        raise ValueError(
            f"volumes have the shapes {[list(values.shape) for values in volumes.values()]}; one is needed"
        )
    orientation = orientations.io_orientation(affine)
    if not np.isfinite(orientation).all():
        raise ValueError(f"the affine {np.asarray(affine).tolist()} gives no direction for some axis")
    turned = {name: orientations.apply_orientation(values, orientation) for name, values in volumes.items()}
    return View(turned, np.asarray(affine, np.float64) @ orientations.inv_ornt_aff(orientation, shape))


def bounds(marked: Mask, room: NDArray[Any]) -> Box:
    """Return the box around marked voxels with ``room`` voxels [3] on each side; the whole volume without marks."""
    ends: list[tuple[float, float]] = []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        (places,) = np.nonzero(marked.any(axis=others))
        size = marked.shape[axis]
        first, last = (places[0], places[-1] + 1) if len(places) else (0, size)
        ends.append((max(float(first - room[axis]), 0.0), min(float(last + room[axis]), float(size))))
    return ends[0], ends[1], ends[2]


def crossing(prediction: Mask, uncertainty: Array, truth: Mask | None = None) -> Voxel:
    """Return the voxel of the three slices: in the lesion with most uncertainty, where the slices show most of it.

    Without a predicted lesion, in the largest true one; without any, the most uncertain voxel.
    """
    for mask, weights in ((prediction, uncertainty), (truth, None)):
        if mask is None or not mask.any():
            continue
        labels = components(mask)
        voxels = np.argwhere(mask)
        of = labels[mask]
        held = np.ones(len(of)) if weights is None else np.nan_to_num(weights[mask]).astype(np.float64) + 1e-9
        chosen = of == np.bincount(of, held)[1:].argmax() + 1
        voxels, held = voxels[chosen], held[chosen]
        best = [np.bincount(voxels[:, axis], held).argmax() for axis in range(3)]
        x, y, z = voxels[((voxels - best) ** 2).sum(axis=1).argmin()].tolist()
        return x, y, z
    x, y, z = np.unravel_index(int(np.nan_to_num(uncertainty).argmax()), uncertainty.shape)
    if uncertainty[x, y, z] > 0:
        return int(x), int(y), int(z)
    x, y, z = (size // 2 for size in uncertainty.shape)
    return x, y, z

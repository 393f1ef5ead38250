"""Slices of medical images as pictures in radiological display, and masks that are drawn on such pictures.

Axial and coronal slices have the patient's right side on the left, sagittal ones the nose on the left; the head is up.
A pixel is a voxel of the image's own grid, whatever the order of its axes.
"""

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.imaging.nifti import Affine, Limits, read_voxels
from models.imaging.nifti_header import geometry_of
from models.unzip import Source

PLANES = {"axial": (0, 1, 2), "coronal": (0, 2, 1), "sagittal": (1, 2, 0)}
"""Axes of the world (0 to the right, 1 to the front, 2 up) of columns, rows and slices, by plane."""
MOST_VOXELS = 1 << 26
_ANYWHERE = Limits(spacing_mm=(1e-3, 1e3), extent_mm=(0, 1e6))
_HEADERS = {348: 352, 540: 544}
"""Bytes before the voxels of a file without extensions, by the size of its header."""
_SAMPLE = 100_000
"""Number of voxels from which the default window is taken."""
_PERCENT = (0.5, 99.5)
Axis = tuple[int, int]
"""Axis of a file, and 1 if its index grows in the same direction, else -1."""


@dataclass(frozen=True, eq=False)
class Scan:
    """Image in memory, with what its slices need."""

    values: NDArray[Any]
    """Voxels [i, j, k] in the order of the file."""
    spacing_mm: tuple[float, float, float]
    """Edges of a voxel along the axes of the file, mm."""
    axes: tuple[Axis, ...]
    """For each axis of the world (right, front, up): the axis of the file that runs along it most, and 1 if in the
    same direction, else -1.
    """
    affine: NDArray[np.float64]
    header: bytes
    """Header of the file, with four zeros behind it."""
    window: tuple[float, float]
    """Values that are shown black and white unless others are chosen."""

    def plane(self, name: str) -> tuple[Axis, Axis, Axis]:
        """Return file axis and direction of columns (to the right), rows (down) and slices of a plane."""
        return plane_axes(self.axes, name)

    def picture(self, name: str, number: int, low: float, high: float) -> NDArray[np.uint8]:
        """Return a slice [rows, columns]: ``low`` and less is 0, ``high`` and more is 255, NaN is 0.

        Slices count from the left, the back or the bottom.
        """
        return shaded(slice_view(self.values, self.axes, name, number), low, high)


def read(content: bytes) -> Scan:
    """Return an image from the bytes of a NIfTI file.

    Raises:
        BadImage: they are not one volume of numbers with a position.
    """
    values, _ = read_voxels(content, MOST_VOXELS)
    header = _header(content)
    affine, spacing, _ = geometry_of(_parsed(header), values.shape, _ANYWHERE)
    return Scan(values, spacing, world_axes(affine), affine, header, _window(values))


def plane_axes(axes: tuple[Axis, ...], name: str) -> tuple[Axis, Axis, Axis]:
    """Return file axis and direction of columns (to the right), rows (down) and slices of a plane."""
    across, down, through = PLANES[name]
    columns, rows, slices = axes[across], axes[down], axes[through]
    return (columns[0], -columns[1]), (rows[0], -rows[1]), slices


def slice_view(volume: NDArray[Any], axes: tuple[Axis, ...], name: str, number: int) -> NDArray[Any]:
    """Return a view [rows, columns] of a slice: what is written to it is written to the volume.

    Args:
        axes: see ``Scan.axes``.
        number: counts from the left, the back or the bottom.
    """
    columns, rows, (axis, direction) = plane_axes(axes, name)
    index: list[Any] = [slice(None)] * 3
    index[axis] = number if direction > 0 else volume.shape[axis] - 1 - number
    picture = volume[tuple(index)]
    if columns[0] < rows[0]:
        picture = picture.T
    view: NDArray[Any] = picture[:: rows[1], :: columns[1]]
    return view


def world_axes(affine: Affine) -> tuple[Axis, ...]:
    """Return file axis and direction for each axis of the world, so that together they agree best."""
    directions = affine[:3, :3] / np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    left = np.abs(directions)
    axes: list[Axis] = [(0, 1)] * 3
    for _ in range(3):
        world, axis = np.unravel_index(int(left.argmax()), left.shape)
        axes[int(world)] = int(axis), 1 if directions[world, axis] > 0 else -1
        left[world, :] = left[:, axis] = -1
    return tuple(axes)


def shaded(values: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    """Return values as shades: ``low`` and less is 0, ``high`` and more is 255, NaN is 0."""
    with np.errstate(invalid="ignore"):
        shades = np.nan_to_num((values.astype(np.float64) - low) * (255 / (high - low)), nan=0.0)
    rounded: NDArray[np.uint8] = np.clip(np.rint(shades), 0, 255).astype(np.uint8)
    return rounded


def png(picture: NDArray[np.uint8]) -> bytes:
    """Return a grey picture [rows, columns] as PNG."""
    rows, columns = picture.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # each begins with the filter: none
    lines[:, 1:] = picture
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes(), 1)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _header(content: bytes) -> bytes:
    """Return the header of a NIfTI file with four zeros, which say that no extensions follow."""
    source = Source(content)
    start = bytes(source.take(4))
    size = next((size for size in _HEADERS if int.from_bytes(start, "little") == size), 0) or int.from_bytes(
        start, "big"
    )
    return start + bytes(source.take(size - 4)) + bytes(_HEADERS[size] - size)


def _parsed(header: bytes) -> Any:
    import nibabel

    size = next(size for size, end in _HEADERS.items() if end == len(header))
    kind: Any = nibabel.Nifti1Header if size == 348 else nibabel.Nifti2Header
    return kind(header[:size], "<" if int.from_bytes(header[:4], "little") == size else ">", check=False)


def _window(values: NDArray[Any]) -> tuple[float, float]:
    """Return the range of almost all voxels that are not background."""
    flat = values.reshape(-1, order="A")
    sample = flat[:: max(1, flat.size // _SAMPLE)].astype(np.float64)
    sample = sample[np.isfinite(sample)]
    inside = sample[sample > sample.min()] if sample.size else sample
    if not inside.size:
        return 0.0, 1.0
    low, high = (float(value) for value in np.percentile(inside, _PERCENT))
    return (low, high) if low < high else (low, low + 1.0)

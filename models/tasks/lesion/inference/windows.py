"""Overlapping windows of a volume, and stitching of their outputs.

Positions, weights and padding are those of MONAI 1.6 (``sliding_window_inference``, mode gaussian), with which the
released results were made. Each member is stitched separately, before any non-linear step.
"""

import itertools
import math
import threading
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Shape = tuple[int, int, int]
Slices = tuple[slice, slice, slice]
Value = TypeVar("Value", bound=np.generic)

_SIGMA = 0.125  # standard deviation of the Gaussian weights, in edges of the window
_LEAST_WEIGHT = 1e-3
_SLAB = 8  # planes of a window that are added at a time


class NotFinite(ArithmeticError):
    """A network returned NaN or infinity for a window, so no mask or uncertainty exists."""


def starts(length: int, window: int, overlap: float) -> tuple[int, ...]:
    """Return the first voxels of windows along an axis of ``length`` >= ``window`` voxels.

    The last window ends with the axis.
    """
    interval = max(int(window * (1 - overlap)), 1) if length > window else window
    count = math.ceil(max(length - window, 0) / interval) + 1
    return tuple(min(number * interval, length - window) for number in range(count))


def importance(window: Shape) -> Float32:
    """Return the weight of each voxel of a window: a Gaussian around its centre, at least 1e-3."""
    parts = []
    for edge in window:
        place = np.arange(edge, dtype=np.float32) - np.float32((edge - 1) / 2)
        parts.append(np.exp(place**2 / np.float32(-2 * (_SIGMA * edge) ** 2)).astype(np.float32))
    weights = parts[0][:, None, None] * parts[1][:, None] * parts[2]
    return np.asarray(np.maximum(weights, np.float32(max(float(weights.min()), _LEAST_WEIGHT))))


class Windows:
    """Windows of one volume, padded with zeros on both sides if it is smaller than a window."""

    def __init__(self, shape: Shape, window: Shape, overlap: float) -> None:
        self.shape, self.window = shape, window
        edges = [(max(own - length, 0) // 2, max(own, length)) for own, length in zip(window, shape, strict=True)]
        self._before = tuple(before for before, _ in edges)
        self.padded: Shape = (edges[0][1], edges[1][1], edges[2][1])
        places = [starts(length, own, overlap) for length, own in zip(self.padded, window, strict=True)]
        self.slices: tuple[Slices, ...] = tuple(
            tuple(slice(at, at + own) for at, own in zip(place, window, strict=True))  # type: ignore[misc]
            for place in itertools.product(*places)
        )

    def __len__(self) -> int:
        return len(self.slices)

    def cut(self, image: NDArray[Value], number: int) -> NDArray[Value]:
        """Return a window of an image [channels, x, y, z], contiguous."""
        if self.padded == self.shape:
            return np.ascontiguousarray(image[:, *self.slices[number]])
        out = np.zeros((len(image), *self.window), image.dtype)
        target, source = [], []
        for part, before, length in zip(self.slices[number], self._before, self.shape, strict=True):
            first, last = max(part.start, before), min(part.stop, before + length)
            target.append(slice(first - part.start, last - part.start))
            source.append(slice(first - before, last - before))
        out[:, *target] = image[:, *source]
        return out

    def inner(self, volume: NDArray[Any]) -> NDArray[Any]:
        """Return the unpadded part of a padded volume [..., x, y, z], as a view."""
        x, y, z = (slice(before, before + n) for before, n in zip(self._before, self.shape, strict=True))
        return volume[..., x, y, z]


class Stitch:
    """Weighted means of the members' windows, one volume per member, computed in place.

    Windows of a member are added in their order, whatever the order of arrival, so that sums are reproducible; early
    windows wait. Members, and windows of one member, may come from different threads.
    """

    def __init__(self, windows: Windows, members: int) -> None:
        self._windows = windows
        self._importance = importance(windows.window)
        self._sums = np.zeros((members, *windows.padded), np.float32)
        self._next = [0] * members
        self._early: list[dict[int, Float32]] = [{} for _ in range(members)]
        self._locks = [threading.Lock() for _ in range(members)]
        self._weights: Float32 | None = np.zeros(windows.padded, np.float32)
        for part in windows.slices:
            self._weights[part] += self._importance

    def add(self, member: int, number: int, difference: Float32) -> None:
        """Add a member's output for a window, float32 of the window's shape.

        Raises:
            NotFinite: the output, or an early one that waited for it, has NaN or infinity.
            ValueError: the shape is not the window's.
        """
        if difference.shape != self._windows.window:
            raise ValueError(f"member {member} answered {difference.shape}, the window is {self._windows.window}")
        with self._locks[member]:
            early = self._early[member]
            early[number] = difference
            while (ready := early.pop(self._next[member], None)) is not None:
                self._add_next(member, ready)
                self._next[member] += 1

    def _add_next(self, member: int, difference: Float32) -> None:
        number = self._next[member]
        part = self._sums[member][self._windows.slices[number]]
        scratch = np.empty((_SLAB, *part.shape[1:]), np.float32)  # stays in the cache
        for first in range(0, len(part), _SLAB):
            slab = slice(first, first + _SLAB)
            product = scratch[: len(part[slab])]
            np.multiply(difference[slab], self._importance[slab], out=product)
            if not np.isfinite(product.sum()) and not np.isfinite(product).all():
                raise NotFinite(
                    f"member {member} of the ensemble answers NaN or infinity to window {number} of this scan"
                )
            part[slab] += product

    def finish(self, member: int) -> None:
        """Divide the sums of a member by the weights, once all its windows are added."""
        if self._next[member] != len(self._windows):
            raise ValueError(f"member {member} has {self._next[member]} of {len(self._windows)} windows")
        assert self._weights is not None
        self._sums[member] /= self._weights

    def means(self) -> Float32:
        """Return the finished volumes of all members, [members, x, y, z], as a view.

        No more windows can be added afterwards.
        """
        self._weights = None
        return np.asarray(self._windows.inner(self._sums))

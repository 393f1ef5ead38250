"""What a picture of a scan shows: turned upright, where it is cut, which lesions have numbers, how grey it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import Labels, components
from models.tasks.lesion.pictures.slices import Box, Mask, View, Voxel, bounds, crossing, upright

Array = NDArray[Any]

CLOSE_MM = 60.0
"""Edge of the close-up."""


@dataclass(frozen=True)
class Mark:
    """A lesion that is numbered in the picture."""

    label: int
    centroid_mm: tuple[float, float, float]
    """x, y, z in the space of the affine."""
    look_at: bool


@dataclass(frozen=True)
class Picture:
    """What is drawn; volumes are [x, y, z] on one grid."""

    flair: Array
    affine: NDArray[np.float64]
    prediction: Mask
    uncertainty: Array
    """Nats, 0 outside the brain."""
    measure: str
    """What the uncertainty is, in words."""
    title: str
    details: str
    """A line below the title."""
    truth: Mask | None = None
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Scene:
    """A picture turned upright, with what all its panels share."""

    picture: Picture
    view: View
    point: Voxel
    labels: Labels
    """Components of the prediction."""
    numbers: dict[int, Mark]
    """Their marks."""
    whole: Box
    close: Box
    grey: tuple[float, float]
    """Intensities that are drawn black and white."""
    most: float
    """Uncertainty of the brightest colour, nats."""


def arranged(picture: Picture) -> Scene:
    """The scene of a picture.

    Raises:
        BadFile: nibabel is not installed.
        ValueError: volumes of different shapes, or an affine without directions.
    """
    volumes = {"flair": picture.flair, "prediction": picture.prediction, "uncertainty": picture.uncertainty}
    if picture.truth is not None:
        volumes["truth"] = picture.truth
    view = upright(volumes, picture.affine)
    flair, mask, uncertainty = (view.volumes[name] for name in volumes if name != "truth")
    point = crossing(mask, uncertainty, view.volumes.get("truth"))
    brain = flair != 0
    bright = flair[brain & np.isfinite(flair)]
    low, high = np.percentile(bright, (0.5, 99.8)) if len(bright) else (0.0, 1.0)
    positive = uncertainty[uncertainty > 0]
    labels = components(mask)
    middle, half = np.array(point), CLOSE_MM / 2 / view.spacing
    first, last = middle + 0.5 - half, middle + 0.5 + half
    return Scene(
        picture=picture,
        view=view,
        point=point,
        labels=labels,
        numbers=_marked(view, labels, picture.marks),
        whole=bounds(brain, 6 / view.spacing),
        close=tuple(zip(first, last, strict=True)),  # type: ignore[arg-type]
        grey=(float(low), float(max(high, low + 1e-6))),
        most=float(np.percentile(positive, 99.9)) if len(positive) else 1.0,
    )


def _marked(view: View, labels: Labels, marks: tuple[Mark, ...]) -> dict[int, Mark]:
    """The mark of each component that has one: that with the nearest centroid, within a centimetre."""
    count = int(labels.max())
    if not count or not marks:
        return {}
    x, y, z = np.nonzero(labels)
    of = labels[x, y, z]
    sizes = np.bincount(of)[1:]
    middles = np.stack([np.bincount(of, axis)[1:] / sizes for axis in (x, y, z)], axis=1)
    wanted = np.stack([view.voxel(mark.centroid_mm) for mark in marks])
    apart = np.linalg.norm((middles[:, None] - wanted[None]) * view.spacing, axis=2)
    near = apart.argmin(axis=1)
    return {number + 1: marks[near[number]] for number in range(count) if apart[number, near[number]] <= 10}

"""What an answer about a brain scan is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the true value lies with probability ``level``, on scans like those that the model was calibrated with."""

    level: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Lesion:
    """One lesion: voxels of the mask that share faces."""

    volume_mm3: float
    centroid_mm: tuple[float, float, float]
    """x, y, z in the space of the image's affine, mm."""
    mean_probability: float
    """Of lesion, over its voxels, 0 to 1."""
    structural_uncertainty: float | None
    """One minus the members' mean overlap (IoU) with it, 0 to 1; None for single models."""
    look_at: bool | None
    """True: look at it. False: trust it. None: the model gives no advice."""
    label: int
    """From 1, in the order of the table."""

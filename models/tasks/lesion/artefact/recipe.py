"""Serving recipe of a lesion artefact: ``recipe.json`` beside its graphs, hashed with them."""

from typing import Annotated, Literal

import msgspec

from models import recipe_file
from models.artefact import Artefact
from models.calibration import IntervalTable
from models.recipe_file import RECIPE, encode

Channel = Literal["flair", "t1"]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]

__all__ = ["RECIPE", "Recipe", "encode", "read"]


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of preparation, windows and extraction of lesions (Shifts 2.0, section 3)."""

    channels: tuple[Channel, ...] = ("flair",)
    """Modalities that the networks take, in order."""
    orientation: str = "RAS"
    """Directions in which the networks' axes grow, as nibabel's axis codes. Empty: volumes of 1 mm keep their
    orientation, and others are turned to RAS (for released checkpoints, which were trained on files as stored).
    """
    spacing: Positive = 1.0
    """Edge of the networks' voxels, mm."""
    window: tuple[int, int, int] = (96, 96, 96)
    """Shape of the networks' window, voxels [x, y, z]."""
    overlap: Share = 0.25
    """Share of a window's edge that overlaps with its neighbour."""
    threshold: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.35
    """Least probability of a lesion voxel; tuned on in-domain development scans."""
    small_voxels: Annotated[int, msgspec.Meta(ge=0)] = 9
    """Largest size, voxels, of components (connected by faces) that are dropped."""
    typical: dict[str, tuple[float, float]] = {}
    """Range of the middle 99 % of training scans, by feature of a scan's appearance (``appearance.FEATURES``)."""
    volume: IntervalTable | None = None
    """Split-conformal multipliers for ln(1 + volume / ml), see ``burden``; None: no interval."""
    count: IntervalTable | None = None
    """Split-conformal multipliers for ln(1 + number of lesions); None: no interval."""
    voxel_trust: float | None = None
    """Uncertainty (``rmi``; for single models ``entropy``; nats) above which voxels are marked for review: the retained
    share of a perfect reviewer's budget on development scans. None: no advice.
    """
    lesion_trust: float | None = None
    """Structural uncertainty (for single models: one minus mean probability) above which lesions are marked for review.
    None: no advice.
    """


def read(artefact: Artefact) -> Recipe:
    """Return the recipe of a verified artefact.

    Raises:
        ArtefactError: the recipe is missing or invalid.
    """
    return recipe_file.read(artefact, Recipe)

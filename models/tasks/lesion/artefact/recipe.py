"""What an artefact of the lesion task says of its own use: ``recipe.json`` beside its graphs, hashed with them."""

from __future__ import annotations

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
    """How scans are prepared, walked through in windows, and turned into lesions (Shifts 2.0, section 3)."""

    channels: tuple[Channel, ...] = ("flair",)
    """Modalities that the networks take, in their order."""
    orientation: str = "RAS"
    """Directions in which the networks' axes grow, as nibabel's axis codes; empty: volumes of 1 mm are taken as they
    lie, others are turned to RAS (released checkpoints, which were trained on files as they lie)."""
    spacing: Positive = 1.0
    """Edge of the networks' voxels, mm."""
    window: tuple[int, int, int] = (96, 96, 96)
    """Voxels of one pass through a network, [x, y, z]."""
    overlap: Share = 0.25
    """Share of a window's edge that neighbours have in common."""
    threshold: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.35
    """Probability from which a voxel is lesion; tuned on in-domain development scans."""
    small_voxels: Annotated[int, msgspec.Meta(ge=0)] = 9
    """Components of at most so many voxels (sharing faces) are dropped."""
    typical: dict[str, tuple[float, float]] = {}
    """Appearance of a scan (``appearance.FEATURES``) to where training scans lay: the middle 99 %."""
    volume: IntervalTable | None = None
    """Split-conformal multipliers for ln(1 + volume / ml), see ``burden``; None: no interval is given."""
    count: IntervalTable | None = None
    """The same for ln(1 + number of lesions)."""
    voxel_trust: float | None = None
    """Voxels above this uncertainty (``rmi``, of single models ``entropy``, nats) are to be looked at: the retained
    share of a perfect reviewer's budget on development scans. None: no advice."""
    lesion_trust: float | None = None
    """Lesions above this structural uncertainty (of single models: one minus mean probability) are to be looked at."""


def read(artefact: Artefact) -> Recipe:
    """Return the recipe of a verified artefact.

    Raises:
        ArtefactError: there is none, or it is not one.
    """
    return recipe_file.read(artefact, Recipe)

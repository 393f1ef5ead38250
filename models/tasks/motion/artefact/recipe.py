"""What a motion artefact says of its own use: ``recipe.json`` beside its graph, hashed with it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from models import recipe_file
from models.artefact import Artefact
from models.recipe_file import RECIPE, encode
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.uncertainty.trajectories import TOP, Operator

__all__ = ["RECIPE", "Recipe", "encode", "read"]


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a request is seen, and how the plans of members become its answer (Shifts 1.0, E.4)."""

    size: int = OFFICIAL.size
    """Cells a side of a feature map."""
    resolution: float = OFFICIAL.resolution
    """Edge of a cell, m."""
    plan_score: Literal["teacher_forcing"] = "teacher_forcing"
    """What members score plans by: each step given the plan's own past (formula 20). The released behavioural cloning
    draws another plan in each scoring instead, so that its scores are random; that is for training only."""
    plan_operator: Operator = "MA"
    """Over members, for the score of a plan."""
    request_operator: Operator = "MA"
    """Over the best plans, for the confidence of the request."""
    ddof: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    """Of LQ and UQ: 0 as the released evaluation, 1 as the released model code."""
    modes: Annotated[int, msgspec.Meta(ge=1)] = TOP
    """D, plans of an answer."""
    noise_seed: int = 0
    """Of the random numbers that members draw plans with: numpy's default generator, normal [K, Q, T, 2], float32."""
    typical: dict[str, tuple[float, float]] = {}
    """Appearance of a request (``appearance.FEATURES``) to where training requests lay: the middle 99 %."""

    def __post_init__(self) -> None:
        self.grid  # noqa: B018  refuses impossible ones

    @property
    def grid(self) -> Grid:
        """Of the maps that the members take."""
        return Grid(self.size, self.resolution)


def read(artefact: Artefact) -> Recipe:
    """Return the recipe of a verified artefact.

    Raises:
        ArtefactError: there is none, or it is not one.
    """
    return recipe_file.read(artefact, Recipe)

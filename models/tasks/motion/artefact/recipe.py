"""Serving recipe of a motion artefact: ``recipe.json`` beside its graph, hashed with it."""

from typing import Annotated, Literal

import msgspec

from models import recipe_file
from models.artefact import Artefact
from models.recipe_file import RECIPE, encode
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.uncertainty.trajectories import TOP, Operator

__all__ = ["RECIPE", "Recipe", "encode", "read"]


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of the feature maps and of the ranking of the members' plans (Shifts 1.0, E.4)."""

    size: int = OFFICIAL.size
    """Cells per side of a feature map."""
    resolution: float = OFFICIAL.resolution
    """Edge of a cell, m."""
    plan_score: Literal["teacher_forcing"] = "teacher_forcing"
    """Score of a plan by a member: each step given the plan's own past (formula 20). The released behavioural cloning
    draws another plan in each scoring instead, so that its scores are random; that is for training only.
    """
    plan_operator: Operator = "MA"
    """Operator over members, for the score of a plan."""
    request_operator: Operator = "MA"
    """Operator over the best plans, for the confidence of the request."""
    ddof: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    """Delta degrees of freedom of LQ and UQ: 0 as in the released evaluation, 1 as in the released model code."""
    modes: Annotated[int, msgspec.Meta(ge=1)] = TOP
    """Number of plans in a response, D."""
    noise_seed: int = 0
    """Seed of the random numbers for drawing plans: numpy's default generator, normal [K, Q, T, 2], float32."""
    typical: dict[str, tuple[float, float]] = {}
    """Range of the middle 99 % of training requests, by feature of a request's appearance (``appearance.FEATURES``)."""

    def __post_init__(self) -> None:
        self.grid  # noqa: B018  refuses impossible ones

    @property
    def grid(self) -> Grid:
        """Grid of the members' feature maps."""
        return Grid(self.size, self.resolution)


def read(artefact: Artefact) -> Recipe:
    """Return the recipe of a verified artefact.

    Raises:
        ArtefactError: the recipe is missing or invalid.
    """
    return recipe_file.read(artefact, Recipe)

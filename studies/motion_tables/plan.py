"""Plan of the tables: their rows, and the sizes of all that is simulated, trained and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from models.tasks.motion.training import presets
from models.tasks.motion.training.presets import Settings
from models.uncertainty.trajectories import Operator

Backbone = Literal["BC", "DIM"]
Method = Literal["Deep Ensemble", "Dropout Ensemble"]
Members = tuple[int, ...]

BACKBONES: tuple[Backbone, ...] = ("BC", "DIM")
METHODS: tuple[Method, ...] = ("Deep Ensemble", "Dropout Ensemble")
OPERATORS: tuple[Operator, ...] = ("LQ", "MA")
SIZES = (1, 3, 5)
FAMILIES = {
    ("BC", "Deep Ensemble"): "bc",
    ("DIM", "Deep Ensemble"): "dim",
    ("BC", "Dropout Ensemble"): "bc_dropout",
    ("DIM", "Dropout Ensemble"): "dim_dropout",
}


@dataclass(frozen=True, order=True)
class Row:
    """A line of the tables."""

    method: Method
    backbone: Backbone
    operator: Operator
    """Over members for a plan, and over plans for a request."""
    size: int
    """K, members."""

    @property
    def name(self) -> str:
        """Name as the paper prints it."""
        return f"{self.backbone}, {self.operator}, K={self.size}"

    @property
    def family(self) -> str:
        """Family of the models."""
        return FAMILIES[self.backbone, self.method]


ROWS = tuple(
    Row(method, backbone, operator, size)
    for method in METHODS
    for backbone in BACKBONES
    for operator in OPERATORS
    for size in SIZES
)


def subsets(size: int, members: int) -> tuple[Members, ...]:
    """Return the ensembles of ``size`` neighbours in the circle of members: each member is in equally many.

    Figures of a row are means over them, so that K = 1 and K = 3 are not a matter of which members were taken.
    """
    if size == members:
        return (tuple(range(members)),)
    return tuple(tuple(sorted((first + place) % members for place in range(size))) for first in range(members))


@dataclass(frozen=True)
class Plan:
    """All that numbers depend on, besides the code."""

    seed: int = 0
    """Of the simulated scenes and of frozen masks; members have the seeds 1000 seed + 0, 1, ..."""
    scale: float = 1.0
    """Of the simulator's canonical numbers of scenes."""
    preset: str = "small"
    members: int = 5
    effort: float = 1.0
    """Multiplies the steps of training."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of members."""
        return tuple(1000 * self.seed + member for member in range(self.members))

    def settings(self) -> Mapping[str, Settings]:
        """Family to how its members are trained."""
        return {family: self._scaled(presets.preset(self.preset, family)) for family in FAMILIES.values()}

    def _scaled(self, settings: Settings) -> Settings:
        schedule = settings.schedule
        length = max(round(schedule.length * self.effort), schedule.warmup + 1)
        return replace(settings, schedule=replace(schedule, length=length))

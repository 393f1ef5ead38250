"""Plan of the tables: their rows, and the sizes of all simulations, trainings and evaluations."""

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
    """Row of the tables."""

    method: Method
    backbone: Backbone
    operator: Operator
    """Operator over members for a plan, and over plans for a request."""
    size: int
    """Number of members, K."""

    @property
    def name(self) -> str:
        """Name as printed in the paper."""
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

    Figures of a row are means over them, so that K = 1 and K = 3 do not depend on a choice of members.
    """
    if size == members:
        return (tuple(range(members)),)
    return tuple(tuple(sorted((first + place) % members for place in range(size))) for first in range(members))


@dataclass(frozen=True)
class Plan:
    """Parameters, besides the code, on which the numbers depend."""

    seed: int = 0
    """Seed of the simulated scenes and of frozen masks; members have the seeds 1000 seed + 0, 1, ..."""
    scale: float = 1.0
    """Factor of the simulator's canonical numbers of scenes."""
    preset: str = "small"
    members: int = 5
    effort: float = 1.0
    """Factor of the steps of training."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of members."""
        return tuple(1000 * self.seed + member for member in range(self.members))

    def settings(self) -> Mapping[str, Settings]:
        """Return the training settings of members by family."""
        return {family: self._scaled(presets.preset(self.preset, family)) for family in FAMILIES.values()}

    def _scaled(self, settings: Settings) -> Settings:
        schedule = settings.schedule
        length = max(round(schedule.length * self.effort), schedule.warmup + 1)
        return replace(settings, schedule=replace(schedule, length=length))

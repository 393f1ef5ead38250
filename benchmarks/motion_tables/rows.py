"""The rows of Tables 20 and 21 of Shifts 1.0: backbone, operator, members, and what makes members differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
        """As the paper prints it."""
        return f"{self.backbone}, {self.operator}, K={self.size}"

    @property
    def family(self) -> str:
        """Of the models."""
        return FAMILIES[self.backbone, self.method]


ROWS = tuple(
    Row(method, backbone, operator, size)
    for method in METHODS
    for backbone in BACKBONES
    for operator in OPERATORS
    for size in SIZES
)


def subsets(size: int, members: int) -> tuple[Members, ...]:
    """The ensembles of ``size`` neighbours in the circle of members: each member is in equally many.

    Figures of a row are means over them, so that K = 1 and K = 3 are not a matter of which members were taken.
    """
    if size == members:
        return (tuple(range(members)),)
    return tuple(tuple(sorted((first + place) % members for place in range(size))) for first in range(members))

"""Form of every trained model: columns in, raw outputs of one member out, as nodes of a graph or as trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from models.executors.graph import Graph, Value
from models.schema import Schema

Meaning = Literal["mean", "mean_and_variance", "mean_and_log_deviation", "quantiles", "probabilities", "logits"]
"""Meaning of the raw outputs of a row: [1], [2], [2], [Q], [C] or [C]."""


@dataclass(frozen=True)
class Output:
    """Raw outputs of a model for one target."""

    meaning: Meaning
    width: int
    """Number of values of a row, K."""
    levels: tuple[float, ...] = ()
    """Levels of quantiles, ascending, 0 to 1."""
    classes: tuple[str, ...] = ()
    """Labels of the classes in the order of the outputs, as texts; empty if the model does not name them."""


class Source(Protocol):
    """A trained model, one member of an ensemble."""

    @property
    def family(self) -> str:
        """Name of framework and kind of model, such as ``lightgbm``."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the order of the model; empty if the model has none."""
        ...

    @property
    def width(self) -> int:
        """Number of columns, F; 0 if the model takes any."""
        ...

    @property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """Texts of categorical columns in the order of their codes, where the model fixes this order."""
        ...

    @property
    def texts(self) -> Sequence[int]:
        """Positions of the columns that the model takes as texts, by itself."""
        ...

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Outputs, one for each target."""
        ...


class GraphSource(Source, Protocol):
    """A model that becomes nodes of a graph."""

    @property
    def trees(self) -> bool:
        """True if it has operators that run on a CPU only."""
        ...

    def raw(self, graph: Graph, rows: Value, schema: Schema) -> list[Value]:
        """Add the model to a graph; return its raw outputs [N, K] of each target.

        Args:
            rows: rows [N, F], categorical columns as codes.
        """
        ...

    def run(self, rows: NDArray[np.float32], schema: Schema) -> list[NDArray[np.float64]]:
        """Return the raw outputs [n, K] of each target by the model alone, without the graph around it."""
        ...


class TreeSource(Source, Protocol):
    """A model of CatBoost that is run by the library or by tables of trees."""

    @property
    def path(self) -> Path:
        """File of the model."""
        ...

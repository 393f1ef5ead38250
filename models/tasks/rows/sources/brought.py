"""A model as it was brought: a graph, or a model of CatBoost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.tasks.rows.sources import onnx_file
from models.tasks.rows.sources.catboost_source import CatBoostSource
from models.tasks.rows.sources.onnx_file import OnnxFile


@dataclass(frozen=True)
class Brought:
    """A model before its outputs have a meaning."""

    model: OnnxFile | CatBoostSource
    family: str
    names: tuple[str, ...] = ()
    """Names of the columns in order; empty if the model has none."""
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts of categorical columns in the order of their codes, where the model fixes it."""
    classes: tuple[str, ...] = ()
    """Labels of the classes in the order of the outputs; empty if they are not known beside those in the graph."""
    levels: tuple[float, ...] = ()
    """Levels of the quantiles that the values are; empty if they are none."""
    expected: NDArray[np.float64] | None = None
    """Predictions of the framework itself for the calibration rows, [n], [n, T] or [n, C]; None: those of the graph."""

    @property
    def width(self) -> int:
        """Number of columns; 0 for any."""
        return self.model.width


def of_graph(content: bytes, name: str, family: str, **more: object) -> Brought:
    """Return a model from the content of an ONNX file.

    Raises:
        Refused: see ``models.tasks.rows.sources.onnx_file``.
    """
    file = onnx_file.opened(content, name)
    return Brought(file, family, **{"names": file.names} | more)  # type: ignore[arg-type]

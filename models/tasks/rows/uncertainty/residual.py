"""Variance from the errors of calibration rows: trees by CatBoost on the logarithm of the squared error."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from models.executors.graph import Graph, Value
from models.tasks.rows.uncertainty import folds
from models.tasks.rows.uncertainty.spread import Fitted, Inputs, positive

TREES, DEPTH, LEARNING_RATE = 150, 4, 0.06
FEW_ROWS = 600
"""Number of rows below which trees are fewer and shallower."""
_FLOOR = 1e-3
"""Smallest error that counts, as a share of the median absolute error: no model learns from rounding."""
_ABSENT = np.float32(-1e30)
"""Stand-in for missing values, which trees split off at any threshold."""


@dataclass(frozen=True)
class Residual:
    """Variance by trees of the rows' columns and the prediction."""

    graph: bytes
    """ONNX graph from columns and prediction [N, F + 1] to the logarithm of the variance, before ``factor``."""
    factor: float
    """Factor that makes the mean variance the mean squared error."""
    trees = True

    def add(self, graph: Graph, rows: Value, mean: Value) -> Value:
        """Add the trees; see ``Spread``."""
        columns = graph.op("Concat", rows, graph.op("Unsqueeze", mean, [1]), axis=1)
        present = graph.op("Where", graph.op("IsNaN", columns), float(_ABSENT), columns)
        model = onnx.load_model_from_string(self.graph)
        (name,) = (value.name for value in model.graph.input)
        (logarithm,) = graph.embed(model, {name: present}).values()
        return graph.exp(graph.op("Reshape", logarithm, [-1])) * self.factor


def residual(inputs: Inputs) -> Fitted:
    """Fit trees to the logarithm of the squared error.

    The variance of each row comes from trees that were fitted without its fold; the served trees are fitted on all
    rows.
    """
    floor = positive((_FLOOR * float(np.median(np.abs(inputs.error)))) ** 2)
    logarithm = np.log(inputs.error**2 + floor)
    columns = _columns(inputs)
    predicted = np.empty(len(logarithm))
    for fit, evaluate in folds.parts(inputs.fold):
        predicted[evaluate] = _trees(columns[fit], logarithm[fit]).predict(columns[evaluate])
    model = _trees(columns, logarithm)
    factor = float(np.mean(inputs.error**2) / np.mean(np.exp(predicted)))
    return Fitted(Residual(_exported(model), positive(factor)), np.exp(predicted) * positive(factor))


def _columns(inputs: Inputs) -> NDArray[np.float32]:
    columns = np.column_stack([inputs.rows, inputs.mean.astype(np.float32)])
    return np.where(np.isnan(columns), _ABSENT, columns)


def _trees(columns: NDArray[np.float32], logarithm: NDArray[np.float64]) -> Any:
    from catboost import CatBoostRegressor

    few = len(columns) < FEW_ROWS
    model = CatBoostRegressor(
        iterations=TREES // 3 if few else TREES,
        depth=2 if few else DEPTH,
        learning_rate=LEARNING_RATE,
        loss_function="RMSE",
        random_seed=folds.SEED,
        thread_count=2,
        verbose=False,
        allow_writing_files=False,
    )
    return model.fit(columns, logarithm)


def _exported(model: Any) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "residual.onnx"
        model.save_model(str(path), format="onnx")
        return path.read_bytes()

"""Predictions of many rows by an exported vessel graph, and figures in the conventions of the vessel task."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment import errors
from models.assessment import figures as assessment
from models.executors.onnx import OnnxGraph
from models.predictive import Gaussian
from models.profile import Provider
from models.tasks.vessel.spec import POWER, rules

CHUNK = 320
"""Number of rows per pass of ten predictors; see ``rows_per_pass``."""
CUDA_ROWS = 16_384
"""Number of rows per pass on a GPU, for any number of predictors."""


def rows_per_pass(predictors: int, provider: Provider = "cpu") -> int:
    """Return the largest number of rows in one pass over the graph.

    On a CPU the first hidden layer of all predictors (50 floats each) then stays in the core's cache (640 kB): compared
    with passes of 1000 rows this saves a tenth of the time with ten predictors, a fifth with a hundred. A GPU computes
    rows in parallel, so that its passes are as long as its memory allows (330 MB for the first layer of 100
    predictors).
    """
    return CUDA_ROWS if provider == "cuda" else max(64, 10 * CHUNK // max(predictors, 10))


def predict(graph: OnnxGraph, rows: NDArray[Any], chunk: int = CHUNK) -> Gaussian:
    """Return the statistics of all rows [N, F] (schema's units)."""
    outputs = tuple(name for name in ("mean", "mvar", "varm") if name in graph.outputs)
    parts = _run(graph, rows, outputs, chunk)
    columns = dict(zip(outputs, (np.concatenate(column) for column in zip(*parts, strict=True)), strict=True))
    return Gaussian(columns["mean"], columns["mvar"], columns.get("varm"))


def predict_members(graph: OnnxGraph, rows: NDArray[Any], chunk: int = CHUNK) -> tuple[Any, Any]:
    """Return every member's mean (kW) and variance (kW²), float32 [K, N] each."""
    parts = _run(graph, rows, ("member_mean", "member_var"), chunk)
    mean, variance = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
    return mean, variance


def _run(graph: OnnxGraph, rows: NDArray[Any], outputs: tuple[str, ...], chunk: int) -> list[Any]:
    return [
        graph.run({"rows": np.ascontiguousarray(rows[start : start + chunk], np.float32)}, outputs)
        for start in range(0, len(rows), chunk)
    ]


@dataclass(frozen=True, slots=True)
class Figures:
    """Quality of one model on one data set (Shifts 2.0, tables 19 and 20)."""

    rmse_kw: float
    mae_kw: float
    mape_percent: float
    r_auc_kw2: float
    """Trapezoid area over [0, 1] of squared errors, ties not grouped (released vessel convention)."""
    f1_auc: float
    f1_at_95: float

    def rounded(self) -> dict[str, float]:
        """Return the figures with six significant digits, for manifests."""
        return {name: float(f"{value:.6g}") for name, value in asdict(self).items()}


def figures(predictive: Gaussian, power: NDArray[Any]) -> Figures:
    """Return the figures of predictions against measured power [N], kW; uncertainty is the total variance."""
    judged = assessment.figures(
        assessment.Errors(errors.squared_error(power, predictive.mean), POWER.acceptable, rules()), predictive.tvar
    )
    return Figures(
        errors.rmse(power, predictive.mean),
        errors.mae(power, predictive.mean),
        errors.mape(power, predictive.mean),
        judged.r_auc,
        judged.f1_auc,
        judged.f1_at_95,
    )

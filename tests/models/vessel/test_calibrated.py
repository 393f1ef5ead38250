"""What the default artefact promises in-domain it keeps there, and a shift is noticed."""

from pathlib import Path

import numpy as np
import pytest

from models import artefact as artefacts
from models.assessment.coverage import coverage
from models.calibration import Calibration
from models.executors.onnx import OnnxGraph
from models.predictive import Gaussian
from models.tasks.vessel.inference.scoring import predict
from simulators.vessel.dataset import Table, simulate

DIRECTORY = Path(__file__).parents[3] / "artefacts" / "vessel" / "dnn-10"
Predicted = dict[str, tuple[Gaussian, Table]]


@pytest.fixture(scope="module")
def predicted() -> tuple[Calibration, Predicted]:
    artefact = artefacts.read(DIRECTORY, "vessel")
    graph = OnnxGraph(artefact.path(artefact.manifest.executor.file))
    tables = simulate(0.05, seed=0)
    predictions = {name: (predict(graph, tables[name].features), tables[name]) for name in ("eval_in", "eval_out")}
    return artefact.manifest.heads["power"]["cpu-fp32-stacked"], predictions


def rates(calibration: Calibration, predicted: Predicted, name: str, level: float) -> tuple[float, float]:
    """Coverage of the interval at a level, and the retention under the default policy."""
    assert calibration.intervals is not None
    predictive, table = predicted[name]
    multiplier = dict(zip(calibration.intervals.levels, calibration.intervals.multipliers, strict=True))[level]
    covered = coverage(table.power, predictive.mean, predictive.tvar, multiplier)
    return covered, float(np.mean(predictive.tvar <= calibration.retention.threshold(0.95)))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_in_domain(predicted: tuple[Calibration, Predicted], level: float) -> None:
    calibration, predictions = predicted
    covered, retention = rates(calibration, predictions, "eval_in", level)
    n = len(predictions["eval_in"][1].power)
    assert covered == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / n) + 0.01)
    assert retention == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / n) + calibration.retention.band())


def test_shifted(predicted: tuple[Calibration, Predicted]) -> None:
    """Strong wind, old hull: intervals cover less than they promise, and much more is deferred."""
    calibration, predictions = predicted
    covered, retention = rates(calibration, predictions, "eval_out", 0.9)
    assert 0.7 < covered < 0.97
    assert retention < 0.92


def test_coverage_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no units"):
        coverage(np.zeros(0), np.zeros(0), np.zeros(0), 1.0)

"""Rows with two heads: a level in metres (Gaussian) and a kind of three classes (categorical), by one row executor."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.calibration import Calibration, RetentionTable
from models.head import Head
from models.predictive import Categorical, Gaussian, Predictives
from models.schema import Feature, Schema
from services.request.contract import Description
from services.request.row_task import MemberOutputs, Named, RowsRequest, RowTask
from services.request.validate import Column
from services.transport.binding import Options
from services.transport.oip.rows import row_binding
from services.transport.served_model import Parts, ServedModel
from tests.contract.toys import wire
from tests.contract.toys.toy import STEP_SECONDS, Body, Probe, Refusal, Toy

LEVEL = Head("level", "gaussian", "m", "gauge level, m", "squared_error", "m²", 1.0, "tvar", "variance", "varm")
KIND = Head("kind", "categorical", "1", "class of 3", "error_rate", "1", None, "confidence", "confidence", None)
SCHEMA = Schema.of(
    [
        Feature("depth", "m", 0, 100, "Depth."),
        Feature("tilt", "°", -90, 90, "Tilt.", nullable=True),
    ]
)
POISON = 66.0
"""A depth on which the model raises."""
QUANTUM_ROWS = 8


class Executor:
    """mean, mvar, varm [n] and class probabilities [3, n]."""

    quantum_rows = QUANTUM_ROWS

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def seconds(self, rows: int) -> float:
        return STEP_SECONDS

    def __call__(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        self._probe.quantum(rows[:, 0].tolist())
        depth, tilt = rows[:, 0], rows[:, 1]
        if (depth == POISON).any():
            raise RuntimeError("secret text of the model")
        certain = np.where(depth % 2 == 0, np.float32(0.9), np.float32(0.6))
        probabilities = np.stack([certain, (1 - certain) / 2, (1 - certain) / 2])
        return depth * 2, np.abs(tilt) / 10, np.zeros_like(depth), probabilities


def statistics(arrays: tuple[NDArray[np.float32], ...]) -> tuple[Predictives, MemberOutputs]:
    mean, mvar, varm, probabilities = arrays
    return {"level": Gaussian(mean, mvar, varm), "kind": Categorical(probabilities.T)}, {}


def says(predictive: Any, index: int) -> Any:
    if isinstance(predictive, Gaussian):
        return float(predictive.mean[index])
    return predictive.probabilities[index].tolist()


def read(body: Any) -> tuple[RowsRequest, Options]:
    return _named(body), wire.wishes(body, ("level", "kind"))


def _named(body: Any) -> RowsRequest:
    rows = wire.must_be_body(body, "rows")
    names = list(rows[0])
    columns = [[np.nan if row[name] is None else row[name] for row in rows] for name in names]
    return RowsRequest(Named(tuple(Column(name, values) for name, values in zip(names, columns, strict=True))))


def build(parts: Parts, probe: Probe) -> ServedModel:
    description = Description("rows", "toy-rows:1", SCHEMA, (LEVEL, KIND), 64, (0.0, -45.0), (50.0, 45.0))
    executor = Executor(probe)
    task = RowTask(description, executor, executor, statistics, member_values=0)
    oip = row_binding(description, {}, ensemble=True)
    frames = wire.Frames(_named, says, ("level", "kind"), itemised=False)
    return wire.tenant(parts.pipeline(task), description, read, says, oip, frames)


def row(depth: float, tilt: float | None = 1.0) -> dict[str, float | None]:
    return {"depth": depth, "tilt": tilt}


def rows(*records: dict[str, Any], **wishes: Any) -> Body:
    return {"rows": list(records), **wishes}


TOY = Toy(
    name="rows",
    calibrations={
        "level": Calibration(
            RetentionTable("tvar", 400, (0.5, 0.95), (0.5, 1.0)), {"varm": tuple(np.linspace(0, 1, 103).tolist())}
        ),
        "kind": Calibration(RetentionTable("confidence", 400, (0.5, 0.95), (-0.9, -0.5)), {}),
    },
    build=build,
    good=rows(row(10), row(12)),
    items=2,
    doubtful=rows(row(10), row(12, 20.0)),
    unknowable=rows(row(10, None)),
    strange=rows(row(80)),
    refusals=(
        Refusal(
            rows(row(10), row(101)),
            {"code": "out_of_range", "field": "depth", "value": "101", "unit": "m", "index": 1, "allowed": "[0, 100]"},
        ),
        Refusal(
            rows(row(10, 91.0)),
            {"code": "out_of_range", "field": "tilt", "value": "91", "unit": "°", "index": 0, "allowed": "[-90, 90]"},
        ),
        Refusal(rows({"depth": 1}), {"code": "missing_column", "field": "tilt", "allowed": "depth, tilt"}),
        Refusal(rows(row(1) | {"speed": 3}), {"code": "unknown_column", "field": "speed", "allowed": "depth, tilt"}),
    ),
    failing=rows(row(10), row(POISON)),
    fails_alone=False,
    slow=rows(*[row(2.0 * index) for index in range(3 * QUANTUM_ROWS)]),
    quanta=3,
    good_quanta=1,
    strict={"level": 0.01, "kind": -0.95},
)

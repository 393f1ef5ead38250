"""A tabular tenant with the frame's own encoders: one Gaussian head, two features, the vessel messages."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur.v1 import vessel_pb2
from models.calibration import Calibration, IntervalTable, RetentionTable
from models.head import Head
from models.predictive import Gaussian, Predictives
from models.schema import Feature, Schema
from services.request.contract import Description
from services.request.row_task import MemberOutputs, RowTask
from services.transport import http
from services.transport.grpc.rows import RowMessages, row_binding
from services.transport.oip import rows as oip_rows
from services.transport.served_model import Parts, ServedModel
from tests.contract.toys.toy import STEP_SECONDS, Probe, Toy

POWER = Head("power", "gaussian", "kW", "power, kW", "squared_error", "kW²", 1.0, "tvar", "variance", "varm")
SCHEMA = Schema.of([Feature("speed", "m/s", 0, 20, "Speed."), Feature("wave", "m", 0, 15, "Waves.", nullable=True)])
MAX_ROWS = 1000
MESSAGES = RowMessages(
    request=vessel_pb2.VesselPredictRequest,
    response=vessel_pb2.VesselPredictResponse,
    stream_request=vessel_pb2.VesselStreamRequest,
    stream_response=vessel_pb2.VesselStreamResponse,
)


class Executor:
    """Two members: speed cubed, and waves more; the variance is the wave height."""

    quantum_rows = 64

    def __init__(self, probe: Probe, members: bool) -> None:
        self._probe = probe
        self._members = members

    def seconds(self, rows: int) -> float:
        return STEP_SECONDS * (2 if self._members else 1)

    def __call__(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        self._probe.quantum(len(rows))
        speed, wave = rows.T
        means = np.stack([speed**3, speed**3 + wave])
        plain = (means.mean(axis=0), wave, means.var(axis=0))
        return (*plain, means, np.stack([wave, wave])) if self._members else plain


def statistics(arrays: tuple[NDArray[np.float32], ...]) -> tuple[Predictives, MemberOutputs]:
    return {"power": Gaussian(*arrays[:3])}, {"power": arrays[3:]}


def build(parts: Parts, probe: Probe) -> ServedModel:
    description = Description("tabular", "tabular:1", SCHEMA, (POWER,), MAX_ROWS, (0.0, 0.0), (10.0, 10.0))
    task = RowTask(description, Executor(probe, False), Executor(probe, True), statistics, member_values=4)
    pipeline: Any = parts.pipeline(task)
    intervals = {"power": IntervalTable(100, (0.5, 0.95), (0.7, 2.0))}
    grpc = row_binding(
        "demur.v1.VesselService", MESSAGES, description, pipeline, intervals, quantum_rows=lambda: 64, window_chunks=4
    )
    oip = oip_rows.row_binding(description, intervals, ensemble=True)
    return ServedModel(pipeline, description, grpc, http.row_binding(description, intervals), oip, intervals=intervals)


ROWS = {"rows": [{"speed": 2.0, "wave": 0.5}, {"speed": 3.0, "wave": 9.0}]}
TABULAR = Toy(
    name="tabular",
    calibrations={
        "power": Calibration(
            RetentionTable("tvar", 400, (0.5, 0.95), (0.5, 2.0)), {"varm": tuple(np.linspace(0, 10.2, 103).tolist())}
        )
    },
    build=build,
    good=ROWS,
    items=2,
    doubtful=ROWS,
    unknowable={"rows": [{"speed": 2.0, "wave": None}]},
    strange={"rows": [{"speed": 11.0, "wave": 0.5}]},
    refusals=(),
    failing={},
    fails_alone=False,
    slow={"columns": {"speed": [1.0] * 200, "wave": [1.0] * 200}},
    quanta=4,
    good_quanta=1,
)

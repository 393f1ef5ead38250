"""A small vessel service that keeps the contract, on a real socket, with a model whose answers are known."""

import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
import pytest

import demur
from demur.v1 import common_pb2 as common
from demur.v1 import vessel_pb2 as wire
from demur.v1.vessel_pb2_grpc import VesselServiceServicer, add_VesselServiceServicer_to_server
from tests.clients.ahead import Ahead
from tests.clients.stand_in import PROFILE

FEATURES = (
    ("draft_aft_telegram", "m", 0.0, 30.0),
    ("draft_fore_telegram", "m", 0.0, 30.0),
    ("stw", "kn", 0.0, 40.0),
    ("diff_speed_overground", "kn/3min", -20.0, 20.0),
    ("awind_vcomp_provider", "kn", -100.0, 150.0),
    ("awind_ucomp_provider", "kn", 0.0, 150.0),
    ("rcurrent_vcomp", "kn", -10.0, 10.0),
    ("rcurrent_ucomp", "kn", -10.0, 10.0),
    ("comb_wind_swell_wave_height", "m", 0.0, 30.0),
    ("timeSinceDryDock", "min", 0.0, 1e7),
)
WEIGHTS = np.array([20, 10, 800, 5, 15, 3, -40, -10, 300, 1e-4], np.float32)
SCHEMA_HASH = "00112233aabbccdd"
THRESHOLD = 50_000.0
EPOCH = 0xABCDEF
MEMBERS = np.array([-1.0, 0.0, 1.0], np.float32)
LEVELS, MULTIPLIERS = (0.5, 0.9), (0.7, 2.0)


def power_of(rows: np.ndarray) -> np.ndarray:
    """Mean of the model, kW [N]."""
    return rows @ WEIGHTS


def uncertainty_of(rows: np.ndarray) -> np.ndarray:
    """Total variance of the model, kW² [N]: grows with the waves, so that some rows are deferred."""
    return (np.float32(10_000) * (1 + rows[:, 8])).astype(np.float32)


class Refusal(Exception):
    """An error in the form in which the contract carries it."""

    def __init__(self, status: grpc.StatusCode, **detail: Any) -> None:
        super().__init__(detail.get("message"))
        self.status = status
        self.detail = common.ErrorDetail(**{"index": -1, **detail})

    def abort(self, context: grpc.ServicerContext) -> None:
        context.set_trailing_metadata((("demur-error-bin", self.detail.SerializeToString()),))
        context.abort(self.status, self.detail.message)


@dataclass
class Vessel(VesselServiceServicer):
    """The service, with what a test wants to see of it and do to it."""

    max_rows: int = 50_000
    window_chunks: int = 4
    schema_hash: str = SCHEMA_HASH
    faults: list[Refusal | grpc.StatusCode] = field(default_factory=list)
    """Raised by the next calls, one each."""
    seconds: float = 0.0
    """Spent on every question."""
    held: threading.Event | None = None
    """Calls of Predict wait for it."""
    singular: bool = False
    """A single model: no knowledge uncertainty, no calibrated intervals."""
    model: str = "vessel:1"
    multipliers: tuple[float, ...] = MULTIPLIERS
    """Multipliers of the intervals; another model has others."""
    of_version_0_1: bool = False
    """Every answer has the table of intervals, and the description has none."""
    tables_sent: int = 0
    """Number of answers with a table of intervals."""
    calls: list[str] = field(default_factory=list)
    questions: list[Any] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    most_unanswered: int = 0
    """Largest number of chunks of a stream that were received and not answered."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when the last stream is over, however it ended."""
    sequence: int = 100
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def intervals(self) -> common.Intervals:
        return common.Intervals() if self.singular else common.Intervals(levels=LEVELS, multipliers=self.multipliers)

    @property
    def intervals_digest(self) -> int:
        return 0 if self.of_version_0_1 else zlib.crc32(self.intervals.SerializeToString()) or 1

    def Describe(self, request, context):
        self._begin("Describe", context)
        table = None if self.singular or self.of_version_0_1 else self.intervals
        return common.DescribeResponse(
            task="vessel",
            model=self.model,
            intervals_digest=self.intervals_digest,
            schema_hash=self.schema_hash,
            features=[
                common.FeatureSpec(
                    name=name, unit=unit, lower=low, upper=high, trained_lower=low, trained_upper=high * 0.5
                )
                for name, unit, low, high in FEATURES
            ],
            heads=[
                common.HeadSpec(
                    name="power", kind="gaussian", unit="kW", measure="tvar", acceptable=25e4, intervals=table
                )
            ],
            policies=[common.PolicySpec(head="power", version="p1", threshold=THRESHOLD, measure="tvar")],
            max_rows=self.max_rows,
        )

    def Predict(self, request, context):
        self._begin("Predict", context)
        self.questions.append(request)
        try:
            return self._answer(request.rows, request)
        except Refusal as refusal:
            refusal.abort(context)

    def PredictStream(self, requests, context):
        self.ended.clear()
        self._begin("PredictStream", context)
        begin = next(requests).begin
        self.questions.append(begin)
        context.add_callback(self.ended.set)
        yield wire.VesselStreamResponse(
            accepted=common.StreamAccepted(
                model=self.model,
                profile=PROFILE,
                policy="p1",
                quantum_rows=1000,
                window_chunks=self.window_chunks,
            )
        )
        ahead = Ahead(requests, self._unanswered)
        for chunk in ahead:
            time.sleep(self.seconds)
            try:
                answer = self._answer(chunk.rows, begin)
                response = wire.VesselStreamResponse(
                    result=wire.VesselChunkResult(sequence=chunk.sequence, answer=answer)
                )
            except Refusal as refusal:
                response = wire.VesselStreamResponse(
                    error=common.ItemError(sequence=chunk.sequence, error=refusal.detail)
                )
            yield wire.VesselStreamResponse(progress=common.StreamProgress(chunks_done=ahead.done))
            ahead.done += 1
            yield response

    def _unanswered(self, chunks: int) -> None:
        self.most_unanswered = max(self.most_unanswered, chunks)

    def _begin(self, name: str, context: grpc.ServicerContext) -> None:
        self.metadata = dict(context.invocation_metadata())
        self.calls.append(name)
        if name != "Describe" and self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, Refusal):
                fault.abort(context)
            context.abort(fault, "out of order")
        if name == "Predict":
            time.sleep(self.seconds)
            if self.held is not None:
                self.held.wait(600)

    def _rows(self, rows: common.Rows) -> np.ndarray:
        assert rows.WhichOneof("form") == "packed"
        packed = rows.packed
        if packed.schema_hash not in ("", self.schema_hash):
            raise Refusal(
                grpc.StatusCode.INVALID_ARGUMENT,
                code="schema_mismatch",
                message="another schema",
                field="schema_hash",
            )
        values = np.frombuffer(packed.values, "<f4").reshape(packed.row_count, len(FEATURES))
        lower, upper = (np.array([spec[i] for spec in FEATURES], np.float32) for i in (2, 3))
        wrong = np.argwhere(~((values >= lower) & (values <= upper)))
        if len(wrong):
            row, column = map(int, wrong[0])
            name, unit, low, high = FEATURES[column]
            raise Refusal(
                grpc.StatusCode.INVALID_ARGUMENT,
                code="out_of_range",
                message=f"{name} is {values[row, column]:g} {unit}; physically possible: [{low:g}, {high:g}]",
                field=name,
                unit=unit,
                value=f"{values[row, column]:g}",
                allowed=f"[{low:g}, {high:g}]",
                index=row,
            )
        return values

    def _answer(self, rows: common.Rows, manner: Any) -> wire.VesselPredictResponse:
        values = self._rows(rows)
        n = len(values)
        mean, total = power_of(values), uncertainty_of(values)
        decisions = np.where(total <= np.float32(THRESHOLD), common.DECISION_ANSWER, common.DECISION_DEFER)
        if manner.HasField("defer_above"):
            stricter = (total > np.float32(manner.defer_above)) & (decisions == common.DECISION_ANSWER)
            decisions[stricter] = common.DECISION_CALLER_DEFERRED
        upper = np.array([spec[3] * 0.5 for spec in FEATURES], np.float32)
        shifts = (values > upper).any(axis=1) * common.SHIFT_OUTSIDE_TRAINING_RANGE
        shifts = shifts + (values[:, 8] > 20) * common.SHIFT_KNOWLEDGE_ABOVE_REFERENCE
        with self.lock:
            first, self.sequence = self.sequence, self.sequence + n
        power = common.GaussianHead(
            mean=_bytes(mean),
            total=_bytes(total),
            data=_bytes(total * 0.75),
            knowledge=b"" if self.singular else _bytes(total * 0.25),
            deferral=common.Deferral(
                ids=common.UnitIds(epoch=EPOCH, first=first, count=n),
                policy="p1",
                measure="mvar" if self.singular else "tvar",
                threshold=THRESHOLD,
                uncertainty=_bytes(total),
                decisions=decisions.astype(np.uint8).tobytes(),
                shifts=shifts.astype(np.uint8).tobytes(),
            ),
        )
        if self.of_version_0_1 or (manner.intervals and manner.known_intervals != self.intervals_digest):
            power.intervals.CopyFrom(self.intervals)
            self.tables_sent += 1
        if manner.members:
            power.member_means = _bytes(mean + MEMBERS[:, None])
            power.member_variances = _bytes(np.broadcast_to(total, (len(MEMBERS), n)))
        recorded = manner.purpose == common.PURPOSE_DECIDE
        return wire.VesselPredictResponse(model=self.model, profile=PROFILE, recorded=recorded, power=power)


def _bytes(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array, "<f4").tobytes()


class Health:
    """grpc.health.v1 by hand: the client must not need its generated code."""

    status = 1

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method != "/grpc.health.v1.Health/Check":
            return None
        return grpc.unary_unary_rpc_method_handler(lambda request, context: bytes([0x08, self.status]))


@dataclass
class Running:
    """A service, where it listens, and how it is stopped and started again there."""

    vessel: Vessel
    health: Health
    target: str
    server: grpc.Server

    def stop(self) -> None:
        self.server.stop(0).wait()

    def start(self) -> None:
        self.server, _ = _serve(self.vessel, self.health, self.target)


def _serve(vessel: Vessel, health: Health, address: str) -> tuple[grpc.Server, int]:
    server = grpc.server(
        ThreadPoolExecutor(16),
        handlers=(health,),
        options=[("grpc.max_receive_message_length", 16 * 2**20), ("grpc.so_reuseport", 0)],
    )
    add_VesselServiceServicer_to_server(vessel, server)
    port = server.add_insecure_port(address)
    server.start()
    return server, port


@pytest.fixture
def service() -> Iterator[Running]:
    vessel, health = Vessel(), Health()
    server, port = _serve(vessel, health, "127.0.0.1:0")
    running = Running(vessel, health, f"127.0.0.1:{port}", server)
    yield running
    running.stop()


@pytest.fixture
def vessel(service: Running) -> Vessel:
    return service.vessel


@pytest.fixture
def target(service: Running) -> str:
    """Where the stand-in listens; modules about another task have their own."""
    return service.target


@pytest.fixture
def client(target: str) -> Iterator[demur.Client]:
    retry = demur.Retry(initial_seconds=0.01, max_seconds=0.02)
    with demur.connect(target, retry=retry, timeout=10) as opened:
        yield opened


@pytest.fixture
def refusal() -> type[Refusal]:
    return Refusal


@pytest.fixture
def rows() -> Callable[[int], np.ndarray]:
    """Makes n rows within the physical range, float32 [n, 10], the same for the same n."""

    def make(n: int) -> np.ndarray:
        random = np.random.default_rng(n)
        low, high = (np.array([spec[i] for spec in FEATURES]) for i in (2, 3))
        return random.uniform(low, high, (n, len(FEATURES))).astype(np.float32)

    return make


@pytest.fixture
def columns() -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """Names the columns of rows [n, 10]."""
    return lambda packed: {spec[0]: packed[:, i] for i, spec in enumerate(FEATURES)}


@pytest.fixture
def model() -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """The model's mean (kW) and total variance (kW²) of rows [n, 10]."""
    return power_of, uncertainty_of

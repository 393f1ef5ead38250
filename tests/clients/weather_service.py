"""A small weather service that keeps the contract, on a real socket, with a model whose answers are known."""

from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np

from demur.v1 import common_pb2 as common
from demur.v1 import weather_pb2 as wire
from demur.v1.weather_pb2_grpc import WeatherServiceServicer, add_WeatherServiceServicer_to_server
from tests.clients.stand_in import PROFILE, LabelStandIn, refuse

NAMES = ("sun_elevation", "gfs_temperature_sea", "gfs_soil_temperature", "gfs_available", "gfs_humidity")
METADATA = ("fact_time", "fact_latitude", "fact_longitude", "fact_temperature", "fact_cwsm_class", "climate")
CLASS_NAMES = ("dry", "rain", "snow")
THRESHOLDS = {"temperature": 2.0, "precipitation": -0.5}
INTERVALS, DIGEST = common.Intervals(levels=[0.9], multipliers=[1.7]), 5
MEMBERS = np.array([-0.5, 0.0, 0.5], np.float32)


def features() -> list[common.FeatureSpec]:
    """An angle, a temperature, one with a sentinel, a flag and a share; all but the flag may be missing."""
    ranges = {"sun_elevation": ("°", -90, 90), "gfs_available": ("1", 0, 1), "gfs_humidity": ("%", 0, 100)}
    specs = []
    for name in NAMES:
        unit, lower, upper = ranges.get(name, ("°C", -90, 60))
        spec = common.FeatureSpec(name=name, unit=unit, lower=lower, upper=upper, nullable=name != "gfs_available")
        if name == "gfs_available":
            spec.values.extend([0.0, 1.0])
        if name == "gfs_soil_temperature":
            spec.sentinels.append(-9999.0)
        specs.append(spec)
    return specs


def members_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean temperatures [M, N] and class probabilities [M, N, 3] of each member."""
    known = np.nan_to_num(rows, nan=0.0)
    means = known[:, 1] + 0.1 * known[:, 0] + MEMBERS[:, None] * (1 + known[:, 3])
    logits = np.stack([0 * known[:, 4], known[:, 4] / 50, -known[:, 1] / 10], axis=-1) + MEMBERS[:, None, None]
    logits[..., 1] *= 1 + MEMBERS[:, None]
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return means.astype(np.float32), (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


@dataclass
class WeatherStandIn(LabelStandIn, WeatherServiceServicer):
    """The service, with what a test wants to see of it and do to it."""

    register = staticmethod(add_WeatherServiceServicer_to_server)
    heads: tuple[str, ...] = ("temperature", "precipitation")
    withhold: bool = False
    max_rows: int = 1000
    refused_above: float = np.inf
    """Sun elevation from which a row is refused, though the description allows it."""
    questions: list[Any] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    sequence: int = 0

    def Describe(self, request, context):
        kinds = {
            "temperature": common.HeadSpec(
                name="temperature", kind="gaussian", unit="°C", measure="tvar", acceptable=1.0, intervals=INTERVALS
            ),
            "precipitation": common.HeadSpec(
                name="precipitation", kind="categorical", unit="1", measure="confidence", class_names=CLASS_NAMES
            ),
        }
        return common.DescribeResponse(
            task="weather",
            model="weather:1",
            schema_hash="cafe",
            intervals_digest=DIGEST,
            features=features(),
            heads=[kinds[name] for name in self.heads],
            policies=[common.PolicySpec(head=name, version="p1") for name in self.heads],
            max_rows=self.max_rows,
            metadata=METADATA,
        )

    def Predict(self, request, context):
        self.questions.append(request)
        refused = self._refused(request) or self._refused_row(request.rows)
        if refused is not None:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, refused)
        return self._answer(request.rows, request)

    def PredictStream(self, requests, context):
        begin = next(requests).begin
        self.questions.append(begin)
        accepted = common.StreamAccepted(model="weather:1", profile=PROFILE, window_chunks=4)
        yield wire.WeatherStreamResponse(accepted=accepted)
        for frame in requests:
            if (detail := self._refused_row(frame.chunk.rows)) is not None:
                error = common.ItemError(sequence=frame.chunk.sequence, error=detail)
                yield wire.WeatherStreamResponse(error=error)
                continue
            answer = self._answer(frame.chunk.rows, begin)
            yield wire.WeatherStreamResponse(
                result=wire.WeatherChunkResult(sequence=frame.chunk.sequence, answer=answer)
            )

    def _refused(self, request: Any) -> common.ErrorDetail | None:
        if request.HasField("defer_above") and len(self.heads) > 1:
            return common.ErrorDetail(code="head_needed", field="defer_above", message="say of which head", index=-1)
        unknown = set(request.defer_above_by_head) - set(self.heads)
        if unknown:
            return common.ErrorDetail(code="unknown_head", field=unknown.pop(), message="no such head", index=-1)
        return None

    def _refused_row(self, message: common.Rows) -> common.ErrorDetail | None:
        rows = np.frombuffer(message.packed.values, "<f4").reshape(message.packed.row_count, len(NAMES))
        wrong = np.flatnonzero(rows[:, 0] > self.refused_above)
        if not len(wrong):
            return None
        text = f"sun_elevation is too high in row {wrong[0]}"
        return common.ErrorDetail(code="out_of_range", field="sun_elevation", message=text, index=int(wrong[0]))

    def _answer(self, message: common.Rows, manner: Any) -> wire.WeatherPredictResponse:
        packed = message.packed
        rows = np.frombuffer(packed.values, "<f4").reshape(packed.row_count, len(NAMES))
        self.rows.append(rows)
        means, probabilities = members_of(rows)
        recorded = manner.purpose == common.PURPOSE_DECIDE
        response = wire.WeatherPredictResponse(model="weather:1", profile=PROFILE, recorded=recorded)
        if "temperature" in self.heads:
            knowledge, data = means.var(axis=0), np.full(len(rows), 1.5, np.float32)
            deferral = self._deferral("temperature", "tvar", data + knowledge, manner)
            response.temperature.CopyFrom(
                common.GaussianHead(
                    mean=self._shown(means.mean(axis=0), deferral),
                    total=_bytes(data + knowledge),
                    data=_bytes(data),
                    knowledge=_bytes(knowledge),
                    deferral=deferral,
                    intervals=INTERVALS if manner.intervals and manner.known_intervals != DIGEST else None,
                    member_means=_bytes(means) if manner.members else b"",
                    member_variances=_bytes(np.broadcast_to(data, means.shape)) if manner.members else b"",
                )
            )
        if "precipitation" in self.heads:
            mean = probabilities.mean(axis=0)
            deferral = self._deferral("precipitation", "confidence", -mean.max(axis=-1), manner)
            response.precipitation.CopyFrom(
                common.CategoricalHead(
                    classes=len(CLASS_NAMES),
                    probabilities=self._shown(mean, deferral),
                    total=_bytes(_entropy(mean)),
                    data=_bytes(_entropy(probabilities).mean(axis=0)),
                    knowledge=_bytes(_entropy(mean) - _entropy(probabilities).mean(axis=0)),
                    deferral=deferral,
                    member_probabilities=_bytes(probabilities) if manner.members else b"",
                )
            )
        return response

    def _deferral(self, head: str, measure: str, uncertainty: np.ndarray, manner: Any) -> common.Deferral:
        u = uncertainty.astype(np.float32)
        threshold = THRESHOLDS[head]
        decisions = np.where(u <= np.float32(threshold), common.DECISION_ANSWER, common.DECISION_DEFER)
        wish = manner.defer_above_by_head.get(head, np.inf)
        if manner.HasField("defer_above"):
            wish = manner.defer_above
        decisions[(u > np.float32(wish)) & (decisions == common.DECISION_ANSWER)] = common.DECISION_CALLER_DEFERRED
        first, self.sequence = self.sequence, self.sequence + len(u)
        return common.Deferral(
            ids=common.UnitIds(epoch=0xABC, first=first, count=len(u)),
            policy=f"p-{head}",
            measure=measure,
            threshold=threshold,
            uncertainty=_bytes(u),
            decisions=decisions.astype(np.uint8).tobytes(),
            shifts=((u > np.median(u)).astype(np.uint8) if len(u) else u.astype(np.uint8)).tobytes(),
        )

    def _shown(self, values: np.ndarray, deferral: common.Deferral) -> bytes:
        if self.withhold:
            values = values.copy()
            values[np.frombuffer(deferral.decisions, np.uint8) != common.DECISION_ANSWER] = np.nan
        return _bytes(values)


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    return -(probabilities * np.log(np.maximum(probabilities, 1e-30))).sum(axis=-1)


def _bytes(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array, "<f4").tobytes()


def some_rows(n: int, seed: int = 0) -> np.ndarray:
    """Rows float32 [n, 5], some values missing."""
    random = np.random.default_rng([n, seed])
    rows = random.uniform([-90, -40, -40, 0, 0], [90, 40, 40, 1, 100], (n, 5)).astype(np.float32)
    rows[:, 3] = rows[:, 3] > 0.5
    rows[random.uniform(size=rows.shape) < 0.1 * (np.arange(5) != 3)] = np.nan
    return rows

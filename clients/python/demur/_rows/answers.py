"""Answers about rows: Gaussian and categorical heads, and those of the services of rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._decisions import one_origin
from demur._description import Head
from demur._errors import wrong_argument
from demur._ids import PredictionIds
from demur._messages import Floats, PackedArray, frozen, malformed
from demur._rows.head_answer import HeadAnswer, counted, decode_head, join_heads
from demur._rows.intervals import NO_INTERVALS, Intervals, decode_intervals
from demur._rows.requests import RowMessages
from demur.v1 import rows_pb2, vessel_pb2, weather_pb2
from demur.v1.common_pb2 import CategoricalHead, GaussianHead
from demur.v1.rows_pb2_grpc import RowsServiceStub
from demur.v1.vessel_pb2_grpc import VesselServiceStub
from demur.v1.weather_pb2_grpc import WeatherServiceStub

_GAUSSIAN = (
    PackedArray("mean", ("units",)),
    PackedArray("member_means", ("members", "units"), optional=True),
    PackedArray("member_variances", ("members", "units"), optional=True),
)
_CATEGORICAL = (
    PackedArray("probabilities", ("units", "classes")),
    PackedArray("member_probabilities", ("members", "units", "classes"), optional=True),
)


@dataclass(frozen=True, eq=False, repr=False)
class Answer(HeadAnswer):
    """Predictions for N rows, in the order of the request: numbers with a variance.

    Arrays are read-only views of the received message. Values are in the head's unit (see ``describe()``),
    uncertainties in its square: kW and kW² of shaft power, °C and °C² of temperature. A row that was deferred
    still carries its prediction, unless the service's policy withholds it (NaN).
    """

    mean: Floats
    """Expected value, float32 [N]."""
    member_means: Floats | None = None
    """Mean of each member, float32 [M, N], on request."""
    member_variances: Floats | None = None
    """Variance of each member, float32 [M, N], on request."""
    intervals: Intervals = NO_INTERVALS
    """Table of the artefact that answered, for ``interval``; empty where there is none."""

    @property
    def variance(self) -> Floats:
        """Variance of the predictive, float32 [N]; the same as ``total``."""
        return self.total

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Return the central interval that holds the truth with this probability on in-domain data: low, high, [N].

        Multipliers of the standard deviation come from calibration on in-domain data, or from the Gaussian
        where the service gave none.

        Raises:
            InvalidInput: the level is outside (0, 1), or above the highest calibrated one.
        """
        half = np.float32(self.intervals.multiplier(level)) * np.sqrt(self.total)
        return self.mean - half, self.mean + half

    def _predictions(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield "mean", self.mean


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalAnswer(HeadAnswer):
    """Predictions for N rows, in the order of the request: probabilities of C classes.

    Arrays are read-only views of the received message. ``total`` is the entropy of the probabilities, ``data`` the
    mean entropy of the members, ``knowledge`` their mutual information: all in nats; ``uncertainty`` and
    ``threshold`` are in the unit of ``measure`` (a negated confidence has none). A row that was deferred still
    carries its prediction, unless the service's policy withholds it (NaN, class -1).
    """

    probabilities: Floats
    """Probability of each class, float32 [N, C]; of an ensemble the mean over its members."""
    class_names: tuple[str, ...] = ()
    """Names of classes 0, 1, 2 ...; empty where the service does not tell them."""
    member_probabilities: Floats | None = None
    """Probabilities of each member, float32 [M, N, C], on request."""

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The most probable class of each row, from 0, int64 [N]; -1 where the prediction is withheld."""
        classes = np.full(len(self), -1, np.int64)
        known = ~np.isnan(self.probabilities).any(axis=1)
        if known.any():
            classes[known] = self.probabilities[known].argmax(axis=1)
        return frozen(classes)

    def _predictions(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield ``class``, then the probabilities ``p0``, ``p1`` ..."""
        yield "class", self.classes
        for place in range(self.probabilities.shape[1]):
            yield f"p{place}", self.probabilities[:, place]


class HeadsAnswer:
    """Base of answers with several heads, each with its own uncertainty and decisions."""

    model: str

    @property
    def heads(self) -> Mapping[str, HeadAnswer]:
        """Answer of each head that the model has, by name."""
        raise NotImplementedError

    @property
    def answered(self) -> bool:
        """True if no head deferred any row."""
        return all(head.answered for head in self.heads.values())

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identities of all units, head after head: rows times heads. Labels are given with those of one head."""
        return PredictionIds.joined(head.prediction_ids for head in self.heads.values())

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return columns of one value a row, as of each head, named ``HEAD.COLUMN``.

        ``pandas.DataFrame`` and ``polars.DataFrame`` take it; rows are in the order of the request.
        """
        return {
            f"{name}.{column}": values for name, head in self.heads.items() for column, values in head.to_dict().items()
        }

    def __len__(self) -> int:
        return len(next(iter(self.heads.values())))

    def __repr__(self) -> str:
        heads = "".join(f", {name} ({head.outcome})" for name, head in self.heads.items())
        return f"<{type(self).__name__}: {counted(len(self))}{heads}, model {self.model!r}>"


@dataclass(frozen=True, eq=False, repr=False)
class WeatherAnswer(HeadsAnswer):
    """Predictions for N rows, in the order of the request. Each head has its own uncertainty and decisions."""

    temperature: Answer | None
    """Air temperature 2 m above the ground, °C, variances in °C²; None where the model does not predict it."""
    precipitation: CategoricalAnswer | None
    """Precipitation class, 0 to 8; None where the model does not predict it."""
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""
    recorded: bool
    """True if the decisions of all heads are durable in the service's ledger."""

    @property
    def heads(self) -> dict[str, HeadAnswer]:
        """Answer of each head that the model has, by name."""
        heads = {"temperature": self.temperature, "precipitation": self.precipitation}
        return {name: head for name, head in heads.items() if head is not None}


@dataclass(frozen=True, eq=False, repr=False)
class RowsAnswer(HeadsAnswer):
    """Predictions for N rows by a model of your own, in the order of the request; heads have the names of the model.

    ``answer["price"]`` and ``answer.price`` are the answer of a head. Of a model with one head, everything that the
    answer of the head has can be read from this one, such as ``answer.mean`` and ``answer.deferred``.
    """

    by_head: Mapping[str, Answer | CategoricalAnswer]
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-trees``."""
    recorded: bool
    """True if the decisions of all heads are durable in the service's ledger."""

    @property
    def heads(self) -> Mapping[str, Answer | CategoricalAnswer]:
        """Answer of each head, by name."""
        return self.by_head

    def __getitem__(self, head: str) -> Answer | CategoricalAnswer:
        try:
            return self.heads[head]
        except KeyError:
            raise KeyError(f"{head!r} is no head of {self.model}; it has {', '.join(self.heads)}") from None

    def __getattr__(self, name: str) -> Any:
        heads = self.__dict__.get("by_head", {})  # not there while an answer is copied
        if name in heads:
            return heads[name]
        if len(heads) == 1 and not name.startswith("__"):
            (only,) = heads.values()
            if hasattr(only, name):
                return getattr(only, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}; heads: {', '.join(heads)}")

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return columns of one value a row: those of the head, or of several heads with ``HEAD.`` before each name."""
        if len(self.heads) == 1:
            (only,) = self.heads.values()
            return only.to_dict()
        return super().to_dict()


def check_deviations(k: float) -> None:
    """
    Raises:
        InvalidInput: ``k`` is not a finite number from 0 up.
    """
    if not isinstance(k, (int, float, np.number)) or not 0.0 <= k < math.inf:
        raise wrong_argument("k", k, "a finite number from 0 up, of standard deviations")


def cost(answer: Answer, k: float) -> NDArray[np.float64]:
    """Return mean + k standard deviations, float64 [N]; infinite where a row is deferred."""
    upper = np.asarray(answer.mean, np.float64) + k * np.sqrt(np.asarray(answer.total, np.float64))
    return np.where(answer.deferred, np.inf, upper)


def _gaussian(name: str, head: GaussianHead, response: Any, heads: tuple[Head, ...]) -> Answer:
    """Return the answer of a head; a table of intervals that is not in it is the described one."""
    if head.HasField("intervals"):
        intervals = decode_intervals(head.intervals)
    else:
        intervals = next((described.intervals for described in heads if described.name == name), None) or NO_INTERVALS
    return decode_head(Answer, head, response, _GAUSSIAN, {}, intervals=intervals)


def _join_gaussian(parts: Sequence[Answer]) -> Answer:
    return join_heads(parts, _GAUSSIAN)


def _categorical(head: CategoricalHead, response: Any, class_names: tuple[str, ...]) -> CategoricalAnswer:
    if head.classes == 0:
        raise malformed("a head with a categorical predictive has no classes")
    names = class_names if len(class_names) == head.classes else ()
    return decode_head(CategoricalAnswer, head, response, _CATEGORICAL, {"classes": head.classes}, class_names=names)


def _vessel(response: vessel_pb2.VesselPredictResponse, heads: tuple[Head, ...]) -> Answer:
    return _gaussian("power", response.power, response, heads)


def _weather(response: weather_pb2.WeatherPredictResponse, heads: tuple[Head, ...]) -> WeatherAnswer:
    temperature = precipitation = None
    if response.HasField("temperature"):
        temperature = _gaussian("temperature", response.temperature, response, heads)
    if response.HasField("precipitation"):
        names = next((head.class_names for head in heads if head.name == "precipitation"), ())
        precipitation = _categorical(response.precipitation, response, names)
    answer = WeatherAnswer(temperature, precipitation, response.model, response.profile, response.recorded)
    if len({len(head) for head in answer.heads.values()}) != 1:
        raise malformed("an answer without heads, or heads of different length")
    return answer


def _join_weather(parts: Sequence[WeatherAnswer]) -> WeatherAnswer:
    if len(parts) == 1:
        return parts[0]
    origin = one_origin(parts)
    temperature = [part.temperature for part in parts if part.temperature is not None]
    precipitation = [part.precipitation for part in parts if part.precipitation is not None]
    if {len(temperature), len(precipitation)} - {0, len(parts)}:
        raise malformed("the heads changed within a batch")
    return WeatherAnswer(
        temperature=_join_gaussian(temperature) if temperature else None,
        precipitation=join_heads(precipitation, _CATEGORICAL) if precipitation else None,
        **origin,
        recorded=all(part.recorded for part in parts),
    )


def _rows(response: rows_pb2.RowsPredictResponse, heads: tuple[Head, ...]) -> RowsAnswer:
    answers: dict[str, Answer | CategoricalAnswer] = {}
    for described in heads:
        if described.name not in response.heads:
            continue
        message = response.heads[described.name]
        if message.WhichOneof("kind") == "categorical":
            answers[described.name] = _categorical(message.categorical, response, described.class_names)
        else:
            answers[described.name] = _gaussian(described.name, message.gaussian, response, heads)
    if len({len(answer) for answer in answers.values()}) != 1 or len(answers) != len(response.heads):
        raise malformed("an answer without the described heads, or heads of different length")
    return RowsAnswer(answers, response.model, response.profile, response.recorded)


def _join_rows(parts: Sequence[RowsAnswer]) -> RowsAnswer:
    if len(parts) == 1:
        return parts[0]
    if len({tuple(part.heads) for part in parts}) != 1:
        raise malformed("the heads changed within a batch")
    heads: dict[str, Any] = {}
    for name, first in parts[0].heads.items():
        arrays = _GAUSSIAN if isinstance(first, Answer) else _CATEGORICAL
        heads[name] = join_heads([part.heads[name] for part in parts], arrays)
    return RowsAnswer(heads, **one_origin(parts), recorded=all(part.recorded for part in parts))


ROWS = RowMessages(
    stub=RowsServiceStub,
    request=rows_pb2.RowsPredictRequest,
    frame=rows_pb2.RowsStreamRequest,
    chunk=rows_pb2.RowsChunk,
    gaussian=lambda response: [head.gaussian for head in response.heads.values() if head.HasField("gaussian")],
    decode=_rows,
    join=_join_rows,
)
VESSEL = RowMessages(
    stub=VesselServiceStub,
    request=vessel_pb2.VesselPredictRequest,
    frame=vessel_pb2.VesselStreamRequest,
    chunk=vessel_pb2.VesselChunk,
    gaussian=lambda response: [response.power],
    decode=_vessel,
    join=_join_gaussian,
)
WEATHER = RowMessages(
    stub=WeatherServiceStub,
    request=weather_pb2.WeatherPredictRequest,
    frame=weather_pb2.WeatherStreamRequest,
    chunk=weather_pb2.WeatherChunk,
    gaussian=lambda response: [response.temperature],
    decode=_weather,
    join=_join_weather,
)

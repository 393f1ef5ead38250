"""The weather task: air temperature and precipitation class at a place and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from demur._answer import Answer, gaussian, join_gaussian
from demur._async_row_service import AsyncRowService
from demur._calls import AsyncCalls, Calls
from demur._categorical import CategoricalAnswer, categorical, join_categorical
from demur._describe import Head
from demur._errors import ServiceFailure
from demur._head_answer import HeadAnswer, counted, one_origin
from demur._ids import PredictionIds
from demur._question import RowMessages
from demur._row_service import RowService
from demur.v1.weather_pb2 import WeatherChunk, WeatherPredictRequest, WeatherPredictResponse, WeatherStreamRequest
from demur.v1.weather_pb2_grpc import WeatherServiceStub


@dataclass(frozen=True, eq=False, repr=False)
class WeatherAnswer:
    """Predictions for N rows, in the order of the question. Each head has its own uncertainty and decisions."""

    temperature: Answer | None
    """Air temperature 2 m above the ground, °C, variances in °C²; None where the model does not predict it."""
    precipitation: CategoricalAnswer | None
    """Precipitation class, 0 to 8; None where the model does not predict it."""
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""
    recorded: bool
    """Whether the decisions of all heads are durable in the service's ledger."""

    @property
    def heads(self) -> dict[str, HeadAnswer]:
        """What each head that the model has says, by name."""
        found = {"temperature": self.temperature, "precipitation": self.precipitation}
        return {name: head for name, head in found.items() if head is not None}

    @property
    def answered(self) -> bool:
        """Whether no head deferred any row."""
        return all(head.answered for head in self.heads.values())

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identities of all units, head after head: rows times heads. Labels are given with those of one head."""
        return PredictionIds.joined(head.prediction_ids for head in self.heads.values())

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Columns of one value a row: ``temperature.mean`` … ``precipitation.class`` …, as of each head.

        ``pandas.DataFrame`` and ``polars.DataFrame`` take it; rows are in the order of the question.
        """
        return {
            f"{head}.{name}": values for head, said in self.heads.items() for name, values in said.to_dict().items()
        }

    def __len__(self) -> int:
        return len(next(iter(self.heads.values())))

    def __repr__(self) -> str:
        heads = "".join(f", {name} ({said.outcome})" for name, said in self.heads.items())
        return f"<WeatherAnswer: {counted(len(self))}{heads}, model {self.model!r}>"


class Weather(RowService[WeatherAnswer]):
    """Asks about weather, blocking; for any number of threads.

    ``defer_above`` is a mapping such as ``{"temperature": 2.5, "precipitation": -0.4}``, each number in the unit of
    the head's measure (``describe().heads``): °C² for variances, none for a negated confidence, nats for entropies.
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls, _MESSAGES)


class AsyncWeather(AsyncRowService[WeatherAnswer]):
    """Asks about weather, on the running event loop; for any number of its tasks. As :class:`Weather` otherwise."""

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, _MESSAGES)


def _decode(response: WeatherPredictResponse, heads: tuple[Head, ...]) -> WeatherAnswer:
    temperature = precipitation = None
    if response.HasField("temperature"):
        temperature = gaussian(response.temperature, response)
    if response.HasField("precipitation"):
        names = next((head.class_names for head in heads if head.name == "precipitation"), ())
        precipitation = categorical(response.precipitation, response, names)
    answer = WeatherAnswer(temperature, precipitation, response.model, response.profile, response.recorded)
    if len({len(head) for head in answer.heads.values()}) != 1:
        raise ServiceFailure("an answer without heads, or heads of different length", code="malformed")
    return answer


def _join(parts: Sequence[WeatherAnswer]) -> WeatherAnswer:
    if len(parts) == 1:
        return parts[0]
    origin = one_origin(parts)
    temperature = [part.temperature for part in parts if part.temperature is not None]
    precipitation = [part.precipitation for part in parts if part.precipitation is not None]
    if {len(temperature), len(precipitation)} - {0, len(parts)}:
        raise ServiceFailure("the heads changed within a batch", code="malformed")
    return WeatherAnswer(
        temperature=join_gaussian(temperature) if temperature else None,
        precipitation=join_categorical(precipitation) if precipitation else None,
        **origin,
        recorded=all(part.recorded for part in parts),
    )


_MESSAGES = RowMessages(
    stub=WeatherServiceStub,
    question=WeatherPredictRequest,
    frame=WeatherStreamRequest,
    chunk=WeatherChunk,
    decode=_decode,
    join=_join,
)

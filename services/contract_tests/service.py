"""A served artefact for tests without an event loop of their own: calls over each protocol, and their outcomes."""

import asyncio
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import grpc
import httpx
import numpy as np

from demur.v1 import common_pb2
from services.app.assembly import Assembled
from services.contract_tests import tensors
from services.contract_tests.example import Example
from services.policy.decision import Decision
from services.transport.grpc.status import DETAIL_KEY
from services.transport.oip.protocol import oip_pb2
from services.transport.served_model import ServedModel
from services.transport.table_binding import ANSWERS, UnitTable

Protocol = Literal["grpc", "http", "oip-grpc", "oip-http"]
PROTOCOLS: tuple[Protocol, ...] = ("grpc", "http", "oip-grpc", "oip-http")


@dataclass(frozen=True)
class Unit:
    """Answer about one unit."""

    values: Mapping[str, Any]
    """Fields of the table by name, as far as the protocol has them; None: the answer does not have the value."""
    decision: str
    """Name of a ``Decision``."""
    uncertainty: float
    """Score of the measure; NaN if it is unknown."""
    threshold: float
    id: str
    """Id by which labels name the unit."""


@dataclass(frozen=True)
class Outcome:
    """Answer to a call, or its error with the same fields on all protocols."""

    code: str
    """``OK``, an HTTP status or the name of a gRPC status."""
    units: tuple[Unit, ...] = ()
    recorded: bool = False
    error: Mapping[str, Any] = field(default_factory=dict)

    @property
    def decisions(self) -> list[str]:
        return [unit.decision for unit in self.units]


@dataclass(frozen=True)
class Service:
    """A running service of a task."""

    runner: asyncio.Runner
    """Runs the event loop of the service; between calls the service stands still."""
    assembled: Assembled
    channel: grpc.aio.Channel
    http: httpx.AsyncClient
    table: UnitTable

    @property
    def served_model(self) -> ServedModel:
        return self.assembled.tenant

    @property
    def task(self) -> str:
        """Name of the task, which is that of its model in the Open Inference Protocol."""
        return self.served_model.description.task

    def answer(self, protocol: Protocol, example: Example, **options: Any) -> Outcome:
        """Return the answer to an example.

        Args:
            options: ``purpose`` and ``defer_above`` of the request.

        Raises:
            AssertionError: the service refuses it.
        """
        (outcome,) = self.answers([(protocol, example)], **options)
        return outcome

    def answers(self, calls: Iterable[tuple[Protocol, Example]], **options: Any) -> list[Outcome]:
        """Return the answers to calls at the same time, see ``answer``."""
        outcomes = self.together([self.ask(protocol, example, options) for protocol, example in calls])
        for outcome in outcomes:
            assert outcome.code == "OK", f"the example request must be answered; it is refused: {dict(outcome.error)}"
        return outcomes

    def together(self, calls: Iterable[Any]) -> list[Any]:
        """Return the results of coroutines that run at the same time."""

        async def gathered() -> list[Any]:
            return list(await asyncio.gather(*calls))

        return self.runner.run(gathered())

    def get(self, path: str) -> httpx.Response:
        """Return the response to a GET."""
        return self.runner.run(self.http.get(path))

    def post(self, path: str, **content: Any) -> httpx.Response:
        """Return the response to a POST; ``content`` is that of ``httpx``."""
        return self.runner.run(self.http.post(path, **content))

    async def ask(self, protocol: Protocol, example: Example, options: Mapping[str, Any]) -> Outcome:
        """Return the outcome of an example over a protocol."""
        inputs = self.served_model.oip.inputs
        if protocol == "http":
            return self.of_http(await self.http.post("/v1/predict", json={**example.json, **options}))
        if protocol == "oip-http":
            content = tensors.document(example.arrays(inputs), options)
            return self.of_oip_http(await self.http.post(f"/v2/models/{self.task}/infer", content=content))
        if protocol == "oip-grpc":
            request = tensors.message(self.task, example.arrays(inputs), options)
            return await self.sent_oip(request.SerializeToString())
        return await self.sent(_with(example.message, options).SerializeToString())

    async def sent(self, content: bytes) -> Outcome:
        """Return the outcome of the bytes of a message of ``Predict``."""
        call: Any = self.channel.unary_unary(f"/{self.served_model.grpc.service}/Predict")
        try:
            response = self.served_model.grpc.response.decode(await call(content))
        except grpc.aio.AioRpcError as error:
            return Outcome(error.code().name, error=detail(error))
        return Outcome("OK", tuple(map(self._of_message, getattr(response, ANSWERS))), response.recorded)

    async def sent_oip(self, content: bytes) -> Outcome:
        """Return the outcome of the bytes of a message of ``ModelInfer``."""
        call: Any = self.channel.unary_unary(f"/{tensors.SERVICE}/ModelInfer")
        try:
            response = oip_pb2.ModelInferResponse.FromString(await call(content))
        except grpc.aio.AioRpcError as error:
            return Outcome(error.code().name, error=detail(error))
        parameters = {
            name: getattr(value, value.WhichOneof("parameter_choice")) for name, value in response.parameters.items()
        }
        return self._of_tensors(tensors.of_message(response), parameters)

    def of_http(self, response: httpx.Response) -> Outcome:
        """Return the outcome of ``POST /v1/predict``."""
        document = response.json()
        if response.status_code != 200:
            return Outcome(str(response.status_code), error=document["error"])
        return Outcome("OK", tuple(map(self._of_json, document[ANSWERS])), document["recorded"])

    def of_oip_http(self, response: httpx.Response) -> Outcome:
        """Return the outcome of an inference request in JSON; its errors are one text."""
        document = response.json()
        if response.status_code != 200:
            error = document["error"]
            return Outcome(str(response.status_code), error={"message": error} if isinstance(error, str) else error)
        return self._of_tensors(tensors.of_document(document), document["parameters"])

    def _of_json(self, document: Mapping[str, Any]) -> Unit:
        return Unit(
            {field.name: document.get(field.json_name) for field in self.table.fields if field.json_name},
            document["decision"],
            _number(document["uncertainty"], math.nan),
            _number(document["threshold"], -math.inf),
            document["prediction_id"],
        )

    def _of_message(self, message: Any) -> Unit:
        deferral = message.deferral
        return Unit(
            {field.name: _value(message, field.name) for field in self.table.fields if field.message},
            Decision(deferral.decisions[0]).name,
            float(np.frombuffer(deferral.uncertainty, "<f4")[0]),
            deferral.threshold,
            f"{deferral.ids.epoch:016x}-{deferral.ids.first}",
        )

    def _of_tensors(self, outputs: Mapping[str, Any], parameters: Mapping[str, Any]) -> Outcome:
        named = {field.name: outputs[field.tensor_name] for field in self.table.fields if field.tensor_name in outputs}
        return Outcome(
            "OK",
            tuple(
                Unit(
                    {name: array[place] for name, array in named.items()},
                    Decision(int(decision)).name,
                    _number(outputs["uncertainty"][place], math.nan),
                    _number(parameters["threshold"], -math.inf),
                    _text(outputs["unit_ids"][place]),
                )
                for place, decision in enumerate(outputs["decision"])
            ),
            bool(parameters["recorded"]),
        )


def detail(error: grpc.aio.AioRpcError) -> dict[str, Any]:
    """Return the typed detail of a gRPC error; empty if gRPC itself ended the call."""
    raw = dict(error.trailing_metadata() or ()).get(DETAIL_KEY)
    if raw is None:
        return {}
    message = common_pb2.ErrorDetail.FromString(raw)
    fields = {name.name: value for name, value in message.ListFields() if value}
    fields["index"] = message.index
    if message.index < 0:
        del fields["index"]
    return fields


def _with(message: Any, options: Mapping[str, Any]) -> Any:
    """Return a copy of a request message with options."""
    copied = type(message)()
    copied.CopyFrom(message)
    for name, value in options.items():
        setattr(copied, name, f"PURPOSE_{value.upper()}" if name == "purpose" else value)
    return copied


def _value(message: Any, name: str) -> Any:
    """Return the value of a field; None if it is absent, or repeated and empty."""
    descriptor = message.DESCRIPTOR.fields_by_name[name]
    if descriptor.has_presence:
        return getattr(message, name) if message.HasField(name) else None
    value = getattr(message, name)
    return (list(value) or None) if descriptor.is_repeated else value


def _number(value: Any, missing: float) -> float:
    return missing if value is None else float(value)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

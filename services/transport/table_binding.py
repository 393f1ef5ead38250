"""Bindings of all protocols for a task whose answer is a table with a record for each unit of one head.

A task gives the table of one unit's answer, a function that fills it, and readers of its requests; the rest follows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from demur.v1 import common_pb2
from services.ledger.contract import Portion
from services.request.contract import Description, ItemFailed
from services.request.pipeline import Pipeline
from services.transport.answer import DEFERRAL, ORIGIN, RECORDED, AnswerField, Record, index, records
from services.transport.binding import (
    GrpcBinding,
    HttpBinding,
    OipBinding,
    Options,
    TensorOutputs,
    TensorSpec,
    message_of,
)
from services.transport.grpc import codec
from services.transport.grpc.answer_message import filler
from services.transport.http import decoding
from services.transport.http.answer_json import schema, writer
from services.transport.http.predict_body import PredictBody
from services.transport.http.struct_schema import struct_schema
from services.transport.oip.answer_tensors import TensorWriter, specs
from services.transport.oip.decided import decided, parameters

ANSWERS = "answers"
"""Field of the records of all units."""


@dataclass(frozen=True)
class UnitTable:
    """Answer of a task with one head whose units are independent of each other."""

    head: str
    unit: str
    """Name of a unit in descriptions, such as "image"."""
    fields: tuple[AnswerField, ...]
    """Answer about one unit, without its index and decision."""
    record: Callable[[Portion, int], Record]
    """Return the values of ``fields`` of a unit of a portion, which it counts from 0; empty for a withheld prediction.
    """
    has: frozenset[str] = field(default_factory=frozenset)
    """Properties of the model that ``fields`` need, such as ``ensemble``."""

    @property
    def unit_fields(self) -> tuple[AnswerField, ...]:
        """Answer about one unit."""
        return (index("item", f"Index of the {self.unit} in the request."), *self.fields, DEFERRAL)

    @property
    def answer(self) -> tuple[AnswerField, ...]:
        """Answer to a request."""
        title = f"{self.unit.title()}Answer"
        return (*ORIGIN, RECORDED, records(ANSWERS, "In the order of the request.", self.unit_fields, title=title))

    def units(self, answers: list[Portion | ItemFailed]) -> tuple[list[Portion], list[Record]]:
        """Return the portions of a request, and a record of each unit, in the order of the request.

        Raises:
            DemurError: a unit failed.
        """
        portions: list[Portion] = []
        for answer in answers:
            if isinstance(answer, ItemFailed):
                raise answer.error
            portions.append(answer)
        portions.sort(key=lambda portion: portion.first)
        unit_records: list[Record] = [
            {
                "item": portion.first + place,
                **({} if portion.verdicts[self.head].hidden[place] else self.record(portion, place)),
                "deferral": (portion, self.head, place),
            }
            for portion in portions
            for place in range(portion.count)
        ]
        return portions, unit_records

    def whole(self, answers: list[Portion | ItemFailed]) -> Record:
        """Return the record of the answer to a request."""
        portions, unit_records = self.units(answers)
        first = portions[0]
        return {
            "model": first.model,
            "profile": first.profile,
            "purpose": first.purpose,
            "recorded": all(portion.recorded for portion in portions),
            ANSWERS: unit_records,
        }


Read = Callable[[Mapping[str, Any]], Any]
"""Function that turns inputs by name into what the task expands. Quick; raises ``DemurError``."""


@dataclass(frozen=True)
class UnitBindings:
    """Bindings of all protocols; messages, JSON bodies and tensors have the same names of inputs."""

    table: UnitTable
    inputs: tuple[TensorSpec, ...]
    read: Read

    def grpc(
        self, service: str, request: Any, response: Any, description: Description, pipeline: Pipeline[Any, Any]
    ) -> GrpcBinding:
        """Return prediction and description; streams are left to the task.

        Args:
            service: full name of the gRPC service.
            request: message type with ``purpose``, ``defer_above``, ``plain`` and the inputs.
            response: message type with the fields of ``UnitTable.answer``.

        Raises:
            KeyError: the response lacks a field of the table.
        """
        table, fill = self.table, filler(self.table.answer, response)

        def read(message: Any) -> tuple[Any, Options]:
            return self._read(message), codec.options(message, (table.head,))

        return GrpcBinding(
            service=service,
            request=message_of(request),
            response=message_of(response),
            read=read,
            answer=lambda answers: fill(table.whole(answers)),
            describe=lambda: codec.describe(description, pipeline.policies.all()),
            describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
            smaller=f"send fewer {table.unit}s in each call",
        )

    def http(self, body: type[PredictBody]) -> HttpBinding:
        """Return the JSON bodies; ``body`` decodes requests."""
        table, write = self.table, writer(self.table.answer)

        def read(content: bytes) -> tuple[Any, Options]:
            parsed = decoding.json_body(content, body)
            return self._read(parsed), parsed.options(table.head)

        return HttpBinding(
            read_json=read,
            answer_json=lambda answers: write(table.whole(answers)),
            request_schema=struct_schema(body),
            response_schema=schema(table.answer, unit=table.unit),
        )

    def oip(self) -> OipBinding:
        """Return the tensors, a row of each for a unit."""
        table, write = self.table, TensorWriter(self.table.unit_fields)

        def answer(answers: list[Any], output_names: frozenset[str]) -> TensorOutputs:
            portions, unit_records = table.units(answers)
            return TensorOutputs(
                write(unit_records, output_names) | decided(portions, table.head), parameters(portions, (table.head,))
            )

        return OipBinding(
            inputs=self.inputs,
            outputs=tuple(specs(table.unit_fields, repeated=True, unit=table.unit, has=table.has)),
            read=lambda tensors: self.read(tensors.tensors),
            answer=answer,
        )

    def _read(self, source: Any) -> Any:
        return self.read({spec.name: getattr(source, spec.name) for spec in self.inputs})

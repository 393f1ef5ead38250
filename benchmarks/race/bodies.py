"""Prepared requests of the race: the same rows in each form that a contender takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks import oip, wire
from benchmarks.connections import Protocol
from benchmarks.race.courses import Course, vessel

Form = Literal["protobuf", "columns", "lists", "oip protobuf", "oip json"]
"""Form of a body: Demur's packed rows, its named columns, lists of lists, or the Open Inference Protocol's."""
COUNTS = (1, 1000)
TASK = "vessel"


@dataclass(frozen=True)
class Lane:
    """One way into a server: protocol, path and form of the body."""

    name: str
    protocol: Protocol
    path: str
    form: Form

    @property
    def content_type(self) -> str:
        """Content type of HTTP requests."""
        return wire.PROTOBUF if self.form == "protobuf" else wire.JSON


OWN_GRPC = Lane("gRPC", "grpc", wire.predict(TASK), "protobuf")
OWN_PROTOBUF = Lane("HTTP protobuf", "http", "/v1/predict", "protobuf")
OWN_JSON = Lane("HTTP JSON columns", "http", "/v1/predict", "columns")
OIP_GRPC = Lane("OIP gRPC", "grpc", oip.INFER, "oip protobuf")
OIP_JSON = Lane("OIP JSON", "http", f"/v2/models/{TASK}/infer", "oip json")
PLAIN_JSON = Lane("HTTP JSON", "http", "/predict", "lists")


def lanes_of(course: Course, lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """Return lanes of the vessel task as those of a course."""
    paths = {OWN_GRPC.path: wire.predict(course.task), OIP_JSON.path: f"/v2/models/{course.name}/infer"}
    return tuple(replace(lane, path=paths.get(lane.path, lane.path)) for lane in lanes)


def body(form: Form, count: int, course: Course | None = None) -> bytes:
    """Return a request's body with ``count`` rows of a course, by default the vessel task."""
    course = vessel() if course is None else course
    schema, batch = course.source.schema, course.rows(count)
    match form:
        case "protobuf":
            return wire.protobuf_body(course.task, schema, batch)
        case "columns":
            return wire.json_body(schema, batch)
        case "lists":
            return msgspec.json.encode({"rows": batch.tolist()})
        case "oip protobuf":
            return oip.grpc_body(course.name, batch)
        case "oip json":
            return _tensor_json(batch)


def _tensor_json(batch: NDArray[np.float32]) -> bytes:
    tensor = {"name": "rows", "datatype": "FP32", "shape": list(batch.shape), "data": batch.ravel().tolist()}
    return msgspec.json.encode({"inputs": [tensor]})

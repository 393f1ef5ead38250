"""Latency of the Open Inference Protocol against the service's own protocol, for a single caller, form by form.

Own requests ask for the same outputs as own clients; requests of the protocol ask for all outputs that it returns by
default: the same figures, and ids as strings.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import grpc
import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks import wire
from benchmarks.harness import Figure, Timed, interleaved
from benchmarks.inputs import artefact, rowed, rows
from benchmarks.service import HOST, WITHOUT_LEDGER, Pair, Service
from services.transport.oip.protocol import oip_pb2

INFER = "/inference.GRPCInferenceService/ModelInfer"
PAIRS = {"gRPC": "gRPC, own", "HTTP, bytes": "HTTP, own protobuf", "HTTP, JSON": "HTTP, own JSON"}
"""Form of the own protocol to which each form of the protocol is compared."""


def measure(pair: Pair, seconds: float) -> Iterator[Figure]:
    """Yield figures for one row and for 1000 packed rows."""
    for count in (1, 1000):
        timed = _turns(pair, count, seconds)
        part = f"Open Inference Protocol, {rowed(count)}"
        p50 = {name: case.p50 * 1e3 for name, case in timed.items()}
        for name in (*PAIRS, *PAIRS.values()):
            yield Figure(part, name, p50[name], "ms p50", note=timed[name].note, bare=p50[f"{name}{WITHOUT_LEDGER}"])
        for name, own in PAIRS.items():
            without, own_without = p50[f"{name}{WITHOUT_LEDGER}"], p50[f"{own}{WITHOUT_LEDGER}"]
            yield Figure(part, f"{name}: added", p50[name] - p50[own], "ms p50", bare=without - own_without)
            ratio = without / own_without
            yield Figure(part, f"{name}: over own", p50[name] / p50[own], "x", at_most=1.15, bare=ratio)


def grpc_body(task: str, batch: NDArray[np.float32]) -> bytes:
    """Return packed rows [n, F] as a request message."""
    request = oip_pb2.ModelInferRequest(model_name=task, raw_input_contents=[batch.tobytes()])
    request.inputs.add(name="rows", datatype="FP32", shape=batch.shape)
    return request.SerializeToString()


def http_requests(task: str, batch: NDArray[np.float32], host: str) -> dict[str, bytes]:
    """Return HTTP requests with the same rows whose answer has the form of the request: bytes, or JSON."""
    tensor = {"name": "rows", "datatype": "FP32", "shape": list(batch.shape)}
    sized = tensor | {"parameters": {"binary_data_size": batch.nbytes}}
    head = msgspec.json.encode({"inputs": [sized], "parameters": {"binary_data_output": True}})
    text = msgspec.json.encode({"inputs": [tensor | {"data": batch.reshape(-1).tolist()}]})
    path = f"/v2/models/{task}/infer"
    length = {"inference_header_content_length": len(head)}
    return {
        "HTTP, bytes": wire.post(host, path, "application/octet-stream", head + batch.tobytes(), **length),
        "HTTP, JSON": wire.post(host, path, wire.JSON, text),
    }


def _turns(pair: Pair, count: int, seconds: float) -> dict[str, Timed]:
    batch = rows(artefact(pair.task), count)
    with ExitStack() as stack:
        cases = {
            f"{name}{ending}": case
            for ending, service in pair.named().items()
            for name, case in _forms(service, batch, stack).items()
        }
        return interleaved(cases, seconds)


def _forms(service: Service, batch: NDArray[np.float32], stack: ExitStack) -> dict[str, Callable[[], object]]:
    """Return calls of a service in each form of both protocols; connections are closed with the stack."""
    schema = artefact(service.task).schema
    own = wire.requests(service.task, schema, batch, HOST)
    packed, message = wire.protobuf_body(service.task, schema, batch), grpc_body(service.task, batch)
    http = http_requests(service.task, batch, HOST) | {
        "HTTP, own protobuf": own["protobuf"],
        "HTTP, own JSON": own["json"],
    }
    channel = stack.enter_context(grpc.insecure_channel(service.grpc))
    stub, infer = wire.stub(channel, service.task), channel.unary_unary(INFER)
    connections = {name: stack.enter_context(closing(wire.HttpConnection(HOST, service.http_port))) for name in http}
    return {
        "gRPC, own": lambda: stub(packed),
        "gRPC": lambda: infer(message),
        **{name: lambda name=name: connections[name].ask(http[name]) for name in http},  # type: ignore[misc]
    }

"""Time of each stage of the real pipeline alone, in process, without sockets."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry

from benchmarks import wire
from benchmarks.harness import Figure, interleaved
from benchmarks.inputs import artefact, direct, rowed, rows
from services.app.assembly import assemble
from services.policy.decision import decide
from services.request.contract import Call
from services.request.metrics import Metrics
from services.runtime.settings import Settings
from services.transport.http.body import json_response


def measure(seconds: float) -> Iterator[Figure]:
    """Measure p50 of each stage for 1, 1000 and 4096 rows."""
    for count in (1, 1000, 4096):
        yield from _stages(count, seconds / 3)


def _stages(count: int, seconds: float) -> Iterator[Figure]:
    source = artefact()
    metrics = Metrics("vessel", CollectorRegistry())
    assembled = assemble(source, Settings(), metrics)
    tenant = assembled.tenant
    tenant.warm_up()
    grpc, http, pipeline = tenant.grpc, tenant.http, tenant.pipeline
    task: Any = pipeline.task

    batch = rows(source, count)
    packed, as_json = wire.protobuf_body("vessel", source.schema, batch), wire.json_body(source.schema, batch)
    message = grpc.request.decode(packed)
    request, _ = grpc.read(message)
    units = task.expand(request)
    call = Call()
    loop = asyncio.new_event_loop()
    portions = loop.run_until_complete(pipeline.answer(request, call))
    (portion,) = portions
    response = grpc.answer(portions)
    ((head, predictive),) = portion.predictives.items()
    model = direct(source)

    def answered() -> Any:
        return loop.run_until_complete(pipeline.answer(request, call))

    async def nothing() -> None: ...

    stages: dict[str, Callable[[], object]] = {
        "ONNX Runtime": lambda: model(batch),
        "bytes to message": lambda: grpc.request.decode(packed),
        "message to request": lambda: grpc.read(message),
        "validation and units": lambda: task.expand(request),
        "measures and decision": lambda: decide(pipeline.policies[head], task.heads[0], predictive, units.shifts),
        "metrics": lambda: metrics.decided(portion),
        "answer to message": lambda: grpc.answer(portions),
        "message to bytes": lambda: grpc.response.encode(response),
        "JSON to request": lambda: http.read_json(as_json),
        "answer to JSON": lambda: json_response(http.answer_json(portions)),
        "an empty turn of the event loop": lambda: loop.run_until_complete(nothing()),
        "the pipeline: expand to portion": answered,
        "gRPC without transport": lambda: grpc.response.encode(
            grpc.answer(loop.run_until_complete(pipeline.answer(grpc.read(grpc.request.decode(packed))[0], call)))
        ),
    }
    timed = interleaved(stages, seconds)
    loop.close()
    assembled.scheduler.close()
    part = f"Stages in process, {rowed(count)}"
    for name, case in timed.items():
        yield Figure(part, name, case.p50 * 1e6, "µs p50", note=f"±{case.spread():.0%}")

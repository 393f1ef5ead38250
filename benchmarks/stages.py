"""Time of each stage of the real pipeline alone, in process, without sockets; the ledger is the default one."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from benchmarks import wire
from benchmarks.harness import Figure, interleaved
from benchmarks.inputs import artefact, direct, rowed, rows
from services.app.assembly import Assembled, assemble
from services.ledger.contract import Payload
from services.ledger.unit_ids import UnitIds
from services.policy.decision import decide
from services.request.contract import Call
from services.request.metrics import Metrics
from services.runtime.settings import Settings
from services.transport.http.body import json_response


def measure(seconds: float) -> Iterator[Figure]:
    """Measure p50 of each stage for 1, 1000 and 4096 rows."""
    for count in (1, 1000, 4096):
        metrics = Metrics("vessel", CollectorRegistry())
        with _assembled(metrics) as (assembled, loop):
            yield from _stages(count, seconds / 3, assembled, metrics, loop)


@contextmanager
def _assembled(metrics: Metrics) -> Iterator[tuple[Assembled, asyncio.AbstractEventLoop]]:
    """Yield a service without sockets, with a ledger of its own, and its event loop."""
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory(prefix="demur-stages-") as home:
        assembled = assemble(artefact(), Settings(home=Path(home)), metrics)
        assembled.tenant.warm_up()
        loop.run_until_complete(assembled.start())
        try:
            yield assembled, loop
        finally:
            loop.run_until_complete(assembled.stop())
            assembled.close()
            loop.close()


def _stages(
    count: int, seconds: float, assembled: Assembled, metrics: Metrics, loop: asyncio.AbstractEventLoop
) -> Iterator[Figure]:
    source, tenant = artefact(), assembled.tenant
    grpc, http, pipeline = tenant.grpc, tenant.http, tenant.pipeline
    task: Any = pipeline.task

    batch = rows(source, count)
    packed, as_json = wire.protobuf_body("vessel", source.schema, batch), wire.json_body(source.schema, batch)
    message = grpc.request.decode(packed)
    request, _ = grpc.read(message)
    units = task.expand(request)
    call = Call()
    portions = loop.run_until_complete(pipeline.answer(request, call))
    (portion,) = portions
    response = grpc.answer(portions)
    ((head, predictive),) = portion.predictives.items()
    model = direct(source)

    def answered() -> Any:
        return loop.run_until_complete(pipeline.answer(request, call))

    async def nothing() -> None: ...

    payload = Payload(task.payload_type, lambda items: task.payload(units, items))
    epoch, first = portion.ids[head].epoch, 1 << 40  # units that no other stage has

    def record() -> object:
        nonlocal first
        first += count
        return pipeline.ledger.record(replace(portion, ids={head: UnitIds(epoch, first, count)}), payload)

    stages: dict[str, Callable[[], object]] = {
        "ONNX Runtime": lambda: model(batch),
        "bytes to message": lambda: grpc.request.decode(packed),
        "message to request": lambda: grpc.read(message),
        "validation and units": lambda: task.expand(request),
        "measures and decision": lambda: decide(pipeline.policies[head], task.heads[0], predictive, units.shifts),
        "metrics": lambda: metrics.decided(portion),
        "audit draws and journal": record,
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
    part = f"Stages in process, {rowed(count)}"
    for name, case in timed.items():
        yield Figure(part, name, case.p50 * 1e6, "µs p50", note=f"±{case.spread():.0%}")

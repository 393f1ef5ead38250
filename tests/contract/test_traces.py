"""What traces tell of calls: alike for all toys and on both protocols."""

import asyncio
from typing import Any

import pytest

from services.tracing import recording
from services.tracing.context import trace_text
from services.tracing.trace import current
from tests.contract.serving import PROTOCOLS, Protocol, Served, serving
from tests.contract.test_streams import chunk, sent
from tests.contract.toys import TOYS, rows, texts, volume
from tests.contract.toys.toy import Toy
from tests.services.tracing.kept import PARENT, SPAN, TRACE, UNSAMPLED, Kept, names, parent, step

WAY = ["decode", "expand", "queue", "infer", "uncertainty", "policy", "ledger", "encode"]


async def ask(served: Served, protocol: Protocol, body: Any, timeout: float | None = None, **headers: str) -> Any:
    """A question with headers, or metadata; what came of it."""
    if protocol == "grpc":
        call = served.method()(body, metadata=tuple(headers.items()), timeout=timeout)
        return await asyncio.gather(call, return_exceptions=True)
    if timeout is not None:
        headers["demur-timeout-seconds"] = str(timeout)
    return await served.http.post("/v1/predict", json=body, headers=headers)


async def test_a_call_is_a_span_with_its_stations(toy: Toy, protocol: Protocol) -> None:
    kept = Kept()
    async with serving(toy, tracer=kept.recorder()) as served:
        await ask(served, protocol, toy.good, traceparent=PARENT, tracestate="vendor=1")
        await served.until(lambda: bool(kept.calls))
    (bundle,) = kept.calls
    assert parent(bundle) == (TRACE, SPAN)
    assert (bundle.remote, bundle.state) == (True, "vendor=1")
    assert sorted(dict.fromkeys(names(bundle))) == sorted(WAY)
    assert names(bundle)[:4] == WAY[:4]
    own, *stations = bundle.spans
    assert {span.parent_id for span in stations} == {own.span_id}
    assert all(own.start <= span.start <= span.end <= own.end for span in stations)
    assert own.error == ""
    expected: dict[str, Any] = {"demur.task": "toy", "demur.units": toy.items * len(served.tenant.description.heads)}
    method = f"{served.tenant.grpc.service}/Predict"
    if protocol == "http":
        expected |= {"http.request.method": "POST", "http.route": "/v1/predict", "http.response.status_code": 200}
    else:
        expected |= {"rpc.system.name": "grpc", "rpc.method": method, "rpc.response.status_code": "OK"}
    assert own.name == ("POST /v1/predict" if protocol == "http" else method)
    for head in served.tenant.description.heads:
        policy = served.tenant.pipeline.policies[head.name]
        place = f"demur.{head.name}"
        expected |= {f"{place}.answer": toy.items, f"{place}.defer": 0, f"{place}.caller_deferred": 0}
        expected |= {f"{place}.shifted": 0, f"{place}.policy": policy.version, f"{place}.measure": policy.measure}
        largest = own.attributes.pop(f"{place}.uncertainty.max")
        assert own.attributes.pop(f"{place}.uncertainty.mean") <= largest <= policy.threshold  # type: ignore[operator]
    assert own.attributes == expected


async def test_units_that_know_nothing_leave_no_number_behind() -> None:
    kept = Kept()
    async with serving(rows.TOY, tracer=kept.recorder()) as served:
        await ask(served, "http", rows.TOY.unknowable)
    attributes = kept.calls[0].spans[0].attributes
    assert (attributes["demur.level.defer"], "demur.level.uncertainty.mean" in attributes) == (1, False)


async def test_passes_have_traces_of_their_own_linked_to_all_who_shared_them() -> None:
    kept = Kept()
    async with serving(rows.TOY, tracer=kept.recorder()) as served:
        served.probe.hold()
        first = asyncio.create_task(ask(served, "http", rows.TOY.good))
        await served.until(lambda: bool(served.probe.executed))
        both = [asyncio.create_task(ask(served, protocol, rows.TOY.good)) for protocol in PROTOCOLS]
        unheard = asyncio.create_task(ask(served, "grpc", rows.TOY.good, traceparent=UNSAMPLED))
        await served.until(lambda: served.scheduler.active == 4)
        served.probe.release()
        await asyncio.gather(first, unheard, *both)
        await served.until(lambda: len(kept.calls) == 3)
    alone, shared = kept.passes
    assert (alone.attributes, len(alone.links)) == ({"demur.quanta": 1, "demur.size": 2}, 1)
    assert shared.attributes == {"demur.quanta": 3, "demur.size": 6}, "one that is not recorded was there as well"
    (bundle,) = (bundle for bundle in kept.named("pass") if bundle.spans[0] is shared)
    infers = {(call.trace_id, step(call, "infer").span_id) for call in kept.calls[1:]}
    assert {tuple(link) for link in shared.links} == infers
    for call in kept.calls[1:]:
        assert step(call, "infer").links == ((bundle.trace_id, shared.span_id),)
        assert step(call, "queue").end == shared.start > step(call, "queue").start
        share = step(call, "infer").attributes["demur.device_seconds"]
        assert share == pytest.approx((shared.end - shared.start) / 3)


async def test_many_quanta_are_one_station() -> None:
    for toy in TOYS:
        kept = Kept()
        async with serving(toy, lanes=2, tracer=kept.recorder()) as served:
            await ask(served, "http", toy.slow)
        infer = step(kept.calls[0], "infer")
        assert infer.attributes["demur.quanta"] == toy.quanta == len(kept.passes)
        assert len(infer.links) == toy.quanta


async def test_failures_are_told_by_their_code_never_by_their_text(toy: Toy, protocol: Protocol) -> None:
    kept = Kept()
    async with serving(toy, tracer=kept.recorder()) as served:
        await ask(served, protocol, toy.failing)
        await served.until(lambda: bool(kept.calls))
    own = kept.calls[0].spans[0]
    assert "secret" not in repr(kept.bundles)
    if toy.fails_alone:
        assert (own.error, own.attributes["demur.failed_items"]) == ("", 1)
    else:
        assert (own.error, own.attributes["error.type"]) == ("execution_failed", "execution_failed")
        assert step(kept.calls[0], "infer").error == "execution_failed"


async def test_refusals_are_the_callers_and_no_error_of_the_service(toy: Toy, protocol: Protocol) -> None:
    kept = Kept()
    async with serving(toy, tracer=kept.recorder()) as served:
        await ask(served, protocol, toy.refusals[0].body)
        await served.until(lambda: bool(kept.calls))
    (bundle,) = kept.calls
    own, code = bundle.spans[0], toy.refusals[0].error["code"]
    assert (own.error, own.attributes["error.type"]) == ("", code)
    assert step(bundle, "expand").error == code, "but it ended there"
    assert kept.passes == []
    status = own.attributes.get("http.response.status_code", own.attributes.get("rpc.response.status_code"))
    assert status in (413, 422, "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")


async def test_a_deadline_that_passes_in_the_queue_is_told_where_it_did(protocol: Protocol) -> None:
    kept = Kept()
    async with serving(rows.TOY, tracer=kept.recorder()) as served:
        served.probe.hold()
        first = asyncio.create_task(served.ask("http", rows.TOY.good))
        await served.until(lambda: bool(served.probe.executed))
        await ask(served, protocol, rows.TOY.good, timeout=0.1)
        await served.until(lambda: served.scheduler.active == 1)  # a gRPC caller's deadline passes before the service's
        served.probe.release()
        await first
        await served.until(lambda: len(kept.calls) == 2)
    (late,) = (call for call in kept.calls if "error.type" in call.spans[0].attributes)
    assert step(late, "queue").error in ("deadline_exceeded", "cancelled"), "the library ends calls at their deadlines"
    assert late.spans[0].error in ("deadline_exceeded", "cancelled")
    assert "infer" not in names(late)


async def test_a_stream_has_a_span_a_chunk() -> None:
    kept = Kept()
    async with serving(rows.TOY, tracer=kept.recorder()) as served:
        await sent(served, chunk(0), chunk(1, rows.row(101)), chunk(7), chunk(8, rows.row(rows.POISON)))
        await served.until(lambda: bool(kept.calls))
    (stream,) = kept.calls
    assert stream.spans[0].name.endswith("/PredictStream")
    chunks = {bundle.spans[0].attributes["demur.chunk"]: bundle for bundle in kept.named("chunk")}
    assert set(chunks) == {0, 1, 7, 8}
    for bundle in chunks.values():
        assert parent(bundle) == (trace_text(stream.trace_id), f"{stream.spans[0].span_id:016x}")
        assert bundle.remote is False
    assert names(chunks[7]) == WAY[1:]
    assert [chunks[number].spans[0].error for number in (0, 1, 7, 8)] == ["", "out_of_range", "", "execution_failed"]


async def test_a_job_continues_the_trace_of_its_creation(toy: Toy) -> None:
    kept = Kept()
    async with serving(toy, tracer=kept.recorder()) as served:
        response = await served.http.post("/v1/jobs", json=toy.good, headers={"traceparent": PARENT})
        location = response.headers["location"]
        await served.ended(location)
    created, *_ = kept.calls
    assert (created.spans[0].name, names(created)) == ("POST /v1/jobs", ["decode", "expand"])
    (job,) = kept.named("job")
    assert parent(job) == (TRACE, f"{created.spans[0].span_id:016x}")
    assert set(names(job)) == set(WAY[2:])
    assert location.rpartition("/")[2] not in repr(kept.bundles), "who knows a job's name may read its result"
    assert {call.spans[0].name for call in kept.calls[1:]} == {"GET /v1/jobs/{job}"}


def _listen(served: Served, seen: list[dict[str, str]]) -> None:
    """Has the task note what log lines would tell of the call."""
    task = served.tenant.pipeline.task
    expand = task.expand

    def listening(request: Any) -> Any:
        seen.append(dict(current().ids))
        return expand(request)

    task.expand = listening


async def test_what_nobody_samples_is_not_recorded_but_named_in_logs(toy: Toy, protocol: Protocol) -> None:
    for tracer in (Kept().recorder(0.0), None):
        kept = Kept()
        seen: list[dict[str, str]] = []
        async with serving(toy, **({} if tracer is None else {"tracer": kept.recorder(0.0)})) as served:
            _listen(served, seen)
            await ask(served, protocol, toy.good, **{"traceparent": UNSAMPLED, "x-request-id": "r-1"})
            await ask(served, protocol, toy.good)
        assert kept.bundles == []
        assert seen[0] == {"trace_id": TRACE, "span_id": SPAN, "request_id": "r-1"}
        assert set(seen[1]) == (set() if tracer is None else {"trace_id", "span_id"})


async def test_a_long_document_and_a_long_stream_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_STEPS", 5)
    monkeypatch.setattr(recording, "MOST_PARTS", 2)
    kept = Kept()
    async with serving(texts.TOY, tracer=kept.recorder()) as served:
        await ask(served, "http", texts.text(*["one"] * 9))
    (call,) = kept.calls
    assert call.spans[0].attributes["demur.steps_left_out"] == 2 + 3 * 9 + 1 - 5
    assert {"queue", "infer"} < set(names(call))
    assert call.spans[0].attributes["demur.units"] == 9
    async with serving(rows.TOY, tracer=kept.recorder()) as served:
        await sent(served, *map(chunk, range(5)))
        await served.until(lambda: len(kept.calls) == 2)
    assert len(kept.named("chunk")) == 2


async def test_no_route_and_no_method_make_no_name() -> None:
    kept = Kept()
    async with serving(volume.TOY, tracer=kept.recorder()) as served:
        for method, path in (("GET", "/secret/path"), ("BREW", "/v1/predict"), ("DELETE", "/v1/jobs/secret")):
            await served.http.request(method, path)
    assert [call.spans[0].name for call in kept.calls] == ["GET", "_OTHER /v1/predict", "DELETE /v1/jobs/{job}"]
    assert "secret" not in repr(kept.bundles)

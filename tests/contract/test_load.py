"""Deadlines, cancellation, failures, full queues, fairness and drains: what happens when not all is well."""

import asyncio
import http.client

import grpc
import httpx
import pytest

from services.request.contract import Priority
from services.request.schedule import Limits
from tests.contract.serving import Outcome, Protocol, Served, serving
from tests.contract.toys import rows
from tests.contract.toys.toy import Body, Toy


async def started(served: Served, body: Body, protocol: Protocol = "grpc") -> asyncio.Task[Outcome]:
    """A call whose first quantum waits at the gate, so that the only lane is taken."""
    served.probe.hold()
    task = asyncio.create_task(served.ask(protocol, body))
    await served.until(lambda: len(served.probe.executed) == 1)
    return task


async def settled(served: Served, *, running: bool = False) -> None:
    """No work is left, and nothing of it in the queue's books but the memory of a quantum that still runs."""
    await served.until(lambda: served.scheduler.active == 0)
    assert served.scheduler.queued_seconds == 0
    await served.until(lambda: bool(served.scheduler.queued_bytes) == running)


async def test_work_whose_deadline_passed_is_dropped_before_it_runs(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        first = await started(served, toy.good)
        late = await served.ask(protocol, toy.slow, timeout=0.1)
        assert late.code == ("504" if protocol == "http" else "DEADLINE_EXCEEDED")
        await served.until(lambda: served.scheduler.active == 1)  # a gRPC caller's deadline passes before the service's
        served.probe.release()
        assert (await first).code == "OK"
        await settled(served)
        assert len(served.probe.executed) == toy.good_quanta, "nothing of the late call ran"


async def test_a_deadline_that_is_too_short_or_no_number_is_refused(toy: Toy) -> None:
    async with serving(toy) as served:
        for text in ("0", "-1", "nan", "inf", "soon", "4000", "1_0", "1e999", ""):
            response = await served.http.post("/v1/predict", json=toy.good, headers={"demur-timeout-seconds": text})
            assert (response.status_code, response.json()["error"]["code"]) == (422, "bad_timeout"), text


async def test_a_bad_deadline_is_refused_before_the_body_is_read(toy: Toy) -> None:
    async with serving(toy) as served, served.on_socket() as client:
        for path in ("/v1/predict", "/v1/jobs"):
            answer = await stall(client, path, "soon")
            assert (b" 422 " in answer.split(b"\r\n")[0], b"bad_timeout" in answer) == (True, True)


async def test_the_deadline_covers_a_stalled_upload(toy: Toy) -> None:
    async with serving(toy, request_seconds=0.1) as served, served.on_socket() as client:
        for path in ("/v1/predict", "/v1/jobs"):
            for timeout in ("0.1", None):
                answer = await stall(client, path, timeout)
                assert b" 504 " in answer.split(b"\r\n")[0]
                assert b"deadline_exceeded" in answer
                assert b"connection: close" in answer


@pytest.mark.parametrize("declared", [True, False])
async def test_a_plain_client_gets_to_read_that_its_body_is_too_large(declared: bool) -> None:
    """It reads nothing before it has sent everything."""
    limit = 4 << 20
    async with serving(rows.TOY, max_message_bytes=limit) as served, served.on_socket() as client:

        def send(content_type: str) -> int:
            connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port, timeout=10)
            body = [bytes(1 << 16)] * (2 * limit // (1 << 16) - 1)
            headers = {"content-type": content_type}
            connection.request("POST", "/v1/predict", b"".join(body) if declared else iter(body), headers)
            status = connection.getresponse().status
            connection.close()
            return status

        for _ in range(5):
            assert await asyncio.to_thread(send, "application/json") == 413
        assert await asyncio.to_thread(send, "text/csv") == 415


async def test_what_is_discarded_is_bounded() -> None:
    async with serving(rows.TOY, max_message_bytes=1000) as served, served.on_socket() as client:
        for header in ("Content-Length: 9999", "Content-Length: 9999\r\nExpect: 100-continue"):
            reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
            writer.write(f"POST /v1/predict HTTP/1.1\r\nHost: toy\r\n{header}\r\n\r\n".encode())
            answer = await asyncio.wait_for(reader.read(), 60)
            assert b" 413 " in answer.split(b"\r\n")[0], "at once, or when the patience is over"
            writer.close()


async def stall(client: httpx.AsyncClient, path: str, timeout: str | None) -> bytes:
    """The answer to a body of which only the beginning is ever sent."""
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    header = "" if timeout is None else f"Demur-Timeout-Seconds: {timeout}\r\n"
    writer.write(f"POST {path} HTTP/1.1\r\nHost: toy\r\n{header}Content-Length: 100\r\n\r\n{{".encode())
    answer = await asyncio.wait_for(reader.readuntil(b"}}"), 60)
    writer.close()
    return answer


async def test_a_cancelled_call_stops_between_quanta(toy: Toy) -> None:
    async with serving(toy) as served:
        served.probe.hold()
        call = served.method()(toy.slow)
        await served.until(lambda: len(served.probe.executed) == 1)
        served.probe.release(1)
        await served.until(lambda: len(served.probe.executed) == 2)
        call.cancel()
        await settled(served, running=True)
        served.probe.release()
        assert (await served.ask("grpc", toy.good)).code == "OK"
        await asyncio.sleep(0.02)
        assert len(served.probe.executed) == 2 + toy.good_quanta, "the other quanta were left"


async def test_a_call_whose_caller_hangs_up_stops_between_quanta(toy: Toy) -> None:
    async with serving(toy) as served, served.on_socket() as client:
        served.probe.hold()
        call = asyncio.create_task(client.post("/v1/predict", json=toy.slow))
        await served.until(lambda: len(served.probe.executed) == 1)
        call.cancel()
        await settled(served, running=True)
        counted = f'demur_requests_total{{code="499",task="{toy.name}",transport="http"}} 1.0'.encode()
        await served.until(lambda: counted in served.metrics.text())
        served.probe.release()
        assert (await served.ask("http", toy.good)).code == "OK"
        assert len(served.probe.executed) == 1 + toy.good_quanta, "the other quanta were left"


async def test_a_call_that_takes_long_is_answered_all_the_same(toy: Toy) -> None:
    async with serving(toy) as served, served.on_socket() as client:
        for timeout, status in (("60", 200), ("0.15", 504)):
            served.probe.hold()
            call = asyncio.create_task(
                client.post("/v1/predict", json=toy.good, headers={"demur-timeout-seconds": timeout})
            )
            await asyncio.sleep(0.1)  # its caller is watched by now
            if status == 200:
                served.probe.release()
            assert (await call).status_code == status
            served.probe.release()


@pytest.mark.parametrize("purpose", ["decide", "explore", "replay"])
async def test_only_a_real_question_goes_before_bulk_work(protocol: Protocol, purpose: str) -> None:
    async with serving(rows.TOY) as served:
        submit, seen = served.scheduler.submit, []

        def noted(work, **wishes):
            seen.append(wishes["priority"])
            return submit(work, **wishes)

        served.scheduler.submit = noted  # type: ignore[method-assign]
        assert (await served.ask(protocol, rows.TOY.good | {"purpose": purpose})).code == "OK"
        assert seen == [Priority.INTERACTIVE if purpose == "decide" else Priority.BULK]


async def test_a_deleted_job_stops_between_quanta(toy: Toy) -> None:
    async with serving(toy) as served:
        served.probe.hold()
        location = await served.job(toy.slow)
        await served.until(lambda: len(served.probe.executed) == 1)
        view = (await served.http.delete(location)).json()
        assert (view["state"], view["error"]["code"]) == ("cancelled", "cancelled")
        await settled(served, running=True)
        served.probe.release()
        await asyncio.sleep(0.02)
        assert len(served.probe.executed) == 1


async def test_a_failure_stays_with_its_item_or_request(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        outcome = await served.ask(protocol, toy.failing)
        if toy.fails_alone:
            (failed,) = outcome.answer["failed"]
            answered = [item["item"] for item in outcome.answer["items"]]
            assert answered == [index for index in range(toy.items) if index != failed["item"]]
            error = failed["error"]
        else:
            assert outcome.code == ("500" if protocol == "http" else "INTERNAL")
            error = outcome.error
        assert error["code"] == "execution_failed"
        assert "secret" not in error["message"]
        assert (await served.ask(protocol, toy.good)).code == "OK"
        await settled(served)


async def test_neighbours_of_a_failing_request_are_unharmed(toy: Toy, protocol: Protocol) -> None:
    """Where rows of several requests share a pass, the pass is repeated one request at a time."""
    async with serving(toy) as served:
        alone = (await served.ask(protocol, toy.good)).timeless
        served.probe.executed.clear()
        first = await started(served, toy.good)
        bodies = (toy.good, toy.failing, toy.good)
        others = [asyncio.create_task(served.ask(protocol, body)) for body in bodies]
        await served.until(lambda: served.scheduler.active == 4)
        served.probe.release()
        before, failed, after = await asyncio.gather(*others)
        await first
        assert before.timeless == after.timeless == alone
        assert failed.error.get("code") == "execution_failed" or failed.answer["failed"]
        if toy is rows.TOY:
            assert served.probe.executed[1] == [10, 12, 10, rows.POISON, 10, 12], "they did share a pass"


async def test_requests_that_share_a_pass_get_their_own_rows() -> None:
    async with serving(rows.TOY) as served:
        bodies = [rows.rows(*[rows.row(float(index)) for _ in range(index % 3 + 1)]) for index in range(12)]
        alone = [(await served.ask("grpc", body)).timeless for body in bodies]
        first = await started_after(served, bodies[0])
        together = [asyncio.create_task(served.ask("grpc", body)) for body in bodies]
        await served.until(lambda: served.scheduler.active == 13)
        served.probe.executed.clear()
        served.probe.release()
        assert [(await pending).timeless for pending in together] == alone
        await first
        assert len(served.probe.executed) < len(bodies), "they did share passes"
        assert max(map(len, served.probe.executed)) <= rows.QUANTUM_ROWS


async def started_after(served: Served, body: Body) -> asyncio.Task[Outcome]:
    served.probe.executed.clear()
    return await started(served, body)


async def test_a_full_queue_says_when_to_come_back(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy, limits=Limits(lanes=1, queue_seconds=0.005)) as served:
        first = await started(served, toy.slow)
        refused = await served.ask(protocol, toy.good)
        assert refused.code == ("429" if protocol == "http" else "RESOURCE_EXHAUSTED")
        assert refused.error["code"] == "queue_full"
        assert refused.error["retry_after_seconds"] > 0
        served.probe.release()
        assert (await first).code == "OK"
        await settled(served)
        assert (await served.ask(protocol, toy.good)).code == "OK"


async def test_the_queue_is_bounded_in_bytes_too(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy, limits=Limits(lanes=1, queue_bytes=1)) as served:
        first = await started(served, toy.good)
        assert (await served.ask(protocol, toy.good)).error["code"] == "queue_full"
        served.probe.release()
        assert (await first).code == "OK", "one request may be larger than the queue"


async def test_an_interactive_call_overtakes_bulk_work(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        await served.ask(protocol, toy.good)
        of_good = list(served.probe.executed)
        served.probe.executed.clear()
        served.probe.hold()
        jobs = [await served.job(toy.slow) for _ in range(4)]
        await served.until(lambda: len(served.probe.executed) == 1)
        await served.until(lambda: served.scheduler.active == 4)
        call = asyncio.create_task(served.ask(protocol, toy.good))
        await served.until(lambda: served.scheduler.active == 5)
        served.probe.release()
        assert (await call).code == "OK"
        assert {(await served.ended(job))["state"] for job in jobs} == {"done"}
        last = max(index for index, label in enumerate(served.probe.executed) if label in of_good)
        between = last - len(of_good)
        assert between <= 1, "it waited for the quantum that ran, and for one more at most"


async def test_bulk_work_is_not_starved(toy: Toy) -> None:
    """A job ends while interactive calls never cease."""
    async with serving(toy) as served:
        job = await served.job(toy.slow)
        ending = asyncio.create_task(served.ended(job))
        for _ in range(2000):
            await asyncio.gather(*[served.ask("grpc", toy.good) for _ in range(3)])
            if ending.done():
                break
        assert (await asyncio.wait_for(ending, 1))["state"] == "done"


async def test_a_drain_refuses_new_calls_and_ends_those_in_flight(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        calls = [await started(served, toy.slow, protocol)]
        calls.append(asyncio.create_task(served.ask("http", toy.good)))
        await served.until(lambda: served.scheduler.active == 2)
        drain = asyncio.create_task(served.lifecycle.drain(served.server.drain, 600))
        await served.until(lambda: served.lifecycle.draining)
        refused = await served.ask(protocol, toy.good, timeout=1)
        while refused.code == "DEADLINE_EXCEEDED":  # it came before the server heard of the drain
            refused = await served.ask(protocol, toy.good, timeout=1)
        assert refused.code == ("503" if protocol == "http" else "UNAVAILABLE")
        assert not served.lifecycle.ready
        assert not drain.done()
        served.probe.release()
        assert [outcome.code for outcome in await asyncio.gather(*calls)] == ["OK", "OK"]
        await asyncio.wait_for(drain, 60)


async def test_a_drain_waits_for_jobs_and_lets_them_be_watched(toy: Toy) -> None:
    async with serving(toy) as served:
        served.probe.hold()
        job = await served.job(toy.slow)
        await served.until(lambda: len(served.probe.executed) == 1)
        drain = asyncio.create_task(served.lifecycle.drain(served.server.drain, 600))
        await served.until(lambda: served.lifecycle.draining)
        assert (await served.http.post("/v1/jobs", json=toy.good)).status_code == 503
        assert (await served.http.get(job)).json()["state"] == "running"
        assert not drain.done()
        served.probe.release()
        await asyncio.wait_for(drain, 60)
        assert (await served.http.get(job)).json()["state"] == "done"


async def test_a_drain_gives_up_after_its_time(toy: Toy) -> None:
    async with serving(toy) as served:
        call = await started(served, toy.slow)
        await asyncio.wait_for(served.lifecycle.drain(served.server.drain, 0.1), 60)
        assert (await call).code in ("CANCELLED", "UNAVAILABLE", "UNKNOWN")
        served.probe.release()
        await settled(served)


async def test_health_follows_readiness(toy: Toy) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    async with serving(toy) as served:
        stub = health_pb2_grpc.HealthStub(served.channel)
        for name in ("", served.tenant.grpc.service):
            request = health_pb2.HealthCheckRequest(service=name)
            assert (await stub.Check(request)).status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError, match="NOT_FOUND"):
            await stub.Check(health_pb2.HealthCheckRequest(service="other"))

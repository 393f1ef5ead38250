"""Long work over HTTP: accepted, watched, fetched, forgotten; on a real socket where events stream."""

import asyncio
import json
import re

import httpx

from services.request.schedule import Limits
from tests.contract.serving import Served, events, seen, serving
from tests.contract.toys import texts, volume
from tests.contract.toys.toy import Toy


async def test_a_job_is_accepted_done_fetched_and_forgotten(toy: Toy) -> None:
    async with serving(toy) as served:
        created = await served.http.post("/v1/jobs", json=toy.slow)
        assert created.status_code == 202
        location = created.headers["location"]
        assert created.json()["state"] == "running"
        assert location == f"/v1/jobs/{created.json()['id']}"
        view = await served.ended(location)
        assert view["state"] == "done"
        assert view["progress"]["fraction"] == 1
        assert view["progress"]["items"] > 1 or toy is volume.TOY, "items, of which an answer may hold many"
        predicted = await served.ask("http", toy.slow)
        assert type(predicted)("OK", view["result"]).timeless == predicted.timeless
        forgotten = await served.http.delete(location)
        assert (forgotten.status_code, forgotten.json()["state"]) == (200, "done")
        assert "result" not in forgotten.json()
        assert (await served.http.get(location)).status_code == 404
        assert (await served.http.delete(location)).json()["error"]["code"] == "no_job"


async def test_a_refusal_belongs_into_the_answer_not_into_a_job(toy: Toy) -> None:
    async with serving(toy) as served:
        response = await served.http.post("/v1/jobs", json=toy.refusals[0].body)
        assert response.status_code == 422


async def test_a_failed_job_says_so(toy: Toy) -> None:
    async with serving(toy) as served:
        view = await served.ended(await served.job(toy.failing))
        if toy.fails_alone:
            assert view["state"] == "done"
            assert view["progress"]["items"] == toy.items, "a failed item is finished"
            assert view["result"]["failed"][0]["error"]["code"] == "execution_failed"
        else:
            assert (view["state"], view["error"]["code"]) == ("failed", "execution_failed")


async def test_a_defect_fails_the_job(toy: Toy, caplog) -> None:
    async with serving(toy) as served:
        served.tenant.pipeline.task.collapse = None
        view = await served.ended(await served.job(toy.good))
        assert (view["state"], view["error"]["code"]) == ("failed", "internal")
        assert "not callable" not in view["error"]["message"]


async def test_an_accepted_job_waits_while_the_queue_is_full(toy: Toy) -> None:
    async with serving(toy, limits=Limits(lanes=1, queue_seconds=0.005)) as served:
        served.probe.hold()
        first = await served.job(toy.slow)
        await served.until(lambda: len(served.probe.executed) == 1)
        second, dropped = await served.job(toy.good), await served.job(toy.good)
        await asyncio.sleep(0.05)
        assert (await served.http.get(second)).json()["state"] == "running"
        assert served.scheduler.active == 1, "the queue is full for bulk work"
        assert (await served.http.delete(dropped)).json()["state"] == "cancelled", "also while it waits"
        served.probe.release()
        assert [(await served.ended(job))["state"] for job in (first, second)] == ["done", "done"]


async def test_jobs_are_bounded_and_results_have_a_lifetime(toy: Toy) -> None:
    async with serving(toy, max_jobs=2, job_seconds=0.0) as served:
        served.probe.hold()
        kept = [await served.job(toy.slow) for _ in range(2)]
        refused = await served.http.post("/v1/jobs", json=toy.good)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_jobs")
        assert int(refused.headers["retry-after"]) >= 1
        served.probe.release()
        await served.until(lambda: served.scheduler.active == 0)
        for location in kept:
            while (await served.http.get(location)).status_code == 200:
                await asyncio.sleep(0.001)  # it ends, and with it its lifetime of no seconds
        assert (await served.http.post("/v1/jobs", json=toy.good)).status_code == 202


async def test_an_ended_job_gives_way_to_a_new_one_a_running_one_does_not(toy: Toy) -> None:
    async with serving(toy, max_jobs=2) as served:
        ended = [await served.job(toy.good)]
        await served.ended(ended[0])
        ended.append(await served.job(toy.good))
        await served.ended(ended[1])
        served.probe.hold()
        running = await served.job(toy.slow)
        assert (await served.http.get(ended[0])).status_code == 404, "the oldest gave way"
        assert (await served.http.get(ended[1])).json()["state"] == "done"
        another = await served.job(toy.slow)
        assert (await served.http.get(ended[1])).status_code == 404
        assert (await served.http.post("/v1/jobs", json=toy.good)).json()["error"]["code"] == "too_many_jobs"
        served.probe.release()
        assert [(await served.ended(job))["state"] for job in (running, another)] == ["done", "done"]


async def test_kept_results_are_bounded_in_bytes(toy: Toy) -> None:
    async with serving(toy, max_job_bytes=1) as served:
        first = await served.job(toy.good)
        await served.ended(first)
        second = await served.job(toy.good)
        assert (await served.ended(second))["state"] == "done", "the newest is kept whatever its size"
        assert (await served.http.get(first)).status_code == 404


async def test_a_job_is_expanded_once(toy: Toy) -> None:
    async with serving(toy) as served:
        task = served.tenant.pipeline.task
        expand, expanded = task.expand, []

        def counted(request: object) -> object:
            expanded.append(request)
            return expand(request)

        task.expand = counted
        await served.ended(await served.job(toy.good))
        assert len(expanded) == 1


async def test_a_wish_for_an_unknown_head_is_refused_before_there_is_a_job(toy: Toy) -> None:
    async with serving(toy) as served:
        response = await served.http.post("/v1/jobs", json=toy.good | {"defer_above": {"none": 1.0}})
        assert (response.status_code, response.json()["error"]["code"]) == (422, "unknown_head")


async def test_events_follow_the_work_on_a_real_socket(toy: Toy) -> None:
    async with serving(toy) as served, served.on_socket() as client:
        served.probe.hold()
        location = (await client.post("/v1/jobs", json=toy.slow)).headers["location"]
        received: list[tuple[str, dict]] = []
        async with client.stream("GET", f"{location}/events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            buffer = ""
            async for part in response.aiter_text():
                buffer += part
                whole, _, buffer = buffer.rpartition("\n\n")
                received += events(whole) if whole else []
                served.probe.release(2 if toy is volume.TOY else toy.quanta)
        assert [name for name, _ in received][-1] == "done"
        assert {name for name, _ in received[:-1]} == {"running"}
        fractions = [view["progress"]["fraction"] for _, view in received]
        assert fractions == sorted(fractions)
        assert all("result" not in view for _, view in received), "which may be large, and is fetched"
        assert (await client.get(location)).json()["result"]["items"]
        if toy is volume.TOY:
            assert len({fraction for fraction in fractions if 0 < fraction < 1}) >= 2
        if toy is texts.TOY:
            assert received[-1][1]["progress"]["items"] == 2


async def test_events_of_an_ended_job_are_its_last_view(toy: Toy) -> None:
    async with serving(toy) as served:
        location = await served.job(toy.good)
        await served.ended(location)
        ((name, view),) = events((await served.http.get(f"{location}/events")).text)
        assert name == view["state"] == "done"
        assert (await served.http.get("/v1/jobs/none/events")).status_code == 404


async def test_items_are_joined_in_order_whatever_order_they_finish_in() -> None:
    async with serving(texts.TOY) as served:
        answer = (await served.ask("grpc", texts.text("a b c d", "a", "a b"))).answer
        assert answer["finished"] == [1, 2, 0], "short sentences finish first"
        assert [item["item"] for item in answer["items"]] == [0, 1, 2]
        assert [item["payload"] for item in answer["items"]] == ["A B C D", "A", "A B"]


async def test_a_real_socket_gives_the_same_answers(toy: Toy) -> None:
    async with serving(toy) as served, served.on_socket() as client:
        in_process = await served.ask("http", toy.doubtful)
        over_socket = seen(await client.post("/v1/predict", json=toy.doubtful))
        assert over_socket.timeless == in_process.timeless
        refused = await client.post("/v1/predict", json=toy.refusals[0].body)
        assert refused.status_code == 422
        await check_routes(served, client)


METHODS = {
    "/v1/predict": "OPTIONS, POST",
    "/v1/jobs": "OPTIONS, POST",
    "/v1/jobs/none": "DELETE, GET, HEAD, OPTIONS",
    "/v1/jobs/none/events": "GET, HEAD, OPTIONS",
    "/v1/schema": "GET, HEAD, OPTIONS",
    "/v1/policy": "GET, HEAD, OPTIONS",
    "/v1/policy/none": "GET, HEAD, OPTIONS, PUT",
    "/v1/openapi.json": "GET, HEAD, OPTIONS",
    "/metrics": "GET, HEAD, OPTIONS",
    "/livez": "GET, HEAD, OPTIONS",
    "/readyz": "GET, HEAD, OPTIONS",
}


async def test_other_methods_are_refused_and_told_which_are_taken() -> None:
    async with serving(texts.TOY) as served, served.on_socket() as client:
        for path, allowed in METHODS.items():
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"} - set(allowed.split(", ")):
                response = await client.request(method, path)
                assert (response.status_code, response.headers["allow"]) == (405, allowed), (method, path)
                error = response.json()["error"]
                assert (error["code"], error["value"], error["allowed"]) == ("method_not_allowed", method, allowed)
            options = await client.options(path)
            assert (options.status_code, options.headers["allow"], options.content) == (204, allowed, b"")
        assert b'code="405"' in served.metrics.text()


async def test_head_is_get_without_the_body() -> None:
    async with serving(texts.TOY) as served, served.on_socket() as client:
        served.probe.hold()
        job = (await client.post("/v1/jobs", json=texts.TOY.slow)).headers["location"]
        for path in ("/v1/schema", "/metrics", job, f"{job}/events"):
            response = await client.head(path, timeout=2)
            assert (response.status_code, response.content) == (200, b""), path
        served.probe.release()
        assert (await served.ended(job))["state"] == "done"


async def test_unknown_paths_are_refused_by_any_method() -> None:
    async with serving(texts.TOY) as served, served.on_socket() as client:
        for path in ("/", "/nothing", "/v1/predict/", "/v1/jobs/none/other"):
            for method in ("GET", "POST", "PATCH", "OPTIONS"):
                response = await client.request(method, path)
                assert (response.status_code, response.json()["error"]["code"]) == (404, "no_route"), (method, path)


async def check_routes(served: Served, client: httpx.AsyncClient) -> None:
    document = (await client.get("/v1/openapi.json")).json()
    for path, methods in document["paths"].items():
        if path in ("/livez", "/readyz"):
            continue  # the host of the service answers them
        for method in methods:
            url = path.replace("{job}", "none").replace("{head}", "none")
            response = await client.request(method, url, json={} if method in ("post", "put") else None)
            assert response.status_code in (200, 404, 422, 501), (method, path)
            if response.status_code in (404, 501):  # toys keep no ledger
                assert response.json()["error"]["code"] in ("no_job", "no_ledger")
    schema = (await client.get("/v1/schema")).json()
    assert schema["task"] == served.toy.name
    schemas = document["components"]["schemas"]
    references = set(re.findall(r'"\$ref":"#/components/schemas/(\w+)', json.dumps(document, separators=(",", ":"))))
    assert references <= set(schemas)
    assert set(schema) == set(schemas["Description"]["properties"])
    assert all(set(head) == set(schemas["Head"]["properties"]) for head in schema["heads"])
    policies = (await client.get("/v1/policy")).json()["policies"]
    assert policies
    assert all(set(policy) == set(schemas["Policy"]["properties"]) for policy in policies)
    assert (await client.get("/nothing")).json()["error"]["code"] == "no_route"

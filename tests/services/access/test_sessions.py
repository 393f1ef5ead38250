"""What lasts longer than a call: streams, jobs, rates, and whose name is in the ledger."""

import asyncio
from pathlib import Path

import grpc
import pytest

from demur.v1 import labels_pb2
from tests.contract.serving import detail, events, serving
from tests.contract.toys import TOYS
from tests.services.access.passes import Passes, bearer, carried
from tests.services.labels.test_http import SETTINGS, post, predicted
from tests.services.tabular import TABULAR

TOY = TOYS[0]


async def test_an_open_stream_ends_in_words_when_its_token_does(passes: Passes) -> None:
    ends, stays = passes.give("anna"), passes.give("bert")
    async with serving(TOY, tokens=str(passes.path)) as served:
        streams = {name: served.stream(metadata=carried(token)) for name, token in (("ends", ends), ("stays", stays))}
        for stream in streams.values():
            assert await stream.read() is not grpc.aio.EOF  # accepted
        passes.revoke("anna")
        with pytest.raises(grpc.aio.AioRpcError) as error:
            async with asyncio.timeout(60):
                await streams["ends"].read()
        assert (error.value.code().name, detail(error.value)["code"]) == ("UNAUTHENTICATED", "token_ended")
        await streams["stays"].done_writing()
        assert await streams["stays"].read() is not grpc.aio.EOF  # the last word
        assert (await streams["stays"].code()) is grpc.StatusCode.OK


async def test_a_stream_with_a_token_says_what_one_without_says(passes: Passes) -> None:
    token = passes.give("anna")
    async with serving(TOY, tokens=str(passes.path)) as served:
        stream = served.stream(metadata=carried(token))
        await stream.read()
        await stream.write({"none": 1})  # no frame of this stream
        assert await stream.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_events_of_a_job_end_with_the_token_and_the_job_goes_on(passes: Passes) -> None:
    token, other = passes.give("anna"), passes.give("bert")
    async with serving(TOY, tokens=str(passes.path)) as served, served.on_socket() as client:
        served.probe.hold()
        created = await client.post("/v1/jobs", json=TOY.slow, headers=bearer(token))
        location = created.headers["location"]
        for method in ("GET", "DELETE"):
            foreign = await client.request(method, location, headers=bearer(other))
            assert (foreign.status_code, foreign.json()["error"]["code"]) == (404, "no_job")
        async with client.stream("GET", f"{location}/events", headers=bearer(token)) as response:
            parts = response.aiter_text()
            assert "running" in await anext(parts)
            passes.revoke("anna")
            await served.until(lambda: len(served.access.authenticator._source.tokens.by_id) == 1)  # type: ignore[union-attr]
            served.probe.release()
            async with asyncio.timeout(60):
                assert [name async for text in parts for name, _ in events(text) if name == "done"] == []
        await served.until(lambda: served.scheduler.active == 0)
        assert (await client.get(location, headers=bearer(token))).status_code == 401


async def test_calls_beyond_the_rate_are_told_when_to_come_back(passes: Passes) -> None:
    first = passes.give("anna", "predict", requests_per_second=0.5, burst=3.0)
    second, free = passes.give("anna", "predict", requests_per_second=0.5, burst=3.0), passes.give("bert")
    async with serving(TOY, tokens=str(passes.path)) as served:
        codes = []
        for token in (first, second) * 3:  # of one name: one rate
            answer = await served.http.post("/v1/predict", json=TOY.good, headers=bearer(token))
            codes.append(answer.status_code)
        assert codes[:3] == [200] * 3
        assert codes[-1] == 429
        assert answer.json()["error"]["code"] == "rate_limited"
        assert 0 < answer.json()["error"]["retry_after_seconds"] <= 2
        assert int(answer.headers["retry-after"]) >= 1
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await asyncio.gather(*(served.method()(TOY.good, metadata=carried(first), timeout=60) for _ in range(3)))
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert detail(error.value)["retry_after_seconds"] > 0
        assert (await served.http.post("/v1/predict", json=TOY.good, headers=bearer(free))).status_code == 200
        assert 'demur_access_limited_total{limit="calls",name="anna",task="rows"}' in served.metrics.text().decode()


async def test_units_beyond_the_rate_wait_on_streams_and_are_refused_elsewhere(passes: Passes) -> None:
    token = passes.give("anna", units_per_second=20.0)
    rows = {"rows": [{"speed": 2.0, "wave": 0.5}] * 21}
    async with serving(TABULAR, tokens=str(passes.path)) as served:
        assert (await served.http.post("/v1/predict", json=rows, headers=bearer(token))).status_code == 200
        again = await served.http.post("/v1/predict", json=rows, headers=bearer(token))
        assert (again.status_code, again.json()["error"]["allowed"]) == (429, "20 units/s")
        job = await served.http.post("/v1/jobs", json=rows, headers=bearer(token))
        assert job.status_code == 202, "a job waits for its turn"
        async with asyncio.timeout(60):
            while True:
                view = (await served.http.get(job.headers["location"], headers=bearer(token))).json()
                if view["state"] != "running":
                    break
                await asyncio.sleep(0.05)
        assert view["state"] == "done"
        assert 'limit="units"' in served.metrics.text().decode()


async def test_the_ledger_knows_the_token_by_its_name(passes: Passes, tmp_path: Path) -> None:
    chief = passes.give("chief", "predict", "label", "review", "policy")
    async with serving(TABULAR, recorded=True, home=tmp_path, tokens=str(passes.path), **SETTINGS) as served:
        served.http.headers.update(bearer(chief))
        answered, deferred = await predicted(served)
        (request,) = (await post(served, "/v1/requests/claim", {}))["requests"]
        path = f"/v1/requests/{request['request']}/submit"
        error = await post(served, path, {"lease": request["lease"], "value": 1.0}, 403, **{"demur-actor": "boss"})
        assert (error["code"], error["allowed"]) == ("another_name", "chief")
        await post(served, path, {"lease": request["lease"], "value": 1.0}, **{"demur-actor": "chief"})
        await post(served, "/v1/labels", {"labels": [{"unit": answered, "value": 2.0, "source": "census"}]})
        await post(served, "/v1/erase", {"units": [answered], "reason": "asked for"})
        acts = (await served.http.get("/v1/audit")).json()["acts"]
        assert {act["actor"] for act in acts} == {"chief"}
        logged = [(act["kind"], act["what"], act.get("unit", "")) for act in acts]
        assert ("request", "claimed", deferred) in logged
        assert ("request", "labelled", deferred) in logged
        assert ("label", "census", answered) in logged
        assert ("erasure", "erased", "") in logged
        for query, kinds in (
            ("kind=erasure,label", {"erasure", "label"}),
            ("actor=nobody", set()),
            (f"since={acts[0]['time']}", {acts[0]["kind"]}),
            ("before=1", set()),
            ("most=1", {acts[0]["kind"]}),
        ):
            chosen = (await served.http.get(f"/v1/audit?{query}")).json()["acts"]
            assert {act["kind"] for act in chosen} == kinds, query
        for query in ("kind=all", "most=0", "since=x"):
            assert (await served.http.get(f"/v1/audit?{query}")).status_code == 422


async def test_a_token_sends_labels_of_its_sources_only(passes: Passes, tmp_path: Path) -> None:
    meter = passes.give("meter", "predict", "label", sources=frozenset({"census"}))
    async with serving(TABULAR, recorded=True, home=tmp_path, tokens=str(passes.path), **SETTINGS) as served:
        served.http.headers.update(bearer(meter))
        answered, _ = await predicted(served)
        label = {"unit": answered, "value": 2.0}
        refused = await post(served, "/v1/labels", {"labels": [label]}, 403)
        assert (refused["code"], refused["allowed"]) == ("source_refused", "census")
        assert (await post(served, "/v1/labels", {"labels": [label], "source": "census"}))["outcomes"] == ["accepted"]
        odd = await post(served, "/v1/labels", {"labels": [label | {"source": "guess"}]})
        assert odd["outcomes"] == ["rejected"], "a word that is no source is the rules' to refuse"
        submit = served.channel.unary_unary("/demur.v1.LabelService/Submit")
        message = labels_pb2.SubmitLabelsRequest(labels=[labels_pb2.Label(unit=answered)])
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await submit(message.SerializeToString(), metadata=carried(meter), timeout=60)
        assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert (await served.http.post("/v1/requests/claim", json={})).status_code == 403

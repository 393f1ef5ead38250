"""The Open Inference Protocol on every toy, and what both of its forms have to say alike."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import grpc
import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from services.contract_tests.tensors import SERVICE, of_message
from services.policy.decision import Decision
from services.request.contract import Priority
from services.request.schedule import Limits
from services.transport.oip.messages import TEXT_SUFFIX
from services.transport.oip.protocol import oip_pb2
from services.transport.oip.request_parameters import wishes as wishes_of
from tests.contract.oip import (
    ASKS,
    NAN,
    VERSION,
    first_head,
    message,
    method,
    over_grpc,
    posted,
    says,
    stream,
)
from tests.contract.serving import EPOCH, MODEL, PROFILE, detail, serving
from tests.contract.toys import texts, volume
from tests.contract.toys.toy import Toy

Ask = Callable[..., Any]


@pytest.fixture(params=sorted(ASKS))
def ask(request: pytest.FixtureRequest) -> Ask:
    function: Ask = ASKS[request.param]
    return function


async def test_answers_are_those_of_the_services_own_protocol(toy: Toy, ask: Ask) -> None:
    async with serving(toy, lanes=2) as served:
        for body in (toy.good, toy.doubtful, toy.unknowable, toy.strange, toy.slow):
            own, outputs = await served.ask("grpc", body), await ask(served, body)
            items = own.answer["items"]
            for head in toy.strict:
                prefix = f"{head}_" if len(toy.strict) > 1 else ""
                decided = [item["heads"][head] for item in items]
                words = [Decision(value).name for value in outputs[f"{prefix}decision"]]
                assert words == [unit["decision"] for unit in decided]
                assert outputs[f"{prefix}deferred"].tolist() == [word != "ANSWER" for word in words]
                expected = [NAN if unit["uncertainty"] is None else unit["uncertainty"] for unit in decided]
                np.testing.assert_allclose(outputs[f"{prefix}uncertainty"], expected, rtol=1e-6)
                assert [bool(bits) for bits in outputs[f"{prefix}shifted"]] == [
                    bool(unit["shifted"]) for unit in decided
                ]


async def test_an_answer_says_what_decided_it(toy: Toy) -> None:
    async with serving(toy) as served:
        answer = await method(served)(message(toy, toy.good, id="mine"))
        assert (answer.model_name, answer.model_version, answer.id) == (toy.name, VERSION, "mine")
        parameters = {
            name: getattr(parameter, parameter.WhichOneof("parameter_choice"))
            for name, parameter in answer.parameters.items()
        }
        texts = {name: parameters.pop(name) for name in list(parameters) if name.endswith(TEXT_SUFFIX)}
        fractions = [name for name, value in parameters.items() if isinstance(value, float)]
        assert texts == {f"{name}{TEXT_SUFFIX}": repr(parameters[name]) for name in fractions}
        posted_too = (await posted(served, toy.good, id="mine")).json()
        assert posted_too["parameters"] == parameters
        assert (posted_too["id"], posted_too["model_version"]) == ("mine", VERSION)
        assert (parameters["model"], parameters["profile"]) == (MODEL, PROFILE)
        assert (parameters["purpose"], parameters["recorded"]) == ("decide", False)
        for policy in served.tenant.pipeline.policies.all():
            prefix = f"{policy.head}_" if len(toy.strict) > 1 else ""
            assert parameters[f"{prefix}policy"] == policy.version
            assert parameters[f"{prefix}measure"] == policy.measure
            assert parameters[f"{prefix}threshold"] == policy.threshold


async def test_units_have_ids_of_their_own(toy: Toy, ask: Ask) -> None:
    async with serving(toy) as served:
        ids: list[str] = []
        for _ in range(6):
            outputs = await ask(served, toy.good)
            for name, array in outputs.items():
                if name.endswith("unit_ids"):
                    ids += [value if isinstance(value, str) else value.decode() for value in array.tolist()]
        assert sorted(int(unit.removeprefix(f"{EPOCH:016x}-")) for unit in ids) == list(range(len(ids)))


async def test_withheld_predictions_stay_hidden(toy: Toy, ask: Ask) -> None:
    async with serving(toy, withhold=True) as served:
        outputs = await ask(served, toy.doubtful)
        hidden = np.isnan(says(toy, outputs).astype(float).reshape(len(first_head(toy, outputs, "deferred")), -1)).all(
            axis=1
        )
        np.testing.assert_array_equal(hidden, first_head(toy, outputs, "deferred"))
        assert hidden.any()


async def test_wishes_are_parameters(toy: Toy, ask: Ask) -> None:
    async with serving(toy) as served:
        strict = await ask(served, toy.good | {"defer_above": toy.strict})
        assert set(first_head(toy, strict, "decision").tolist()) == {Decision.CALLER_DEFERRED}
        assert first_head(toy, strict, "deferred").all()
        explored = await posted(served, toy.good | {"purpose": "explore"})
        assert explored.json()["parameters"]["purpose"] == "explore"


async def test_numbers_of_parameters_are_also_texts(toy: Toy, ask: Ask) -> None:
    """Clients of KServe have no parameters with fractions; bridges make texts of all."""
    async with serving(toy) as served:
        numbers = {f"defer_above_{head}": f"{above!r}" for head, above in toy.strict.items()}
        if len(toy.strict) == 1:
            numbers = {"defer_above": next(iter(numbers.values()))}
        strict = await ask(served, toy.good | numbers | {"timeout": "60000000", "priority": "2"})
    assert set(first_head(toy, strict, "decision").tolist()) == {Decision.CALLER_DEFERRED}


def test_whole_numbers_as_texts_mean_the_same() -> None:
    text, number = (wishes_of({"timeout": kind(50_000), "priority": kind(2)}, heads=(), own={}) for kind in (str, int))
    assert text == number
    assert (text.seconds, text.priority) == (0.05, Priority.BULK)


async def test_a_client_of_kserve_reads_the_threshold(toy: Toy) -> None:
    """Its messages, as published, have parameters of three kinds: true or false, whole numbers and texts."""
    request_type, response_type = kserve_messages()
    async with serving(toy) as served:
        request = request_type.FromString(message(toy, toy.good).SerializeToString())
        heads = tuple(toy.strict)
        name = f"defer_above_{heads[0]}" if heads[1:] else "defer_above"
        request.parameters[name].string_param = repr(toy.strict[heads[0]])
        call = served.channel.unary_unary(
            f"/{SERVICE}/ModelInfer",
            request_serializer=request_type.SerializeToString,
            response_deserializer=response_type.FromString,
        )
        answer = await call(request)
        policies = served.tenant.pipeline.policies.all()
    for policy in policies:
        threshold = f"{policy.head}_threshold" if heads[1:] else "threshold"
        assert answer.parameters[threshold].WhichOneof("parameter_choice") is None
        assert float(answer.parameters[f"{threshold}{TEXT_SUFFIX}"].string_param) == policy.threshold
    assert set(first_head(toy, of_message(answer), "decision").tolist()) == {Decision.CALLER_DEFERRED}


def kserve_messages() -> tuple[Any, Any]:
    """Request and response as KServe's ``grpc_predict_v2.proto`` has them, in a pool of their own."""
    proto = descriptor_pb2.FileDescriptorProto()
    oip_pb2.DESCRIPTOR.CopyToProto(proto)
    (parameter,) = (kind for kind in proto.message_type if kind.name == "InferParameter")
    for field in [
        member for member in parameter.field if member.name not in ("bool_param", "int64_param", "string_param")
    ]:
        parameter.field.remove(field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    request, response = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"inference.ModelInfer{name}"))
        for name in ("Request", "Response")
    )
    return request, response


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"defer_above_colour": 1.0}, "unknown_parameter"),
        ({"purpose": "guess"}, "unknown_purpose"),
        ({"timeout": 0.5}, "bad_timeout"),
        ({"timeout": "soon"}, "bad_timeout"),
        ({"timeout": "-5"}, "bad_timeout"),
        ({"priority": "1.5"}, "bad_parameter"),
        ({"priority": "high"}, "bad_parameter"),
        ({"stream_items": "yes"}, "bad_parameter"),
        ({"sequence_id": "7"}, "unsupported"),
    ],
)
async def test_parameters_that_are_none_are_refused_before_anything_runs(
    toy: Toy, parameters: dict[str, Any], code: str
) -> None:
    async with serving(toy) as served:
        response = await posted(served, toy.good, parameters=parameters)
        assert response.json()["detail"]["code"] == code
        assert response.json()["error"] == response.json()["detail"]["message"]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await method(served)(message(toy, toy.good | parameters))
        assert detail(refused.value)["code"] == code
        assert served.probe.executed == []


async def test_bad_input_is_refused_as_by_the_services_own_protocol(toy: Toy) -> None:
    async with serving(toy) as served:
        for refusal in toy.refusals:
            if "wrong_shape" in refusal.error.values():
                continue  # ragged lists are no tensor
            response = await posted(served, refusal.body)
            assert response.status_code == 422, response.text
            assert {name: response.json()["detail"].get(name) for name in refusal.error} == refusal.error or (
                response.json()["detail"]["code"] == "unknown_field"  # a column that is no input
            )
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await method(served)(message(toy, refusal.body))
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert detail(refused.value) == response.json()["detail"]
        assert served.probe.executed == []


async def test_a_failing_model_gives_no_text_away(toy: Toy, ask: Ask) -> None:
    async with serving(toy) as served:
        if toy.fails_alone:
            answer = (await posted(served, toy.failing)).json()
            assert len(answer["outputs"][0]["data"]) == 1
            (failure,) = json.loads(answer["parameters"]["failures"])
            assert (failure["item"], failure["code"]) == (1, "execution_failed")
            assert "secret" not in json.dumps(answer)
            return
        response = await posted(served, toy.failing)
        assert (response.status_code, response.json()["detail"]["code"]) == (500, "execution_failed")
        assert "secret" not in response.text


async def test_a_deadline_in_microseconds_ends_a_call(toy: Toy) -> None:
    async with serving(toy) as served:
        served.probe.hold()
        late = message(toy, toy.slow)
        late.parameters["timeout"].int64_param = 50_000
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await method(served)(late)
        assert refused.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        response = await posted(served, toy.slow, parameters={"timeout": 50_000})
        assert response.status_code == 504
        served.probe.release()
        await served.until(lambda: served.scheduler.active == 0)


async def test_a_full_queue_says_when_to_come_back(toy: Toy) -> None:
    async with serving(toy, limits=Limits(lanes=1, queue_seconds=0.001)) as served:
        served.probe.hold()
        running = asyncio.create_task(served.ask("grpc", toy.slow))
        await served.until(lambda: served.scheduler.active == 1)
        response = await posted(served, toy.slow)
        assert response.status_code == 429
        assert int(response.headers["retry-after"]) >= 1
        assert isinstance(response.json()["error"], str)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await method(served)(message(toy, toy.slow))
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        served.probe.release()
        await running


async def test_draining_refuses_calls_and_goes_on_answering_probes(toy: Toy) -> None:
    async with serving(toy) as served:
        served.probe.hold()
        running = asyncio.create_task(over_grpc(served, toy.good))
        await served.until(lambda: served.scheduler.active == 1)
        assert (await method(served, "ServerReady")(oip_pb2.ServerReadyRequest())).ready
        draining = asyncio.create_task(served.server.drain(5))
        served.lifecycle.leaving = served.lifecycle.draining = True
        await asyncio.sleep(0.02)
        assert not (await method(served, "ServerReady")(oip_pb2.ServerReadyRequest())).ready
        assert (await method(served, "ServerLive")(oip_pb2.ServerLiveRequest())).live
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await method(served)(message(toy, toy.good))
        assert (refused.value.code(), detail(refused.value)["code"]) == (grpc.StatusCode.UNAVAILABLE, "draining")
        response = await posted(served, toy.good)
        assert (response.status_code, response.json()["detail"]["code"]) == (503, "draining")
        assert [(await served.http.get(f"/v2/health/{word}")).status_code for word in ("live", "ready")] == [200, 503]
        served.probe.release()
        assert await running
        await draining


async def test_calls_are_counted_by_what_they_came_by(toy: Toy) -> None:
    async with serving(toy) as served:
        for call in ASKS.values():
            await call(served, toy.good)
        async for _ in stream(served, [message(toy, toy.good)]):
            pass
        await served.http.get("/v2/no/such/path")
        text = served.metrics.text().decode()
        for transport, code in (
            ("oip_grpc", "OK"),
            ("oip_http", "200"),
            ("oip_grpc_stream", "OK"),
            ("oip_http", "404"),
        ):
            assert f'demur_requests_total{{code="{code}",task="{toy.name}",transport="{transport}"}} 1.0' in text
        assert (await served.http.get("/v2/health/live")).status_code == 200
        assert served.metrics.text().decode() == text, "probes are not calls"


async def test_a_stream_answers_in_order_and_outlives_refusals(toy: Toy) -> None:
    async with serving(toy) as served:
        requests = [message(toy, toy.good, id=str(number)) for number in range(4)]
        requests[1].inputs[0].datatype = "BOOL"
        requests[2].model_name = "other"
        answers = [response async for response in stream(served, requests)]
        assert [response.infer_response.id for response in answers] == list("0123")
        assert [bool(response.error_message) for response in answers] == [False, True, True, False]
        assert of_message(answers[0].infer_response).keys() == of_message(answers[3].infer_response).keys()


async def test_items_of_a_stream_come_as_they_are_done() -> None:
    toy = texts.TOY
    async with serving(toy) as served:
        request = message(toy, texts.text("one two three four", "one") | {"stream_items": True})
        *items, last = [of_message(response.infer_response) async for response in stream(served, [request])]
        assert [item["item"].tolist() for item in items] == [[1], [0]]
        assert last["item"].tolist() == [0, 1]


async def test_outputs_that_are_not_answered_by_default_are_where_they_are_named(ask: Ask) -> None:
    async with serving(volume.TOY) as served:
        assert "mask" not in await ask(served, volume.TOY.good)
    async with serving(volume.TOY) as served:
        response = await posted(served, volume.TOY.good, outputs=[{"name": "mask"}])
        (mask,) = response.json()["outputs"]
        assert (mask["shape"], mask["data"]) == ([2, 3], [0, 1, 1, 0, 0, 1])

"""What a caller is told: values, decisions per unit and head, identities, refusals; alike on both protocols."""

import math

import pytest

from services.ledger.contract import Portion
from tests.contract.serving import EPOCH, MODEL, PROFILE, PROTOCOLS, Protocol, serving
from tests.contract.toys import TOYS, rows, texts
from tests.contract.toys.toy import Toy

OK = "OK"


async def test_both_protocols_give_equal_answers(toy: Toy) -> None:
    async with serving(toy, lanes=2) as served:
        for body in (toy.good, toy.doubtful, toy.unknowable, toy.strange, toy.slow):
            over_http, over_grpc = [await served.ask(protocol, body) for protocol in PROTOCOLS]
            assert over_http.code == over_grpc.code == OK
            assert over_http.timeless == over_grpc.timeless
            assert (over_http.answer["model"], over_http.answer["profile"]) == (MODEL, PROFILE)
            assert over_http.answer["recorded"] is False


async def test_the_binary_body_of_http_is_the_message_of_grpc(toy: Toy) -> None:
    async with serving(toy) as served:
        binary = await served.http.post(
            "/v1/predict",
            content=served.tenant.grpc.request.encode(toy.good),
            headers={"content-type": "application/x-protobuf"},
        )
        assert binary.headers["content-type"] == "application/protobuf"
        answer = served.tenant.grpc.response.decode(binary.content)
        assert len(answer["items"]) == toy.items


async def test_certain_units_are_answered(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        outcome = await served.ask(protocol, toy.good)
        assert [item["item"] for item in outcome.answer["items"]] == list(range(toy.items))
        assert set(outcome.decisions) == {head.name for head in served.tenant.description.heads}
        assert {decision for column in outcome.decisions.values() for decision in column} == {"ANSWER"}


async def test_heads_are_decided_by_policies_of_their_own(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        outcome = await served.ask(protocol, toy.doubtful)
        first, *others = outcome.decisions.values()
        assert first == ["ANSWER"] * (toy.items - 1) + ["DEFER"]
        assert all(column == ["ANSWER"] * toy.items for column in others)
        for item in outcome.answer["items"]:
            for name, head in item["heads"].items():
                policy = served.tenant.pipeline.policies[name]
                assert (head["policy"], head["measure"]) == (policy.version, policy.measure)
                assert head["threshold"] == policy.threshold
                assert (head["decision"] == "ANSWER") == (head["uncertainty"] <= policy.threshold)
                assert head["says"] is not None, "a deferred prediction is returned, flagged"


async def test_unknown_uncertainty_defers(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        outcome = await served.ask(protocol, toy.unknowable)
        head = next(iter(outcome.answer["items"][0]["heads"].values()))
        assert head["decision"] == "DEFER"
        assert head["uncertainty"] is None, "NaN travels as null"


async def test_unit_ids_are_consecutive_and_never_repeat(toy: Toy) -> None:
    async with serving(toy) as served:
        ids: list[str] = []
        for _ in range(3):
            for protocol in PROTOCOLS:
                ids += (await served.ask(protocol, toy.doubtful)).ids
        units = sorted(int(identity.removeprefix(f"{EPOCH:016x}-")) for identity in ids)
        assert units == list(range(len(ids)))


async def test_calls_decide_unless_they_say_otherwise(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        assert (await served.ask(protocol, toy.good)).answer["purpose"] == "decide"
        assert (await served.ask(protocol, toy.good | {"purpose": "explore"})).answer["purpose"] == "explore"
        location = await served.job(toy.good)
        assert (await served.ended(location))["result"]["purpose"] == "decide"


async def test_a_stricter_caller_is_kept_apart_from_the_policy(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        strict = await served.ask(protocol, toy.good | {"defer_above": toy.strict})
        assert {d for column in strict.decisions.values() for d in column} == {"CALLER_DEFERRED"}
        head, threshold = next(iter(toy.strict.items()))
        outcome = await served.ask(protocol, toy.good | {"defer_above": {head: threshold}})
        assert set(outcome.decisions[head]) == {"CALLER_DEFERRED"}
        assert all(set(column) == {"ANSWER"} for name, column in outcome.decisions.items() if name != head)


async def test_a_caller_cannot_be_laxer_than_the_policy(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        lax = await served.ask(protocol, toy.doubtful | {"defer_above": dict.fromkeys(toy.strict, 1e300)})
        assert next(iter(lax.decisions.values()))[-1] == "DEFER"


async def test_a_wish_for_an_unknown_head_is_refused(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        outcome = await served.ask(protocol, toy.good | {"defer_above": {"colour": 1.0}})
        assert outcome.code in ("422", "INVALID_ARGUMENT")
        assert (outcome.error["code"], outcome.error["value"]) == ("unknown_head", "colour")
        assert served.probe.executed == []


async def test_a_number_is_a_wish_only_where_there_is_one_head(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:
        outcome = await served.ask(protocol, toy.good | {"defer_above": -5.0})
        if len(toy.strict) == 1:
            assert set(next(iter(outcome.decisions.values()))) == {"CALLER_DEFERRED"}
        else:
            assert outcome.error["code"] == "head_needed"


async def test_withheld_predictions_stay_hidden(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy, withhold=True) as served:
        outcome = await served.ask(protocol, toy.doubtful)
        for item in outcome.answer["items"]:
            for head in item["heads"].values():
                assert (head["says"] is None) == (head["decision"] == "DEFER")
        assert outcome.answer["items"][-1]["payload"] is None
        own = await served.ask(protocol, toy.good | {"defer_above": toy.strict})
        values = [head["says"] for item in own.answer["items"] for head in item["heads"].values()]
        assert None not in values, "what the policy would answer is the caller's to see"


async def test_a_shift_is_flagged_and_defers_only_by_policy(toy: Toy, protocol: Protocol) -> None:
    for defer_on_shift, decision in ((False, "ANSWER"), (True, "DEFER")):
        async with serving(toy, defer_on_shift=defer_on_shift) as served:
            outcome = await served.ask(protocol, toy.strange)
            for head in outcome.answer["items"][0]["heads"].values():
                assert head["decision"] == decision
                assert head["shifted"] == ["OUTSIDE_TRAINING_RANGE"]
            familiar = await served.ask(protocol, toy.good)
            assert {d for column in familiar.decisions.values() for d in column} == {"ANSWER"}


async def test_without_calibration_everything_is_deferred(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy, calibrated=False) as served:
        outcome = await served.ask(protocol, toy.good)
        assert {d for column in outcome.decisions.values() for d in column} == {"DEFER"}
        policies = (await served.http.get("/v1/policy")).json()["policies"]
        assert {policy["mode"] for policy in policies} == {"defer_all"}


REFUSALS = [(toy, index) for toy in TOYS for index in range(len(toy.refusals))]


@pytest.mark.parametrize(("toy", "index"), REFUSALS, ids=lambda value: getattr(value, "name", value))
async def test_refusals_name_field_value_unit_and_range(toy: Toy, index: int, protocol: Protocol) -> None:
    refusal = toy.refusals[index]
    async with serving(toy) as served:
        outcome = await served.ask(protocol, refusal.body)
        assert outcome.code == ("422" if protocol == "http" else "INVALID_ARGUMENT")
        assert {key: outcome.error.get(key) for key in refusal.error} == refusal.error
        assert outcome.error["message"]
        assert served.probe.executed == [], "nothing runs before validation"
        assert served.scheduler.active == 0


async def test_too_much_for_one_call_is_refused(protocol: Protocol) -> None:
    too_many = {
        rows.TOY.name: rows.rows(*[rows.row(10)] * 65),
        texts.TOY.name: texts.text(*["word"] * 17),
    }
    for toy in (rows.TOY, texts.TOY):
        async with serving(toy) as served:
            outcome = await served.ask(protocol, too_many[toy.name])
            assert outcome.code == ("413" if protocol == "http" else "RESOURCE_EXHAUSTED")


async def test_bytes_that_are_no_message_are_refused(toy: Toy) -> None:
    async with serving(toy) as served:
        path = f"/{served.tenant.grpc.service}/Predict"
        with pytest.raises(Exception, match="not the request message") as caught:
            await served.channel.unary_unary(path)(b"\xff{")
        assert caught.value.code().name == "INVALID_ARGUMENT"
        response = await served.http.post("/v1/predict", content=b"\xff{")
        assert response.status_code == 422
        binary = await served.http.post(
            "/v1/predict", content=b"\xff{", headers={"content-type": "application/protobuf"}
        )
        assert (binary.status_code, binary.json()["error"]["code"]) == (422, "not_a_message")


async def test_a_defect_is_typed_and_says_nothing_of_itself(toy: Toy, protocol: Protocol, caplog) -> None:
    async with serving(toy) as served:

        def broken(units: object, portion: Portion) -> Portion:
            raise KeyError("secret of the service")

        served.tenant.pipeline.task.collapse = broken
        outcome = await served.ask(protocol, toy.good)
        assert outcome.code == ("500" if protocol == "http" else "INTERNAL")
        assert outcome.error["code"] == "internal"
        assert "secret" not in outcome.error["message"]
        assert "secret of the service" in caplog.text, "the owner can read why"
        assert served.scheduler.active == 0


async def test_a_task_that_forgets_items_is_a_failure(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy) as served:

        def forgetful(units: object):
            yield from ()

        served.tenant.pipeline.task.run = forgetful
        outcome = await served.ask(protocol, toy.good)
        assert outcome.error["code"] == "incomplete"


async def test_calls_are_counted_by_their_code(toy: Toy) -> None:
    async with serving(toy) as served:
        for protocol in PROTOCOLS:
            await served.ask(protocol, toy.good)
            await served.ask(protocol, toy.refusals[0].body)
        text = (await served.http.get("/metrics")).text
        for transport, code in (("grpc", "OK"), ("grpc", "INVALID_ARGUMENT"), ("http", "200"), ("http", "422")):
            line = f'demur_requests_total{{code="{code}",task="{toy.name}",transport="{transport}"}} 1.0'
            assert line in text.splitlines()
        assert f'demur_queue_requests{{task="{toy.name}"}} 0.0' in text


async def test_thresholds_travel_as_they_are(toy: Toy, protocol: Protocol) -> None:
    """A threshold compares equal to a score in float32 on both ends."""
    async with serving(toy) as served:
        outcome = await served.ask(protocol, toy.good)
        for item in outcome.answer["items"]:
            for head in item["heads"].values():
                assert math.isfinite(head["threshold"])

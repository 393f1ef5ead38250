"""Small calls over HTTP: the same bytes as from the application, failures kept apart, and nothing left behind."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from services.request.schedule import Limits
from services.runtime.errors import LedgerUnavailable
from services.transport.http import small_calls
from services.transport.http.load_shedding import HELD_BYTES
from tests.contract.toys import rows
from tests.services.access.passes import Passes
from tests.services.tracing.kept import PARENT, UNSAMPLED, Kept, names
from tests.services.transport.connections import TOY, Connection, error, lengthless, line, post, status, timeless

OIP = {
    "inputs": [
        {"name": "depth", "shape": [2], "datatype": "FP32", "data": [10, 12]},
        {"name": "tilt", "shape": [2], "datatype": "FP32", "data": [1, 20]},
    ]
}


@pytest.fixture
def passes(tmp_path: Path) -> Passes:
    return Passes(tmp_path / "tokens.toml")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of calls on the straight way."""
    paths: list[str] = []

    class Noted(small_calls.SmallCall):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            paths.append(self.route.path)

    monkeypatch.setattr(small_calls, "SmallCall", Noted)
    return paths


INFER = f"/v2/models/{TOY.name}/infer"
ALIKE = {
    "answer": post(TOY.good),
    "deferred": post(TOY.doubtful),
    "unknown uncertainty": post(TOY.unknowable),
    "shifted": post(TOY.strange),
    "explore": post(TOY.good | {"purpose": "explore"}),
    "type with parameters": post(TOY.good, Content_Type="Application/JSON; charset=utf-8"),
    "timeout": post(TOY.good, demur_timeout_seconds="30"),
    "wrong timeout": post(TOY.good, demur_timeout_seconds="0"),
    "not JSON": post(b"{"),
    "no body": post(b""),
    "not protobuf": post(b"\xff\xff", Content_Type="application/protobuf"),
    "too many rows": post(rows.rows(*[rows.row(1)] * 65)),
    "unknown head": post(TOY.good | {"defer_above": {"speed": 1}}),
    "failing": post(TOY.failing),
    "closing": post(TOY.good, Connection="close"),
    "lower case and doubled": post(TOY.good, ACCEPT="application/json", x="1", X="2"),
    "other type": post(TOY.good, Content_Type="text/plain"),
    "compressed": post(TOY.good, Content_Encoding="gzip"),
    "query": post(TOY.good, "/v1/predict?x=1"),
    "long": post(rows.rows(*[rows.row(2.0 * index) for index in range(24)])),
    **{refusal.error["code"] + refusal.error["field"]: post(refusal.body) for refusal in TOY.refusals},
    "OIP": post(OIP, INFER),
    "OIP with an id": post(OIP | {"id": "7"}, INFER),
    "OIP of another model": post(OIP, "/v2/models/other/infer"),
    "OIP in binary": post(OIP | {"parameters": {"binary_data_output": True}}, INFER),
    "OIP with a wrong shape": post({"inputs": [OIP["inputs"][0]]}, INFER),
    "OIP not JSON": post(b"[", INFER),
    "OIP of another type": post(OIP, INFER, Content_Type="text/plain"),
}
BY_APPLICATION = {
    *("lower case and doubled", "other type", "compressed", "query", "OIP of another model"),
    "OIP of another type",
}


async def test_answers_are_those_of_the_application_byte_for_byte(taken: list[str]) -> None:
    async with line() as straight, line(straight=False) as usual:
        for name, request in ALIKE.items():
            taken.clear()
            ours, theirs = await straight.ask(request), await usual.ask(request)
            assert timeless(ours) == timeless(theirs), name
            assert bool(taken) == (name not in BY_APPLICATION), name
        await straight.calm()
        for metric in ("demur_requests_total", "demur_units_total", "demur_units_shifted_total"):
            assert straight.counted(metric) == usual.counted(metric)


async def test_calls_that_wait_together_share_a_pass_and_fail_apart() -> None:
    bodies = [TOY.good, TOY.refusals[0].body, TOY.doubtful, TOY.failing, {"rows": 7}, TOY.good]
    async with line() as line_:
        alone = [await line_.ask(post(body)) for body in bodies]
        connections = [await asyncio.open_connection("127.0.0.1", line_.port) for _ in bodies]
        for connection in connections:  # all are being read from now on
            assert status(await Connection(*connection).ask(post(TOY.good))) == 200
        line_.served.probe.executed.clear()
        for (_, writer), body in zip(connections, bodies, strict=True):
            writer.write(post(body))
        time.sleep(0.2)
        together = [await Connection(*connection).answer() for connection in connections]
        assert [lengthless(answer) for answer in together] == [lengthless(answer) for answer in alone]
        assert [status(answer) for answer in together] == [200, 422, 200, 500, 422, 200]
        joined, *each = line_.served.probe.executed
        assert joined == [10, 12, 10, 12, 10, rows.POISON, 10, 12]  # one pass, whose failure is one row's
        assert each == [[10, 12], [10, 12], [10, rows.POISON], [10, 12]]
        for _, writer in connections:
            writer.close()
        await line_.calm()


async def test_requests_of_one_connection_are_answered_in_order() -> None:
    async with line() as line_, line_.connected() as connection:
        connection.writer.write(b"".join(post(rows.rows(rows.row(depth))) for depth in range(0, 20, 2)))
        answers = [await connection.answer() for _ in range(10)]
        depths = [json.loads(answer.partition(b"\r\n\r\n")[2])["items"][0] for answer in answers]
        assert [item["heads"]["level"]["says"] for item in depths] == [4.0 * step for step in range(10)]
        assert status(await connection.ask(post(TOY.good))) == 200


async def test_many_calls_take_several_turns() -> None:
    async with line() as line_:
        answers = await asyncio.gather(*[line_.ask(post(TOY.good)) for _ in range(5 * small_calls.MOST_REQUESTS)])
        assert {status(answer) for answer in answers} == {200}
        await line_.calm()


async def test_a_caller_that_leaves_costs_nothing_and_leaves_nothing() -> None:
    async with line() as line_:
        for request in (post(TOY.good), post(TOY.good)[:-3], post(TOY.good)[:20]):
            async with line_.connected() as connection:
                connection.writer.write(request)
                connection.writer.transport.abort()
        assert status(await line_.ask(post(TOY.good))) == 200
        await line_.calm()


async def test_callers_that_leave_before_a_longer_call_begins_leave_nothing() -> None:
    """A task that is cancelled before its first step never runs."""
    kept = Kept()
    async with line(tracer=kept.recorder()) as line_:
        writers = [(await asyncio.open_connection("127.0.0.1", line_.port))[1] for _ in range(40)]
        for number, writer in enumerate(writers):
            writer.write(post(TOY.good, traceparent=PARENT))
            if number % 2:
                writer.close()
            else:
                writer.transport.abort()
        await line_.calm()
        assert status(await line_.ask(post(TOY.good))) == 200
    async with line() as line_:
        straight, calls = line_.served.small_calls, []
        assert straight is not None
        usual = straight.take

        def leaving(connection: Any, *args: Any) -> Any:
            """The caller leaves right after the turn in which its task is made."""
            call, loop = usual(connection, *args), asyncio.get_running_loop()
            loop.call_soon(setattr, call, "disconnected", True)
            calls.append(call)
            return call

        straight.take = leaving  # type: ignore[method-assign]
        async with line_.connected() as connection:
            connection.writer.write(post(TOY.good | {"purpose": "explore"}))
            await line_.served.until(lambda: bool(calls))
            await line_.calm()
            assert calls[0].response_complete
            assert line_.served.probe.executed == []


async def test_a_defect_anywhere_on_the_way_ends_its_call_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **more: Any) -> Any:
        raise RuntimeError("secret")

    async with line() as line_:
        straight = line_.served.small_calls
        assert straight is not None
        places = [
            (straight._layer, "begin"),
            (straight._layer, "check_open"),
            (straight._joint, "takes"),
            (straight._joint, "duration"),
            (straight._layer, "ended"),
            (straight, "_respond"),
        ]
        for owner, name in places:
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, broken)
                async with line_.connected() as connection, line_.connected() as neighbour:
                    for each in (connection, neighbour):
                        each.writer.write(post(TOY.good))
                    for each in (connection, neighbour):
                        answer = await asyncio.wait_for(each.reader.read(1 << 16), 60)
                        assert answer == b"" or (status(answer), b"secret" in answer) == (500, False), name
            assert status(await line_.ask(post(TOY.good))) == 200, name
            await line_.calm()


async def test_a_caller_that_leaves_ends_the_work_of_a_longer_call() -> None:
    async with line(limits=Limits(lanes=1)) as line_:  # the toy's passes take a lane
        line_.served.probe.hold()
        async with line_.connected() as connection:
            connection.writer.write(post(TOY.slow))
            await line_.served.until(lambda: line_.served.scheduler.active == 1)
        await line_.served.until(lambda: line_.served.scheduler.active == 0)
        line_.served.probe.release()
        await line_.calm()
        assert any('code="499"' in text for text in line_.counted("demur_requests_total"))


async def test_longer_calls_go_on_in_tasks_and_do_not_hold_others_up(taken: list[str]) -> None:
    async with line(limits=Limits(lanes=1)) as line_:
        line_.served.probe.hold()
        async with line_.connected() as connection:
            connection.writer.write(post(TOY.slow))
            await line_.served.until(lambda: line_.served.scheduler.active == 1)
            assert status(await line_.ask(post(b"{"))) == 422
            line_.served.probe.release()
            assert status(await connection.answer()) == 200
        await line_.calm()
        assert len(taken) == 2


async def test_a_deadline_that_has_passed_is_said() -> None:
    async with line() as line_:
        late = await line_.ask(post(TOY.good, demur_timeout_seconds="1e-9"))
        assert (status(late), error(late)["code"]) == (504, "deadline_exceeded")
    async with line(limits=Limits(lanes=1)) as line_:
        line_.served.probe.hold()
        late = await line_.ask(post(TOY.good, demur_timeout_seconds="0.05"))
        assert (status(late), error(late)["code"]) == (504, "deadline_exceeded")
        line_.served.probe.release()
        await line_.calm()


async def test_a_service_that_drains_refuses_and_closes() -> None:
    async with line() as line_, line_.connected() as connection:
        assert status(await connection.ask(post(TOY.good))) == 200
        line_.served.lifecycle.draining = True
        refused = await connection.ask(post(TOY.good))
        assert (status(refused), error(refused)["code"]) == (503, "draining")
        assert b"connection: close" in refused
        assert await connection.ended()
        await line_.calm()


async def test_a_drain_waits_for_calls_of_the_straight_way() -> None:
    async with line(limits=Limits(lanes=1)) as line_, line_.connected() as connection:
        line_.served.probe.hold()
        connection.writer.write(post(TOY.slow))
        await line_.served.until(lambda: line_.served.scheduler.active == 1)
        assert not line_.served.lifecycle._idle.is_set()
        line_.served.probe.release()
        assert status(await connection.answer()) == 200
        await line_.calm()


async def test_tokens_scopes_and_rates_hold(passes: Passes) -> None:
    good, wrong = passes.give("anna", "predict"), passes.give("bert", "label")
    few = passes.give("carl", "predict", units_per_second=2.0)
    async with line(tokens=str(passes.path)) as straight, line(straight=False, tokens=str(passes.path)) as usual:
        for headers in ({}, {"authorization": "Bearer x"}, {"authorization": f"Bearer {wrong}"}):
            request = post(TOY.good, **headers)
            ours, theirs = await straight.ask(request), await usual.ask(request)
            assert timeless(ours) == timeless(theirs)
            assert status(ours) in (401, 403)
            for each in (straight, usual):
                async with each.connected() as connection:
                    await connection.ask(request)
                    assert await connection.ended()
        assert status(await straight.ask(post(TOY.good, authorization=f"Bearer {good}"))) == 200
        answers = [await straight.ask(post(TOY.slow, authorization=f"Bearer {few}")) for _ in range(2)]
        assert [status(answer) for answer in answers] == [200, 429]
        assert error(answers[1])["code"] == "rate_limited"
        await straight.calm()
        assert straight.counted("demur_access_refused_total") == usual.counted("demur_access_refused_total")


async def test_a_recorded_call_has_its_steps_and_an_unrecorded_one_shares_a_pass() -> None:
    kept = Kept()
    async with line(tracer=kept.recorder()) as line_:
        assert status(await line_.ask(post(TOY.good, traceparent=UNSAMPLED))) == 200
        assert kept.calls == []
        assert status(await line_.ask(post(TOY.good, traceparent=PARENT))) == 200
        failed = await line_.ask(post(b"{", traceparent=PARENT))
        await line_.served.until(lambda: len(kept.calls) == 2)
    answered, refused = kept.calls
    assert {"decode", "expand", "uncertainty", "policy", "ledger", "encode"} <= set(names(answered))
    assert answered.spans[0].name == "POST /v1/predict"
    assert answered.spans[0].attributes["http.response.status_code"] == 200
    assert refused.spans[0].attributes["error.type"] == error(failed)["code"]


async def test_a_defect_of_the_encoder_harms_no_neighbour() -> None:
    async with line() as line_:
        write = line_.served.tenant.http.answer_json
        faults = [RuntimeError("secret"), None, LedgerUnavailable("no", code="gone")]

        def faulty(answers: list[Any]) -> Any:
            if (fault := faults.pop(0)) is not None:
                raise fault
            return write(answers)

        object.__setattr__(line_.served.tenant.http, "answer_json", faulty)
        answers = [await line_.ask(post(TOY.good)) for _ in range(3)]
        assert [status(answer) for answer in answers] == [500, 200, 503]
        assert b"secret" not in answers[0]
        await line_.calm()


async def test_a_defect_of_the_pass_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with line() as line_:

        def broken(requests: Any) -> Any:
            raise RuntimeError("secret")

        with monkeypatch.context() as patch:
            patch.setattr(line_.served.tenant.pipeline.joint, "answer", broken)
            answer = await line_.ask(post(TOY.good))
        assert (status(answer), b"secret" in answer) == (500, False)
        assert status(await line_.ask(post(TOY.good))) == 200
        await line_.calm()


async def test_large_bodies_are_for_the_application(taken: list[str]) -> None:
    async with line() as line_:
        wide = post(json.dumps(TOY.good).encode() + b" " * HELD_BYTES)
        assert status(await line_.ask(wide)) == 200
        assert taken == []


async def test_a_call_waits_for_its_commit_without_holding_others_up(tmp_path: Path) -> None:
    """A ledger that must survive a loss of power: an answer waits for the disk."""
    options: dict[str, Any] = {"recorded": True, "ledger_durability": "power", "ledger_deadline_seconds": 60.0}
    async with (
        line(home=tmp_path / "a", **options) as straight,
        line(straight=False, home=tmp_path / "b", **options) as usual,
    ):
        for body in (TOY.good, TOY.doubtful):
            assert timeless(await straight.ask(post(body))) == timeless(await usual.ask(post(body)))
        answers = await asyncio.gather(*[straight.ask(post(TOY.doubtful)) for _ in range(40)])
        assert {status(answer) for answer in answers} == {200}
        await straight.calm()

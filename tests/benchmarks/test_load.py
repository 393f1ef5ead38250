"""The load generator against servers that are known, and a flood against the real service; speed is not judged here."""

import os
from contextlib import nullcontext
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from benchmarks import overload
from benchmarks.connections import BROKEN, UNANSWERED, Plan
from benchmarks.open_loop import Ended, generate, run
from benchmarks.questions import TASKS, question
from benchmarks.service import Watched, look, running
from tests.contract.serving import PROTOCOLS, Protocol, Served, serving
from tests.contract.toys import rows


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    return request.param


async def asked(served: Served, protocol: Protocol, body: object, **wishes: float) -> Ended:
    content = msgspec.json.encode(body)
    path = f"/{served.tenant.grpc.service}/Predict" if protocol == "grpc" else "/v1/predict"
    options = {"seconds": 0.2, "connections": 3} | wishes
    if protocol == "grpc":
        return await run(Plan("grpc", served.server.port, path, content, **options))  # type: ignore[arg-type]
    async with served.on_socket() as client:
        assert client.base_url.port is not None
        kind = "application/json"
        return await run(Plan("http", client.base_url.port, path, content, content_type=kind, **options))  # type: ignore[arg-type]


async def test_an_open_loop_asks_so_often_and_a_closed_one_as_often_as_it_is_answered(protocol: Protocol) -> None:
    async with serving(rows.TOY) as served:
        opened = await asked(served, protocol, rows.TOY.good, rate=200)
        assert opened.answered.all()
        assert len(opened.code) == 40
        assert (opened.sent >= opened.due).all()
        assert (opened.latency > 0).all()
        closed = await asked(served, protocol, rows.TOY.good, callers=2)
        assert closed.answered.all()
        assert closed.rate > 0
        at_once = [int(((closed.sent <= moment) & (closed.ended > moment)).sum()) for moment in closed.sent]
        assert max(at_once) <= 2


async def test_what_is_larger_than_a_window_leaves_in_parts_and_is_answered(protocol: Protocol) -> None:
    """A connection of HTTP/2 takes some megabytes at first, and more as they are read."""
    body = rows.TOY.good | {"padding": "x" * 8_000_000}
    async with serving(rows.TOY) as served:
        ended = await asked(served, protocol, body, rate=20, connections=2)
        assert len(ended.code) == 4
        assert UNANSWERED not in ended.code
        assert BROKEN not in ended.code


async def test_how_a_request_ended_is_read_off_the_wire(protocol: Protocol) -> None:
    async with serving(rows.TOY) as served:
        wrong = await asked(served, protocol, {"rows": []}, rate=100)
        assert set(wrong.code.tolist()) == {"INVALID_ARGUMENT" if protocol == "grpc" else "422"}
        assert np.isnan(wrong.quantiles(0.5)[0])
        served.probe.hold()
        late = await asked(served, protocol, rows.TOY.good, rate=20, deadline_seconds=0.05)
        assert set(late.code.tolist()) == {"DEADLINE_EXCEEDED" if protocol == "grpc" else "504"}


@pytest.mark.parametrize("task", [task for task in TASKS if task != "lesion"])  # a minute of the simulator
def test_there_is_a_question_for_each_task(task: str) -> None:
    query = question(task)
    assert query.units >= 1
    assert query.message


def test_growth_is_that_of_a_line_through_what_came_after_the_beginning() -> None:
    seconds = [float(second) for second in range(100)]
    steady = Watched(seconds, {"RSS": [50.0] * 10 + [100.0] * 90})
    assert steady.growth("RSS") == pytest.approx(0, abs=1e-6)
    leaking = Watched(seconds, {"RSS": [100 + 0.5 * second for second in seconds]})
    assert leaking.growth("RSS") == pytest.approx(0.5 * 89, rel=0.02)


def test_a_crowd_of_callers_is_counted_after_its_first_second(monkeypatch: pytest.MonkeyPatch) -> None:
    due = np.array([0.5, 1.5, 2.0, 2.5])
    code = np.array(["CANCELLED", "OK", "CANCELLED", "CANCELLED"])
    ended = Ended(due, due, due + 0.25, code, np.zeros(4, bool), 0.1)
    crowd = SimpleNamespace(asked=SimpleNamespace(name="a row"), protocol="grpc", service=None)
    crowd.crowd = lambda callers, seconds: ended
    monkeypatch.setattr(overload, "watching", lambda service: nullcontext(Watched([0.0], {"RSS": [100.0]})))
    answered, refused = overload.crowded(crowd, [7], 2.0)  # type: ignore[arg-type]
    assert (answered.name, answered.value) == ("7 callers: answered", 0.5)
    assert "p99 250.00 ms" in answered.note
    assert refused.value == pytest.approx(200 / 3)
    assert refused.note == "{'CANCELLED': 2} of 3 calls"


@pytest.mark.slow
def test_the_real_service_refuses_a_flood_over_http_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("the service and the load generator need a core each")
    wishes = ["--seconds", "2", "--capacity", "400", "--times", "10", "--protocols", "http", "--set", "waiting_calls=1"]
    assert overload.main(wishes) == 0
    shown = {line.strip().split("  ")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "ended with 429" in shown, shown
    assert " met" in shown["refused in no words"]
    assert " 0.000 requests/s" not in shown["answered in the flood"]


@pytest.mark.slow
def test_an_answer_leaves_nothing_behind_in_the_real_service(protocol: Protocol) -> None:
    """A middleware of the host kept a kilobyte of each for an hour."""
    cores = sorted(os.sched_getaffinity(0))
    query = question("vessel")
    with running({cores[0]}, "vessel", lanes="1") as service:
        generate(query.plan(service, protocol, 2.0, callers=4, connections=4), {cores[-1]})
        before = look(service)["RSS"]
        answered = 0
        while answered <= 500:  # however long a busy machine takes; the test's time limit ends it
            ended = generate(query.plan(service, protocol, 6.0, callers=4, connections=4), {cores[-1]})
            answered += int(ended.answered.sum())
        grown = look(service)["RSS"] - before
    assert grown * 1024 / answered < 0.5, f"{grown:.1f} MiB grown in {answered} answers"

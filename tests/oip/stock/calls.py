"""Ways to call beside one after the other: callbacks, asyncio, streams."""

import asyncio
import queue
from typing import Any

import tritonclient.grpc.aio
import tritonclient.http.aio
from asking import ROWS, client, given, grpc, http


def case_answers_that_are_fetched_later() -> None:
    with client(http, "vessel") as asked:
        calls = [asked.async_infer("vessel", given(http, rows=ROWS), request_id=str(number)) for number in range(5)]
        assert [one.get_result().get_response()["id"] for one in calls] == list("01234")


def case_callbacks() -> None:
    answers: queue.Queue[Any] = queue.Queue()

    def take(result: Any, error: Any) -> None:
        answers.put((result, error))

    with client(grpc, "vessel") as asked:
        for number in range(5):
            asked.async_infer("vessel", given(grpc, rows=ROWS), take, request_id=str(number))
        found = [answers.get(timeout=30) for _ in range(5)]
    assert {result.get_response().id for result, error in found if error is None} == set("01234")


def case_asyncio_clients() -> None:
    async def ask(kind: Any, sync: Any) -> None:
        asked = client(kind, "vessel")
        try:
            assert await asked.is_server_ready()
            told = await asyncio.gather(*(asked.infer("vessel", given(sync, rows=ROWS)) for _ in range(4)))
            assert all(one.as_numpy("prediction").shape == (2,) for one in told)
        finally:
            await asked.close()

    asyncio.run(ask(tritonclient.grpc.aio, grpc))
    asyncio.run(ask(tritonclient.http.aio, http))


def streamed(task: str, requests: list[dict[str, Any]], answers: int) -> list[tuple[Any, Any]]:
    """So many answers to requests of one stream, in their order."""
    found: queue.Queue[Any] = queue.Queue()
    with client(grpc, task) as asked:
        asked.start_stream(lambda result, error: found.put((result, error)))
        for request in requests:
            asked.async_stream_infer(task, **request)
        told = [found.get(timeout=60) for _ in range(answers)]
        asked.stop_stream()
    assert found.empty()
    return told


def case_streams_keep_their_order_and_outlive_a_refusal() -> None:
    fast = ROWS.copy()
    fast[0, 2] = 900.0
    asked = (ROWS, fast, ROWS[:1], ROWS[:, :3], ROWS)
    requests = [{"inputs": given(grpc, rows=rows), "request_id": str(i)} for i, rows in enumerate(asked)]
    told = streamed("vessel", requests, 5)
    assert [error is None for _, error in told] == [True, False, True, False, True]
    assert "stw" in told[1][1].message()
    assert "shape" in told[3][1].message()
    assert [result.get_response().id for result, _ in told if result is not None] == ["0", "2", "4"]
    assert told[2][0].as_numpy("prediction").shape == (1,)
    assert told[0][0].get_response().parameters["triton_final_response"].bool_param


def case_sentences_come_as_they_are_done() -> None:
    text = given(grpc, text=[b"He opened the door. She was not there! I have two dogs."])
    request = {"inputs": text, "parameters": {"stream_items": True}, "enable_empty_final_response": True}
    told = streamed("translation", [request], 5)
    assert [error for _, error in told] == [None] * 5
    *sentences, whole, end = [result for result, _ in told]
    by_item = {int(one.as_numpy("sentence")[0]): one.as_numpy("best")[0] for one in sentences}
    assert sorted(by_item) == whole.as_numpy("sentence").tolist() == [0, 1, 2]
    assert [by_item[item] for item in range(3)] == whole.as_numpy("best").tolist()
    assert not end.get_response().outputs
    final = [one.get_response().parameters["triton_final_response"].bool_param for one, _ in told]
    assert final == [False] * 4 + [True]

"""Ways to call beside one after the other: callbacks, asyncio, streams."""

import asyncio
import queue
from typing import Any

import tritonclient.grpc.aio
import tritonclient.http.aio
from asking import ROWS, client, given, grpc, http


def case_answers_that_are_fetched_later() -> None:
    with client(http, "vessel") as connection:
        calls = [
            connection.async_infer("vessel", given(http, rows=ROWS), request_id=str(number)) for number in range(5)
        ]
        assert [call.get_result().get_response()["id"] for call in calls] == list("01234")


def case_callbacks() -> None:
    answers: queue.Queue[Any] = queue.Queue()

    def take(result: Any, error: Any) -> None:
        answers.put((result, error))

    with client(grpc, "vessel") as connection:
        for number in range(5):
            connection.async_infer("vessel", given(grpc, rows=ROWS), take, request_id=str(number))
        results = [answers.get(timeout=30) for _ in range(5)]
    assert {result.get_response().id for result, error in results if error is None} == set("01234")


def case_asyncio_clients() -> None:
    async def ask(kind: Any, sync: Any) -> None:
        connection = client(kind, "vessel")
        try:
            assert await connection.is_server_ready()
            replies = await asyncio.gather(*(connection.infer("vessel", given(sync, rows=ROWS)) for _ in range(4)))
            assert all(reply.as_numpy("prediction").shape == (2,) for reply in replies)
        finally:
            await connection.close()

    asyncio.run(ask(tritonclient.grpc.aio, grpc))
    asyncio.run(ask(tritonclient.http.aio, http))


def streamed(task: str, requests: list[dict[str, Any]], answers: int) -> list[tuple[Any, Any]]:
    """So many answers to requests of one stream, in their order."""
    queued: queue.Queue[Any] = queue.Queue()
    with client(grpc, task) as connection:
        connection.start_stream(lambda result, error: queued.put((result, error)))
        for request in requests:
            connection.async_stream_infer(task, **request)
        received = [queued.get(timeout=60) for _ in range(answers)]
        connection.stop_stream()
    assert queued.empty()
    return received


def case_streams_keep_their_order_and_outlive_a_refusal() -> None:
    fast = ROWS.copy()
    fast[0, 2] = 900.0
    batches = (ROWS, fast, ROWS[:1], ROWS[:, :3], ROWS)
    requests = [{"inputs": given(grpc, rows=rows), "request_id": str(i)} for i, rows in enumerate(batches)]
    received = streamed("vessel", requests, 5)
    assert [error is None for _, error in received] == [True, False, True, False, True]
    assert "stw" in received[1][1].message()
    assert "shape" in received[3][1].message()
    assert [result.get_response().id for result, _ in received if result is not None] == ["0", "2", "4"]
    assert received[2][0].as_numpy("prediction").shape == (1,)
    assert received[0][0].get_response().parameters["triton_final_response"].bool_param


def case_sentences_come_as_they_are_done() -> None:
    text = given(grpc, text=[b"He opened the door. She was not there! I have two dogs."])
    request = {"inputs": text, "parameters": {"stream_items": True}, "enable_empty_final_response": True}
    received = streamed("translation", [request], 5)
    assert [error for _, error in received] == [None] * 5
    *sentences, whole, end = [result for result, _ in received]
    by_item = {int(reply.as_numpy("sentence")[0]): reply.as_numpy("best")[0] for reply in sentences}
    assert sorted(by_item) == whole.as_numpy("sentence").tolist() == [0, 1, 2]
    assert [by_item[item] for item in range(3)] == whole.as_numpy("best").tolist()
    assert not end.get_response().outputs
    final = [reply.get_response().parameters["triton_final_response"].bool_param for reply, _ in received]
    assert final == [False] * 4 + [True]

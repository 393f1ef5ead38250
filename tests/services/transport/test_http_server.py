"""The HTTP server that nothing wakes: its date, its end, and how rarely it runs."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest
import uvicorn

from services.transport.http.server import EventDrivenServer, listening


@pytest.fixture(autouse=True)
def caught() -> Iterator[None]:
    """uvicorn raises a signal that ended it once more, for the handler that was there before."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    yield
    signal.signal(signal.SIGTERM, before)


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def running() -> AsyncIterator[tuple[str, "asyncio.Task[None]"]]:
    with listening("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(_answer, lifespan="off", log_config=None, server_header=False)
        task = asyncio.create_task(EventDrivenServer(config).serve(sockets=[listener]))
        yield url, task
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(task, 30)


async def test_every_answer_has_the_date_of_its_second() -> None:
    async with running() as (url, _), httpx.AsyncClient() as client:
        dates = []
        for _ in range(2):
            before = int(time.time())
            (date,) = (await client.get(url)).headers.get_list("date")
            dates.append(parsedate_to_datetime(date).timestamp())
            assert before <= dates[-1] <= time.time()
            await asyncio.sleep(1.1)
        assert dates[0] < dates[1]


async def test_a_signal_ends_it() -> None:
    async with running() as (url, task), httpx.AsyncClient() as client:
        assert (await client.get(url)).status_code == 204
        assert not task.done()
    assert task.done()
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


async def test_nothing_wakes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as (url, _), httpx.AsyncClient(headers={"connection": "close"}) as client:
        assert (await client.get(url)).status_code == 204
        loop, timers = asyncio.get_running_loop(), []
        call_at = loop.call_at
        monkeypatch.setattr(loop, "call_at", lambda *wanted, **more: timers.append(wanted) or call_at(*wanted, **more))
        await asyncio.sleep(0.5)
        assert len(timers) == 1, "the sleep of this test"


def test_a_port_that_is_taken_is_an_error() -> None:
    with listening("127.0.0.1", 0) as first, pytest.raises(OSError, match="in use"):
        listening("127.0.0.1", first.getsockname()[1])

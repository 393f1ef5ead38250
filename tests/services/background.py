"""Services on an event loop of their own, so that blocking clients can be in the test's thread."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager

SECONDS = 60


@contextmanager
def background(serving: AbstractAsyncContextManager[str]) -> Iterator[str]:
    """Where the service listens, as long as the block runs; what it raises is raised here."""
    ready, end = threading.Event(), threading.Event()
    where: list[str] = []

    async def serve() -> None:
        try:
            async with serving as target:
                where.append(target)
                ready.set()
                await asyncio.to_thread(end.wait)
        finally:
            ready.set()

    with ThreadPoolExecutor(1) as thread:
        served = thread.submit(asyncio.run, serve())
        assert ready.wait(SECONDS)
        if not where:
            served.result()
        try:
            yield where[0]
        finally:
            end.set()
            served.result(SECONDS)

"""Large work leaves the event loop, small work stays."""

import asyncio
import threading
import time

import pytest

from services.runtime.offload import ALONE_FACTOR, INLINE_BYTES, Offload


async def test_small_work_stays_on_the_loop_and_large_work_leaves_it() -> None:
    offload = Offload()
    here = threading.current_thread()
    assert await offload.run(INLINE_BYTES, threading.current_thread) is here
    there = await offload.run(INLINE_BYTES + 1, threading.current_thread)
    assert there is not here
    assert there.name.startswith("offload")
    offload.close()


async def test_larger_work_stays_while_requests_come_one_at_a_time() -> None:
    alone = True
    offload, here = Offload(alone=lambda: alone), threading.current_thread()
    assert await offload.run(ALONE_FACTOR * INLINE_BYTES, threading.current_thread) is here
    assert await offload.run(ALONE_FACTOR * INLINE_BYTES + 1, threading.current_thread) is not here
    alone = False
    assert await offload.run(ALONE_FACTOR * INLINE_BYTES, threading.current_thread) is not here
    offload.close()


@pytest.mark.parametrize("nbytes", [0, 1 << 20])
async def test_results_and_errors_come_back(nbytes: int) -> None:
    offload = Offload()
    assert await offload.run(nbytes, divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await offload.run(nbytes, divmod, 7, 0)
    offload.close()


async def test_threads_are_few() -> None:
    offload = Offload(threads=2)
    running: list[int] = []
    most: list[int] = []

    def work() -> None:
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()

    await asyncio.gather(*[offload.run(1 << 20, work) for _ in range(8)])
    assert max(most) == 2
    offload.close()

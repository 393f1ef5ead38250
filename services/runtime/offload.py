"""A few threads for what would hold the event loop up: reading, checking and writing of large bodies.

What is small runs where it is asked, since a thread hop costs more than it. There is one ``Offload`` a
process, made where the process is put together and passed in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from services.runtime.system import lower_priority

Given = ParamSpec("Given")
Result = TypeVar("Result")
INLINE_BYTES = 64 << 10
"""What concerns no more bytes of text than this is done on the event loop."""


class Offload:
    """Runs functions on the loop or in a thread, by the size of what they work on."""

    def __init__(self, threads: int = 2, niceness: int = 5, inline_bytes: int = INLINE_BYTES) -> None:
        """``niceness`` is added to the threads', so that the event loop goes first."""
        self._inline_bytes = inline_bytes
        self._threads = ThreadPoolExecutor(
            threads, thread_name_prefix="offload", initializer=lower_priority, initargs=(niceness,)
        )

    async def run(
        self, nbytes: int, function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        """What the function returns; ``nbytes`` is the size of the text that it reads or writes.

        Cancelled, a function that runs in a thread ends unheard.
        """
        if nbytes <= self._inline_bytes:
            return function(*args, **kwargs)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))

    def close(self) -> None:
        """End the threads after their current calls."""
        self._threads.shutdown(wait=False, cancel_futures=True)

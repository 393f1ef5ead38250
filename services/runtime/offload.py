"""Small thread pool for work that would block the event loop: reading, checking and writing of large bodies.

Small work runs inline, since a thread hop costs more than it saves. Each process has one ``Offload``, made where the
process is assembled and passed in.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from services.runtime.system import lower_priority

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
INLINE_BYTES = 64 << 10
"""Largest size, in bytes of text, of work that is done on the event loop."""
ALONE_FACTOR = 8
"""Factor of that size while requests come one at a time."""


class Offload:
    """Executor that runs functions on the event loop or in a thread, by the size of their data."""

    def __init__(
        self,
        threads: int = 2,
        niceness: int = 5,
        inline_bytes: int = INLINE_BYTES,
        alone: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start the threads.

        Args:
            niceness: is added to the threads', so that the event loop goes first.
            alone: returns whether requests come one at a time, so that none waits for the event loop.
        """
        self._inline_bytes, self._alone = inline_bytes, alone
        self._threads = ThreadPoolExecutor(
            threads, thread_name_prefix="offload", initializer=lower_priority, initargs=(niceness,)
        )

    async def run(
        self, nbytes: int, function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Return the result of the function; ``nbytes`` is the size of the text that it reads or writes.

        If the call is cancelled, a function in a thread runs to its end and its result is dropped.
        """
        limit = self._inline_bytes
        if nbytes <= limit or (nbytes <= limit * ALONE_FACTOR and self._alone()):
            return function(*args, **kwargs)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))

    def close(self) -> None:
        """End the threads after their current calls."""
        self._threads.shutdown(wait=False, cancel_futures=True)

"""Cancellation of a running call whose caller has disconnected."""

import asyncio
from types import TracebackType

from starlette.requests import Request

from services.runtime.errors import Cancelled

PATIENCE_SECONDS = 0.02
"""Delay, in seconds, before a call is watched: watching a shorter call costs more than its cancellation saves."""


class DisconnectWatch:
    """Async context manager that cancels the call inside it when the caller disconnects.

    Use it after the body was read. A call that ends soon costs one timer only.

    Raises:
        Cancelled: the caller disconnected.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._watch: asyncio.Task[None] | None = None
        self._gone = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._call = task
        self._timer = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._begin)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._gone and self._call.uncancel() == 0 and kind is asyncio.CancelledError:
            raise Cancelled("the caller went away before the answer", code="disconnected") from error

    def _begin(self) -> None:
        self._watch = asyncio.create_task(self._wait())

    async def _wait(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self._call.cancel()

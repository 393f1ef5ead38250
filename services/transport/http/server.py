"""uvicorn's server without its clock: nothing wakes the process while nobody calls it.

uvicorn looks ten times a second whether it should end, and renews the ``date`` header. Here a signal wakes the server,
and the header is made when an answer needs it.
"""

import asyncio
import socket
import time
from email.utils import formatdate
from types import FrameType

from uvicorn import Config, Server
from uvicorn.server import ServerState

BACKLOG = 2048
"""Connections that the kernel keeps until they are accepted."""


class EventDrivenServer(Server):
    """HTTP server that sleeps until a connection, a signal, or something else in its event loop needs it."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.server_state = DatedState(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._signalled = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for a signal to end."""
        self._loop = asyncio.get_running_loop()
        while not self.should_exit:
            await self._signalled.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the main loop; a second SIGINT does not wait for calls in flight."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._signalled.set)


class DatedState(ServerState):
    """State of a server whose default headers hold the current time, to the second, whenever they are read."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._second = 0
        self._headers: list[tuple[bytes, bytes]] = []
        super().__init__()

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        """Headers of every answer."""
        second = int(time.time())
        if second != self._second:
            date = [(b"date", formatdate(second, usegmt=True).encode())] if self._config.date_header else []
            self._second, self._headers = second, date + self._config.encoded_headers
        return self._headers

    @default_headers.setter
    def default_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Accept the empty list that the base class sets."""


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections from now on; they wait until a server takes them.

    Args:
        host: IP address, or a name of this machine; ``::`` stands for all addresses of both families.

    Raises:
        OSError: the address is taken or not local.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener

"""A toy behind uvicorn, asked byte by byte over its connections."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from services.request.admission import Crowd
from services.request.schedule import Limits
from services.transport.http.load_shedding import LoadShedder
from tests.contract.serving import Served, serving
from tests.contract.toys import rows
from tests.contract.toys.toy import Toy

TOY = rows.TOY
QUICK = Limits(lanes=1, inline_seconds=0.5)
"""Every pass of the toy is short enough for the event loop."""


def post(body: Any, path: str = "/v1/predict", **headers: Any) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {"Host": "x", "Content-Length": len(content)} | headers
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + content


@dataclass
class Connection:
    """A connection, byte for byte."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes) -> bytes:
        self.writer.write(request)
        return await self.answer()

    async def answer(self) -> bytes:
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 60)
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None, head
        return head + await self.reader.readexactly(int(length[1]))

    async def ended(self) -> bool:
        """Return whether the service has closed the connection and sent nothing more."""
        return await asyncio.wait_for(self.reader.read(), 60) == b""


def timeless(answer: bytes) -> bytes:
    """An answer without its date and the numbers of its units."""
    return re.sub(rb'"[0-9a-f-]{20,}"|(?<=date: )[^\r]*|"0*abc-\d+"', b"", answer)


def lengthless(answer: bytes) -> bytes:
    """The same without its length: numbers of units grow."""
    return re.sub(rb"content-length: \d+", b"", timeless(answer))


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def error(answer: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    return fields


class Line:
    """A toy behind uvicorn; knows which calls the application saw."""

    def __init__(self, served: Served, port: int, shedder: LoadShedder) -> None:
        self.served, self.port, self.shedder = served, port, shedder

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Connection(reader, writer)
        finally:
            writer.close()

    async def ask(self, request: bytes) -> bytes:
        async with self.connected() as connection:
            return await connection.ask(request)

    def counted(self, name: str) -> list[str]:
        return [line for line in self.served.metrics.text().decode().splitlines() if line.startswith(name)]

    async def calm(self) -> None:
        """Waits until no call is under way."""
        await self.served.until(lambda: not self.shedder.crowd.inside and self.served.lifecycle._idle.is_set())


@asynccontextmanager
async def line(toy: Toy = TOY, *, straight: bool = True, limits: Limits = QUICK, **options: Any) -> AsyncIterator[Line]:
    shedder = LoadShedder(Crowd(1000, time.monotonic))
    async with serving(toy, limits=limits, **options) as served:
        if not straight:
            served.small_calls = None
        async with served.listening(shedder) as port:
            yield Line(served, port, shedder)

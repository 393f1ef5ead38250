"""Connections of the load generator: they send prepared bytes and read how each request ended.

The HTTP/2 client supports only repeated calls of one gRPC method: it uses no header table on either side, so that
headers are the same bytes each time and a status can be read in place.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import httptools

from benchmarks.service import HOST

Protocol = Literal["grpc", "http"]
UNANSWERED = "unanswered"
"""Code of a request that was not answered within the patience of the generator."""
BROKEN = "connection lost"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW = 0, 1, 3, 4, 6, 8
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_TABLE_SIZE, _STREAMS, _STREAM_WINDOW = 1, 3, 4
_FIRST_WINDOW, _LARGEST_WINDOW = 65535, 2**31 - 1
_FRAME_BYTES = 16384
_STATUS = {
    0: "OK", 1: "CANCELLED", 2: "UNKNOWN", 3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 5: "NOT_FOUND",
    8: "RESOURCE_EXHAUSTED", 12: "UNIMPLEMENTED", 13: "INTERNAL", 14: "UNAVAILABLE",
}  # fmt: skip
_CODED_STATUS = bytes.fromhex("9acac8b21234da8f")
"""``grpc-status`` in Huffman's code of HTTP/2."""
_HINTS = (b"demur-error-bin", b"grpc-retry-pushback-ms")


@dataclass(frozen=True)
class Plan:
    """Load: the request, its rate and its duration."""

    protocol: Protocol
    port: int
    path: str
    body: bytes
    """Body of the request: a gRPC message, or the body of a POST."""
    seconds: float
    rate: float = 0.0
    """Requests a second, on average."""
    callers: int = 0
    """Number of callers, used instead of a rate; each sends its next request when the last is answered."""
    content_type: str = "application/protobuf"
    """Content type of HTTP requests."""
    connections: int = 64
    """Number of open connections, used in turn; over HTTP/1.1 each has one request at a time."""
    most_connections: int = 512
    """Largest number of HTTP/1.1 connections, opened while all others wait for answers."""
    deadline_seconds: float = 0.0
    """Deadline sent with each request; 0 for none."""
    seed: int = 1


class Log:
    """Log of the times and results of requests, by their number."""

    def __init__(self, count: int) -> None:
        self.sent = [float("nan")] * count
        self.ended = [float("nan")] * count
        self.code = [UNANSWERED] * count
        self.hinted = [False] * count
        self.left = count
        self.start = 0.0
        self.over = asyncio.Event()
        """Event that is set while no request is left; requests may be added afterwards."""
        self.heard: Callable[[], None] = lambda: None
        """Callback after each end of a request."""

    @property
    def now(self) -> float:
        """Time since the start, s."""
        return time.perf_counter() - self.start

    def add(self) -> int:
        """Add a request and return its number."""
        for values, value in ((self.sent, float("nan")), (self.ended, float("nan"))):
            values.append(value)
        self.code.append(UNANSWERED)
        self.hinted.append(False)
        self.left += 1
        return len(self.code) - 1

    def send(self, number: int) -> None:
        self.sent[number] = self.now

    def end(self, number: int, code: str, hinted: bool) -> None:
        self.ended[number] = self.now
        self.code[number] = code
        self.hinted[number] = hinted
        self.left -= 1
        self.heard()
        if not self.left:
            self.over.set()


class _Http2(asyncio.Protocol):
    """Minimal HTTP/2 client for one gRPC method. A message is sent after the previous one has been sent."""

    def __init__(self, plan: Plan, log: Log) -> None:
        self._log = log
        headers = _header_block(plan)
        message = b"\0" + len(plan.body).to_bytes(4, "big") + plan.body
        self._headers = headers
        self._message = message
        self._next = 1
        self._numbers: dict[int, int] = {}
        self._buffer = b""
        self._room = _FIRST_WINDOW
        self._stream_window = _FIRST_WINDOW
        self._stream_room = 0
        """Flow-control window left for the stream that began last."""
        self._unsent = memoryview(b"")
        """Unsent rest of that stream's message."""
        self._streams = _LARGEST_WINDOW
        self._waiting: deque[int] = deque()
        self._transport: Any = None
        self.ready = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        settings = struct.pack(">HIHI", _TABLE_SIZE, 0, _STREAM_WINDOW, _LARGEST_WINDOW)
        more = struct.pack(">I", _LARGEST_WINDOW - _FIRST_WINDOW)
        transport.write(_PREFACE + _frame(_SETTINGS, 0, 0, settings) + _frame(_WINDOW, 0, 0, more))

    def ask(self, number: int) -> None:
        self._waiting.append(number)
        self._flush()

    def _flush(self) -> None:
        parts: list[bytes] = []
        while self._unsent or (self._waiting and len(self._numbers) < self._streams):
            if not self._unsent:
                parts.append(self._begin(self._waiting.popleft()))
            size = min(self._room, self._stream_room, _FRAME_BYTES)
            if size <= 0:
                break
            part, self._unsent = self._unsent[:size], self._unsent[size:]
            self._room -= len(part)
            self._stream_room -= len(part)
            parts.append(_frame(_DATA, 0 if self._unsent else _END_STREAM, self._next - 2, part))
        if parts:
            self._transport.write(b"".join(parts))

    def _begin(self, number: int) -> bytes:
        stream = self._next
        self._next += 2
        self._numbers[stream] = number
        self._unsent, self._stream_room = memoryview(self._message), self._stream_window
        self._log.send(number)
        return _frame(_HEADERS, _END_HEADERS, stream, self._headers)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        place, size = 0, len(buffer)
        while size - place >= 9:
            length = int.from_bytes(buffer[place : place + 3], "big")
            if size - place < 9 + length:
                break
            kind, flags = buffer[place + 3], buffer[place + 4]
            stream = int.from_bytes(buffer[place + 5 : place + 9], "big")
            self._frame(kind, flags, stream, buffer[place + 9 : place + 9 + length])
            place += 9 + length
        self._buffer = buffer[place:]

    def _frame(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        if kind == _HEADERS:
            if flags & _END_STREAM:
                self._ended(stream, *_grpc_status(content))
        elif kind == _RESET:
            self._ended(stream, f"RST_STREAM {int.from_bytes(content, 'big')}", False)
        elif kind == _WINDOW:
            if stream == 0:
                self._room += int.from_bytes(content, "big")
            elif stream == self._next - 2:
                self._stream_room += int.from_bytes(content, "big")
            self._flush()
        elif kind == _SETTINGS and not flags & _ACK:
            for place in range(0, len(content), 6):
                name, value = struct.unpack_from(">HI", content, place)
                if name == _STREAMS:
                    self._streams = value
                elif name == _STREAM_WINDOW:
                    self._stream_room += value - self._stream_window
                    self._stream_window = value
            self._transport.write(_frame(_SETTINGS, _ACK, 0, b""))
            if not self.ready.done():
                self.ready.set_result(None)
            self._flush()
        elif kind == _PING and not flags & _ACK:
            self._transport.write(_frame(_PING, _ACK, 0, content))

    def _ended(self, stream: int, code: str, hinted: bool) -> None:
        number = self._numbers.pop(stream, None)
        if stream == self._next - 2:
            self._unsent = memoryview(b"")  # refused before the whole message was sent
        if number is not None:
            self._log.end(number, code, hinted)
            if self._waiting:
                self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        for number in [*self._numbers.values(), *self._waiting]:
            self._log.end(number, BROKEN, False)
        self._numbers.clear()
        self._waiting.clear()

    def close(self) -> None:
        self._transport.close()


class _Http1(asyncio.Protocol):
    """Persistent HTTP/1.1 connection with one request at a time."""

    def __init__(self, request: bytes, log: Log, idle: Callable[[_Http1], None]) -> None:
        self._request = request
        self._log = log
        self._idle = idle
        self._number: int | None = None
        self._transport: Any = None
        self._parser = httptools.HttpResponseParser(self)
        self._hinted = False
        self.closed = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._idle(self)

    def ask(self, number: int) -> None:
        self._number = number
        self._hinted = False
        self._log.send(number)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._hinted = self._hinted or name.lower() == b"retry-after"

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        keeps = self._parser.should_keep_alive()
        number, self._number = self._number, None
        if number is not None:
            self._log.end(number, "OK" if status == 200 else str(status), self._hinted)
        if keeps:
            self._parser = httptools.HttpResponseParser(self)
            self._idle(self)
        else:
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        number, self._number = self._number, None
        if number is not None:
            self._log.end(number, BROKEN, False)

    def close(self) -> None:
        self.closed = True
        self._transport.close()


class Http1Pool:
    """Pool of HTTP/1.1 connections: a request uses an idle connection, else opens another, else waits here."""

    def __init__(self, plan: Plan, log: Log) -> None:
        head = (
            f"POST {plan.path} HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: {plan.content_type}\r\n"
            f"content-length: {len(plan.body)}\r\n"
        )
        if plan.deadline_seconds:
            head += f"demur-timeout-seconds: {plan.deadline_seconds:g}\r\n"
        self._request = f"{head}\r\n".encode() + plan.body
        self._plan = plan
        self._log = log
        self._idle: deque[_Http1] = deque()
        self._all: list[_Http1] = []
        self._opening: set[asyncio.Task[Any]] = set()
        self._waiting: deque[int] = deque()

    async def open(self) -> None:
        await asyncio.gather(*(self._connect() for _ in range(self._plan.connections)))

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(
            lambda: _Http1(self._request, self._log, self._ready), HOST, self._plan.port
        )
        self._all = [connection for connection in self._all if not connection.closed] + [made]

    def _ready(self, connection: _Http1) -> None:
        if self._waiting:
            connection.ask(self._waiting.popleft())
        else:
            self._idle.append(connection)

    def ask(self, number: int) -> None:
        while self._idle:
            connection = self._idle.popleft()
            if not connection.closed:
                connection.ask(number)
                return
        self._waiting.append(number)
        live = sum(not link.closed for link in self._all) + len(self._opening)
        if live < self._plan.most_connections:
            task = asyncio.create_task(self._connect())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    def close(self) -> None:
        for connection in self._all:
            connection.close()


class Http2Pool:
    """Pool of HTTP/2 connections, used in turn."""

    def __init__(self, plan: Plan, log: Log) -> None:
        self._plan = plan
        self._log = log
        self._all: list[_Http2] = []
        self._turn = 0

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(self._plan.connections):
            _, made = await loop.create_connection(lambda: _Http2(self._plan, self._log), HOST, self._plan.port)
            await made.ready
            self._all.append(made)

    def ask(self, number: int) -> None:
        self._turn = (self._turn + 1) % len(self._all)
        self._all[self._turn].ask(number)

    def close(self) -> None:
        for connection in self._all:
            connection.close()


def _header_block(plan: Plan) -> bytes:
    """Return the request's headers without use of a table, so that they are the same for every request."""
    authority = f"{HOST}:{plan.port}".encode()
    block = b"\x83\x86" + _literal(4, plan.path.encode()) + _literal(1, authority)
    block += _named(b"te", b"trailers") + _named(b"content-type", b"application/grpc")
    if plan.deadline_seconds:
        block += _named(b"grpc-timeout", f"{round(plan.deadline_seconds * 1e6)}u".encode()[-9:])
    return block


def _literal(name: int, value: bytes) -> bytes:
    return bytes([name, len(value)]) + value


def _named(name: bytes, value: bytes) -> bytes:
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def _frame(kind: int, flags: int, stream: int, content: bytes | memoryview) -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


def _grpc_status(block: bytes) -> tuple[str, bool]:
    """Return the status in trailers written without a table, and whether they contain a retry delay.

    The name and the number may be in Huffman's code of HTTP/2 (hints may not: servers that use it give none).
    """
    for name in (b"grpc-status", _CODED_STATUS):
        if (place := block.find(name)) >= 0:
            break
    else:
        return "no grpc-status", False
    place += len(name)
    length = block[place] & 0x7F
    value = block[place + 1 : place + 1 + length]
    number = _coded_number(value) if block[place] & 0x80 else int(value)
    return _STATUS.get(number, str(number)), any(hint in block for hint in _HINTS)


def _coded_number(value: bytes) -> int:
    """Return a decimal number in Huffman's code of HTTP/2: 0 to 2 have five bits, 3 to 9 have six; ones fill a byte."""
    bits = "".join(f"{byte:08b}" for byte in value)
    digits = ""
    while len(bits) >= 5 and bits.strip("1"):
        size = 5 if int(bits[:5], 2) < 3 else 6
        code = int(bits[:size], 2)
        digits += str(code if size == 5 else code - 0b011001 + 3)
        bits = bits[size:]
    return int(digits)

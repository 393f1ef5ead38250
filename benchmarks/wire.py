"""Requests as bytes, and minimal clients of the protocols, so that figures measure the service."""

import importlib
import socket
from collections.abc import Callable, Mapping
from typing import Any

import httptools
import msgspec
import numpy as np
from numpy.typing import NDArray

from demur.v1.common_pb2 import PackedRows, Rows
from models.schema import Schema

JSON = "application/json"
PROTOBUF = "application/protobuf"


def predict(task: str) -> str:
    """Return the path of a task's unary method."""
    return f"/demur.v1.{task.capitalize()}Service/Predict"


def protobuf_body(task: str, schema: Schema, rows: NDArray[np.float32]) -> bytes:
    """Return packed rows [n, F] as a request message."""
    request = getattr(importlib.import_module(f"demur.v1.{task}_pb2"), f"{task.capitalize()}PredictRequest")
    packed = PackedRows(row_count=len(rows), values=rows.tobytes(), schema_hash=schema.hash)
    message: bytes = request(rows=Rows(packed=packed)).SerializeToString()
    return message


def json_body(schema: Schema, rows: NDArray[np.float32]) -> bytes:
    """Return the same rows as named columns."""
    return msgspec.json.encode({"columns": dict(zip(schema.names, rows.T.tolist(), strict=True))})


def post(host: str, path: str, kind: str, body: bytes, **headers: object) -> bytes:
    """Return an HTTP/1.1 request that keeps the connection."""
    fields = {"host": host, "content-type": kind, "content-length": len(body)} | headers
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


class Reply:
    """Collector of one HTTP response; raises for any status but 200."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.complete = False
        self.size = 0

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        if (code := self._parser.get_status_code()) != 200:
            raise RuntimeError(f"HTTP {code}")

    def on_body(self, part: bytes) -> None:
        self.size += len(part)

    def on_message_complete(self) -> None:
        self.complete = True


class HttpConnection:
    """Persistent blocking HTTP/1.1 connection."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> int:
        """Send a request and return the size of the response's body."""
        self._socket.sendall(request)
        reply = Reply()
        while not reply.complete:
            data = self._socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the server closed the connection")
            reply.feed(data)
        return reply.size

    def close(self) -> None:
        self._socket.close()


def stub(channel: Any, task: str) -> Callable[[bytes], bytes]:
    """Return the predict method of a channel, bytes in and bytes out."""
    call: Callable[[bytes], bytes] = channel.unary_unary(predict(task))
    return call


def requests(task: str, schema: Schema, rows: NDArray[np.float32], host: str) -> Mapping[str, bytes]:
    """Return HTTP requests by form of the body."""
    return {
        "json": post(host, "/v1/predict", JSON, json_body(schema, rows)),
        "protobuf": post(host, "/v1/predict", PROTOBUF, protobuf_body(task, schema, rows)),
    }

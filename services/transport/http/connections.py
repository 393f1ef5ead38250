"""HTTP connections with limits on their number, on headers and on time; TLS by this program.

uvicorn limits neither the size of headers (its parser accepts any number) nor their time. Errors that it answers in
plain text, before there is a request, are answered in JSON like all others.
"""

import asyncio

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.access.certificates import Certificates
from services.runtime.errors import DemurError, InvalidInput, TooLarge
from services.runtime.settings import Settings
from services.transport.http.body import error_response
from services.transport.http.load_shedding import LoadShedder, shedding_protocol

_NO_REQUEST = InvalidInput(
    "these bytes are not an HTTP/1.1 request; check the request line, the headers, and whether the port speaks TLS",
    code="not_http",
)
_NO_HOST = InvalidInput(
    "an HTTP/1.1 request has one Host header; send it once (RFC 9112, section 3.2)", code="host_needed", field="host"
)

_NO_UPGRADE = InvalidInput(
    "a request with a body cannot ask for another protocol here; send it without Upgrade (curl --http1.1)",
    code="no_upgrade",
    field="upgrade",
)


def harden(
    config: Config, settings: Settings, certificates: Certificates | None, shedder: LoadShedder | None = None
) -> None:
    """Apply the limits to a loaded configuration whose server does not listen yet.

    Args:
        certificates: for TLS; None: plain text.
        shedder: refuses calls under overload; None: no calls are shed.
    """
    config.ssl = None if certificates is None else certificates.listening()
    config.http_protocol_class = bounded(settings, certificates, shedder)
    config.ws_protocol_class = None  # websockets are not served


def bounded(
    settings: Settings, certificates: Certificates | None, shedder: LoadShedder | None
) -> type[HttpToolsProtocol]:
    """Return the protocol with the limits of these settings."""
    initial = certificates
    inner: type[HttpToolsProtocol] = HttpToolsProtocol if shedder is None else shedding_protocol(shedder)

    class Bounded(BoundedProtocol, inner):  # type: ignore[misc, valid-type]
        most_header_bytes = settings.max_header_bytes
        most_connections = settings.max_connections
        slow_seconds = settings.slow_seconds
        certificates = initial

    return Bounded


class BoundedProtocol(HttpToolsProtocol):
    """HTTP connection. A timer runs while the caller has to send headers, or the next part of a body."""

    most_header_bytes: int
    most_connections: int
    slow_seconds: float
    certificates: Certificates | None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._in_head = self._fresh = True
        self._head = self._unread = 0
        self._owed: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        session = transport.get_extra_info("ssl_object")
        outdated = session is not None and self.certificates is not None and self.certificates.outdated(session)
        if outdated or len(self.connections) > self.most_connections:
            transport.abort()
            return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relax()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_head and self._owed is not None:
            self._expect()  # a part of the body arrived
        super().data_received(data)
        if self._in_head:
            if not self._fresh:  # its start within the first piece is unknown
                self._unread += len(data)
            self._fresh = False
            self._check_head(self._unread)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._fresh = True
        self._head = self._unread = 0
        if self._owed is None:
            self._expect()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._head += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head += len(name) + len(value) + 4
        if self._head <= self.most_header_bytes:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._expect()
        if self._check_head(self._head) and self._check_host() and self._check_upgrade():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._relax()
        if not self.transport.is_closing():
            super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing(None)

    def resume_writing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _expect(self) -> None:
        self._relax()
        self._owed = self.loop.call_later(self.slow_seconds, self._late)

    def _relax(self) -> None:
        if self._owed is not None:
            self._owed.cancel()
            self._owed = None

    def _late(self) -> None:
        """Close the connection, unless reading is paused or the body has not been requested yet."""
        self._owed = None
        cycle = self.cycle
        awaiting = self._in_head or not (
            self.flow.read_paused or (cycle is not None and cycle.waiting_for_100_continue)
        )
        if awaiting:
            self.transport.close()
        else:
            self._expect()

    def _watch_writing(self, before: int | None) -> None:
        """Close the connection if the caller has not read a byte of the answer since the last check."""
        waiting = self.transport.get_write_buffer_size()
        if before is not None and waiting >= before:
            self.transport.abort()
            return
        self._stuck = self.loop.call_later(self.slow_seconds, self._watch_writing, waiting)

    def _check_head(self, size: int) -> bool:
        """Return whether the headers are within the limit; otherwise end the connection."""
        if size <= self.most_header_bytes:
            return True
        most = self.most_header_bytes
        self._end(
            b"431 Request Header Fields Too Large",
            TooLarge(
                f"the headers of this request are more than {most} bytes (DEMUR_MAX_HEADER_BYTES); send less",
                code="header_too_large",
                field="headers",
                unit="bytes",
                allowed=f"[0, {most}]",
            ),
        )
        return False

    def _check_host(self) -> bool:
        """Return whether the request has one Host header, as HTTP/1.1 requires; otherwise end the connection."""
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts == 1 or (hosts == 0 and self.parser.get_http_version() != "1.1"):
            return True
        self._end(b"400 Bad Request", _NO_HOST)
        return False

    def _check_upgrade(self) -> bool:
        """Return whether the request has no upgrade or no body, which the parser would lose; otherwise end the
        connection.
        """
        if not self.parser.should_upgrade():
            return True
        sizes = {value for name, value in self.headers if name in (b"content-length", b"transfer-encoding")}
        if sizes <= {b"0"}:
            return True
        self._end(b"400 Bad Request", _NO_UPGRADE)
        return False

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that the parser cannot read."""
        self._end(b"400 Bad Request", _NO_REQUEST)

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a request for another protocol, such as websockets, is answered by its route over HTTP.

        The connection ends after it, since the parser reads nothing after such a request.
        """
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def _end(self, status: bytes, error: DemurError) -> None:
        """Answer without a request, and close the connection."""
        self._relax()
        if not self.transport.is_closing():
            response = error_response(error)
            head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\n"
            head += b"".join(b"%s: %s\r\n" % header for header in response.raw_headers)
            self.transport.write(head + b"\r\n" + bytes(response.body))
            self.transport.close()

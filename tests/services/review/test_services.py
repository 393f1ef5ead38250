"""Calls of the console to services with TLS, whose certificates and authority are renewed while it runs."""

import asyncio
import http.server
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from services.cli.http_client import ClientContexts
from services.cli.output import CommandError
from services.review.identity import Reviewer
from services.review.services import Address, Services
from services.runtime.errors import NotReady
from tests.services.access.authority import Authority

ANNA = Reviewer(name="anna")


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments: Any) -> None: ...


@contextmanager
def service(folder: Path, authority: Authority) -> Iterator[str]:
    """URL of a service that asks its callers for certificates of the same authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server().put(folder, "service"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.pem.decode())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def put(folder: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write roots, certificate and key where the environment names them."""
    (folder / "ca.crt").write_bytes(authority.pem)
    certificate, key = authority.caller("console").put(folder, "console")
    monkeypatch.setenv("DEMUR_ROOTS", str(folder / "ca.crt"))
    monkeypatch.setenv("DEMUR_CLIENT_CERTIFICATE", str(certificate))
    monkeypatch.setenv("DEMUR_CLIENT_KEY", str(key))


def test_renewed_files_are_used_from_the_next_call_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = Authority("old"), Authority("new")
    put(tmp_path, old, monkeypatch)

    async def story() -> None:
        with service(tmp_path, old) as before, service(tmp_path, new) as after:
            addresses = {"before": Address(before), "after": Address(after)}
            services = Services(lambda: addresses, ClientContexts())
            assert (await services.call("before", ANNA, "GET", "/")).content == b"ok"
            with pytest.raises(NotReady, match="after does not answer"):
                await services.call("after", ANNA, "GET", "/")
            put(tmp_path, new, monkeypatch)
            assert (await services.call("after", ANNA, "GET", "/")).content == b"ok"
            with pytest.raises(NotReady, match="before does not answer"):
                await services.call("before", ANNA, "GET", "/")
            await services.close()

    asyncio.run(story())


def test_a_context_is_kept_until_its_files_change_and_while_they_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, Authority("old"), monkeypatch)
    contexts = ClientContexts()
    first = contexts("")
    assert contexts("") is first
    for content in (b"", b"half a cert", None):
        path = tmp_path / "console.pem"
        path.unlink() if content is None else path.write_bytes(content)
        assert contexts("") is first
    put(tmp_path, Authority("new"), monkeypatch)
    assert contexts("") is not first


def test_files_that_can_never_be_used_are_an_error_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMUR_ROOTS", str(tmp_path / "nothing.crt"))
    with pytest.raises(CommandError, match="certificates that cannot be used"):
        ClientContexts()("")

"""TLS of both protocols on loopback: who believes whom, and what changes without a restart."""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest

from services.access.certificates import CertificateError, Certificates, Files
from tests.contract.serving import Protocol, Served, serving
from tests.contract.toys import TOYS
from tests.services.access.authority import Authority, Pair

TOY = TOYS[0]
CHECK = "/grpc.health.v1.Health/Check"
FAILURES = 'demur_access_reload_failures_total{file="tls"'


@dataclass(frozen=True)
class Secure:
    """A service with a certificate, and where its files are."""

    served: Served
    http_port: int
    directory: Path

    async def trusts(
        self, protocol: Protocol, roots: bytes, pair: Pair | None = None, *, host: str = "localhost"
    ) -> bool:
        """Whether both sides believe each other, on a connection of its own."""
        if protocol == "grpc":
            key, chain = (None, None) if pair is None else (pair.key, pair.certificate)
            secure = grpc.ssl_channel_credentials(roots, key, chain)
            options = [("grpc.use_local_subchannel_pool", 1), ("grpc.ssl_target_name_override", host)]
            async with grpc.aio.secure_channel(f"127.0.0.1:{self.served.server.port}", secure, options) as channel:
                try:
                    await channel.unary_unary(CHECK)(b"", timeout=60)
                    return True
                except grpc.aio.AioRpcError:
                    return False
        context = ssl.create_default_context(cadata=roots.decode())
        if pair is not None:
            chain_path, key_path = pair.put(self.directory, "caller")
            context.load_cert_chain(chain_path, key_path)
        async with httpx.AsyncClient(verify=context) as client:
            try:
                answer = await client.get(
                    f"https://127.0.0.1:{self.http_port}/v1/schema", extensions={"sni_hostname": host}
                )
                return answer.status_code == 200
            except (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError):
                return False

    def put(self, pair: Pair, ca: bytes | None = None) -> None:
        """Renews the files as Kubernetes does: a folder of its own, then the link that all names go through."""
        folder = self.directory / f"..{len(list(self.directory.iterdir()))}"
        folder.mkdir()
        pair.put(folder, "tls")
        if ca is not None:
            (folder / "ca.pem").write_bytes(ca)
        link = self.directory / "link"
        link.symlink_to(folder.name)
        link.replace(self.directory / "data")

    async def until(self, protocol: Protocol, roots: bytes, pair: Pair | None = None, *, trusted: bool = True) -> None:
        async with asyncio.timeout(40):
            while await self.trusts(protocol, roots, pair) is not trusted:
                await asyncio.sleep(0.02)

    def metric(self, name: str) -> float:
        lines = self.served.metrics.text().decode().splitlines()
        return float(next(line for line in lines if line.startswith(name)).rpartition(" ")[2])


@asynccontextmanager
async def secure(directory: Path, pair: Pair, ca: bytes | None = None) -> AsyncIterator[Secure]:
    """Serves with a certificate; with ``ca`` callers need one, too."""
    first = directory / "first"
    first.mkdir()
    pair.put(first, "tls")
    if ca is not None:
        (first / "ca.pem").write_bytes(ca)
    (directory / "data").symlink_to("first")
    data = directory / "data"
    names = {"tls_certificate": str(data / "tls.pem"), "tls_key": str(data / "tls.key")}
    if ca is not None:
        names["tls_client_ca"] = str(data / "ca.pem")
    async with serving(TOY, **names) as served, served.listening() as port:
        yield Secure(served, port, directory)


async def test_callers_believe_the_right_authority_and_name_only(
    tmp_path: Path, authority: Authority, stranger: Authority, protocol: Protocol
) -> None:
    async with secure(tmp_path, authority.server("localhost", "demur.example")) as service:
        assert await service.trusts(protocol, authority.pem)
        assert await service.trusts(protocol, authority.pem, host="demur.example")
        assert not await service.trusts(protocol, stranger.pem)
        assert not await service.trusts(protocol, authority.pem, host="other.example")
        assert service.metric("demur_tls_certificate_expiry_timestamp_seconds") == pytest.approx(
            service.served.access.certificates.current.expires  # type: ignore[union-attr]
        )


async def test_services_believe_callers_of_their_authority_only(
    tmp_path: Path, authority: Authority, stranger: Authority, protocol: Protocol
) -> None:
    async with secure(tmp_path, authority.server(), authority.pem) as service:
        assert await service.trusts(protocol, authority.pem, authority.caller())
        assert not await service.trusts(protocol, authority.pem)
        assert not await service.trusts(protocol, authority.pem, stranger.caller())
        assert not await service.trusts(protocol, authority.pem, authority.caller(start=-3, end=-1))
        assert not await service.trusts(protocol, authority.pem, authority.caller(start=1, end=3))
        assert not await service.trusts(protocol, authority.pem, authority.server()), "a server's is no caller's"


async def test_a_renewed_certificate_is_served_to_new_connections(
    tmp_path: Path, authority: Authority, stranger: Authority, protocol: Protocol
) -> None:
    async with secure(tmp_path, authority.server()) as service:
        assert not await service.trusts(protocol, stranger.pem)
        service.put(stranger.server())
        await service.until(protocol, stranger.pem)
        assert not await service.trusts(protocol, authority.pem)
        service.put(authority.server())
        await service.until(protocol, authority.pem)


async def test_authorities_of_callers_are_added_and_removed(
    tmp_path: Path, authority: Authority, stranger: Authority, protocol: Protocol
) -> None:
    pair, ours, theirs = authority.server(), authority.caller(), stranger.caller()
    async with secure(tmp_path, pair, authority.pem) as service:
        assert not await service.trusts(protocol, authority.pem, theirs)
        service.put(pair, authority.pem + stranger.pem)
        await service.until(protocol, authority.pem, theirs)
        assert await service.trusts(protocol, authority.pem, ours)
        service.put(pair, stranger.pem)
        await service.until(protocol, authority.pem, ours, trusted=False)
        assert await service.trusts(protocol, authority.pem, theirs)
        service.put(pair, authority.pem)
        await service.until(protocol, authority.pem, ours)
        assert not await service.trusts(protocol, authority.pem, theirs)


async def test_what_is_broken_on_disk_changes_nothing(
    tmp_path: Path, authority: Authority, protocol: Protocol, caplog: pytest.LogCaptureFixture
) -> None:
    good, other = authority.server(), authority.server()
    broken = {  # neighbours are refused in different words
        "half written": Pair(good.certificate[: len(good.certificate) // 2], good.key),
        "another key": Pair(good.certificate, other.key),
        "empty": Pair(b"", b""),
        "expired": authority.server(start=-3, end=-1),
        "no PEM": Pair(b"\x00" * 100, b"\xff" * 100),
        "not valid yet": authority.server(start=1, end=3),
        "no authority": good,
    }

    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if "certificate stays" in record.getMessage()]

    async with secure(tmp_path, good, authority.pem) as service:
        for name, pair in broken.items():
            before, messages = service.metric(FAILURES), len(told())
            service.put(pair, b"nonsense" if name == "no authority" else authority.pem)
            async with asyncio.timeout(40):
                while len(told()) == messages:  # the count also grows with each reload of the earlier content
                    await asyncio.sleep(0.01)
            assert service.metric(FAILURES) > before
            assert await service.trusts(protocol, authority.pem, authority.caller()), name
        (tmp_path / "data" / "tls.pem").unlink()
        await asyncio.sleep(0.2)
        assert await service.trusts(protocol, authority.pem, authority.caller())
        assert len(told()) <= len(broken) + 2, ("once each, not at every reload", told())


async def test_an_open_connection_outlives_a_change(tmp_path: Path, authority: Authority, stranger: Authority) -> None:
    async with secure(tmp_path, authority.server()) as service:
        context = ssl.create_default_context(cadata=authority.pem.decode())
        async with httpx.AsyncClient(verify=context, base_url=f"https://127.0.0.1:{service.http_port}") as client:
            assert (await client.get("/v1/schema")).status_code == 200
            service.put(stranger.server())
            await service.until("http", stranger.pem)
            assert (await client.get("/v1/schema")).status_code == 200


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_no_session_of_before_a_change_is_taken_up_again(
    tmp_path: Path, authority: Authority, stranger: Authority, version: ssl.TLSVersion
) -> None:
    """One that was made under an authority that was removed meanwhile would get in, without being asked."""
    pair = authority.server()
    async with secure(tmp_path, pair, authority.pem) as service:
        context = ssl.create_default_context(cadata=authority.pem.decode())
        context.minimum_version = context.maximum_version = version
        context.load_cert_chain(*authority.caller().put(tmp_path, "me"))

        def answered(session: ssl.SSLSession | None) -> ssl.SSLSession | None:
            with (
                socket.create_connection(("127.0.0.1", service.http_port), timeout=60) as raw,
                context.wrap_socket(raw, server_hostname="localhost", session=session) as wrapped,
            ):
                wrapped.sendall(b"GET /v1/schema HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                if not wrapped.recv(12).startswith(b"HTTP/1.1 200"):
                    raise ConnectionError("no answer")
                while wrapped.recv(65_536):
                    pass
                return wrapped.session

        session = await asyncio.to_thread(answered, None)
        await asyncio.to_thread(answered, session)  # nothing has changed
        service.put(pair, stranger.pem)
        await service.until("http", authority.pem, stranger.caller())
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.to_thread(answered, session)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
async def test_old_versions_and_plain_text_are_refused(tmp_path: Path, authority: Authority) -> None:
    async with secure(tmp_path, authority.server()) as service:
        for port in (service.http_port, service.served.server.port):

            def plain(port: int = port) -> bytes:
                with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
                    raw.sendall(b"GET /v1/schema HTTP/1.1\r\nhost: x\r\n\r\n")
                    try:
                        return raw.recv(1000)
                    except ConnectionResetError:
                        return b""

            assert b"HTTP/1.1" not in await asyncio.to_thread(plain)
            context = ssl.create_default_context(cadata=authority.pem.decode())
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1

            def old(port: int = port, context: ssl.SSLContext = context) -> None:
                with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
                    context.wrap_socket(raw, server_hostname="localhost").close()

            with pytest.raises((ssl.SSLError, ConnectionError)):
                await asyncio.to_thread(old)


class Silent:
    def reload_failed(self, what: str) -> None: ...

    def certificate(self, expires: float) -> None: ...


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("expired", "DEMUR_TLS_CERTIFICATE: expired"),
        ("early", "DEMUR_TLS_CERTIFICATE: not valid yet"),
        ("key", "do not match"),
        ("missing", "cannot be read"),
        ("encrypted", "do not match"),
        ("ca", "DEMUR_TLS_CLIENT_CA must be PEM"),
        ("leaf", "DEMUR_TLS_CLIENT_CA: must hold the certificate of an authority"),
    ],
)
def test_there_is_no_start_with_what_cannot_be_served(
    tmp_path: Path, authority: Authority, change: str, words: str
) -> None:
    pair = authority.server()
    pairs = {
        "expired": authority.server(start=-3, end=-1),
        "early": authority.server(start=1, end=2),
        "key": Pair(pair.certificate, authority.server().key),
        "encrypted": Pair(
            pair.certificate, b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
        ),
    }
    chain, key = pairs.get(change, pair).put(tmp_path, "tls")
    ca = tmp_path / "ca.pem"
    ca.write_bytes({"ca": b"none", "leaf": pair.certificate}.get(change, authority.pem))
    if change == "missing":
        key.unlink()
    with pytest.raises(CertificateError, match=words):
        Certificates(Files(chain, key, ca), Silent(), time.time)

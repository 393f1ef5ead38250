"""Certificate, key and trusted authorities of a server, reloaded whenever their files change.

Both protocols use the current ones for each new connection. A session from before a change is not resumed, since that
would not verify whether its authority is still trusted.
"""

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cryptography import x509

from services.access.watched_files import content
from services.runtime.logging import get_logger

_log = get_logger(__name__)
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers of TLS 1.2 with forward secrecy and authenticated encryption; all of TLS 1.3 have both."""


class CertificateError(ValueError):
    """The files cannot be used for serving; the message says why."""


@dataclass(frozen=True)
class Files:
    """Paths of the files of TLS."""

    certificate: Path
    """PEM: the server's certificate first, then intermediate ones."""
    key: Path
    """PEM, not encrypted."""
    client_ca: Path | None = None
    """PEM: authorities of callers' certificates; None: callers need none."""


@dataclass(frozen=True)
class Material:
    """Checked content of the files."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None
    expires: float
    """Seconds since 1970."""
    context: ssl.SSLContext


class Watch(Protocol):
    """Observer of reloads."""

    def reload_failed(self, what: str) -> None: ...

    def certificate(self, expires: float) -> None: ...


class Certificates:
    """Certificates in force. ``reload`` may run in any thread; ``current`` is replaced as a whole."""

    def __init__(self, files: Files, watch: Watch, clock: Callable[[], float]) -> None:
        """
        Args:
            clock: seconds since 1970.

        Raises:
            CertificateError: the files cannot be used.
        """
        self._files, self._watch, self._clock = files, watch, clock
        self._contents = _contents(files)
        self.current = material(*self._contents, now=clock())
        self._problem = ""
        self._changed = 0.0
        watch.certificate(self.current.expires)

    def reload(self) -> None:
        """Load changed files; a pair that is half written, does not match or has expired is ignored."""
        try:
            contents = _contents(self._files)
            if contents != self._contents or self._problem:
                self._take(contents)
            self._problem = ""
        except CertificateError as error:
            self._watch.reload_failed("tls")
            if str(error) != self._problem:  # once, not at every reload
                _log.error("the certificate stays as it was: %s", error)
            self._problem = str(error)

    def listening(self) -> ssl.SSLContext:
        """Return a context to listen with: each new connection gets the current certificate and authorities."""
        first = self.current
        context = _context(first.certificate, first.key, first.client_ca)

        def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            connection.context = self.current.context

        context.sni_callback = choose  # is called without a name, too
        return context

    def outdated(self, connection: ssl.SSLObject) -> bool:
        """Return True for a connection that resumes a session from before the last change, as TLS 1.2 always can."""
        session = connection.session
        return bool(connection.session_reused) and session is not None and session.time <= self._changed

    def _take(self, contents: tuple[bytes, bytes, bytes | None]) -> None:
        now = self._clock()
        new = material(*contents, now=now)
        self._contents, self.current, self._changed = contents, new, now
        self._watch.certificate(new.expires)
        _log.info("certificate in force", extra={"fields": {"expires": new.expires, "mtls": contents[2] is not None}})


def material(certificate: bytes, key: bytes, client_ca: bytes | None, *, now: float) -> Material:
    """Check the contents of the files.

    Raises:
        CertificateError: the key does not match, the certificate is not valid now, or something is not PEM.
    """
    try:
        start, end = validity(certificate)
    except ValueError as error:
        raise CertificateError(f"DEMUR_TLS_CERTIFICATE: {error}") from error
    if not start <= now < end:
        raise CertificateError(f"DEMUR_TLS_CERTIFICATE: {'expired' if now >= end else 'not valid yet'}")
    return Material(certificate, key, client_ca, end, _context(certificate, key, client_ca))


def validity(chain: bytes) -> tuple[float, float]:
    """Return when the first certificate of a PEM chain becomes valid and when it expires, seconds since 1970.

    Raises:
        ValueError: there is no certificate.
    """
    try:
        certificate = x509.load_pem_x509_certificate(chain)
    except ValueError as error:
        raise ValueError(f"no certificate in PEM: {error}") from error
    return certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()


def refusing() -> ssl.SSLContext:
    """Return a context without a certificate: every connection is refused, and nothing is sent in plain text."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def _context(certificate: bytes, key: bytes, client_ca: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.num_tickets = 0
    with ExitStack() as stack:
        chain, private = (stack.enter_context(_as_file(pem)) for pem in (certificate, key))
        try:
            context.load_cert_chain(chain, private, password=_no_password)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise CertificateError(f"DEMUR_TLS_CERTIFICATE and DEMUR_TLS_KEY do not match: {error}") from error
    if client_ca is not None:
        try:
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"DEMUR_TLS_CLIENT_CA must be PEM with certificates of authorities: {error}"
            ) from error
        if not context.get_ca_certs():
            raise CertificateError("DEMUR_TLS_CLIENT_CA: must hold the certificate of an authority")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _contents(files: Files) -> tuple[bytes, bytes, bytes | None]:
    try:
        ca = None if files.client_ca is None else content(files.client_ca)
        return content(files.certificate), content(files.key), ca
    except OSError as error:
        raise CertificateError(f"a file of TLS cannot be read: {error}") from error


def _no_password() -> str:
    raise ValueError("the key is encrypted; give it without a passphrase, readable for the service only")


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Yield a path to exactly these bytes: the file at the original path may have changed since it was read."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("demur")  # never on a disk
        try:
            os.write(descriptor, data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file.name

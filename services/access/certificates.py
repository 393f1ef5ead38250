"""Certificate, key and trusted authorities of a server: taken when good, and again whenever the files change.

Both protocols take their part for each new connection. A session of before a change is not taken up again, since a
resumed one would not ask whether its authority is still trusted.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.access.validity import validity
from services.access.watched import content
from services.runtime.logging import get_logger

_log = get_logger(__name__)
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2: forward secrecy and authenticated encryption; those of 1.3 are all good."""


class CertificateError(ValueError):
    """What the files hold cannot be served with; the message says why."""


@dataclass(frozen=True)
class Files:
    """Where they are."""

    certificate: Path
    """PEM: the server's own first, then those between it and the authority."""
    key: Path
    """PEM, not encrypted."""
    client_ca: Path | None = None
    """PEM: authorities of callers; None: callers bring no certificates."""


@dataclass(frozen=True)
class Material:
    """Content of the files, checked."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None
    expires: float
    """Seconds since 1970."""
    context: ssl.SSLContext


class Watch(Protocol):
    """Hears of certificates."""

    def reload_failed(self, what: str) -> None: ...

    def certificate(self, expires: float) -> None: ...


class Certificates:
    """What is in force. ``look`` may run in any thread; ``current`` is replaced as a whole."""

    def __init__(self, files: Files, watch: Watch, clock: Callable[[], float]) -> None:
        """
        Args:
            clock: seconds since 1970.

        Raises:
            CertificateError: there is nothing to serve with.
        """
        self._files, self._watch, self._clock = files, watch, clock
        self._found = _contents(files)
        self.current = material(*self._found, now=clock())
        self._problem = ""
        self._changed = 0.0
        watch.certificate(self.current.expires)

    def look(self) -> None:
        """Takes other contents of the files; a pair that is half written, does not fit or is over is left alone."""
        try:
            found = _contents(self._files)
            if found != self._found or self._problem:
                self._take(found)
            self._problem = ""
        except CertificateError as error:
            self._watch.reload_failed("tls")
            if str(error) != self._problem:  # once, not at every look
                _log.error("the certificate stays as it was: %s", error)
            self._problem = str(error)

    def listening(self) -> ssl.SSLContext:
        """A context to listen with: each new connection gets the current one's certificate and authorities."""
        first = self.current
        context = _context(first.certificate, first.key, first.client_ca)

        def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            connection.context = self.current.context

        context.sni_callback = choose  # is called without a name, too
        return context

    def outdated(self, connection: ssl.SSLObject) -> bool:
        """Whether a connection takes up a session of before the last change: TLS 1.2 can, whatever is switched off."""
        session = connection.session
        return bool(connection.session_reused) and session is not None and session.time <= self._changed

    def _take(self, found: tuple[bytes, bytes, bytes | None]) -> None:
        now = self._clock()
        new = material(*found, now=now)
        self._found, self.current, self._changed = found, new, now
        self._watch.certificate(new.expires)
        _log.info("certificate in force", extra={"fields": {"expires": new.expires, "mtls": found[2] is not None}})


def material(certificate: bytes, key: bytes, client_ca: bytes | None, *, now: float) -> Material:
    """
    Raises:
        CertificateError: the key does not match, the certificate is not valid now, or something is no PEM.
    """
    try:
        start, end = validity(certificate)
    except ValueError as error:
        raise CertificateError(f"DEMUR_TLS_CERTIFICATE: {error}") from error
    if not start <= now < end:
        raise CertificateError(f"DEMUR_TLS_CERTIFICATE: {'expired' if now >= end else 'not valid yet'}")
    return Material(certificate, key, client_ca, end, _context(certificate, key, client_ca))


def refusing() -> ssl.SSLContext:
    """A context without a certificate: whoever connects is turned away, and nothing is told in clear text."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def _context(certificate: bytes, key: bytes, client_ca: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.num_tickets = 0
    with ExitStack() as stack:
        chain, private = (stack.enter_context(_as_file(one)) for one in (certificate, key))
        try:
            context.load_cert_chain(chain, private, password=_no_password)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise CertificateError(f"DEMUR_TLS_CERTIFICATE and DEMUR_TLS_KEY are no pair: {error}") from error
    if client_ca is not None:
        try:
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
        except (OSError, ValueError) as error:
            raise CertificateError(f"DEMUR_TLS_CLIENT_CA is no PEM of authorities: {error}") from error
        if not context.get_ca_certs():
            raise CertificateError("DEMUR_TLS_CLIENT_CA holds no certificate of an authority")
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
    """A path to just these bytes: what is at the given path may have changed since it was read."""
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

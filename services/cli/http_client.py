"""HTTP client of commands, for services that may need a certificate and a token."""

import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import msgspec

from services.cli.output import CommandError


def ask(url: str, *, seconds: float, certificate: str = "") -> tuple[int, bytes]:
    """Send a GET request; return status and body, or 0 and the reason if there is no response.

    Token, roots and certificate are those of the environment, as for ``demur.connect``.

    Args:
        certificate: path of the certificate of a service of this installation: only this one is accepted, whatever
            name or address the URL has.

    Raises:
        CommandError: a file that the environment names cannot be read.
    """
    headers = {}
    if (url.startswith("https:") or _loopback(url)) and (token := _token()):
        headers["authorization"] = f"Bearer {token}"
    context = _context(certificate) if url.startswith("https:") else None
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - an address of services, http or https
    try:
        with urllib.request.urlopen(request, timeout=seconds, context=context) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()
    except OSError as error:
        return 0, str(getattr(error, "reason", None) or error).encode()


def refusal(body: bytes) -> str:
    """Return the message of an error response."""
    try:
        return str(msgspec.json.decode(body)["error"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return body.decode(errors="replace")


def identified() -> bool:
    """Return whether the environment has a token, which names the caller."""
    return bool(_token())


def _token() -> str:
    if token := os.environ.get("DEMUR_TOKEN", ""):
        return token
    path = os.environ.get("DEMUR_TOKEN_FILE", "")
    try:
        return Path(path).read_text().strip() if path else ""
    except OSError as error:
        raise CommandError(f"DEMUR_TOKEN_FILE: {error}") from error


def _loopback(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _context(certificate: str) -> ssl.SSLContext:
    roots = os.environ.get("DEMUR_ROOTS") or None
    try:
        if certificate:
            context = ssl.create_default_context(cafile=certificate)
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # just this certificate
            context.check_hostname = False
        else:
            context = ssl.create_default_context(cafile=roots)
        if chain := os.environ.get("DEMUR_CLIENT_CERTIFICATE"):
            context.load_cert_chain(chain, os.environ.get("DEMUR_CLIENT_KEY") or None)
        return context
    except OSError as error:
        raise CommandError(f"the environment names certificates that cannot be used: {error}") from error

"""HTTP client of commands, for services that may need a certificate and a token."""

import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import msgspec

from services.access.watched_files import content
from services.cli.output import CommandError
from services.runtime.logging import get_logger

_CLIENT_FILES = ("DEMUR_ROOTS", "DEMUR_CLIENT_CERTIFICATE", "DEMUR_CLIENT_KEY")
"""Variables with the files of calls to services."""
_log = get_logger(__name__)


def ask(
    url: str,
    *,
    seconds: float,
    certificate: str = "",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Send a GET request; return status and body, or 0 and the reason if there is no response.

    Token, roots and certificate are those of the environment, as for ``demur.connect``.

    Args:
        certificate: path of the certificate of a service of this installation: only this one is accepted, whatever
            name or address the URL has.
        body: JSON that is sent with POST instead.
        headers: further headers.

    Raises:
        CommandError: a file that the environment names cannot be read.
    """
    sent = dict(headers or {}) | ({} if body is None else {"content-type": "application/json"})
    if (url.startswith("https:") or _loopback(url)) and (token := _token()):
        sent["authorization"] = f"Bearer {token}"
    context = client_context(certificate) if url.startswith("https:") else None
    request = urllib.request.Request(url, data=body, headers=sent)  # noqa: S310 - an address of services, http or https
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


class ClientContexts:
    """TLS contexts for calls to services, made anew when a file behind them changes, as renewed certificates do."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[list[bytes | None], ssl.SSLContext]] = {}

    def __call__(self, certificate: str) -> ssl.SSLContext:
        """Return the context for a certificate, see ``ask``; while files cannot be used, the one before.

        Raises:
            CommandError: they could never be used.
        """
        files = [_content(path) for path in (certificate, *map(os.environ.get, _CLIENT_FILES))]
        kept = self._kept.get(certificate)
        if kept is not None and kept[0] == files:
            return kept[1]
        try:
            context = client_context(certificate)
        except CommandError as error:
            if kept is None:
                raise
            _log.error("certificates for calls to services cannot be renewed", extra={"fields": {"error": str(error)}})
            context = kept[1]
        self._kept[certificate] = files, context
        return context


def _content(path: str | None) -> bytes | None:
    try:
        return content(Path(path)) if path else b""
    except OSError:
        return None


def client_context(certificate: str) -> ssl.SSLContext:
    """Return the TLS context for calls to a service; see ``ask``.

    Raises:
        CommandError: a file that the environment names cannot be read.
    """
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

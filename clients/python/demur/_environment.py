"""What the environment says of connections, for callers who say nothing: token, roots, certificate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

TOKEN, TOKEN_FILE = "DEMUR_TOKEN", "DEMUR_TOKEN_FILE"
ROOTS = "DEMUR_ROOTS"
CERTIFICATE, KEY = "DEMUR_CLIENT_CERTIFICATE", "DEMUR_CLIENT_KEY"


class Identity(NamedTuple):
    """A client's own certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


class Way(NamedTuple):
    """How a service is reached, and as whom."""

    token: str | None
    tls: bool | bytes | None
    identity: Identity | None


def way(
    token: str | None,
    tls: bool | bytes | None,
    certificate: tuple[bytes, bytes] | None,
    environment: Mapping[str, str] | None = None,
) -> Way:
    """What was given; where that is None, what the environment says. An empty token is none at all.

    Raises:
        ValueError: a file that the environment names cannot be read, or a certificate comes without TLS.
    """
    source = os.environ if environment is None else environment
    if token is None:
        token = source.get(TOKEN) or _text(TOKEN_FILE, source)
    if tls is None:
        tls = _content(ROOTS, source)
    identity = None if certificate is None else Identity(*certificate)
    if identity is None and tls is not False:
        chain, key = _content(CERTIFICATE, source), _content(KEY, source)
        if (chain is None) != (key is None):
            raise ValueError(f"{CERTIFICATE} and {KEY} go together")
        identity = None if chain is None or key is None else Identity(chain, key)
    if identity is not None and tls is None:
        tls = True
    if certificate is not None and not tls:
        raise ValueError("a certificate needs TLS: pass tls=True, or tls=<PEM bytes>")
    return Way(token or None, tls, identity)


def _content(name: str, source: Mapping[str, str]) -> bytes | None:
    path = source.get(name)
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{name} = {path}: {error.strerror or error}") from error


def _text(name: str, source: Mapping[str, str]) -> str | None:
    found = _content(name, source)
    return None if found is None else found.decode(errors="replace").strip()

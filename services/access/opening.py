"""What the settings of a process amount to: its door, and its certificates."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry

from services.access.certificates import CertificateError, Certificates, Files
from services.access.door import Door
from services.access.metrics import AccessMetrics
from services.access.token_file import TokenFile
from services.access.tokens import TokensError
from services.access.watched import Watched
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError


@dataclass(frozen=True)
class Access:
    """Of one process."""

    door: Door | None
    """None: nobody is asked for a token."""
    certificates: Certificates | None
    """None: plain text."""
    watched: tuple[Watched, ...]
    """Files to be followed."""


def files(settings: Settings) -> Files | None:
    """Of TLS; None: plain text."""
    if not settings.tls_certificate:
        return None
    ca = Path(settings.tls_client_ca) if settings.tls_client_ca else None
    return Files(Path(settings.tls_certificate), Path(settings.tls_key), ca)


def check_access(settings: Settings) -> None:
    """
    Raises:
        SettingsError: a file of tokens or of TLS cannot be used; nothing would be served.
    """
    try:
        opened(settings, "", CollectorRegistry())
    except (CertificateError, TokensError) as error:
        raise SettingsError(str(error)) from error


def opened(settings: Settings, place: str, registry: CollectorRegistry) -> Access:
    """
    Args:
        place: name of the task, or ``monitor``.

    Raises:
        TokensError, CertificateError: a file cannot be used.
    """
    found = files(settings)
    if found is None and not settings.tokens:
        return Access(None, None, ())
    counts = AccessMetrics(place, registry)
    watched: list[Watched] = []
    door = certificates = None
    if settings.tokens:
        book = TokenFile(Path(settings.tokens), counts)
        counts.watch(book)
        watched.append(book)
        door = Door(place, book, counts, clock=time.time, monotonic=time.monotonic)
    if found is not None:
        certificates = Certificates(found, counts, time.time)
        watched.append(certificates)
    return Access(door, certificates, tuple(watched))

"""Build the authenticator and TLS contexts from settings."""

import time
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry

from services.access.authenticator import Authenticator
from services.access.certificates import CertificateError, Certificates, Files
from services.access.metrics import AccessMetrics
from services.access.token_file import TokenFile
from services.access.tokens import TokensError
from services.access.watched_files import Watched
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError


@dataclass(frozen=True)
class Access:
    """Access control of one process."""

    authenticator: Authenticator | None
    """None: no tokens are required."""
    certificates: Certificates | None
    """None: plain text."""
    watched: tuple[Watched, ...]
    """Files to be watched."""


def files(settings: Settings) -> Files | None:
    """Return the files of TLS; None: plain text."""
    if not settings.tls_certificate:
        return None
    ca = Path(settings.tls_client_ca) if settings.tls_client_ca else None
    return Files(Path(settings.tls_certificate), Path(settings.tls_key), ca)


def check_access(settings: Settings) -> None:
    """Check the files of tokens and of TLS.

    Raises:
        SettingsError: one of them cannot be used.
    """
    try:
        open_access(settings, "", CollectorRegistry())
    except (CertificateError, TokensError) as error:
        raise SettingsError(str(error)) from error


def open_access(settings: Settings, place: str, registry: CollectorRegistry, *, any_task: bool = False) -> Access:
    """Build the access control of a process.

    Args:
        place: name of the task, ``monitor`` or ``review``.
        any_task: whether tokens of all tasks are admitted.

    Raises:
        TokensError, CertificateError: a file cannot be used.
    """
    tls = files(settings)
    if tls is None and not settings.tokens:
        return Access(None, None, ())
    counts = AccessMetrics(place, registry)
    watched: list[Watched] = []
    authenticator = certificates = None
    if settings.tokens:
        token_file = TokenFile(Path(settings.tokens), counts)
        counts.watch(token_file)
        watched.append(token_file)
        authenticator = Authenticator(
            "" if any_task else place, token_file, counts, clock=time.time, monotonic=time.monotonic
        )
    if tls is not None:
        certificates = Certificates(tls, counts, time.time)
        watched.append(certificates)
    return Access(authenticator, certificates, tuple(watched))

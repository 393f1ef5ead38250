"""Settings of a connection: environment, credentials, options of the channel."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from demur._address import check_target
from demur._retry import Retry
from demur._version import VERSION

TOKEN, TOKEN_FILE = "DEMUR_TOKEN", "DEMUR_TOKEN_FILE"
ROOTS = "DEMUR_ROOTS"
CERTIFICATE, KEY = "DEMUR_CLIENT_CERTIFICATE", "DEMUR_CLIENT_KEY"


class Identity(NamedTuple):
    """A client's own certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


class Access(NamedTuple):
    """Token, TLS roots and own certificate of a connection."""

    token: str | None
    tls: bool | bytes | None
    identity: Identity | None


def access(
    token: str | None,
    tls: bool | bytes | None,
    certificate: tuple[bytes, bytes] | None,
    environment: Mapping[str, str] | None = None,
) -> Access:
    """Return the arguments; where they are None, the settings of the environment. An empty token means none.

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
    return Access(token or None, tls, identity)


def _content(name: str, source: Mapping[str, str]) -> bytes | None:
    path = source.get(name)
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{name} = {path}: {error.strerror or error}") from error


def _text(name: str, source: Mapping[str, str]) -> str | None:
    content = _content(name, source)
    return None if content is None else content.decode(errors="replace").strip()


OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_send_message_length", 16 * 2**20),
    ("grpc.max_receive_message_length", 64 * 2**20),
    ("grpc.primary_user_agent", f"demur-python/{VERSION}"),
    # One policy of retries, ours: it knows the deadline of the whole call, and that predict may be repeated.
    ("grpc.enable_retries", 0),
    ("grpc.service_config", json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})),
    # Errors name every column of a wide schema; by default a client loses some errors above 8 kB, at random.
    ("grpc.max_metadata_size", 64 * 2**10),
    # Closing a client closes its connections; a restarted service is found again soon.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # A peer that vanished in the middle of a stream is noticed within a minute; the services tolerate it.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
)

HEALTH_METHOD = "/grpc.health.v1.Health/Check"
POLL_SECONDS = 0.1
"""Pause between two health checks."""

_NOT_YET = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.NOT_FOUND,
)

Metadata = tuple[tuple[str, str], ...] | None


def credentials(target: str, access: Access) -> grpc.ChannelCredentials | None:
    """Return transport credentials, or None for plain text.

    Raises:
        ValueError: a token would leave this machine in clear text, and the caller did not ask for that.
    """
    tls, identity = access.tls, access.identity
    if tls is None and access.token is not None and not _is_local(target):
        raise ValueError(
            f"a token for {target} would travel in clear text: pass tls=True (system roots), "
            "tls=<PEM bytes>, or tls=False where something else encrypts the way, such as a mesh"
        )
    if not tls:
        return None
    return grpc.ssl_channel_credentials(
        root_certificates=tls if isinstance(tls, bytes) else None,
        private_key=None if identity is None else identity.key,
        certificate_chain=None if identity is None else identity.certificate,
    )


def metadata(token: str | None, actor: str | None = None) -> Metadata:
    """Return the metadata of every call; with a token, its name counts instead of the actor."""
    if token is not None:
        return (("authorization", f"Bearer {token}"),)
    return None if actor is None else (("demur-actor", actor),)


def is_serving(reply: bytes) -> bool:
    """Return whether a ``grpc.health.v1.HealthCheckResponse`` has the status SERVING: field 1, value 1."""
    return reply.startswith(b"\x08\x01")


def may_become_ready(failed: grpc.RpcError) -> bool:
    """Return whether a health check failed in a way that a starting service explains."""
    call: Any = failed
    return call.code() in _NOT_YET


def _is_local(target: str) -> bool:
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    address = re.sub(r"^(dns:(//[^/]*/)?|ipv4:|ipv6:)", "", target)
    return re.fullmatch(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?", address) is not None


@dataclass(frozen=True, slots=True)
class Connection:
    """Settings of a client; None is read from the environment when the channel is opened.

    It can be pickled unless it holds a token or a private key: a pickle is written to disks and queues in clear text.
    Copies within a process keep them.

    Raises:
        WrongAddress: the target is a URL, or not an address.
    """

    target: str
    token: str | None = field(default=None, repr=False)
    tls: bool | bytes | None = None
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)
    timeout: float | None = 30.0
    retry: Retry = field(default_factory=Retry)
    actor: str | None = None

    def __post_init__(self) -> None:
        check_target(self.target)

    def credentials(self) -> tuple[grpc.ChannelCredentials | None, Metadata]:
        """Return credentials of the channel, None for plain text, and the metadata of every call.

        Raises:
            ValueError: a token would travel in clear text, or a file that the environment names cannot be read.
        """
        settings = access(self.token, self.tls, self.certificate)
        return credentials(self.target, settings), metadata(settings.token, self.actor)

    def __reduce__(self) -> tuple[Any, ...]:
        secret = "token" if self.token else "certificate" if self.certificate is not None else None
        if secret is not None:
            raise pickle.PicklingError(
                f"this client was opened with {secret}=..., which a pickle would hold in clear text; set it in the "
                "environment (DEMUR_TOKEN, DEMUR_TOKEN_FILE, DEMUR_CLIENT_CERTIFICATE and DEMUR_CLIENT_KEY), which is "
                "read again where the pickle is loaded"
            )
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    def __copy__(self) -> Connection:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Connection:
        return self


class Reconnecting:
    """Base class of objects that hold ``_calls``; a deep copy or pickle opens the same connection anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (vars(self)["_calls"],)

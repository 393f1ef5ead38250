"""How connections are made: options of the channel, credentials, health."""

from __future__ import annotations

import json
import re
from typing import Any

import grpc

from demur._environment import Way
from demur._version import VERSION

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
"""Pause between two questions about health."""

_NOT_YET = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.NOT_FOUND,
)

Metadata = tuple[tuple[str, str], ...] | None


def credentials(target: str, way: Way) -> grpc.ChannelCredentials | None:
    """Transport credentials, or None for plaintext.

    Raises:
        ValueError: a token would leave this machine in clear text, and the caller did not ask for that.
    """
    tls, identity = way.tls, way.identity
    if tls is None and way.token is not None and not _is_local(target):
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
    """What every call carries; a token says who it is, so that nobody needs to."""
    if token is not None:
        return (("authorization", f"Bearer {token}"),)
    return None if actor is None else (("demur-actor", actor),)


def is_serving(reply: bytes) -> bool:
    """Whether a ``grpc.health.v1.HealthCheckResponse`` says SERVING: field 1, value 1."""
    return reply.startswith(b"\x08\x01")


def may_become_ready(failed: grpc.RpcError) -> bool:
    """Whether a failed health check is one of a service that may only be starting."""
    call: Any = failed
    return call.code() in _NOT_YET


def _is_local(target: str) -> bool:
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    address = re.sub(r"^(dns:(//[^/]*/)?|ipv4:|ipv6:)", "", target)
    return re.fullmatch(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?", address) is not None

"""Addresses of services, and errors for addresses at which something else answers."""

import re
from typing import Any
from urllib.parse import urlsplit

import grpc

from demur._errors import WROTE_TOO_LATE, DemurError, WrongAddress, from_call

REFLECTION_METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LIST_SERVICES = b"\x3a\x00"
"""A ``ServerReflectionRequest`` whose field 7, ``list_services``, is set."""
REFLECTION_SECONDS = 2.0
"""Deadline of the reflection call that finds out which service answers instead."""

DEFAULT_PORTS = {"weather": 4001, "translation": 4002, "motion": 4003, "lesion": 4004, "vessel": 4005}
"""Default gRPC ports of the services."""
_HTTP_TO_GRPC = 1000
"""Default difference between the gRPC port of a service and its HTTP port."""

_SCHEMES = frozenset({"dns", "ipv4", "ipv6", "unix", "unix-abstract", "vsock", "xds", "google-c2p"})
"""Schemes of targets that the gRPC library resolves."""
_TASK_SERVICE = re.compile(r"demur\.v1\.(\w+)Service")
_NO_TASKS = frozenset({"label", "policy"})
"""Services that every process has beside that of its task."""
_NO_METHOD = re.compile(r"^$|not found|unknown (service|method)|unimplemented|http2? header|404", re.IGNORECASE)
"""Messages with which servers and proxies report an unknown method."""
_HTTP = re.compile(r"http1\.x|Expected SETTINGS frame as the first frame, got frame type (3[2-9]|[4-9]\d|1[01]\d)\b")
"""Messages of the library about a server that answered in HTTP/1.1 or other text: a letter as a frame type."""


def check_target(target: str) -> None:
    """Check the form of a target.

    Raises:
        WrongAddress: it is a URL, or has a path.
    """
    scheme, mark, _ = target.partition("://")
    if mark and scheme not in _SCHEMES:
        suggested = _suggested(scheme, urlsplit(target))
        raise WrongAddress(
            f"{target!r} is a URL; give host:port of the gRPC port, without a scheme, such as {suggested}",
            code="url",
            target=target,
        )
    if not mark and not target.startswith(tuple(f"{name}:" for name in _SCHEMES)) and ("/" in target or not target):
        host = target.partition("/")[0] or "127.0.0.1:4005"
        raise WrongAddress(
            f"{target!r} is not an address; give host:port of a gRPC port, such as {host!r}",
            code="bad_address",
            target=target,
        )


def called_task(failed: grpc.RpcError, method: Any) -> str | None:
    """Return the task of a call whose service may not exist at the target; None for any other failure.

    A stream may lose the status that reports it, if its first frame was written while the status was under way.

    Args:
        method: the callable of the channel that was called.
    """
    call: Any = failed
    code, text = call.code(), call.details() or ""
    missing = code is grpc.StatusCode.UNIMPLEMENTED and _NO_METHOD.search(text)
    if not missing and text != WROTE_TOO_LATE:
        return None
    path = getattr(method, "_method", b"")  # the library offers no other way to the name
    match = _TASK_SERVICE.search(path.decode() if isinstance(path, bytes) else str(path))
    return None if match is None else match[1].lower()


def failure(failed: grpc.RpcError, seconds: float | None, target: str) -> DemurError:
    """Return the typed error of a failed call; ``WrongAddress`` if the target answered in HTTP/1.1."""
    call: Any = failed
    if not _HTTP.search(call.details() or ""):
        return from_call(failed, seconds)
    return WrongAddress(
        f"{target} is an HTTP port; give the gRPC port of the service, by default {_HTTP_TO_GRPC} above"
        f"{_at(target, _HTTP_TO_GRPC)}",
        code="http_port",
        target=target,
    )


def wrong_service(target: str, task: str, services: bytes, failed: grpc.RpcError) -> DemurError:
    """Return the error of a call to a service that may not exist at the target.

    Without a reply, only the status of the call tells; a stream that has lost it says nothing about the address.

    Args:
        task: the task of the call.
        services: reply to ``LIST_SERVICES``; empty if there was none.
    """
    names = (name.lower() for name in _TASK_SERVICE.findall(services.decode(errors="replace")))
    present = sorted(set(names) - _NO_TASKS)
    call: Any = failed
    if task in present or task in _NO_TASKS or (not services and call.details() == WROTE_TOO_LATE):
        return from_call(failed)
    mismatch = f"is {' and '.join(present)}, not {task}" if present else f"has no service of {task}"
    default = DEFAULT_PORTS.get(task)
    if default is None:
        hint = f"give the address of a service of {task}"
    else:
        away = default - DEFAULT_PORTS.get(present[0], default) if present else 0
        hint = f"give the gRPC port of {task}, by default {default}{_at(target, away) if away else ''}"
    return WrongAddress(f"the service at {target} {mismatch}; {hint}", code="wrong_service", target=target)


def _suggested(scheme: str, parts: Any) -> str:
    """Return the address that a URL probably means, for an error message."""
    try:
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        host, port = "127.0.0.1", None
    host = f"[{host}]" if ":" in host else host
    encrypted = ", and tls=True" if scheme in ("https", "grpcs") else ""
    grpc_port = port or DEFAULT_PORTS["vessel"]
    if not scheme.startswith("http") or port is None or port in DEFAULT_PORTS.values():
        return f"'{host}:{grpc_port}'{encrypted}"
    return (
        f"'{host}:{port + _HTTP_TO_GRPC}'{encrypted}: by default the gRPC port of a service is {_HTTP_TO_GRPC} above "
        "that of HTTP"
    )


def _at(target: str, away: int) -> str:
    """Return the address ``away`` ports from the target, for an error message; empty if there is none."""
    host, mark, port = target.rpartition(":")
    if not mark or not port.isdigit() or not 0 < int(port) + away < 65536:
        return ""
    return f" (here {host}:{int(port) + away})"

"""Errors of this package, and the conversion of failed calls to them.

::

    DemurError            base of all below
    ├── WrongAddress      the address is a URL, an HTTP port or that of another task's service (a ValueError)
    ├── InvalidInput      the request is invalid: see field, value, unit, allowed, index (a ValueError)
    ├── TooLarge          more rows or bytes than one call may carry: send less, or stream
    ├── Busy              the service's queue is full: try again after retry_after_seconds
    ├── DeadlineExceeded  no answer within the timeout (a TimeoutError)
    ├── Unavailable       the service cannot be reached, or is going away
    ├── Cancelled         the call was cancelled by this side or by the service
    ├── AccessDenied      the token is missing, unknown, or lacks the scope
    ├── NotFound          the object of the request does not exist
    ├── Conflict          the current state does not allow it (any more), such as after a change by somebody else
    └── ServiceFailure    the service, or a proxy before it, failed or broke the contract
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError

from demur.v1.common_pb2 import ErrorDetail

DETAIL_KEY = "demur-error-bin"
"""Trailing metadata that holds a serialised ``demur.v1.ErrorDetail``."""


class DemurError(Exception):
    """Base of every error of this package."""

    code: str
    """Stable identifier for programs, such as ``out_of_range``; empty where none was given."""

    def __init__(self, message: str = "", *, code: str = "") -> None:
        super().__init__(message)
        self.code = code

    @classmethod
    def _of(cls, message: str, detail: ErrorDetail) -> DemurError:
        return cls(message, code=detail.code)


class InvalidInput(DemurError, ValueError):
    """The request is invalid; it fails again if it is repeated unchanged."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "",
        field: str | None = None,
        value: str | None = None,
        unit: str | None = None,
        allowed: str | None = None,
        index: int | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.field = field
        """Name of the column or argument."""
        self.value = value
        """Value that was passed, as text."""
        self.unit = unit
        """Unit of ``value`` and ``allowed``."""
        self.allowed = allowed
        """Allowed values, as text."""
        self.index = index
        """Row of the request or batch; None if the error concerns all of it."""

    @classmethod
    def _of(cls, message: str, detail: ErrorDetail) -> DemurError:
        return cls(
            message,
            code=detail.code,
            field=detail.field or None,
            value=detail.value or None,
            unit=detail.unit or None,
            allowed=detail.allowed or None,
            index=detail.index if detail.index >= 0 else None,
        )


class WrongAddress(DemurError, ValueError):
    """The address is not a gRPC address, or not one of the called service; the message suggests the right one."""

    def __init__(self, message: str = "", *, code: str = "", target: str = "") -> None:
        super().__init__(message, code=code)
        self.target = target
        """Address that was passed. ``code`` is ``url``, ``bad_address``, ``http_port`` or ``wrong_service``."""


class _Refused(DemurError):
    """Base of the two refusals for lack of capacity."""

    def __init__(self, message: str = "", *, code: str = "", retry_after_seconds: float | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after_seconds = retry_after_seconds
        """Time until the service expects to have capacity; None where waiting does not help, or it is not known."""

    @classmethod
    def _of(cls, message: str, detail: ErrorDetail) -> DemurError:
        return cls(message, code=detail.code, retry_after_seconds=detail.retry_after_seconds or None)


class TooLarge(_Refused):
    """More rows or bytes than one call may carry."""


class Busy(_Refused):
    """The service's queue is full."""


class DeadlineExceeded(DemurError, TimeoutError):
    """No answer within the timeout."""


class Unavailable(DemurError):
    """The service cannot be reached, is shutting down or has shut down; a later attempt may succeed."""

    retry_after_seconds: float | None = None
    """Time until the service expects to be back; None where it did not tell."""

    @classmethod
    def _of(cls, message: str, detail: ErrorDetail) -> DemurError:
        error = cls(message, code=detail.code)
        error.retry_after_seconds = detail.retry_after_seconds or None
        return error


class Cancelled(DemurError):
    """The call was cancelled before it was answered, by this side or by the service."""


class AccessDenied(DemurError):
    """The token is missing, unknown, or lacks the scope."""


class NotFound(DemurError):
    """The object of the request does not exist."""


class Conflict(DemurError):
    """The current state does not allow it (any more): read it again, then decide."""


class ServiceFailure(DemurError):
    """The service, or a proxy before it, failed or broke the contract."""


_BY_STATUS: dict[grpc.StatusCode, type[DemurError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidInput,
    grpc.StatusCode.OUT_OF_RANGE: InvalidInput,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNAUTHENTICATED: AccessDenied,
    grpc.StatusCode.PERMISSION_DENIED: AccessDenied,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ABORTED: Conflict,
}

_BY_CODE: dict[str, type[DemurError]] = {
    "queue_full": Busy,
    "too_many_rows": TooLarge,
    "schema_mismatch": InvalidInput,
    "deadline_exceeded": DeadlineExceeded,
    "draining": Unavailable,
    "not_ready": Unavailable,
    "device_failed": Unavailable,
    "cancelled": Cancelled,
    "execution_failed": ServiceFailure,
    "internal": ServiceFailure,
}
"""Types of errors that come without a status: those of one chunk of a stream."""

_TOO = "too_"
"""Prefix of codes of sizes beyond a limit."""

_OWN_CANCEL = ("Locally cancelled", "Channel closed")
"""Messages of the library about a call that this side ended."""

WROTE_TOO_LATE = "Internal error from Core"
"""Message of the library about a frame written to a stream whose end, with its status, is still under way."""

_NO_LISTENER = re.compile(r"(?:ipv4|ipv6|unix):(\S+?): (?:Failed to connect|connect failed)")
"""Message of the library about an address at which nothing listens."""


def from_call(failed: grpc.RpcError, seconds: float | None = None) -> DemurError:
    """Return the typed error of a failed call, blocking or asynchronous, whose timeout was ``seconds``."""
    call: Any = failed  # both flavours answer code, details and trailing_metadata; the base class does not
    status, text = call.code(), call.details() or ""
    detail = _detail(call.trailing_metadata())
    kind = _BY_STATUS.get(status, ServiceFailure)
    address = _NO_LISTENER.search(text)
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
        kind = _refusal(detail, text)
    elif kind is DeadlineExceeded and seconds is not None and "Deadline Exceeded" in text:  # a message of the library
        text = f"no answer within {seconds:g} s"
    elif not detail.code and _connection_lost(kind, text):
        kind = Unavailable  # as at the end of a drain
        text = f"the service closed the connection before it answered ({text or status.name})"
    elif kind is Unavailable and address is not None:
        where = unquote(address[1])
        text = f"no service answers at {where}; start it with `demur up` or check the address"
    return kind._of(detail.message or text or status.name, detail)


def _connection_lost(kind: type[DemurError], text: str) -> bool:
    """Return whether the connection or stream ended during the call, without a status of the service."""
    if kind is Cancelled:
        return not any(message in text for message in _OWN_CANCEL)
    return kind is ServiceFailure and text == WROTE_TOO_LATE


def from_detail(detail: ErrorDetail) -> DemurError:
    """Return the typed error of one chunk: by its code, else by whether it names a field."""
    kind = _BY_CODE.get(detail.code)
    if kind is None and detail.code.startswith(_TOO):
        kind = TooLarge
    if kind is None:
        kind = InvalidInput if detail.field else Busy if detail.retry_after_seconds > 0 else ServiceFailure
    return kind._of(detail.message or detail.code, detail)


def wrong_argument(name: str, value: object, allowed: str) -> InvalidInput:
    """Return the error of an argument whose value is not allowed."""
    return InvalidInput(
        f"{name} is {value!r}; allowed: {allowed}",
        code="invalid_argument",
        field=name,
        value=str(value),
        allowed=allowed,
    )


def _refusal(detail: ErrorDetail, text: str) -> type[DemurError]:
    """Return the type of RESOURCE_EXHAUSTED: a full queue, which passes by waiting, or an oversized request."""
    named = _BY_CODE.get(detail.code)
    if named is not None and issubclass(named, _Refused):
        return named
    if detail.retry_after_seconds > 0:
        return Busy
    return TooLarge if detail.code.startswith(_TOO) or "larger than max" in text else Busy


def _detail(metadata: Any) -> ErrorDetail:
    for key, value in metadata or ():
        if key == DETAIL_KEY:
            try:
                return ErrorDetail.FromString(value)
            except DecodeError:  # a proxy that mangles the detail must not hide the status
                break
    return ErrorDetail(index=-1)

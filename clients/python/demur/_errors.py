"""Everything that this package raises on purpose, and how a failed call becomes one of them.

::

    DemurError            base of all below
    ├── WrongAddress      a URL, an HTTP port or another task's service where one was to be called (a ValueError)
    ├── InvalidInput      the question is wrong: field, value, unit, allowed, index say where (a ValueError)
    ├── TooLarge          more rows or bytes than one call may carry: send less, or stream
    ├── Busy              the service's queue is full: try again after retry_after_seconds
    ├── DeadlineExceeded  no answer within the timeout (a TimeoutError)
    ├── Unavailable       the service cannot be reached, or is going away
    ├── Cancelled         the call was cancelled, by this side or in words by the service
    ├── AccessDenied      the token is missing, unknown, or lacks the scope
    ├── NotFound          what was asked for does not exist
    ├── Conflict          the state of things does not allow it any more: somebody else was faster
    └── ServiceFailure    the service, or what stands before it, broke its promise
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
    """Stable word for programs, such as ``out_of_range``; empty where none was given."""

    def __init__(self, message: str = "", *, code: str = "") -> None:
        super().__init__(message)
        self.code = code

    @classmethod
    def _of(cls, message: str, detail: ErrorDetail) -> DemurError:
        return cls(message, code=detail.code)


class InvalidInput(DemurError, ValueError):
    """The question itself is wrong; asked again unchanged, it fails again."""

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
        """What was given, as text."""
        self.unit = unit
        """Unit of ``value`` and ``allowed``."""
        self.allowed = allowed
        """What is accepted, as text."""
        self.index = index
        """Row of the request or batch; None where the whole of it is meant."""

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
    """The address is no gRPC address, or not one of the service that was called; the message says which is meant."""

    def __init__(self, message: str = "", *, code: str = "", target: str = "") -> None:
        super().__init__(message, code=code)
        self.target = target
        """The address that was given. ``code`` is ``url``, ``bad_address``, ``http_port`` or ``wrong_service``."""


class _Refused(DemurError):
    """Base of the two refusals for want of room."""

    def __init__(self, message: str = "", *, code: str = "", retry_after_seconds: float | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after_seconds = retry_after_seconds
        """When the service expects to have room; None where waiting does not help or is not known."""

    @classmethod
    def _of(cls, message: str, detail: ErrorDetail) -> DemurError:
        return cls(message, code=detail.code, retry_after_seconds=detail.retry_after_seconds or None)


class TooLarge(_Refused):
    """More rows or bytes than one call may carry."""


class Busy(_Refused):
    """The service has no room now."""


class DeadlineExceeded(DemurError, TimeoutError):
    """No answer within the timeout."""


class Unavailable(DemurError):
    """The service cannot be reached, is going away or went away; asking again later may succeed."""

    retry_after_seconds: float | None = None
    """When the service expects to be back; None where it did not say."""

    @classmethod
    def _of(cls, message: str, detail: ErrorDetail) -> DemurError:
        error = cls(message, code=detail.code)
        error.retry_after_seconds = detail.retry_after_seconds or None
        return error


class Cancelled(DemurError):
    """The call was cancelled before it was answered: by this side, or by the service, which said so."""


class AccessDenied(DemurError):
    """The token is missing, unknown, or lacks the scope."""


class NotFound(DemurError):
    """What was asked for does not exist."""


class Conflict(DemurError):
    """The state of things does not allow it (any more): look at it again, then decide."""


class ServiceFailure(DemurError):
    """The service, or what stands before it, broke its promise."""


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

_BY_WORD: dict[str, type[DemurError]] = {
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
"""Kinds of the errors that come without a status: those of one chunk of a stream."""


_TOO = "too_"
"""How words begin that say of what there is too much."""

_OWN_CANCEL = ("Locally cancelled", "Channel closed")
"""The library's words for a call that this side ended."""

WROTE_TOO_LATE = "Internal error from Core"
"""The library's words for a frame written to a stream whose end, with its status, is still under way."""

_NOBODY = re.compile(r"(?:ipv4|ipv6|unix):(\S+?): (?:Failed to connect|connect failed)")
"""The library's words for an address at which nobody listens."""


def from_call(failed: grpc.RpcError, seconds: float | None = None) -> DemurError:
    """The typed error of a failed call, synchronous or asynchronous, that was given so many seconds."""
    call: Any = failed  # both flavours answer code, details and trailing_metadata; the base class does not
    status, text = call.code(), call.details() or ""
    detail = _detail(call.trailing_metadata())
    kind = _BY_STATUS.get(status, ServiceFailure)
    address = _NOBODY.search(text)
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
        kind = _refusal(detail, text)
    elif kind is DeadlineExceeded and seconds is not None and "Deadline Exceeded" in text:  # the library's words
        text = f"no answer within {seconds:g} s"
    elif not detail.code and _ended_under(kind, text):
        kind = Unavailable  # as at the end of a drain
        text = f"the service closed the connection before it answered ({text or status.name})"
    elif kind is Unavailable and address is not None:
        where = unquote(address[1])
        text = f"no service answers at {where}; start it with `demur up` or check the address"
    return kind._of(detail.message or text or status.name, detail)


def _ended_under(kind: type[DemurError], text: str) -> bool:
    """Whether the connection or stream ended under the call, without a word of the service."""
    if kind is Cancelled:
        return not any(words in text for words in _OWN_CANCEL)
    return kind is ServiceFailure and text == WROTE_TOO_LATE


def from_detail(detail: ErrorDetail) -> DemurError:
    """The typed error of one chunk: by its word, else by whether it names a field."""
    kind = _BY_WORD.get(detail.code)
    if kind is None and detail.code.startswith(_TOO):
        kind = TooLarge
    if kind is None:
        kind = InvalidInput if detail.field else Busy if detail.retry_after_seconds > 0 else ServiceFailure
    return kind._of(detail.message or detail.code, detail)


def wrong_argument(name: str, value: object, allowed: str) -> InvalidInput:
    """The error of an option that cannot mean anything."""
    return InvalidInput(
        f"{name} is {value!r}; allowed: {allowed}",
        code="invalid_argument",
        field=name,
        value=str(value),
        allowed=allowed,
    )


def _refusal(detail: ErrorDetail, text: str) -> type[DemurError]:
    """Full queue or oversized question: both are RESOURCE_EXHAUSTED; only the former passes by waiting."""
    named = _BY_WORD.get(detail.code)
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
            except DecodeError:  # what stands between must not hide the status
                break
    return ErrorDetail(index=-1)

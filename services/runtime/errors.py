"""Everything that can go wrong on the way of a request, and the one table to HTTP and gRPC.

DemurError
├── InvalidInput          the caller's data break the contract; nothing was run
├── TooLarge              more rows or bytes than one call may carry
├── UnsupportedMediaType  the body is of a kind that the route does not take
├── Unauthenticated       no token, or none that is known here
├── Forbidden             the token is known, and not for this
├── Busy                  the queue is full, or a rate is used up; retry after the stated time
├── DeadlineExceeded      the caller's deadline passed before an answer
├── Cancelled             the caller went away or cancelled
├── NotFound              no such job, route, unit or request
├── Conflict              the state of things does not allow it (any more): read it anew
├── MethodNotAllowed      the route is there, but not for this method
├── Draining              the process is shutting down; another replica answers
├── NotReady              artefacts are still loading or failed their self-test
├── DeviceUnavailable     the device failed; nothing runs until golden inputs pass again
├── LedgerUnavailable     what has to be durable cannot be written now; nothing was acknowledged
├── LedgerAbsent          the service keeps no ledger, and the call needs one
├── Unsupported           a protocol that is spoken here has it, this service has not
└── ExecutionFailed       the model failed on this input; neighbours are unharmed
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from models.executors.failures import DeviceFailed

DEVICE_RETRY_SECONDS = 1.0
NAME_CHARACTERS = 200
"""Most characters of a caller's own text, such as the name of a column, that a refusal quotes."""
_TEXT_CHARACTERS = 8000
"""Most characters of a message, and of a list of what is allowed."""


def shortened(text: str, most: int = NAME_CHARACTERS) -> str:
    """Return text of at most ``most`` characters; where it is longer, it ends in an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(eq=False)  # an exception is itself only, and can be hashed
class DemurError(Exception):
    """Base of all errors that a caller may see. ``message`` names field, value, unit, range and what to do."""

    message: str
    code: str = "error"
    field: str = ""
    value: str = ""
    unit: str = ""
    allowed: str = ""
    index: int = -1
    """Row or item; -1 where none is to blame."""
    retry_after_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Bound every text: a name of a megabyte is not sent back."""
        self.field, self.value, self.unit = shortened(self.field), shortened(self.value), shortened(self.unit)
        self.message = shortened(self.message, _TEXT_CHARACTERS)
        self.allowed = shortened(self.allowed, _TEXT_CHARACTERS)

    def __str__(self) -> str:
        return self.message


class InvalidInput(DemurError):
    """The caller's data break the contract; nothing was run."""


class TooLarge(DemurError):
    """More rows or bytes than one call may carry; a stream takes any number."""


class UnsupportedMediaType(DemurError):
    """The body is of a kind that the route does not take; ``allowed`` says which it does."""


class Unauthenticated(DemurError):
    """No token, or none that is known here; which of the two ways it is wrong is not told to who lacks its secret."""


class Forbidden(DemurError):
    """The token is known, and not for this; ``allowed`` says what it would need."""


class Busy(DemurError):
    """The queue is full, or a rate is used up; ``retry_after_seconds`` says when to come back."""


class DeadlineExceeded(DemurError):
    """The caller's deadline passed before an answer."""


class Cancelled(DemurError):
    """The caller went away or cancelled."""


class NotFound(DemurError):
    """No such job, route, unit or request."""


class Conflict(DemurError):
    """The state of things does not allow it (any more); who asks again has to read it anew first."""


class MethodNotAllowed(DemurError):
    """The route is there, but not for this method; ``allowed`` says for which it is."""


class Draining(DemurError):
    """The process is shutting down; another replica answers."""


class NotReady(DemurError):
    """Artefacts are still loading or failed their self-test."""


class DeviceUnavailable(DemurError):
    """The device failed; nothing runs, here or on another provider, until golden inputs pass on it again."""


class LedgerUnavailable(DemurError):
    """What has to be durable cannot be written (or read) now; nothing was acknowledged, the call may be repeated."""


class LedgerAbsent(DemurError):
    """The service keeps no ledger, and the call needs one; repeating it does not help."""


class Unsupported(DemurError):
    """A protocol that is spoken here has it, this service has not; repeating the call does not help."""


class ExecutionFailed(DemurError):
    """The model failed on this input; neighbours are unharmed."""


@dataclass(frozen=True, slots=True)
class Status:
    """HTTP status and the name of the gRPC status code."""

    http: int
    grpc: str


_STATUS: dict[type[DemurError], Status] = {
    InvalidInput: Status(422, "INVALID_ARGUMENT"),
    TooLarge: Status(413, "RESOURCE_EXHAUSTED"),
    UnsupportedMediaType: Status(415, "INVALID_ARGUMENT"),
    Unauthenticated: Status(401, "UNAUTHENTICATED"),
    Forbidden: Status(403, "PERMISSION_DENIED"),
    Busy: Status(429, "RESOURCE_EXHAUSTED"),
    DeadlineExceeded: Status(504, "DEADLINE_EXCEEDED"),
    Cancelled: Status(499, "CANCELLED"),
    NotFound: Status(404, "NOT_FOUND"),
    Conflict: Status(409, "ABORTED"),
    MethodNotAllowed: Status(405, "UNIMPLEMENTED"),
    Draining: Status(503, "UNAVAILABLE"),
    NotReady: Status(503, "UNAVAILABLE"),
    DeviceUnavailable: Status(503, "UNAVAILABLE"),
    LedgerUnavailable: Status(503, "UNAVAILABLE"),
    LedgerAbsent: Status(501, "UNIMPLEMENTED"),
    Unsupported: Status(501, "UNIMPLEMENTED"),
    ExecutionFailed: Status(500, "INTERNAL"),
}


def status(error: DemurError) -> Status:
    """Return the transport codes of an error."""
    return _STATUS.get(type(error), Status(500, "INTERNAL"))


class Refusal(Protocol):
    """What a reader of ``models`` says of an input that it cannot use; ``str`` is the message."""

    code: str
    field: str
    value: str
    unit: str
    allowed: str


_SIZES = ("too_large", "too_many")
"""Codes of what is too much rather than wrong."""


def refused(error: Refusal, index: int = -1) -> DemurError:
    """Return the refusal of an input as the caller sees it; ``index`` is the item that is to blame."""
    kind = TooLarge if error.code in _SIZES else InvalidInput
    return kind(
        str(error),
        code=error.code,
        field=error.field,
        value=str(error.value),
        unit=error.unit,
        allowed=error.allowed,
        index=index,
    )


def execution_failed(error: BaseException) -> DemurError:
    """What a caller is told of a model that failed: no text of the exception leaves the process."""
    if isinstance(error, DemurError):
        return error
    if isinstance(error, DeviceFailed):
        return device_unavailable(error.kind, error)
    failure = ExecutionFailed(
        f"the model failed on this input ({type(error).__name__}); tell the service's owner when it happened, "
        "the input itself is kept out of the logs",
        code="execution_failed",
    )
    failure.__cause__ = error
    return failure


def device_unavailable(kind: str, cause: BaseException | None = None) -> DeviceUnavailable:
    """Return what a caller is told while the device does not compute; its units have no answer, so a human decides."""
    failure = DeviceUnavailable(
        f"the device failed ({kind}), and no other provider is used instead: treat these units as deferred, or retry "
        f"after {DEVICE_RETRY_SECONDS:g} s on another replica",
        code="device_failed",
        retry_after_seconds=DEVICE_RETRY_SECONDS,
    )
    failure.__cause__ = cause
    return failure


def internal(error: Exception) -> DemurError:
    """What a caller is told of a defect of the service: no text of the exception leaves the process."""
    if isinstance(error, DemurError):
        return error
    failure = ExecutionFailed(
        f"the service failed ({type(error).__name__}); nothing is wrong with the request", code="internal"
    )
    failure.__cause__ = error
    return failure


def no_ledger() -> LedgerAbsent:
    """What callers are told who need a ledger where there is none."""
    return LedgerAbsent("this service keeps no ledger (DEMUR_LEDGER = none)", code="no_ledger")

"""Errors of a request, and the table that maps them to HTTP and gRPC status codes.

DemurError
├── InvalidInput          the caller's data are invalid; nothing was run
├── TooLarge              more rows or bytes than one call may have
├── UnsupportedMediaType  the route does not accept this type of body
├── Unauthenticated       no token, or an unknown one
├── Forbidden             the token is known but does not permit this
├── Busy                  the queue is full or a rate limit is reached; retry after the stated time
├── DeadlineExceeded      the caller's deadline passed before an answer
├── Cancelled             the caller disconnected or cancelled
├── NotFound              no such job, route, unit or request
├── Conflict              the current state does not allow it; read the state again first
├── MethodNotAllowed      the route exists, but not for this method
├── Draining              the process is shutting down; another replica answers
├── NotReady              artefacts are still loading or failed their self-test
├── DeviceUnavailable     the device failed; nothing runs until golden inputs pass again
├── LedgerUnavailable     a durable write failed; nothing was acknowledged
├── LedgerAbsent          the call needs a ledger, and the service has none
├── Unsupported           part of the protocol that this service does not implement
└── ExecutionFailed       the model failed on this input; other items are unaffected
"""

from dataclasses import dataclass
from typing import Protocol, Self

from models.executors.failures import DeviceFailed

DEVICE_RETRY_SECONDS = 1.0
NAME_CHARACTERS = 200
"""Maximum length, in characters, of a caller's own text, such as the name of a column, that an error quotes."""
_TEXT_CHARACTERS = 8000
"""Maximum length, in characters, of a message and of a list of allowed values."""


def shortened(text: str, most: int = NAME_CHARACTERS) -> str:
    """Return text of at most ``most`` characters; longer text is cut and ends in an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(eq=False)  # compared by identity, and hashable
class DemurError(Exception):
    """Base of all errors that a caller may see. ``message`` names field, value, unit, range and remedy."""

    message: str
    code: str = "error"
    field: str = ""
    value: str = ""
    unit: str = ""
    allowed: str = ""
    index: int = -1
    """Index of the row or item at fault; -1 if there is none."""
    retry_after_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Limit the length of every text, so that a megabyte-long name is not sent back."""
        self.field, self.value, self.unit = shortened(self.field), shortened(self.value), shortened(self.unit)
        self.message = shortened(self.message, _TEXT_CHARACTERS)
        self.allowed = shortened(self.allowed, _TEXT_CHARACTERS)

    def __str__(self) -> str:
        return self.message

    @classmethod
    def about(
        cls,
        field: str,
        value: object,
        problem: str = "",
        *,
        code: str,
        unit: str = "",
        allowed: str = "",
        advice: str = "",
        index: int = -1,
    ) -> Self:
        """Return the error for an unusable value, with the message ``field = value unit: problem; advice``.

        Without ``problem``, the message says what ``allowed`` permits: an interval, such as ``[1, 50]``, or a list.
        It leaves out the unit of pure numbers (``1``) and one that repeats the name of the field (``rows = 9``).
        """
        text = shortened(str(value))
        if not text or " " in text or not text.isprintable():  # quoted: its ends are seen, and no control characters
            text = repr(text)
        if not problem:
            relation = "in" if allowed.startswith(("[", "(")) else "one of" if ", " in allowed else ""
            problem = f"must be {relation} {allowed}" if relation else f"must be {allowed}"
        message = f"{shortened(field)} = {text}{f' {unit}' if unit not in ('', '1', field) else ''}: {problem}"
        return cls(
            f"{message}; {advice}" if advice else message,
            code=code,
            field=field,
            value=str(value),
            unit=unit,
            allowed=allowed,
            index=index,
        )


class InvalidInput(DemurError):
    """The caller's data are invalid; nothing was run."""


class TooLarge(DemurError):
    """The call has more rows or bytes than allowed; a stream takes any number."""


class UnsupportedMediaType(DemurError):
    """The route does not accept this type of body; ``allowed`` lists the accepted types."""


class Unauthenticated(DemurError):
    """The token is missing or unknown; the error does not reveal which part of it is wrong."""


class Forbidden(DemurError):
    """The token is known but does not permit this call; ``allowed`` names the required permission."""


class Busy(DemurError):
    """The queue is full or a rate limit is reached; retry after ``retry_after_seconds``."""


class DeadlineExceeded(DemurError):
    """The caller's deadline passed before there was an answer."""


class Cancelled(DemurError):
    """The caller disconnected or cancelled."""


class NotFound(DemurError):
    """There is no such job, route, unit or request."""


class Conflict(DemurError):
    """The current state does not allow the change; read the state again before a retry."""


class MethodNotAllowed(DemurError):
    """The route exists, but not for this method; ``allowed`` lists its methods."""


class Draining(DemurError):
    """The process is shutting down; retry on another replica."""


class NotReady(DemurError):
    """Artefacts are still loading or failed their self-test."""


class DeviceUnavailable(DemurError):
    """The device failed; nothing runs, here or on another provider, until golden inputs pass on it again."""


class LedgerUnavailable(DemurError):
    """A durable write (or a read) failed; nothing was acknowledged, and the call may be repeated."""


class LedgerAbsent(DemurError):
    """The call needs a ledger, and the service has none; a retry does not help."""


class Unsupported(DemurError):
    """Part of the protocol that this service does not implement; a retry does not help."""


class ExecutionFailed(DemurError):
    """The model failed on this input; other items are unaffected."""


@dataclass(frozen=True, slots=True)
class Status:
    """HTTP status code and name of the gRPC status code."""

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
    """Error of a reader in ``models`` about an unusable input; ``str`` gives the message."""

    code: str
    field: str
    value: str
    unit: str
    allowed: str


_SIZES = ("too_large", "too_many")
"""Codes of inputs that are too large rather than wrong."""


def refused(error: Refusal, index: int = -1) -> DemurError:
    """Return the error for callers of an unusable input; ``index`` is the item at fault."""
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
    """Return the error for callers of a failed model; it contains no text of the exception."""
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
    """Return the error for callers while the device fails; its units have no answer, so a person decides."""
    failure = DeviceUnavailable(
        f"the device failed ({kind}), and no other provider is used instead: treat these units as deferred, or retry "
        f"after {DEVICE_RETRY_SECONDS:g} s on another replica",
        code="device_failed",
        retry_after_seconds=DEVICE_RETRY_SECONDS,
    )
    failure.__cause__ = cause
    return failure


def internal(error: Exception) -> DemurError:
    """Return the error for callers of a defect in the service; it contains no text of the exception."""
    if isinstance(error, DemurError):
        return error
    failure = ExecutionFailed(
        f"the service failed ({type(error).__name__}); nothing is wrong with the request", code="internal"
    )
    failure.__cause__ = error
    return failure


def draining() -> Draining:
    """Return the error for callers of a process that is about to end."""
    return Draining("this replica is shutting down; retry at once, another one answers", code="draining")


def no_ledger() -> LedgerAbsent:
    """Return the error for calls that need a ledger in a service without one."""
    return LedgerAbsent("this service keeps no ledger (DEMUR_LEDGER = none)", code="no_ledger")

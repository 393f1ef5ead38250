"""Structured logging: one JSON object per line on standard error, never with a payload.

Texts of exceptions may contain caller data. Only kind, code and place of an exception are logged, unless its text is
known to be from this program. Log lines of libraries are JSON, too.
"""

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

_ROOT = Path(__file__).resolve().parents[2]
_OURS = ("services", "models", "demur")
_FOREIGN = ("bentoml", "circus", "uvicorn", "uvicorn.error", "uvicorn.access", "grpc", "asyncio", "py.warnings")
"""Loggers of libraries that bring their own handlers, or whose lines would be lost."""
_OPERATORS = {
    *("SettingsError", "ArtefactError", "ProviderUnavailable", "CommandError", "HistoryChanged", "NeedsLabel"),
    *("LedgerRefused", "LedgerHeld", "LedgerUnavailable", "NotReady", "Busy"),
}
"""Errors whose texts are about the configuration and state of the service, not about caller data."""
_MOST_FRAMES, _MOST_CAUSES = 30, 5
_calls = logging.getLogger("services.calls")


def get_logger(name: str) -> logging.Logger:
    """Return a logger of this program; pass fields as ``extra={"fields": {...}}``."""
    return logging.getLogger(name)


def configure(
    level: str = "INFO",
    fields: Mapping[str, object] | None = None,
    context: Callable[[], Mapping[str, str]] = dict,
) -> None:
    """Send all log lines of the process, and exceptions that end its threads, to standard error.

    Args:
        level: level of the program's own lines; lines of libraries are written from WARNING on.
        fields: fields of every line.
        context: returns the fields of the call that is being answered, such as its trace identifier.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(fields, context))
    for name in ("services", "models"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    logging.raiseExceptions = False  # a line that cannot be written is dropped; its arguments are not printed instead
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _FOREIGN:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda uncaught: _uncaught(uncaught.exc_type, uncaught.exc_value, uncaught.exc_traceback)
    sys.unraisablehook = lambda unraisable: _uncaught(
        unraisable.exc_type, unraisable.exc_value, unraisable.exc_traceback
    )


def called(protocol: str, method: str, code: str, seconds: float) -> None:
    """Log a finished call at level DEBUG.

    Args:
        method: route or full name of the method, as declared.
    """
    if _calls.isEnabledFor(logging.DEBUG):
        fields = {"protocol": protocol, "method": method, "code": code, "seconds": round(seconds, 6)}
        _calls.debug("call", extra={"fields": fields})


class JsonLines(logging.Formatter):
    """Formatter of log records as JSON lines; arguments as for ``configure``."""

    def __init__(
        self, fields: Mapping[str, object] | None = None, context: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        super().__init__()
        self._fields = dict(fields or {})
        self._context = context

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "ts": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": _event(record),
            "logger": record.name,
        }
        line |= self._fields
        line |= self._context()
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = exception_parts(record.exc_info[1])
        return msgspec.json.encode(line, enc_hook=lambda value: type(value).__name__).decode()


def exception_parts(error: BaseException) -> list[dict[str, object]]:
    """Return the loggable parts of an exception and its causes: kinds, codes, and places in the program."""
    causes: list[dict[str, object]] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < _MOST_CAUSES:
        frames = traceback.extract_tb(cause.__traceback__)[-_MOST_FRAMES:]
        place = [f"{_place(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]
        causes.append({"error": brief(cause, placed=False), "frames": place})
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return causes


def brief(error: BaseException, *, placed: bool = True) -> str:
    """Return a short description of an exception: its text only if it cannot contain caller data, else its place."""
    name, code = type(error).__name__, getattr(error, "code", None)
    if any(kind.__name__ in _OPERATORS for kind in type(error).__mro__):
        return f"{name}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"
    if isinstance(code, str) and type(error).__module__.partition(".")[0] in _OURS:
        return f"{name}: {code}"
    frames = traceback.extract_tb(error.__traceback__) if placed else []
    return f"{name} at {_place(frames[-1].filename)}:{frames[-1].lineno}" if frames else name


def _event(record: logging.LogRecord) -> str:
    """Return the message; exceptions among its arguments are reduced to their loggable parts."""
    arguments = record.args
    if isinstance(arguments, tuple):
        arguments = tuple(
            brief(argument) if isinstance(argument, BaseException) else argument for argument in arguments
        )
    text = str(record.msg) if not isinstance(record.msg, BaseException) else brief(record.msg)
    try:
        text = text % arguments if arguments else text
    except (TypeError, ValueError):
        text = str(record.msg)
    foreign = record.name.partition(".")[0] not in _OURS
    text = text.partition("\n")[0] if foreign and record.exc_info else text
    return text.encode(errors="replace").decode()


def _place(filename: str) -> str:
    path = Path(filename)
    if path.is_relative_to(_ROOT):
        return str(path.relative_to(_ROOT))
    return "/".join(path.parts[-3:])


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> Any:
    if error is None or issubclass(kind, (KeyboardInterrupt, SystemExit)):
        return
    get_logger(__name__).critical("an exception that nobody caught", exc_info=(kind, error, trace))

"""One JSON object a line on standard error; never a payload."""

from __future__ import annotations

import logging
import sys
import time

import msgspec


def get_logger(name: str) -> logging.Logger:
    """A logger of this program; give fields by ``extra={"fields": {...}}``."""
    return logging.getLogger(name)


def configure(level: str = "INFO") -> None:
    """Sends the program's own log lines, and nobody else's twice, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    for name in ("services", "models"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "ts": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()

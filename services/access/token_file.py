"""The file of tokens: followed by services, changed by ``demur tokens``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from services.access.tokens import Token, Tokens, TokensError, read, write
from services.access.watched import content
from services.runtime.logging import get_logger

_log = get_logger(__name__)


class Failures(Protocol):
    """Hears of files that could not be taken."""

    def reload_failed(self, what: str) -> None: ...


class TokenFile:
    """The tokens in force: those of the file when it was last good."""

    def __init__(self, path: Path, failures: Failures) -> None:
        """
        Raises:
            TokensError: the file is none, or cannot be read.
        """
        self._path, self._failures = path, failures
        self._content, self.tokens = _read(path)
        self._problem = ""

    def look(self) -> None:
        """Takes another content of the file; one that is broken leaves the tokens as they are."""
        try:
            found = content(self._path)
            if found != self._content:
                self.tokens = read(found)
                self._content = found
                _log.info("tokens in force", extra={"fields": {"tokens": len(self.tokens.by_id)}})
            self._problem = ""
        except (OSError, TokensError) as error:
            self._failures.reload_failed("tokens")
            if str(error) != self._problem:  # once, not at every look
                _log.error("the tokens stay as they were: %s", error)
            self._problem = str(error)


def tokens_of(path: Path) -> Tokens:
    """What a file holds now; nothing where there is none.

    Raises:
        TokensError: it is none, or cannot be read.
    """
    return _read(path)[1] if path.exists() else Tokens({})


def replace(path: Path, tokens: Iterable[Token]) -> None:
    """Writes the file anew, for its owner only, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(write(tokens))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read(path: Path) -> tuple[bytes, Tokens]:
    try:
        found = content(path)
        return found, read(found)
    except OSError as error:
        raise TokensError(f"the file of tokens cannot be read: {error}") from error
    except TokensError as error:
        raise TokensError(f"{path}: {error}") from error
